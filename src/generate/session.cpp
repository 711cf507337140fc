#include "wick/generate/session.h"

#include <algorithm>
#include <cmath>

#include "base/environment.h"
#include "base/log.h"
#include "generate/capacity.h"
#include "models/usable.h"
#include "ops/random/uniform.h"
#include "wick/models/finite.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/reduce.h"
#include "wick/ops/sample.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

// Shapes: B sequences, T tokens each, V tokens in the vocabulary.
namespace wick {
namespace {

TensorOptions ids_on(const Device& device) { return {.dtype = DType::kI64, .device = device}; }

bool has_penalty(const Sampling& s) {
  return s.repetition_penalty != 1 || s.frequency_penalty != 0 || s.presence_penalty != 0;
}

void check_options(const SessionOptions& o, int64_t vocab_size) {
  const auto require = [](bool good, const char* name, const char* expected, auto got) {
    check(good, ErrorCode::kInvalidArgument, "Session", name, ": expected ", expected, ", got ",
          got);
  };
  require(o.sequences > 0, "sequences", "at least 1", o.sequences);
  require(o.chunk > 0, "chunk", "at least 1", o.chunk);
  require(o.capacity >= 0, "capacity", "at least 0", o.capacity);
  const Sampling& s = o.sampling;
  require(s.temperature >= 0 && std::isfinite(s.temperature), "temperature",
          "a number of at least 0", s.temperature);
  require(s.top_k >= 0, "top_k", "at least 0", s.top_k);
  require(s.top_p > 0 && s.top_p <= 1, "top_p", "a number in (0, 1]", s.top_p);
  require(s.min_p >= 0 && s.min_p <= 1, "min_p", "a number in [0, 1]", s.min_p);
  require(s.repetition_penalty > 0 && std::isfinite(s.repetition_penalty), "repetition_penalty",
          "a number above 0", s.repetition_penalty);
  require(std::isfinite(s.frequency_penalty), "frequency_penalty", "a finite number",
          s.frequency_penalty);
  require(std::isfinite(s.presence_penalty), "presence_penalty", "a finite number",
          s.presence_penalty);
  for (const auto& [id, bias] : s.logit_bias) {
    require(id >= 0 && id < vocab_size, "logit_bias", "ids of the vocabulary", id);
    require(!std::isnan(bias), "logit_bias", "a number", bias);
  }
}

/// Drops the images' tokens of a session's row from position `length` on.
template <class Row>
void drop_features(Row& row, int64_t length) {
  const auto kept = std::lower_bound(row.places.begin(), row.places.end(), length);
  if (kept == row.places.end()) return;
  row.places.erase(kept, row.places.end());
  row.features =
      row.places.empty() ? Tensor() : narrow(row.features, 0, 0, int64_t(row.places.size()));
}

/// Whether WICK_GRAPHS leaves graphs on.
bool graphs_are_on() {
  static const bool on = environment_choice("WICK_GRAPHS", {"on", "off"}).value_or(0) == 0;
  return on;
}

/// Why no step of such a session is captured; empty if steps can be.
std::string why_no_graphs(const CausalModel& model, const SessionOptions& options) {
  if (!graphs_are_on()) return "WICK_GRAPHS is off";
  if (!options.graphs) return "graphs is false";
  if (options.on_logits) return "on_logits runs at each step";
  if (!model.steps_are_alike()) return "the model's steps differ";
  return "";
}

SessionOptions with_stops(SessionOptions options, const std::vector<int64_t>& ids) {
  if (!options.stop_ids) options.stop_ids = ids;
  return options;
}

}  // namespace

Session::Session(const CausalModel& model, const SessionOptions& options)
    : model_(model.shared()),
      options_(with_stops(options, {})),
      has_prefixes_(model.facts().images && model.facts().images->prompt_is_prefix),
      why_no_graph_(why_no_graphs(model, options)) {
  const int64_t batch = options.sequences, vocab_size = model.facts().vocab_size;
  check_options(options, vocab_size);
  options_.capacity = capacity_of(options, model);
  cache_ = model.make_cache({.sequences = batch,
                             .capacity = options_.capacity,
                             .chunk = has_prefixes_ ? options_.capacity : options.chunk});
  rows_.resize(size_t(batch));
  const Device device = model.options().device;
  tokens_ = Var(zeros({batch, 1}, ids_on(device)), false);
  sampled_ = Var(zeros({batch, 1}, ids_on(device)), false);
  positions_ = Var(zeros({batch, 1}, ids_on(device)), false);
  history_ = Var(zeros({batch, capacity() + 1}, ids_on(device)), false);
  advance_ = Var(ones({batch, 1}, ids_on(device)), false);
  uniform_ = Var(zeros({kDrawn, batch}, {.device = device}), false);
  next_uniform_ = Var(zeros({1}, ids_on(device)), false);
  one_ = ones({1}, ids_on(device));
  not_finite_ = full({}, -1, ids_on(device));
  const Sampling& sampling = options.sampling;
  if (has_penalty(sampling)) counts_ = Var(zeros({batch, vocab_size}, {.device = device}), false);
  if (!sampling.logit_bias.empty()) {
    std::vector<float> bias(size_t(vocab_size), 0.f);
    for (const auto& [id, value] : sampling.logit_bias) bias[size_t(id)] = float(value);
    bias_ = Tensor::from(bias, device);
  }
  draw();
  if (!why_no_graph_.empty()) note("session: steps are queued kernel by kernel: ", why_no_graph_);
}

Session::Session(const LanguageModel& model, const SessionOptions& options)
    : Session(*model.model, with_stops(options, model.stop_ids)) {}

const Session::Row& Session::row(int64_t sequence) const {
  check(sequence >= 0 && sequence < int64_t(rows_.size()), ErrorCode::kOutOfRange, "Session",
        "sequence ", sequence, " of ", rows_.size());
  return rows_[size_t(sequence)];
}

void Session::draw() {
  const Shape shape = {kDrawn, options_.sequences};
  const TensorOptions options{.device = model_->options().device};
  copy_(uniform_,
        options_.seed ? uniform_of(*options_.seed, &drawn_, shape, options) : rand(shape, options));
  fill_(next_uniform_, 0);
  used_ = 0;
}

std::vector<int64_t> Session::history(int64_t sequence) const {
  return narrow(select(history_.tensor(), 0, sequence), 0, 0, row(sequence).length)
      .to_vector<int64_t>();
}

/// Writes the per-step state from the rows and the history on the device.
void Session::place() {
  const Device device = model_->options().device;
  const int64_t batch = options_.sequences;
  std::vector<int64_t> last, moves;
  for (const Row& row : rows_) {
    last.push_back(std::max<int64_t>(row.length - 1, 0));
    moves.push_back(row.stopped ? 0 : 1);
  }
  copy_(positions_, Tensor::from(last, {batch, 1}, device));
  copy_(advance_, Tensor::from(moves, {batch, 1}, device));
  copy_(tokens_, gather(history_, 1, positions_));
  copy_(sampled_, tokens_);
}

std::vector<int64_t> Session::tokens() const {
  const std::vector<int64_t> ids = sampled_.tensor().to_vector<int64_t>();
  for (size_t b = 0; b < ids.size(); b++)
    if (ids[b] < 0) {
      std::vector<int64_t> text = history(int64_t(b));
      if (!rows_[b].stopped) text.pop_back();  // the one that was sampled
      fail_not_finite("step", *model_, text);
    }
  return ids;
}

void Session::append_each(const std::vector<std::vector<int64_t>>& ids,
                          const Tensor& pixel_values) {
  const NoGrad off;
  const int64_t batch = options_.sequences, vocab_size = model_->facts().vocab_size;
  check(int64_t(ids.size()) == batch, ErrorCode::kShapeMismatch, "append", "expected ", batch,
        " lists of tokens, got ", ids.size());
  for (size_t b = 0; b < ids.size(); b++) {
    check(rows_[b].length > 0 || !ids[b].empty(), ErrorCode::kInvalidArgument, "append",
          "expected at least one token for the empty sequence ", b, ", got 0");
    check(rows_[b].length + int64_t(ids[b].size()) <= capacity(), ErrorCode::kOutOfRange, "append",
          rows_[b].length, " + ", ids[b].size(), " tokens exceed the capacity ", capacity());
    for (const int64_t id : ids[b])
      check(id >= 0 && id < vocab_size, ErrorCode::kOutOfRange, "append", "id ", id,
            " is outside a vocabulary of ", vocab_size);
  }

  add_features(ids, pixel_values);
  try {
    read(ids);
  } catch (...) {
    for (Row& row : rows_) drop_features(row, row.length);
    throw;
  }
  for (size_t b = 0; b < rows_.size(); b++) cache_->mark(int64_t(b));
  for (size_t b = 0; b < ids.size(); b++) {
    if (!ids[b].empty()) rows_[b].stopped = false;
    rows_[b].length += int64_t(ids[b].size());
  }
  if (counts_.defined()) {
    std::vector<float> more(size_t(batch * vocab_size), 0.f);
    for (size_t b = 0; b < ids.size(); b++)
      for (const int64_t id : ids[b]) more[b * size_t(vocab_size) + size_t(id)] += 1;
    add_(counts_, Tensor::from(more, {batch, vocab_size}, model_->options().device));
  }
  place();
}

/// Adds the features of images among further tokens of the sequences.
void Session::add_features(const std::vector<std::vector<int64_t>>& ids,
                           const Tensor& pixel_values) {
  if (!pixel_values && !model_->facts().images) return;
  std::vector<int64_t> all;
  for (const auto& own : ids) all.insert(all.end(), own.begin(), own.end());
  const int64_t images = pixel_values ? pixel_values.size(0) : 0;
  const std::vector<int64_t> places = image_places(*model_, all, images);
  if (places.empty()) return;
  const Tensor features = reshape(model_->image_features(pixel_values),
                                  {int64_t(places.size()), model_->facts().hidden_size});
  int64_t before = 0, taken = 0;  // tokens and places of earlier sequences
  for (size_t b = 0; b < ids.size(); b++) {
    Row& row = rows_[b];
    const int64_t end = before + int64_t(ids[b].size()), first = taken;
    for (; taken < int64_t(places.size()) && places[size_t(taken)] < end; taken++)
      row.places.push_back(row.length + places[size_t(taken)] - before);
    before = end;
    if (taken == first) continue;
    const Tensor own = narrow(features, 0, first, taken - first);
    row.features = row.features ? cat({row.features, own}, 0) : own;
  }
}

struct Session::Reading {
  std::vector<std::vector<int64_t>> tokens;        // at least one of each sequence
  std::vector<int64_t> starts, lengths, prefixes;  // lengths: of the whole texts
};

/// The hidden states [B, hidden_size] of each sequence's last token among [first, first + count),
/// or of its last one of all, which a shorter sequence reads again; that changes nothing.
Tensor Session::read_part(const Reading& reading, int64_t first, int64_t count) {
  const Device device = model_->options().device;
  TokenBatch batch{.ids = {},
                   .embeddings = {},
                   .features = {},
                   .positions = {},
                   .visible = {},
                   .seen_from = {},
                   .places = {},
                   .offsets = {0},
                   .starts = {},
                   .lengths = reading.lengths};
  std::vector<int64_t> ids, positions, history, written, last;
  std::vector<Tensor> features;
  bool sees_both_ways = false;
  for (size_t b = 0; b < rows_.size(); b++) {
    const std::vector<int64_t>& tokens = reading.tokens[b];
    const int64_t own = int64_t(tokens.size()), begin = std::min(first, own - 1),
                  end = std::min(first + count, own), start = reading.starts[b];
    for (int64_t t = first; t < first + count; t++) {
      const int64_t i = std::min(t, own - 1);
      history.push_back(tokens[size_t(i)]);
      written.push_back(start + i);
    }
    for (int64_t i = begin; i < end; i++) positions.push_back(start + i);
    const std::vector<int64_t>& places = rows_[b].places;
    const auto from = std::lower_bound(places.begin(), places.end(), start + begin),
               to = std::lower_bound(from, places.end(), start + end);
    for (auto place = from; place < to; ++place)
      batch.places.push_back(int64_t(ids.size()) + *place - start - begin);
    if (from < to)
      features.push_back(narrow(rows_[b].features, 0, from - places.begin(), to - from));
    ids.insert(ids.end(), tokens.begin() + begin, tokens.begin() + end);
    batch.offsets.push_back(int64_t(ids.size()));
    batch.starts.push_back(start + begin);
    last.push_back(int64_t(ids.size()) - 1);
    sees_both_ways = sees_both_ways || start + begin < reading.prefixes[b];
  }
  batch.ids = Tensor::from(ids, device);
  batch.positions = Tensor::from(positions, device);
  if (!features.empty()) batch.features = cat(features, 0);
  if (sees_both_ways) see_prefixes(batch, reading.prefixes);
  const Tensor hidden = model_->hidden(batch, cache_.get());
  const Shape grid = {int64_t(rows_.size()), count};
  scatter_(history_, 1, Tensor::from(written, grid, device), Tensor::from(history, grid, device));
  return index_select(hidden, 0, Tensor::from(last, device));
}

/// Reads the tokens that the cache lacks of each sequence and these further ones, so that hidden_
/// is that of the last ones.
void Session::read(const std::vector<std::vector<int64_t>>& ids) {
  const Device device = model_->options().device;
  const int64_t batch = options_.sequences;
  const std::vector<int64_t> last = tokens();
  Reading reading;
  reading.tokens.resize(ids.size());
  std::vector<bool> has_hidden;  // whether hidden_ is that of the row's end already
  int64_t longest = 0;
  for (size_t b = 0; b < ids.size(); b++) {
    Row& row = rows_[b];
    std::vector<int64_t>& tokens = reading.tokens[b];
    has_hidden.push_back(ids[b].empty() && row.cached == row.length && bool(hidden_));
    // The hidden state of a token that the cache holds needs the cache without it.
    if (ids[b].empty() && row.cached == row.length && !hidden_)
      row.cached = cache_->truncate(int64_t(b), row.length - 1);
    if (row.cached == row.length && ids[b].empty())
      tokens = {last[b]};  // again, which changes nothing
    else if (row.cached + 1 == row.length)
      tokens = {last[b]};
    else if (row.cached < row.length)
      tokens =
          narrow(select(history_.tensor(), 0, int64_t(b)), 0, row.cached, row.length - row.cached)
              .to_vector<int64_t>();
    tokens.insert(tokens.end(), ids[b].begin(), ids[b].end());
    const int64_t length = row.length + int64_t(ids[b].size()), count = int64_t(tokens.size());
    reading.starts.push_back(length - count);
    reading.lengths.push_back(length);
    reading.prefixes.push_back(has_prefixes_ && row.prefix == 0 ? length : row.prefix);
    longest = std::max(longest, count);
  }
  for (int64_t done = 0, count = 0; done < longest; done += count) {
    count = options_.chunk;
    for (size_t b = 0; b < rows_.size(); b++)  // a prefix is read at once
      count = std::max(count, reading.prefixes[b] - reading.starts[b] - done);
    count = std::min(count, longest - done);
    const Tensor ends = read_part(reading, done, count);
    std::vector<int64_t> ends_here;
    for (size_t b = 0; b < rows_.size(); b++) {
      const int64_t own = int64_t(reading.tokens[b].size());
      ends_here.push_back(!has_hidden[b] && done < own && own <= done + count);
      if (!has_hidden[b]) tokens_read_ += std::clamp<int64_t>(own - done, 0, count);
    }
    const bool all = std::count(ends_here.begin(), ends_here.end(), 1) == batch;
    hidden_ = all || !hidden_
                  ? ends
                  : where(Tensor::from(ends_here, {batch, 1}, device) > 0, ends, hidden_);
  }
  for (size_t b = 0; b < rows_.size(); b++) {
    rows_[b].cached = reading.lengths[b];
    rows_[b].prefix = reading.prefixes[b];
  }
}

/// Whether the sequence's last token is none of an image and sees no later one.
bool Session::is_plain(const Row& row) const {
  const bool is_image = !row.places.empty() && row.places.back() == row.length - 1;
  return !is_image && (!has_prefixes_ || (row.prefix > 0 && row.length > row.prefix));
}

void Session::advance() {
  const NoGrad off;
  for (size_t b = 0; b < rows_.size(); b++)
    check(rows_[b].length > 0, ErrorCode::kInvalidArgument, "step", "sequence ", b,
          " is empty; append tokens first");
  const bool is_step = !hidden_ && std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
    return row.stopped || (row.cached + 1 == row.length && is_plain(row));
  });
  if (used_ == kDrawn) draw();
  if (is_step) {
    std::vector<int64_t> starts, ends;
    for (const Row& row : rows_) {
      starts.push_back(row.length - 1);
      ends.push_back(row.length);
    }
    cache_->prepare(starts, ends);
    run_step(ends);
    for (Row& row : rows_) tokens_read_ += row.cached < row.length, row.cached = row.length;
  } else {
    if (!hidden_) read(std::vector<std::vector<int64_t>>(rows_.size()));
    sample_next();
  }
  used_++;
  for (Row& row : rows_)
    if (!row.stopped) row.length++;
}

/// Whether a graph can have captured the step: it depends on nothing that a host's number tells.
bool Session::can_use_graph(const std::vector<int64_t>& ends) const {
  return why_no_graph_.empty() &&
         std::all_of(ends.begin(), ends.end(),
                     [&](int64_t end) { return end > 1 && end <= model_->positions(); }) &&
         !(rows_.size() == 1 && rows_[0].stopped);
}

/// Queues a step of one token a sequence, by a graph if a step like it ran before.
void Session::run_step(const std::vector<int64_t>& ends) {
  if (!can_use_graph(ends)) {
    queue_step(ends);
    return;
  }
  const std::vector<int64_t> extents = cache_->extents();
  const bool ran_before = extents == extents_;
  extents_ = extents;
  if (!ran_before || (captured_ && captured_->replacements != cache_->replacements()))
    captured_.reset();
  if (ran_before && !captured_) {
    try {
      captured_ = Captured{Graph::capture(model_->options().device, [&] { queue_step(ends); }),
                           cache_->replacements()};
      note("session: a step of ", rows_.size(), " sequences is captured into a graph");
    } catch (const Error& e) {
      if (e.code() == ErrorCode::kOutOfMemory) throw;
      hidden_ = Tensor();  // nothing ran; the step can be queued as ever
      why_no_graph_ = e.what();
      note("session: steps are queued kernel by kernel: ", why_no_graph_);
    }
  }
  if (captured_) {
    captured_->graph.launch();
    graph_steps_++;
  } else {
    queue_step(ends);
  }
}

void Session::queue_step(const std::vector<int64_t>& ends) {
  hidden_ = squeeze(model_->hidden(tokens_, positions_, cache_.get(), ends), 1);
  sample_next();
}

/// Samples a token of each sequence from hidden_, and makes it the last one.
void Session::sample_next() {
  const Tensor logits = model_->logits(hidden_);
  hidden_ = Tensor();
  Tensor next = unsqueeze(choose(logits), 1);  // [B, 1]
  // Of several sequences some may stop later, while a graph has captured the step.
  if (rows_.size() > 1 || rows_[0].stopped) next = where(advance_.tensor() > 0, next, tokens_);
  copy_(tokens_, next);
  // Read back with the token, so that a fault costs no transfer of its own.
  copy_(sampled_, where(is_usable(logits), tokens_, not_finite_));
  add_(positions_, advance_);
  scatter_(history_, 1, positions_, tokens_);
  if (counts_.defined()) {
    const Tensor drawn = cast(advance_, DType::kF32);  // a stopped row counts nothing
    copy_(counts_, scatter_add(counts_, 1, tokens_, drawn));
  }
}

std::vector<int64_t> Session::step() {
  advance();
  const std::vector<int64_t> ids = tokens();
  const std::vector<int64_t>& stop_ids = *options_.stop_ids;
  bool stops = false;
  for (size_t b = 0; b < ids.size(); b++) {
    const bool stop = std::count(stop_ids.begin(), stop_ids.end(), ids[b]) > 0;
    stops = stops || (stop && !rows_[b].stopped);
    rows_[b].stopped = rows_[b].stopped || stop;
  }
  if (stops) place();
  return ids;
}

void Session::rewind(int64_t length, int64_t sequence) {
  check(length >= 0 && length <= row(sequence).length, ErrorCode::kOutOfRange, "rewind", "length ",
        length, " of a sequence of ", row(sequence).length, " tokens");
  Row& now = rows_[size_t(sequence)];
  if (length == now.length) return;
  const NoGrad off;
  if (counts_.defined()) {
    std::vector<float> counts(size_t(counts_.shape()[1]), 0.f);
    std::vector<int64_t> kept = history(sequence);
    kept.resize(size_t(length));
    for (const int64_t id : kept) counts[size_t(id)] += 1;
    const Device device = model_->options().device;
    scatter_(counts_, 0, full({1, counts_.shape()[1]}, double(sequence), ids_on(device)),
             Tensor::from(counts, {1, counts_.shape()[1]}, device));
  }
  // Tokens of a prefix have seen those that are dropped.
  const bool cuts_prefix = length < now.prefix;
  now.cached = cache_->truncate(sequence, cuts_prefix ? 0 : std::min(now.cached, length));
  now.length = length;
  now.stopped = false;
  if (cuts_prefix) now.prefix = 0;
  drop_features(now, length);
  hidden_ = Tensor();
  place();
}

/// Samples the next tokens [B] from logits [B, V].
Tensor Session::choose(const Tensor& logits) {
  const Sampling& s = options_.sampling;
  Tensor x = options_.on_logits ? options_.on_logits(logits) : logits;
  if (bias_) x = x + cast(bias_, x.dtype());
  if (counts_.defined()) {
    x = cast(x, DType::kF32);
    const Tensor occurred = counts_.tensor() > 0;
    if (s.repetition_penalty != 1)
      x = where(occurred, where(x > 0, x / s.repetition_penalty, x * s.repetition_penalty), x);
    if (s.frequency_penalty != 0) x = x - counts_ * s.frequency_penalty;
    if (s.presence_penalty != 0) x = x - cast(occurred, DType::kF32) * s.presence_penalty;
  }
  if (s.min_p > 0 && s.temperature > 0) {
    // p >= min_p p_max for softmax(x / temperature): x >= x_max + temperature log(min_p).
    const Tensor least =
        amax(x, {.dims = {-1}, .keepdim = true}) + s.temperature * std::log(s.min_p);
    x = where(x >= least, x, full({}, -INFINITY, {.dtype = x.dtype(), .device = x.device()}));
  }
  const Tensor uniform = squeeze(index_select(uniform_, 0, next_uniform_), 0);
  add_(next_uniform_, one_);
  return sample(x, uniform, {.temperature = s.temperature, .top_k = s.top_k, .top_p = s.top_p});
}

}  // namespace wick
