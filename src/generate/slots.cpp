#include "generate/slots.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"
#include "generate/graphs.h"
#include "scalar/round_up.h"
#include "wick/base/error.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/inplace.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"
#include "wick/ops/sort.h"

// Shapes: B slots of a call, V tokens in the vocabulary.
namespace wick {
namespace {

/// A beginning that a text shares with a busy slot's is copied from so many tokens on.
constexpr int64_t kLeastCopied = 32;
/// The most steps that are captured.
constexpr size_t kMaxCaptured = 24;

/// Of a text's states and windows: copies at the ends of the first parts of its prompt, and at the
/// end of the prompt.
constexpr int64_t kMarks = 3;

/// Positions of a block: attention reads tiles of so many keys.
constexpr int64_t kBlock = 64;

std::unique_ptr<ModelCache> make_cache(const CausalModel& model, const EngineOptions& options) {
  const auto& images = model.facts().images;
  CacheOptions all{.sequences = options.sequences,
                   .capacity = options.capacity,
                   .chunk = images && images->prompt_is_prefix ? options.capacity : options.chunk,
                   .type = options.kv,
                   .spans_capacity = options.batch_invariant,
                   .marks = kMarks};
  CacheOptions one = all;
  one.sequences = one.blocks = 1, one.block = kBlock;
  const bool in_blocks = model.make_cache(one)->has_blocks_alone();
  check(in_blocks || options.cache_tokens == 0, ErrorCode::kUnsupported, "Engine",
        "cache_tokens: some layers of a model of type ", model.facts().model_type,
        " keep a state or a window for each text, and share no memory");
  if (in_blocks) {
    all.block = kBlock;
    all.blocks = ceil_div(options.cache_tokens, kBlock);
  }
  return model.make_cache(all);
}

/// The tokens that both texts begin with.
int64_t common_tokens(const std::vector<int64_t>& a, int64_t length_of_a,
                      const std::vector<int64_t>& b) {
  const auto end = a.begin() + length_of_a;
  return std::mismatch(a.begin(), end, b.begin(), b.end()).first - a.begin();
}

}  // namespace

Slots::Slots(const CausalModel& model, const EngineOptions& options)
    : model_(model.shared()),
      options_(options),
      has_prefixes_(model.facts().images && model.facts().images->prompt_is_prefix),
      cache_(make_cache(model, options)),
      in_blocks_(cache_->has_blocks_alone()),
      positions_(in_blocks_ ? cache_->free_blocks() * kBlock
                            : options.sequences * options.capacity),
      sampled_(options.sequences, options.capacity, model.options().device),
      slots_(size_t(options.sequences)),
      masked_(size_t(options.sequences), false),
      uses_graphs_(options.graphs && graphs_are_on() && model.steps_are_alike() &&
                   model.devices().size() == 1) {
  cache_->select(0, 1);  // states stay where they are
}

int64_t Slots::used_positions() const {
  int64_t used = 0;
  for (const Slot& slot : slots_) used += slot.busy ? int64_t(slot.tokens.size()) : 0;
  return used;
}

bool Slots::has_room_for(int64_t prompt, int64_t most) const {
  if (!in_blocks_) return true;
  if (options_.batch_invariant) {  // no text may be suspended: it would be read in other parts
    int64_t blocks = ceil_div(most, kBlock);
    for (const Slot& slot : slots_) blocks += slot.busy ? ceil_div(slot.text.most, kBlock) : 0;
    return blocks <= positions_ / kBlock;
  }
  int64_t blocks = cache_->free_blocks();
  for (const Kept& kept : kept_) blocks += int64_t(kept.blocks.size());
  return ceil_div(prompt + 1, kBlock) <= blocks;
}

/// Of the tokens that a prompt has in common with a text, whose first `prompt` tokens were read, the
/// number that the prompt can go on from.
int64_t Slots::usable(int64_t common, int64_t prompt) const {
  if (!options_.batch_invariant) return common;
  const int64_t read = std::min(common, prompt);
  return in_blocks_ ? read - read % options_.chunk : 0;
}

/// The tokens of a prompt that a slot's cache holds, at most all but the last one, which must be
/// read.
int64_t Slots::shared_with(const Slot& slot, const std::vector<int64_t>& prompt) {
  if (!slot.places.empty()) return 0;  // placeholders stand for any image
  return std::min(common_tokens(slot.tokens, slot.cached, prompt), int64_t(prompt.size()) - 1);
}

std::optional<int64_t> Slots::place_for(const std::vector<int64_t>& prompt, bool has_images) const {
  int64_t oldest = -1, best = -1, most = 0;
  for (int64_t i = 0; i < size(); i++) {
    if (at(i).busy) continue;
    if (oldest < 0 || (!in_blocks_ && at(i).used < at(oldest).used)) oldest = i;
    if (const int64_t shared = shared_with(at(i), prompt); shared > most) best = i, most = shared;
  }
  if (oldest < 0 || has_images) return oldest < 0 ? std::optional<int64_t>() : oldest;
  for (const Kept& kept : kept_)
    most = std::max(most, common_tokens(kept.tokens, int64_t(kept.tokens.size()), prompt));
  for (const Slot& slot : slots_) {
    if (!slot.busy || slot.draws || !slot.places.empty()) continue;
    const int64_t soon = common_tokens(slot.tokens, int64_t(slot.tokens.size()), prompt);
    if (soon >= std::max(most, slot.cached) + kLeastCopied) return {};
  }
  // A short beginning, such as a system prompt, is copied rather than cut out of a long text, which
  // may go on.
  return best >= 0 && 2 * most >= at(best).cached ? best : oldest;
}

int64_t Slots::begin(int64_t number, Text text) {
  const NoGrad off;
  Slot& slot = at(number);
  const Slot before = std::exchange(slot, Slot());
  slot.tokens = text.prompt;
  slot.drawn = text.drawn;
  slot.used = ++clock_;
  slot.text = std::move(text);
  slot.busy = true;  // an error leaves a text that clear ends
  is_placed_ = false;
  if (const Tensor& pixels = slot.text.pixel_values) {
    cache_->truncate(number, 0);
    slot.places = image_places(*model_, slot.tokens, pixels.size(0));
    slot.features = reshape(model_->image_features(pixels),
                            {int64_t(slot.places.size()), model_->facts().hidden_size});
  } else {
    slot.cached = in_blocks_ ? share_beginning(number) : keep_beginning(number, before);
  }
  write_history(number);
  return slot.cached;
}

/// Cuts the cache of a slot to what its text and the one before, or that of another slot, begin
/// with. Returns the tokens that it holds then.
int64_t Slots::keep_beginning(int64_t number, const Slot& before) {
  const std::vector<int64_t>& prompt = at(number).text.prompt;
  if (options_.batch_invariant) return cache_->truncate(number, 0);
  if (const auto whole = copy_prompt(number, before)) return *whole;
  int64_t kept = shared_with(before, prompt);
  Origin other{-1, kept + kLeastCopied - 1};
  for (int64_t i = 0; i < size(); i++)
    if (const int64_t shared = shared_with(at(i), prompt); i != number && shared > other.tokens)
      other = {i, shared};
  if (other.slot >= 0) {
    cache_->fork(other.slot, number);
    kept = other.tokens;
  }
  return cache_->truncate(number, std::min(kept, cache_->lengths()[size_t(number)]));
}

/// Copies a prompt that another slot has read, or this one before, with the logits after it: states
/// cannot go back by a token to compute these again. Returns the tokens that the slot's cache holds
/// then; missing if no slot has read the prompt.
std::optional<int64_t> Slots::copy_prompt(int64_t number, const Slot& before) {
  const std::vector<int64_t>& prompt = at(number).text.prompt;
  const int64_t length = int64_t(prompt.size());
  const auto has_read_it = [&](const Slot& slot) {
    return slot.next && slot.places.empty() &&  // placeholders stand for any image
           int64_t(slot.tokens.size()) - slot.drawn == length &&
           std::equal(prompt.begin(), prompt.end(), slot.tokens.begin());
  };
  const Slot* from = has_read_it(before) ? &before : nullptr;
  int64_t origin = number;
  for (int64_t i = 0; i < size() && !from; i++)
    if (has_read_it(at(i))) from = &at(i), origin = i;
  if (!from) return {};
  const Tensor next = from->next;
  cache_->fork(origin, number);
  const int64_t kept =
      cache_->truncate(number, std::min(length, cache_->lengths()[size_t(number)]));
  if (kept == length) at(number).next = next;
  return kept;
}

/// Gives a slot the blocks of the tokens that its prompt and an earlier text begin with. Returns how
/// many there are.
int64_t Slots::share_beginning(int64_t number) {
  const std::vector<int64_t>& prompt = at(number).text.prompt;
  const int64_t most = int64_t(prompt.size()) - 1;  // the last token must be read
  Kept* best = nullptr;
  int64_t shared = 0;
  for (Kept& kept : kept_) {
    const int64_t common =
        usable(std::min(common_tokens(kept.tokens, int64_t(kept.tokens.size()), prompt), most),
               kept.prompt);
    if (common > shared) best = &kept, shared = common;
  }
  Origin other{-1, shared + kLeastCopied - 1};
  for (int64_t i = 0; i < size(); i++)
    if (const int64_t common =
            usable(shared_with(at(i), prompt), int64_t(at(i).tokens.size()) - at(i).drawn);
        i != number && common > other.tokens)
      other = {i, common};
  if (other.slot >= 0) {
    const std::vector<int64_t> held = cache_->hold(other.slot, other.tokens);
    cache_->share(held, other.tokens, number);
    cache_->release(held);
    return other.tokens;
  }
  if (!best) {
    cache_->drop(number);
    return 0;
  }
  best->used = ++clock_;
  cache_->share(best->blocks, shared, number);
  return shared;
}

/// Keeps the tokens of a slot's text, which has ended, in place of beginnings of it.
void Slots::keep(Slot& slot, int64_t number) {
  if (!slot.places.empty() || slot.cached == 0) return;  // placeholders stand for any image
  const int64_t prompt = std::min(slot.cached, int64_t(slot.tokens.size()) - slot.drawn);
  slot.tokens.resize(size_t(slot.cached));
  std::erase_if(kept_, [&](const Kept& kept) {
    const int64_t length = int64_t(kept.tokens.size());
    if (common_tokens(kept.tokens, length, slot.tokens) < length) return false;
    cache_->release(kept.blocks);
    return true;
  });
  kept_.push_back({std::move(slot.tokens), cache_->hold(number, slot.cached), prompt, ++clock_});
}

/// Drops the kept tokens that were used least lately. False if there are none.
bool Slots::drop_oldest() {
  const auto oldest = std::min_element(
      kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
  if (oldest == kept_.end()) return false;
  cache_->release(oldest->blocks);
  kept_.erase(oldest);
  return true;
}

/// Drops kept tokens until the next call for these slots fits. Selects the slots.
bool Slots::make_room(int64_t first, const std::vector<int64_t>& starts,
                      const std::vector<int64_t>& ends) {
  cache_->select(first, int64_t(ends.size()));
  while (cache_->needed_blocks(starts, ends) > cache_->free_blocks())
    if (!drop_oldest()) return false;
  return true;
}

/// Takes the youngest text out of its slot. False if there is none.
bool Slots::suspend_youngest() {
  int64_t youngest = -1;
  for (int64_t i = 0; i < size(); i++)
    if (at(i).busy && (youngest < 0 || at(i).text.id > at(youngest).text.id)) youngest = i;
  if (youngest < 0) return false;
  Slot& slot = at(youngest);
  Text text = std::move(slot.text);
  text.prompt = slot.tokens;
  text.drawn = slot.drawn;
  suspended_.push_back(std::move(text));
  empty(youngest);
  return true;
}

void Slots::empty(int64_t number) {
  cache_->drop(number);
  at(number) = Slot();
  is_placed_ = false;
}

void Slots::write_history(int64_t number) {
  std::vector<int64_t> row = at(number).tokens;
  Var history = sampled_.history.rows(number, 1);
  row.resize(size_t(history.shape()[1]), 0);
  const int64_t length = int64_t(row.size());
  copy_(history, Tensor::from(row, {1, length}, sampled_.device()));
}

/// Writes the state of every slot to the device. A slot that takes no part in a step computes the
/// last token that its cache holds again, which changes nothing, or in a pool one of nobody's.
void Slots::place() {
  if (is_placed_) return;
  std::vector<int64_t> tokens, positions, advance, states;
  std::vector<Sampling> sampling;
  for (const Slot& slot : slots_) {
    const int64_t last = slot.draws   ? int64_t(slot.tokens.size()) - 1
                         : in_blocks_ ? 0
                                      : std::max<int64_t>(slot.cached - 1, 0);
    tokens.push_back(slot.tokens.empty() ? 0 : slot.tokens[size_t(last)]);
    positions.push_back(last);
    advance.push_back(slot.draws);
    states.insert(states.end(), {int64_t(slot.text.seed), slot.drawn, int64_t(slot.tokens.size())});
    sampling.push_back(slot.busy ? slot.text.sampling : Sampling{.temperature = 0});
  }
  const Shape column = {size(), 1};
  const Device& device = sampled_.device();
  copy_(sampled_.tokens, Tensor::from(tokens, column, device));
  copy_(sampled_.sampled, sampled_.tokens);
  copy_(sampled_.positions, Tensor::from(positions, column, device));
  copy_(sampled_.advance, Tensor::from(advance, column, device));
  copy_(sampled_.state, Tensor::from(states, {size(), kSampleState}, device));
  sampled_.write_settings(sampling);
  is_placed_ = true;
}

/// Writes the masks of the grammars of slots first ... first + count - 1, which draw next.
void Slots::write_masks(int64_t first, int64_t count) {
  const int64_t vocab_size = model_->facts().vocab_size, width = ceil_div(vocab_size, int64_t{32});
  for (int64_t i = first; i < first + count; i++) {
    Slot& slot = at(i);
    const bool has_grammar = slot.draws && slot.text.grammar;
    if (!has_grammar && !masked_[size_t(i)]) continue;
    std::vector<int32_t> words(size_t(width), has_grammar ? 0 : -1);
    masked_[size_t(i)] = has_grammar;
    if (has_grammar) {
      try {
        words = mask_row(*slot.text.grammar, vocab_size);
      } catch (const Error&) {
        slot.error = std::current_exception();  // of this text alone, which draws no id
      }
    }
    if (!sampled_.mask.defined())
      sampled_.set_mask(
          full({size(), width}, -1, {.dtype = DType::kI32, .device = sampled_.device()}));
    Var row = sampled_.mask.rows(i, 1);
    copy_(row, Tensor::from(words, {1, width}, sampled_.device()));
  }
}

/// Whether the slot's prompt is read apart from others: its images' features and prefix are its own,
/// and so is the computation if it must not depend on others.
bool Slots::is_read_alone(int64_t number) const {
  return options_.batch_invariant || has_prefixes_ || !at(number).places.empty();
}

/// The slots to read at once with this one: each computes the same number of tokens, some of them
/// padding. The best choice reads the most tokens in a time, of which a call takes as much for the
/// weights as for so many tokens. Of choices that differ little the one of the fewest slots reads
/// prompts to their ends soonest.
Slots::Together Slots::read_together(int64_t number, int64_t most) const {
  if (is_read_alone(number)) return {number, 1, has_prefixes_ ? left(number) : most};
  const double weights = model_->options().device.is_cpu() ? 8 : 128;
  constexpr double kLeastGain = 1.02;
  const auto age = [&](int64_t i) {  // the smaller the older; the largest: cannot be read now
    const bool can =
        i >= 0 && i < size() && at(i).busy && !at(i).draws && left(i) > 0 && !is_read_alone(i);
    return can ? at(i).text.id : std::numeric_limits<int64_t>::max();
  };
  int64_t first = number, end = number + 1;
  Together best{number, 1, std::min(left(number), most)};
  double best_rate = double(best.tokens) / (weights + double(best.tokens));
  while (end - first < most) {
    const bool is_before = age(first - 1) < age(end);
    if (!is_before && age(end) == std::numeric_limits<int64_t>::max()) break;
    is_before ? first-- : end++;
    const int64_t count = end - first, longest = most / count;
    for (int64_t i = first; i < end; i++) {
      const int64_t tokens = std::min(left(i), longest);
      int64_t read = 0;
      for (int64_t k = first; k < end; k++) read += std::min(left(k), tokens);
      const double rate = double(read) / (weights + double(tokens * count));
      if (rate > kLeastGain * best_rate) best = {first, count, tokens}, best_rate = rate;
    }
  }
  return best;
}

TokenBatch Slots::next_tokens(const Together& group) const {
  TokenBatch batch;
  batch.offsets = {0};
  std::vector<int64_t> ids, positions;
  for (int64_t i = group.first; i < group.first + group.count; i++) {
    const Slot& slot = at(i);
    const int64_t begin = slot.cached, end = begin + std::min(left(i), group.tokens);
    ids.insert(ids.end(), slot.tokens.begin() + begin, slot.tokens.begin() + end);
    for (int64_t position = begin; position < end; position++) positions.push_back(position);
    batch.offsets.push_back(int64_t(ids.size()));
    batch.starts.push_back(begin);
    batch.lengths.push_back(int64_t(slot.tokens.size()));
  }
  const Device device = model_->options().device;
  batch.ids = Tensor::from(ids, device);
  batch.positions = Tensor::from(positions, device);
  if (group.count > 1) return batch;
  const Slot& slot = at(group.first);
  const int64_t begin = batch.starts[0], end = begin + batch.offsets[1];
  const auto from = std::lower_bound(slot.places.begin(), slot.places.end(), begin),
             to = std::lower_bound(from, slot.places.end(), end);
  for (auto place = from; place < to; ++place) batch.places.push_back(*place - begin);
  if (from < to) batch.features = narrow(slot.features, 0, from - slot.places.begin(), to - from);
  // Tokens that a suspended text has drawn are no part of its prefix.
  if (has_prefixes_ && begin < batch.lengths[0])
    see_prefixes(batch, {batch.lengths[0] - slot.drawn});
  return batch;
}

/// Whether the slots' next tokens find blocks, once kept ones are dropped.
bool Slots::has_room_for(const Together& group) {
  std::vector<int64_t> starts, ends;
  for (int64_t i = group.first; i < group.first + group.count; i++) {
    starts.push_back(at(i).cached);
    ends.push_back(at(i).cached + std::min(left(i), group.tokens));
  }
  return make_room(group.first, starts, ends);
}

Slots::Reading Slots::read(int64_t text, int64_t most) {
  const NoGrad off;
  const int64_t own = slot_of(text);
  if (left(own) == 0) return {.parts = {}, .drawn = draw_first(own, 1, at(own).next)};
  if (options_.batch_invariant) most = options_.chunk;  // parts begin at multiples of it
  Together group = read_together(own, most);
  if (group.count > 1 && !has_room_for(group)) group = {own, 1, most};
  while (group.count == 1 && !has_room_for(group))
    // Older texts go on; this one is begun again when they have ended.
    if (!suspend_youngest() || !at(own).busy) return {};
  const TokenBatch batch = next_tokens(group);
  for (int64_t i = 0; i < group.count; i++) {
    // A step beside the reading computed some token of an empty slot.
    const int64_t number = group.first + i, begin = batch.starts[size_t(i)];
    if (cache_->lengths()[size_t(number)] > begin) cache_->truncate(number, begin);
  }
  cache_->select(group.first, group.count);
  const Tensor hidden = model_->hidden(batch, cache_.get());  // [N, hidden_size]
  is_placed_ = false;
  Reading reading;
  std::vector<int64_t> last_rows;
  bool ends = false;
  for (int64_t i = 0; i < group.count; i++) {
    Slot& slot = at(group.first + i);
    const int64_t count = batch.offsets[size_t(i) + 1] - batch.offsets[size_t(i)];
    last_rows.push_back(batch.offsets[size_t(i) + 1] - 1);
    slot.cached += count;
    reading.parts.push_back({slot.text.id, count});
    // Later prompts can go on from here.
    if (!in_blocks_) cache_->mark(group.first + i);
    ends |= left(group.first + i) == 0;
  }
  if (!ends) return reading;
  const Tensor logits =
      model_->logits(index_select(hidden, 0, Tensor::from(last_rows, hidden.device())));
  if (cache_->keeps_states())
    for (int64_t i = 0; i < group.count; i++)
      if (left(group.first + i) == 0) at(group.first + i).next = clone(narrow(logits, 0, i, 1));
  reading.drawn = draw_first(group.first, group.count, logits);
  return reading;
}

/// Draws the first tokens of the texts of slots first ... first + count - 1 whose prompts are read,
/// from logits [count, V].
std::vector<Slots::Drawn> Slots::draw_first(int64_t first, int64_t count, const Tensor& logits) {
  for (int64_t i = first; i < first + count; i++) at(i).draws = left(i) == 0;
  is_placed_ = false;
  place();
  write_masks(first, count);
  SampledRows rows = sampled_.rows(first, count);
  rows.append(rows.draw(changed(first, count, logits)));
  return drawn(first, count, logits);
}

/// The tokens that slots first ... first + count - 1 drew from logits [count, V], empty if none of
/// their texts has scores.
std::vector<Slots::Drawn> Slots::drawn(int64_t first, int64_t count, const Tensor& logits) {
  const SampledRows rows = sampled_.rows(first, count);
  int64_t most = -1;
  for (int64_t i = first; i < first + count; i++)
    if (at(i).draws) most = std::max(most, at(i).text.logprobs.value_or(-1));
  std::vector<float> chosen, likeliest;
  std::vector<int64_t> likeliest_ids;
  if (most >= 0) {
    const Tensor scores = log_softmax(cast(logits, DType::kF32));
    most = std::min(most, scores.size(1));
    chosen = gather(scores, 1, rows.tokens).to_vector<float>();
    const ValuesIndices top = topk(scores, most);
    likeliest = top.values.to_vector<float>();
    likeliest_ids = top.indices.to_vector<int64_t>();
  }
  const std::vector<int64_t> ids = rows.sampled.tensor().to_vector<int64_t>();
  std::vector<Drawn> all;
  for (int64_t i = 0; i < count; i++) {
    Slot& slot = at(first + i);
    if (!slot.draws) continue;
    Drawn one{.text = slot.text.id,
              .id = ids[size_t(i)],
              .score = {},
              .error = std::exchange(slot.error, {})};
    add_token(slot, one);
    if (slot.text.logprobs) {
      ScoredToken score{{one.id, double(chosen[size_t(i)])}, {}};
      for (int64_t k = 0; k < std::min(most, *slot.text.logprobs); k++) {
        const size_t at = size_t(i * most + k);
        score.likeliest.push_back({likeliest_ids[at], double(likeliest[at])});
      }
      one.score = std::move(score);
    }
    all.push_back(std::move(one));
  }
  return all;
}

/// Makes a drawn token the last one of its text.
void Slots::add_token(Slot& slot, Drawn& one) {
  if (one.id >= 0 && slot.text.grammar) {
    (void)slot.text.grammar->accept(one.id);  // the mask had no other ids
    one.ends = slot.text.grammar->has_ended();
  }
  slot.cached = int64_t(slot.tokens.size());
  slot.tokens.push_back(std::max<int64_t>(one.id, 0));
  slot.drawn++;
}

/// Moves texts to the first slots if a step of fewer slots can extend them all then.
void Slots::pack() {
  int64_t texts = 0, rows = 1;
  for (const Slot& slot : slots_) texts += slot.draws;
  while (rows < texts) rows *= 2;
  for (int64_t from = rows, to = 0; from < size(); from++) {
    if (!at(from).draws) continue;
    while (to < rows && at(to).busy) to++;
    if (to >= rows) return;  // texts that are being read have the places
    cache_->fork(from, to);
    at(to) = at(from);
    if (in_blocks_)
      empty(from);
    else
      at(from).busy = at(from).draws = false;
    write_history(to);
    is_placed_ = false;
  }
}

bool Slots::can_use_graph(int64_t rows, const std::vector<int64_t>& ends) const {
  bool draws = true, reads_logits = false, has_earlier = false;
  for (int64_t i = 0; i < rows; i++) {
    draws = draws && at(i).draws;
    reads_logits = reads_logits || (at(i).draws && (at(i).text.logprobs || at(i).text.on_logits));
    has_earlier = has_earlier || ends[size_t(i)] > 1;
    if (ends[size_t(i)] > model_->positions()) return false;
  }
  // States of slots that stay as they are need a number of the host's.
  return uses_graphs_ && !reads_logits && has_earlier && (draws || !cache_->keeps_states());
}

/// The record of the steps that launch the same kernels as this one.
Slots::Captured& Slots::step_like_this(int64_t rows) {
  std::vector<int64_t> replaced = cache_->replacements();
  replaced.push_back(sampled_.replaced);
  if (replaced != replaced_) captured_.clear();
  replaced_ = std::move(replaced);
  const std::vector<int64_t> extents = cache_->extents();
  const auto known = std::find_if(captured_.begin(), captured_.end(), [&](const Captured& step) {
    return step.rows == rows && step.extents == extents;
  });
  if (known != captured_.end()) return *known;
  if (captured_.size() == kMaxCaptured)
    captured_.erase(
        std::min_element(captured_.begin(), captured_.end(),
                         [](const Captured& a, const Captured& b) { return a.used < b.used; }));
  return captured_.emplace_back(Captured{rows, extents, {}, 0});
}

/// Queues a step of the first `rows` slots by a graph, if a step like it ran before; draws, too.
bool Slots::runs_captured(int64_t rows, const std::vector<int64_t>& ends) {
  if (!can_use_graph(rows, ends)) return false;
  Captured& step = step_like_this(rows);
  const bool ran_before = step.used > 0;
  step.used = clock_;
  if (!ran_before) return false;
  if (!step.graph) {
    try {
      step.graph = model_->capture([&] {
        SampledRows own = sampled_.rows(0, rows);
        own.append(own.draw(queue_step(rows, ends)));
      });
      note("engine: a step of ", rows, " sequences is captured into a graph");
    } catch (const Error& e) {
      if (e.code() == ErrorCode::kOutOfMemory) throw;
      uses_graphs_ = false;  // nothing ran; the step can be queued as ever
      note("engine: steps are queued kernel by kernel: ", e.what());
      return false;
    }
  }
  step.graph->launch();
  graph_steps_++;
  return true;
}

/// Queues a step of the first `rows` slots, and returns the logits [rows, V].
Tensor Slots::queue_step(int64_t rows, const std::vector<int64_t>& ends) {
  const SampledRows own = sampled_.rows(0, rows);
  // Lengths within what the model takes are the positions' affair, which the device knows.
  const bool fits = std::all_of(ends.begin(), ends.end(),
                                [&](int64_t end) { return end <= model_->positions(); });
  return model_->logits(squeeze(
      model_->hidden(own.tokens, own.positions, cache_.get(), fits ? std::vector<int64_t>() : ends),
      1));
}

/// The logits [count, V] of slots first ... first + count - 1 as the texts' on_logits leave them.
Tensor Slots::changed(int64_t first, int64_t count, const Tensor& logits) {
  std::vector<Tensor> rows;
  bool changes = false;
  for (int64_t i = 0; i < count; i++) {
    Slot& slot = at(first + i);
    rows.push_back(narrow(logits, 0, i, 1));
    if (!slot.draws || !slot.text.on_logits) continue;
    try {
      Tensor own = slot.text.on_logits(rows.back());
      check(own.dtype() == logits.dtype(), ErrorCode::kDTypeMismatch, "on_logits", "expected ",
            dtype_name(logits.dtype()), ", got ", dtype_name(own.dtype()));
      check(own.shape() == rows.back().shape(), ErrorCode::kShapeMismatch, "on_logits",
            "expected logits ", rows.back().shape(), ", got ", own.shape());
      rows.back() = std::move(own);
      changes = true;
    } catch (...) {
      slot.error = std::current_exception();  // of this text alone
    }
  }
  return changes ? cat(rows, 0) : logits;
}

/// Notes the step of the first `rows` slots that was queued last.
Slots::Queued Slots::queued(int64_t rows) const {
  std::vector<std::optional<int64_t>> texts;
  for (int64_t i = 0; i < rows; i++)
    texts.push_back(at(i).draws ? std::optional(at(i).text.id) : std::nullopt);
  return {std::move(texts), clone(sampled_.rows(0, rows).sampled.tensor()),
          Event(Stream::of(sampled_.device()))};
}

/// Queues the step after a captured one whose tokens were not read, of the same texts: if all of
/// them go on as far as their lengths tell, and none needs its tokens for the next mask. One that
/// ends by its tokens has one more, which nobody reads.
bool Slots::queue_ahead() {
  const int64_t rows = int64_t(queued_->texts.size());
  std::vector<int64_t> starts, ends;
  for (int64_t i = 0; i < size(); i++) {
    const Slot& slot = at(i);
    const int64_t next = int64_t(slot.tokens.size()) + 1;
    if (slot.busy && !slot.draws) return false;  // its prompt is read first
    if (slot.draws && (i >= rows || slot.text.grammar || next >= slot.text.most)) return false;
    if (i >= rows) continue;
    ends.push_back(slot.draws   ? next
                   : in_blocks_ ? slot.cached
                                : std::max<int64_t>(slot.cached, 1));
    starts.push_back(slot.draws || !in_blocks_ ? ends.back() - 1 : ends.back());
  }
  if (!is_placed_ || !make_room(0, starts, ends)) return false;
  cache_->prepare(starts, ends);
  if (!runs_captured(rows, ends)) {
    SampledRows own = sampled_.rows(0, rows);
    own.append(own.draw(queue_step(rows, ends)));
  }
  return true;
}

/// The tokens of a step, of the texts that go on. Waits for it, but not for the one after it.
std::vector<Slots::Drawn> Slots::read_tokens(const Queued& step) {
  if (!reading_) reading_.emplace(sampled_.device());
  reading_->wait(step.done);
  const StreamScope scope(*reading_);
  const std::vector<int64_t> ids = step.ids.to_vector<int64_t>();
  std::vector<Drawn> all;
  for (size_t i = 0; i < ids.size(); i++) {
    Slot& slot = at(int64_t(i));
    if (!step.texts[i] || !slot.draws || slot.text.id != *step.texts[i]) continue;
    all.push_back(
        {.text = slot.text.id, .id = ids[i], .score = {}, .error = std::exchange(slot.error, {})});
    add_token(slot, all.back());
  }
  return all;
}

std::vector<Slots::Drawn> Slots::finish_step() {
  const NoGrad off;
  if (!queued_) return {};
  return read_tokens(*std::exchange(queued_, {}));
}

std::vector<Slots::Drawn> Slots::step() {
  const NoGrad off;
  clock_++;
  if (!queued_) {
    Extended now = extend();
    if (!now.is_captured) return std::move(now.drawn);
    queued_ = queued(now.rows);
  }
  const bool goes_on = queue_ahead();
  const Queued step = *std::exchange(queued_, {});
  if (goes_on) queued_ = queued(int64_t(step.texts.size())), steps_ahead_++;
  return read_tokens(step);
}

/// Queues a step of all texts whose prompts are read. Reads its tokens unless it is captured.
Slots::Extended Slots::extend() {
  int64_t rows = 0;
  std::vector<int64_t> starts, ends;
  do {
    if (!options_.batch_invariant) pack();
    int64_t last = -1;
    for (int64_t i = 0; i < size(); i++)
      if (at(i).draws) last = i;
    if (last < 0) return {};
    rows = 1;
    while (rows <= last) rows *= 2;  // few sizes of steps, which graphs can have captured
    rows = uses_graphs_ ? std::min(rows, size()) : last + 1;
    if (options_.batch_invariant) rows = size();
    starts.clear(), ends.clear();
    for (int64_t i = 0; i < rows; i++) {
      const Slot& slot = at(i);
      const int64_t idle = in_blocks_ ? slot.cached : std::max<int64_t>(slot.cached, 1);
      ends.push_back(slot.draws ? int64_t(slot.tokens.size()) : idle);
      starts.push_back(slot.draws || !in_blocks_ ? ends.back() - 1 : ends.back());
    }
  } while (!make_room(0, starts, ends) && suspend_youngest());
  place();
  write_masks(0, rows);
  cache_->prepare(starts, ends);
  if (runs_captured(rows, ends)) return {.rows = rows, .is_captured = true, .drawn = {}};
  const Tensor logits = queue_step(rows, ends);
  SampledRows own = sampled_.rows(0, rows);
  own.append(own.draw(changed(0, rows, logits)));
  return {.rows = rows, .is_captured = false, .drawn = drawn(0, rows, logits)};
}

void Slots::end(int64_t text) {
  const NoGrad off;
  const int64_t number = slot_of(text);
  Slot& slot = at(number);
  // The step that runs ahead reads the last token.
  if (queued_ && number < int64_t(queued_->texts.size()) && queued_->texts[size_t(number)] == text)
    slot.cached = int64_t(slot.tokens.size());
  if (in_blocks_) {
    keep(slot, number);
    empty(number);
  }
  slot.busy = slot.draws = false;
  slot.used = ++clock_;
  is_placed_ = false;
}

void Slots::clear(int64_t text) {
  const NoGrad off;
  const int64_t number = slot_of(text);
  cache_->clear(number);
  at(number) = Slot();
  at(number).used = ++clock_;
  is_placed_ = false;
}

int64_t Slots::slot_of(int64_t text) const {
  for (int64_t i = 0; i < size(); i++)
    if (at(i).busy && at(i).text.id == text) return i;
  fail(ErrorCode::kOutOfRange, "Slots", "no text ", text);
}

}  // namespace wick
