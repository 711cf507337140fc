#include "wick/models/model_cache.h"

#include <algorithm>
#include <type_traits>

#include "models/caches/block_table.h"
#include "models/caches/layer_cache.h"
#include "wick/ops/autograd.h"

namespace wick {
namespace {

/// The first number of a change; the others are the function's arguments.
enum Change : int64_t {
  kSelect,
  kPrepare,
  kTruncate,
  kClear,
  kMark,
  kFork,
  kHold,
  kRelease,
  kShare
};

}  // namespace

ModelCache::ModelCache(const CacheOptions& options, std::vector<std::unique_ptr<LayerCache>> layers,
                       std::shared_ptr<BlockTable> table)
    : options_(options),
      count_(options.sequences),
      layers_(std::move(layers)),
      table_(std::move(table)),
      lengths_(size_t(options.sequences), 0),
      new_tokens_(size_t(options.sequences), 0),
      marks_(size_t(options.sequences)) {}
ModelCache::~ModelCache() = default;

void ModelCache::observe(std::function<void(const std::vector<int64_t>&)> observer) {
  observer_ = std::move(observer);
}

/// Lists are the last arguments.
template <class... Numbers>
void ModelCache::tell(const Numbers&... numbers) const {
  if (!observer_) return;
  std::vector<int64_t> all;
  const auto add = [&](const auto& of) {
    if constexpr (std::is_convertible_v<decltype(of), int64_t>)
      all.push_back(of);
    else
      all.insert(all.end(), of.begin(), of.end());
  };
  (add(numbers), ...);
  observer_(all);
}

void ModelCache::repeat(const std::vector<int64_t>& change) {
  const auto require = [&](bool good) {
    check(good, ErrorCode::kInvalidArgument, "ModelCache", "expected a change of a cache, got ",
          change.size(), " other numbers");
  };
  require(!change.empty());
  // Of the other functions, the first two arguments.
  const int64_t a = change.size() > 1 ? change[1] : 0, b = change.size() > 2 ? change[2] : 0;
  const auto list = [&](size_t first, size_t end) {
    require(first <= end && end <= change.size());
    return std::vector<int64_t>(change.begin() + ptrdiff_t(first), change.begin() + ptrdiff_t(end));
  };
  switch (change[0]) {
    case kSelect:
      return select(a, b);
    case kPrepare: {
      const size_t middle = 1 + (change.size() - 1) / 2;
      return prepare(list(1, middle), list(middle, change.size()));
    }
    case kTruncate:
      truncate(a, b);
      return;
    case kClear:
      return clear(a);
    case kMark:
      return mark(a);
    case kFork:
      return fork(a, b);
    case kHold:
      hold(a, b);
      return;
    case kRelease:
      return release(list(1, change.size()));
    case kShare:  // length, sequence
      return share(list(3, change.size()), a, b);
    default:
      require(false);
  }
}

int64_t ModelCache::free_blocks() const { return table_ ? table_->free_blocks() : 0; }

bool ModelCache::has_blocks_alone() const {
  return table_ && std::all_of(layers_.begin(), layers_.end(),
                               [](const auto& layer) { return layer->has_blocks(); });
}

int64_t ModelCache::needed_blocks(const std::vector<int64_t>& starts,
                                  const std::vector<int64_t>& ends) const {
  return table_ ? table_->needed(first_, starts, ends) : 0;
}

std::vector<int64_t> ModelCache::hold(int64_t sequence, int64_t length) {
  require_sequence("hold", sequence);
  check(has_blocks_alone(), ErrorCode::kUnsupported, "hold", "expected blocks in all layers");
  const int64_t now = lengths_[size_t(sequence)];
  check(length >= 0 && length <= now, ErrorCode::kOutOfRange, "hold", "length ", length,
        " of a sequence of ", now, " tokens");
  tell(kHold, sequence, length);
  return table_->hold(sequence, length);
}

void ModelCache::release(const std::vector<int64_t>& held) {
  if (held.empty()) return;
  tell(kRelease, held);
  table_->release(held);
}

void ModelCache::share(const std::vector<int64_t>& held, int64_t length, int64_t sequence) {
  require_sequence("share", sequence);
  check(has_blocks_alone(), ErrorCode::kUnsupported, "share", "expected blocks in all layers");
  check(length >= 0 && length <= int64_t(held.size()) * block(), ErrorCode::kOutOfRange, "share",
        "length ", length, " of ", held.size(), " blocks of ", block());
  tell(kShare, length, sequence, held);
  table_->share(held, length, sequence);
  lengths_[size_t(sequence)] = length;
  marks_[size_t(sequence)] = {};
}

int64_t ModelCache::bytes() const {
  int64_t bytes = 0;
  for (const auto& layer : layers_) bytes += layer->bytes();
  return bytes;
}

std::vector<int64_t> ModelCache::extents() const {
  std::vector<int64_t> extents;
  for (const auto& layer : layers_) extents.push_back(layer->extent());
  return extents;
}

std::vector<int64_t> ModelCache::replacements() const {
  std::vector<int64_t> counts;
  for (const auto& layer : layers_) counts.push_back(layer->replaced());
  return counts;
}

void ModelCache::require_sequence(const char* op, int64_t sequence) const {
  check(sequence >= 0 && sequence < options_.sequences, ErrorCode::kOutOfRange, op, "sequence ",
        sequence, " of ", options_.sequences);
}

void ModelCache::select(int64_t first, int64_t count) {
  check(first >= 0 && count > 0 && first + count <= options_.sequences, ErrorCode::kOutOfRange,
        "select", count, " sequences from ", first, " of ", options_.sequences);
  if (first == first_ && count == count_ && selects_) return;
  tell(kSelect, first, count);
  selects_ = true, first_ = first, count_ = count;
  new_tokens_.assign(size_t(count), 0);
  for (const auto& layer : layers_) layer->select(first, count);
}

void ModelCache::prepare(const std::vector<int64_t>& starts, const std::vector<int64_t>& ends) {
  check(int64_t(starts.size()) == count_ && int64_t(ends.size()) == count_,
        ErrorCode::kShapeMismatch, "ModelCache", "expected ", sequences(), " sequences, got ",
        ends.size());
  for (const int64_t end : ends)
    check(end <= capacity(), ErrorCode::kOutOfRange, "ModelCache", "length ", end,
          " exceeds the capacity ", capacity());
  tell(kPrepare, starts, ends);
  const NoGrad off;
  if (table_) table_->prepare(first_, starts, ends);
  for (const auto& layer : layers_) layer->prepare(starts, ends);
  for (size_t b = 0; b < ends.size(); b++) {
    int64_t& now = lengths_[size_t(first_) + b];
    new_tokens_[b] = std::max<int64_t>(0, ends[b] - std::max(starts[b], now));
    now = std::max(now, ends[b]);
  }
}

int64_t ModelCache::truncate(int64_t sequence, int64_t length) {
  require_sequence("truncate", sequence);
  const int64_t now = lengths_[size_t(sequence)];
  check(length >= 0 && length <= now, ErrorCode::kOutOfRange, "truncate", "length ", length,
        " of a sequence of ", now, " tokens");
  tell(kTruncate, sequence, length);
  return cut(sequence, length);
}

int64_t ModelCache::cut(int64_t sequence, int64_t length) {
  int64_t& now = lengths_[size_t(sequence)];
  const NoGrad off;
  const bool can = std::all_of(layers_.begin(), layers_.end(), [&](const auto& layer) {
    return layer->can_truncate(sequence, length, now);
  });
  std::vector<Mark>& marks = marks_[size_t(sequence)];
  // Marks beyond the text would be of other tokens.
  while (!marks.empty() && marks.back().length > length) marks.pop_back();
  const Mark* const mark = can || marks.empty() ? nullptr : &marks.back();
  now = can ? length : mark ? mark->length : 0;
  for (size_t i = 0; i < layers_.size(); i++) {
    if (mark && !mark->layers[i].empty())
      layers_[i]->restore(sequence, now, mark->layers[i]);
    else
      layers_[i]->truncate(sequence, now);
  }
  if (table_) table_->truncate(sequence, now);
  return now;
}

void ModelCache::clear(int64_t sequence) {
  require_sequence("clear", sequence);
  tell(kClear, sequence);
  cut(sequence, 0);
  const NoGrad off;
  for (const auto& layer : layers_) layer->clear(sequence);
}

bool ModelCache::keeps_states() const {
  return std::any_of(layers_.begin(), layers_.end(),
                     [](const auto& layer) { return layer->keeps_state(); });
}

void ModelCache::mark(int64_t sequence) {
  require_sequence("mark", sequence);
  tell(kMark, sequence);
  const NoGrad off;
  Mark mark{.length = lengths_[size_t(sequence)], .layers = {}};
  for (const auto& layer : layers_) mark.layers.push_back(layer->snapshot(sequence, mark.length));
  std::vector<Mark>& marks = marks_[size_t(sequence)];
  while (!marks.empty() &&
         (marks.back().length >= mark.length || int64_t(marks.size()) >= options_.marks))
    marks.pop_back();
  marks.push_back(std::move(mark));
}

void ModelCache::fork(int64_t from, int64_t to) {
  require_sequence("fork", from);
  require_sequence("fork", to);
  if (from == to) return;
  tell(kFork, from, to);
  const NoGrad off;
  if (table_) table_->fork(from, to);
  for (const auto& layer : layers_) layer->fork(from, to);
  lengths_[size_t(to)] = lengths_[size_t(from)];
  marks_[size_t(to)] = marks_[size_t(from)];
}

}  // namespace wick
