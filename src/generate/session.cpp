#include "wick/generate/session.h"

#include <algorithm>
#include <cmath>

#include "base/calling.h"
#include "base/log.h"
#include "generate/capacity.h"
#include "generate/graphs.h"
#include "generate/sampled_rows.h"
#include "models/usable.h"
#include "scalar/round_up.h"
#include "wick/abi/ops/sample.h"
#include "wick/models/finite.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/random.h"
#include "wick/ops/reduce.h"
#include "wick/ops/sample.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

// Shapes: B sequences, T tokens each, V tokens in the vocabulary.
namespace wick {
namespace {

TensorOptions ids_on(const Device& device) { return {.dtype = DType::kI64, .device = device}; }

void check_options(const SessionOptions& o) {
  const auto require = [](bool good, const char* name, const char* expected, auto got) {
    check(good, ErrorCode::kInvalidArgument, "Session", name, ": expected ", expected, ", got ",
          got);
  };
  require(o.sequences > 0, "sequences", "at least 1", o.sequences);
  require(o.chunk > 0, "chunk", "at least 1", o.chunk);
  require(o.capacity >= 0, "capacity", "at least 0", o.capacity);
  require(o.each.empty() || int64_t(o.each.size()) == o.sequences, "each",
          "no settings or those of each sequence", o.each.size());
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

/// Why no step of such a session is captured; empty if steps can be.
std::string why_no_graphs(const CausalModel& model, const SessionOptions& options) {
  if (!graphs_are_on()) return "WICK_GRAPHS is off";
  if (!options.graphs) return "graphs is false";
  if (options.on_logits) return "on_logits runs at each step";
  if (model.devices().size() > 1) return "the model's layers are on several devices";
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
  check_options(options);
  if (options_.each.empty()) options_.each.assign(size_t(batch), {.sampling = options.sampling});
  for (const SequenceOptions& own : options_.each)
    check_sampling("Session", own.sampling, vocab_size);
  options_.capacity = capacity_of(options, model);
  cache_ = model.make_cache({.sequences = batch,
                             .capacity = options_.capacity,
                             .chunk = has_prefixes_ ? options_.capacity : options.chunk,
                             .type = options.kv});
  rows_.resize(size_t(batch));
  const Device device = model.options().device;
  sampled_ = std::make_unique<SampledRows>(batch, capacity(), device);
  if (!options.seed)
    options_.seed = uint64_t(randint(0, INT64_MAX, {1}, ids_on(device)).item<int64_t>());
  write_settings();
  if (!why_no_graph_.empty()) note("session: steps are queued kernel by kernel: ", why_no_graph_);
}

Session::Session(const LanguageModel& model, const SessionOptions& options)
    : Session(*model.model, with_stops(options, model.stop_ids)) {}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const Session::Row& Session::row(int64_t sequence) const {
  check(sequence >= 0 && sequence < int64_t(rows_.size()), ErrorCode::kOutOfRange, "Session",
        "sequence ", sequence, " of ", rows_.size());
  return rows_[size_t(sequence)];
}

void Session::write_settings() {
  std::vector<Sampling> each;
  for (const SequenceOptions& own : options_.each) each.push_back(own.sampling);
  sampled_->write_settings(each);
}

void Session::set_sampling(const Sampling& sampling, int64_t sequence) {
  (void)row(sequence);
  check_sampling("Session", sampling, model_->facts().vocab_size);
  const NoGrad off;
  options_.each[size_t(sequence)].sampling = sampling;
  write_settings();
}

void Session::set_mask(const Tensor& mask) {
  const int64_t words = ceil_div(model_->facts().vocab_size, int64_t{32});
  if (mask) {
    check(mask.dtype() == DType::kI32 || mask.dtype() == DType::kU32, ErrorCode::kDTypeMismatch,
          "set_mask", "expected i32 or u32, got ", dtype_name(mask.dtype()));
    check(mask.shape() == Shape({options_.sequences, words}), ErrorCode::kShapeMismatch, "set_mask",
          "expected ", Shape({options_.sequences, words}), ", got ", mask.shape());
  }
  const NoGrad off;
  given_mask_ = mask;
  sampled_->set_mask(mask);
}

void Session::set_grammar(std::optional<GrammarState> state, int64_t sequence) {
  Row& own = rows_[size_t(&row(sequence) - rows_.data())];
  if (!state && !own.grammar) return;
  const int64_t vocab_size = model_->facts().vocab_size;
  if (state)
    for (const int64_t id : state->end_ids())
      check(id < vocab_size, ErrorCode::kInvalidArgument, "set_grammar", "the end id ", id,
            " is outside of the vocabulary of ", vocab_size);
  own.grammar.reset();
  own.has_unread = false;
  if (state) own.grammar.emplace(Row::Held{*state, *state, {}});
  const NoGrad off;
  if (!has_grammars()) sampled_->set_mask(given_mask_);
}

std::optional<GrammarState> Session::grammar(int64_t sequence) const {
  const Row& own = row(sequence);
  return own.grammar ? std::optional(own.grammar->now) : std::nullopt;
}

bool Session::grammar_ended(int64_t sequence) const {
  const Row& own = row(sequence);
  return own.grammar && own.grammar->now.has_ended();
}

bool Session::has_grammars() const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [](const Row& row) { return row.grammar.has_value(); });
}

/// Moves the grammars on by the last tokens, as far as they have not read them. Waits for the
/// device then.
void Session::read_grammars() {
  if (std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.has_unread; }))
    read_grammars(tokens());
}

void Session::read_grammars(const std::vector<int64_t>& last) {
  for (size_t b = 0; b < rows_.size(); b++) {
    Row& row = rows_[b];
    if (!std::exchange(row.has_unread, false)) continue;
    check(row.grammar->now.accept(last[b]), ErrorCode::kInvalidArgument, "step",
          "on_logits leaves no id that the grammar of sequence ", b, " allows");
    row.grammar->ids.emplace_back(row.length - 1, last[b]);
  }
}

/// Takes the tokens from position `length` on back from the row's grammar.
void Session::rewind_grammar(Row& row, int64_t length) {
  if (!row.grammar || row.grammar->ids.empty() || row.grammar->ids.back().first < length) return;
  auto& [first, now, ids] = *row.grammar;
  std::erase_if(ids, [&](const auto& read) { return read.first >= length; });
  now = first;
  for (const auto& [position, id] : ids) now.accept(id);
}

/// Writes the mask of the next tokens, if a sequence has a grammar.
void Session::write_grammars() {
  if (!has_grammars()) return;
  read_grammars();
  const int64_t vocab_size = model_->facts().vocab_size;
  const size_t width = size_t(ceil_div(vocab_size, int64_t{32}));
  std::vector<int32_t> words(rows_.size() * width, -1);
  for (size_t b = 0; b < rows_.size(); b++) {
    if (!rows_[b].grammar || rows_[b].stopped) continue;
    const std::vector<int32_t> own = mask_row(rows_[b].grammar->now, vocab_size);
    check(std::any_of(own.begin(), own.end(), [](int32_t word) { return word != 0; }),
          ErrorCode::kInvalidArgument, "step", "the grammar of sequence ", b,
          " has ended, and there is no stop id");
    std::copy(own.begin(), own.end(), words.begin() + ptrdiff_t(b * width));
  }
  if (given_mask_) {
    const std::vector<int32_t> given = given_words();
    for (size_t i = 0; i < words.size(); i++) words[i] &= given[i];
  }
  sampled_->set_mask(Tensor::from(words, {int64_t(rows_.size()), int64_t(width)}));
}

/// The words of set_mask.
std::vector<int32_t> Session::given_words() const {
  if (given_mask_.dtype() == DType::kI32) return given_mask_.to_vector<int32_t>();
  const std::vector<uint32> words = given_mask_.to_vector<uint32>();
  return {words.begin(), words.end()};
}

std::vector<int64_t> Session::history(int64_t sequence) const {
  return narrow(select(sampled_->history.tensor(), 0, sequence), 0, 0, row(sequence).length)
      .to_vector<int64_t>();
}

/// Writes the per-step state from the rows and the history on the device.
void Session::place() {
  const Device device = model_->options().device;
  const int64_t batch = options_.sequences;
  std::vector<int64_t> last, moves, states;
  for (size_t b = 0; b < rows_.size(); b++) {
    const Row& row = rows_[b];
    last.push_back(std::max<int64_t>(row.length - 1, 0));
    moves.push_back(row.stopped ? 0 : 1);
    const uint64_t seed = options_.each[b].seed.value_or(*options_.seed + b);
    states.insert(states.end(), {int64_t(seed), row.sampled, row.length});
  }
  SampledRows& rows = *sampled_;
  copy_(rows.state, Tensor::from(states, {batch, kSampleState}, device));
  copy_(rows.positions, Tensor::from(last, {batch, 1}, device));
  copy_(rows.advance, Tensor::from(moves, {batch, 1}, device));
  copy_(rows.tokens, gather(rows.history, 1, rows.positions));
  copy_(rows.sampled, rows.tokens);
}

std::vector<int64_t> Session::tokens() const {
  const std::vector<int64_t> ids = sampled_->sampled.tensor().to_vector<int64_t>();
  for (size_t b = 0; b < ids.size(); b++)
    if (ids[b] < 0) {
      check(
          ids[b] != kUnusableIds, ErrorCode::kInvalidArgument, "step", "sequence ", b,
          " has no id left to draw: its mask allows none, or its bias or on_logits is not finite");
      std::vector<int64_t> text = history(int64_t(b));
      if (!rows_[b].stopped) text.pop_back();  // the one that was sampled
      fail_not_finite("step", *model_, text);
    }
  return ids;
}

void Session::append_each(const std::vector<std::vector<int64_t>>& ids,
                          const Tensor& pixel_values) {
  const NoGrad off;
  read_grammars();
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
    forget_failed();
    throw;
  }
  for (size_t b = 0; b < rows_.size(); b++) cache_->mark(int64_t(b));
  for (size_t b = 0; b < ids.size(); b++) {
    if (!ids[b].empty()) rows_[b].stopped = false;
    rows_[b].length += int64_t(ids[b].size());
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
  scatter_(sampled_->history, 1, Tensor::from(written, grid, device),
           Tensor::from(history, grid, device));
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
      tokens = narrow(select(sampled_->history.tensor(), 0, int64_t(b)), 0, row.cached,
                      row.length - row.cached)
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

/// Takes the cache back to the tokens that were read before a call that failed, such as for lack of
/// memory: some layers may have read more.
void Session::forget_failed() {
  hidden_ = Tensor();
  for (size_t b = 0; b < rows_.size(); b++)
    if (cache_->lengths()[b] > rows_[b].cached)
      rows_[b].cached = cache_->truncate(int64_t(b), rows_[b].cached);
}

void Session::advance() {
  const NoGrad off;
  for (size_t b = 0; b < rows_.size(); b++)
    check(rows_[b].length > 0, ErrorCode::kInvalidArgument, "step", "sequence ", b,
          " is empty; append tokens first");
  write_grammars();
  const bool is_step = !hidden_ && std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
    return row.stopped || (row.cached + 1 == row.length && is_plain(row));
  });
  try {
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
  } catch (...) {
    forget_failed();
    throw;
  }
  for (Row& row : rows_)
    if (!row.stopped) row.length++, row.sampled++, row.has_unread = row.grammar.has_value();
}

/// Whether a graph can have captured the step: it depends on nothing that a host's number tells.
bool Session::can_use_graph(const std::vector<int64_t>& ends) const {
  return why_no_graph_.empty() &&
         std::all_of(ends.begin(), ends.end(),
                     [&](int64_t end) { return end > 1 && end <= model_->positions(); }) &&
         !(rows_.size() == 1 && rows_[0].stopped);
}

/// How often the memory that steps read was replaced, by its parts.
std::vector<int64_t> Session::replacements() const {
  std::vector<int64_t> counts = cache_->replacements();
  counts.push_back(sampled_->replaced);
  return counts;
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
  if (!ran_before || (captured_ && captured_->replacements != replacements())) captured_.reset();
  if (ran_before && !captured_) {
    try {
      captured_ = Captured{model_->capture([&] { queue_step(ends); }), replacements()};
      note("session: a step of ", rows_.size(), " sequences is captured into a graph");
    } catch (const Error& e) {
      if (e.code() == ErrorCode::kOutOfMemory) throw;
      hidden_ = Tensor();  // nothing ran; the step can be queued as ever
      why_no_graph_ = e.what();
      note("session: steps are queued kernel by kernel: ", why_no_graph_);
    }
  }
  if (captured_) {
    captured_->step->launch();
    graph_steps_++;
  } else {
    queue_step(ends);
  }
}

void Session::queue_step(const std::vector<int64_t>& ends) {
  // Lengths within what the model takes are the positions' affair, which the device knows.
  const bool fits = std::all_of(ends.begin(), ends.end(),
                                [&](int64_t end) { return end <= model_->positions(); });
  hidden_ = squeeze(model_->hidden(sampled_->tokens, sampled_->positions, cache_.get(),
                                   fits ? std::vector<int64_t>() : ends),
                    1);
  sample_next();
}

/// Samples a token of each sequence from hidden_, and makes it the last one.
void Session::sample_next() {
  const Tensor logits = model_->logits(hidden_);
  hidden_ = Tensor();
  sampled_->append(choose(logits));
}

std::vector<int64_t> Session::step() {
  advance();
  const std::vector<int64_t> ids = tokens();
  read_grammars(ids);
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
  read_grammars();
  rewind_grammar(now, length);
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

/// Samples the next tokens [B] from logits [B, V], with sample's marks.
Tensor Session::choose(const Tensor& logits) const {
  if (!options_.on_logits) return sampled_->draw(logits);
  const auto mark = [&](int64_t of) { return full({}, of, ids_on(logits.device())); };
  const Tensor drawn = sampled_->draw(options_.on_logits(logits));
  const Tensor ids = where(drawn < 0, mark(kUnusableIds), drawn);  // the hook's, not the model's
  return where(squeeze(is_usable(logits), 1), ids, mark(kUnusableLogits));
}

}  // namespace wick
