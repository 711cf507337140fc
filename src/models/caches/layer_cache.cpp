#include "models/caches/layer_cache.h"

#include <algorithm>

#include "core/graph.h"
#include "ops/elementwise/write.h"
#include "scalar/round_up.h"
#include "wick/abi/ops/quantize.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/inplace.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

TensorOptions ids_on(const Device& device) { return {.dtype = DType::kI64, .device = device}; }

int64_t size_of(const Tensor& x) { return x ? bytes_of(x.dtype(), x.numel()) : 0; }

CachedRows empty_keys(const KeysValuesSizes& s, const TensorOptions& options) {
  return CachedRows({s.sequences, s.heads, s.capacity, s.head_dim}, s.type, options);
}

/// Keys whose leading elements are the values.
AttentionCache::KeysValues with_shared_values(AttentionCache::KeysValues all, int64_t shared) {
  all.values = narrow(all.keys, 3, 0, shared);
  if (all.key_scales) all.value_scales = narrow(all.key_scales, 3, 0, shared / kScaleGroup);
  return all;
}

/// The first `count` rows of keys and values [B, G, S, ...], or of values that are the leading
/// elements of keys.
AttentionCache::KeysValues leading_rows(const CachedRows& keys, const CachedRows& values,
                                        int64_t count, int64_t shared, const Tensor& positions) {
  const auto leading = [&](const Tensor& x) { return x ? narrow(x, 2, 0, count) : Tensor(); };
  AttentionCache::KeysValues all{leading(keys.rows()), {}, positions, leading(keys.scales()), {}};
  if (shared == 0)
    all.values = leading(values.rows()), all.value_scales = leading(values.scales());
  else
    all = with_shared_values(std::move(all), shared);
  return all;
}

/// The part of a cache that attention over `length` positions reads: a power of two, so that few
/// parts differ.
int64_t bucket_of(int64_t length, const KeysValuesSizes& sizes) {
  if (sizes.spans_capacity) return sizes.capacity;
  int64_t bucket = 128;
  while (bucket < length) bucket *= 2;
  return std::min(bucket, sizes.capacity);
}

/// The index by which scatter writes a row [1, ...] at `sequence`.
Tensor index_of_row(int64_t sequence, const Tensor& row) {
  Shape ones = row.shape();
  for (int d = 0; d < int(ones.size()); d++) ones[d] = 1;
  const Tensor at = full(ones, double(sequence), ids_on(row.device()));
  return broadcast_to(at, row.shape()).contiguous();
}
/// Replaces row `sequence` of x [B, ...].
void set_row(const Var& x, int64_t sequence, const Tensor& row) {
  write_into("cache", x.rows(sequence, 1), row);
}
void clear_row(const CachedRows& rows, int64_t sequence) {
  for (const Var& x : rows.parts()) {
    Var row = x.rows(sequence, 1);
    fill_(row, 0);
  }
}
Tensor with_row(const Tensor& x, int64_t sequence, const Tensor& row) {
  return scatter(x, 0, index_of_row(sequence, row), row);
}
Tensor row_of(const Tensor& x, int64_t sequence) { return narrow(x, 0, sequence, 1); }

/// Writes rows [B, G, T, D] at indices `at` [B, T] of dim 2.
void write_rows(CachedRows& cache, const Tensor& at, const Tensor& rows) {
  // An index for each row that is written: keys and values then take a launch each.
  const int64_t sequences = at.size(0), heads = cache.shape()[1], tokens = at.size(1);
  Tensor index = reshape(at, {sequences, 1, tokens, 1});
  if (sequences > 1) index = broadcast_to(index, {sequences, heads, tokens, 1}).contiguous();
  cache.write(rows, [&](Var& to, const Tensor& x) { scatter_(to, 2, index, x); });
}

}  // namespace

AttentionCache::KeysValues AttentionCache::KeysValues::to(const Device& device) const {
  const auto moved = [&](const Tensor& x) { return x ? x.to(device) : x; };
  return {moved(keys),         moved(values), moved(positions), moved(key_scales),
          moved(value_scales), moved(blocks), block_size};
}

int64_t bytes_of(const KeysValuesSizes& sizes, DType dtype, const CacheOptions& options) {
  int64_t rows = sizes.sequences * sizes.capacity;
  if (options.block > 0) {
    const int64_t blocks = options.blocks > 0
                               ? options.blocks
                               : sizes.sequences * ceil_div(sizes.capacity, options.block);
    rows = (blocks + 1) * options.block;
  }
  const int64_t tensors = sizes.shared_values > 0 ? 1 : 2;
  return tensors * rows * sizes.heads * stored_bytes(sizes.type, dtype, sizes.head_dim);
}

// ---- rows

RowsCache::RowsCache(const KeysValuesSizes& sizes, const TensorOptions& options)
    : sizes_(sizes),
      bucket_(bucket_of(0, sizes)),
      keys_(empty_keys(sizes, options)),
      values_(sizes.shared_values > 0 ? CachedRows() : empty_keys(sizes, options)) {}

int64_t RowsCache::bytes() const { return keys_.bytes() + values_.bytes(); }

void RowsCache::select(int64_t first, int64_t count) {
  keys_.select(first, count), values_.select(first, count);
}

void RowsCache::prepare(const std::vector<int64_t>& starts, const std::vector<int64_t>& ends) {
  note_starts(starts);
  bucket_ = bucket_of(ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end()), sizes_);
}

void RowsCache::fork(int64_t from, int64_t to) {
  for (const CachedRows* of : {&keys_, &values_})
    for (const Var& x : of->parts()) set_row(x, to, row_of(x, from));
}

void RowsCache::clear(int64_t sequence) {
  for (const CachedRows* of : {&keys_, &values_}) clear_row(*of, sequence);
}

AttentionCache::KeysValues RowsCache::write(const Tensor& keys, const Tensor& values,
                                            const Tensor& positions, const Tensor& visible) {
  write_rows(keys_, positions, keys);
  if (sizes_.shared_values == 0) write_rows(values_, positions, values);
  return written(visible);
}

AttentionCache::Rows RowsCache::rows_at(const Tensor& positions) {
  return sizes_.shared_values > 0 ? Rows{}
                                  : Rows{keys_.rows_var(), values_.rows_var(), positions,
                                         keys_.scales_var(), values_.scales_var()};
}

AttentionCache::KeysValues RowsCache::written(const Tensor& visible) const {
  return leading_rows(keys_, values_, bucket_, sizes_.shared_values, visible);
}

// ---- blocks

BlocksCache::BlocksCache(const KeysValuesSizes& sizes, std::shared_ptr<BlockTable> table,
                         const TensorOptions& options)
    : sizes_(sizes), table_(std::move(table)), count_(sizes.sequences) {
  const Shape shape = {1, sizes.heads, table_->pool_rows(), sizes.head_dim};
  keys_ = CachedRows(shape, sizes.type, options);
  if (sizes.shared_values == 0) values_ = CachedRows(shape, sizes.type, options);
}

int64_t BlocksCache::bytes() const { return keys_.bytes() + values_.bytes(); }

void BlocksCache::prepare(const std::vector<int64_t>& starts, const std::vector<int64_t>& ends) {
  note_starts(starts);
  const int64_t longest = ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end()),
                block = table_->block();
  bucket_ = ceil_div(bucket_of(longest, sizes_), block);
  if (table_->copies().empty()) return;
  std::vector<int64_t> from, to;
  for (const auto& [source, target] : table_->copies())
    for (int64_t i = 0; i < block; i++) {
      from.push_back(source * block + i);
      to.push_back(target * block + i);
    }
  const Device device = keys_.device();
  const Tensor at = Tensor::from(to, {1, 1, int64_t(to.size()), 1}, device);
  for (const CachedRows* of : {&keys_, &values_})
    for (Var& x : of->parts())
      scatter_(x, 2, at, index_select(x.tensor(), 2, Tensor::from(from, device)));
}

void BlocksCache::clear(int64_t) {  // the blocks that were its own may be anyone's now
  for (const CachedRows* of : {&keys_, &values_})
    for (Var& x : of->parts()) copy_(x, where(isfinite(x.tensor()), x.tensor(), zeros_like(x)));
}

AttentionCache::KeysValues BlocksCache::write(const Tensor& keys, const Tensor& values,
                                              const Tensor& positions, const Tensor& visible) {
  const int64_t tokens = positions.numel();
  const Tensor at = reshape(table_->rows(first_, positions), {1, tokens});
  const auto joined = [&](const Tensor& x) {  // [B, G, T, D] as [1, G, B T, D]
    return reshape(transpose(x, 0, 1), {1, sizes_.heads, tokens, x.size(3)});
  };
  write_rows(keys_, at, joined(keys));
  if (sizes_.shared_values == 0) write_rows(values_, at, joined(values));
  return written(visible);
}

AttentionCache::Rows BlocksCache::rows_at(const Tensor& positions) {
  return sizes_.shared_values > 0
             ? Rows{}
             : Rows{keys_.rows_var(), values_.rows_var(), table_->rows(first_, positions),
                    keys_.scales_var(), values_.scales_var()};
}

AttentionCache::KeysValues BlocksCache::written(const Tensor& visible) const {
  KeysValues all = leading_rows(keys_, values_, table_->pool_rows(), sizes_.shared_values, visible);
  const Tensor& table = table_->tensor(keys_.device());
  all.blocks = narrow(narrow(table, 0, first_, count_), 1, 0, bucket_);
  all.block_size = table_->block();
  return all;
}

// ---- windows

WindowCache::WindowCache(const KeysValuesSizes& sizes, int64_t window, const TensorOptions& options)
    : sizes_(sizes),
      reach_(window - 1),
      bucket_(bucket_of(0, sizes)),
      bases_(size_t(sizes.sequences), 0),
      all_bases_(zeros({sizes.sequences, 1}, ids_on(options.device)), false),
      base_(all_bases_),
      keys_(empty_keys(sizes, options)),
      values_(empty_keys(sizes, options)) {}

int64_t WindowCache::bytes() const { return keys_.bytes() + values_.bytes(); }

std::vector<Var> WindowCache::parts() const {
  std::vector<Var> parts = keys_.parts();
  for (const Var& x : values_.parts()) parts.push_back(x);
  return parts;
}

void WindowCache::set_bases() {
  copy_(all_bases_, Tensor::from(bases_, {sizes_.sequences, 1}, base_.tensor().device()));
}

void WindowCache::select(int64_t first, int64_t count) {
  first_ = first;
  keys_.select(first, count), values_.select(first, count);
  base_ = all_bases_.rows(first, count);
}

void WindowCache::prepare(const std::vector<int64_t>& starts, const std::vector<int64_t>& ends) {
  note_starts(starts);
  int64_t* const bases = bases_.data() + first_;
  std::vector<int64_t> shifts(ends.size(), 0);
  bool moves = false;
  for (size_t b = 0; b < ends.size(); b++) {
    if (ends[b] - bases[b] <= sizes_.capacity) continue;
    // Some more are kept, so that a few tokens can be forgotten.
    shifts[b] = std::max<int64_t>(0, starts[b] - reach_ - kSlack / 2) - bases[b];
    moves = true;
  }
  int64_t longest = 0;
  for (size_t b = 0; b < ends.size(); b++)
    longest = std::max(longest, ends[b] - bases[b] - shifts[b]);
  bucket_ = bucket_of(longest, sizes_);
  if (!moves) return;
  // Index i takes the rows at i + shift; the last ones, which are not written yet, take any.
  std::vector<int64_t> from;
  for (size_t b = 0; b < shifts.size(); b++) {
    bases[b] += shifts[b];
    for (int64_t i = 0; i < sizes_.capacity; i++)
      from.push_back(std::min(i + shifts[b], sizes_.capacity - 1));
  }
  const Tensor index =
      Tensor::from(from, {int64_t(ends.size()), 1, sizes_.capacity, 1}, keys_.device());
  for (CachedRows* of : {&keys_, &values_})
    for (Var* x : {of->rows_var(), of->scales_var()})
      if (x) copy_(*x, gather(*x, 2, broadcast_to(index, x->shape())));
  set_bases();
}

bool WindowCache::can_truncate(int64_t sequence, int64_t length, int64_t) const {
  return bases_[size_t(sequence)] <= std::max<int64_t>(0, length - reach_);
}

void WindowCache::truncate(int64_t sequence, int64_t length) {
  if (length > 0 || bases_[size_t(sequence)] == 0) return;
  bases_[size_t(sequence)] = 0;
  set_bases();
}

std::vector<Tensor> WindowCache::snapshot(int64_t sequence, int64_t length) const {
  const int64_t base = bases_[size_t(sequence)],
                begin = std::max<int64_t>(0, length - reach_) - base;
  std::vector<Tensor> kept;
  for (const Var& x : parts())
    kept.push_back(narrow(row_of(x, sequence), 2, begin, length - base - begin).contiguous());
  return kept;
}

void WindowCache::restore(int64_t sequence, int64_t length, const std::vector<Tensor>& snapshot) {
  const int64_t base = std::max<int64_t>(0, length - reach_);
  bases_[size_t(sequence)] = base;
  set_bases();
  std::vector<Var> caches = parts();
  for (size_t i = 0; i < caches.size(); i++) {
    Tensor row = row_of(caches[i], sequence);
    const int64_t count = snapshot[i].size(2);
    if (count == 0) continue;
    row = cat({snapshot[i], narrow(row, 2, count, sizes_.capacity - count)}, 2);
    set_row(caches[i], sequence, row);
  }
}

void WindowCache::fork(int64_t from, int64_t to) {
  for (const Var& x : parts()) set_row(x, to, row_of(x, from));
  bases_[size_t(to)] = bases_[size_t(from)];
  set_bases();
}

void WindowCache::clear(int64_t sequence) {
  for (const CachedRows* of : {&keys_, &values_}) clear_row(*of, sequence);
}

AttentionCache::KeysValues WindowCache::write(const Tensor& keys, const Tensor& values,
                                              const Tensor& positions, const Tensor& visible) {
  const Tensor at = positions - base_;
  write_rows(keys_, at, keys);
  write_rows(values_, at, values);
  return written(visible);
}

AttentionCache::Rows WindowCache::rows_at(const Tensor& positions) {
  return {keys_.rows_var(), values_.rows_var(), positions - base_, keys_.scales_var(),
          values_.scales_var()};
}

AttentionCache::KeysValues WindowCache::written(const Tensor& visible) const {
  return leading_rows(keys_, values_, bucket_, 0, visible - base_);
}

// ---- states

StateCache::StateCache(int64_t sequences, const std::vector<Kind>& kinds, const Device& device) {
  for (const Kind& kind : kinds) {
    Shape shape = kind.shape;
    shape.insert(0, sequences);
    states_.push_back(zeros(shape, {.dtype = kind.dtype, .device = device}));
  }
  selected_ = states_;
}

void StateCache::select(int64_t first, int64_t count) {
  stays_ = true;
  for (size_t i = 0; i < states_.size(); i++) selected_[i] = narrow(states_[i], 0, first, count);
}

void StateCache::set_state(int64_t i, const Tensor& state) {
  const Tensor& now = selected_[size_t(i)];
  if (!stays_ && !is_capturing(now.device()))
    replace(i, state.contiguous());
  else if (state.data() != now.data())
    write_into("set_state", now, state);
}

void StateCache::replace(int64_t i, Tensor state) {
  states_[size_t(i)] = selected_[size_t(i)] = std::move(state);
  replaced_++;
}

/// Sets row `sequence` of state i. Others may hold a state that the cache was given.
void StateCache::set_row(int64_t i, int64_t sequence, const Tensor& row) {
  const Tensor& all = states_[size_t(i)];
  if (stays_)
    write_into("StateCache", row_of(all, sequence), row);
  else
    replace(i, with_row(all, sequence, row));
}

int64_t StateCache::bytes() const {
  int64_t bytes = 0;
  for (const Tensor& state : states_) bytes += size_of(state);
  return bytes;
}

void StateCache::truncate(int64_t sequence, int64_t length) {
  if (length > 0) return;
  for (size_t i = 0; i < states_.size(); i++)
    set_row(int64_t(i), sequence, zeros_like(row_of(states_[i], sequence)));  // it may hold NaN
}

std::vector<Tensor> StateCache::snapshot(int64_t sequence, int64_t) const {
  std::vector<Tensor> copies;
  for (const Tensor& state : states_) copies.push_back(clone(row_of(state, sequence)));
  return copies;
}

void StateCache::restore(int64_t sequence, int64_t, const std::vector<Tensor>& snapshot) {
  for (size_t i = 0; i < states_.size(); i++) set_row(int64_t(i), sequence, snapshot[i]);
}

void StateCache::fork(int64_t from, int64_t to) {
  for (size_t i = 0; i < states_.size(); i++) set_row(int64_t(i), to, row_of(states_[i], from));
}

}  // namespace wick
