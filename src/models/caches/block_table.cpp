#include "models/caches/block_table.h"
#include "scalar/round_up.h"

#include <algorithm>

#include "wick/base/error.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/inplace.h"
#include "wick/ops/shape.h"

namespace wick {

BlockTable::BlockTable(int64_t sequences, int64_t capacity, int64_t block, int64_t blocks,
                       const std::vector<Device>& devices)
    : block_(block),
      rows_(size_t(sequences)),
      uses_(size_t(blocks) + 1, 0),
      uploaded_(size_t(sequences)) {
  for (int64_t i = blocks; i > 0; i--) free_.push_back(i);
  const Shape shape = {sequences, ceil_div(capacity, block)};
  for (const Device& device : devices)
    tables_.push_back({Var(zeros(shape, {.dtype = DType::kI64, .device = device}), false)});
}

BlockTable::Copy& BlockTable::copy_on(const Device& device) const {
  for (Copy& copy : tables_)
    if (copy.table.tensor().device() == device) return copy;
  fail(ErrorCode::kDeviceMismatch, "BlockTable", "no layer of the cache is on ", device);
}

/// Writes the rows of sequences first ... to the devices.
void BlockTable::upload(int64_t first, const std::vector<std::vector<int64_t>>& rows) {
  int64_t begin = -1, end = 0;  // of the rows that differ
  for (int64_t b = 0; b < int64_t(rows.size()); b++) {
    std::vector<int64_t>& there = uploaded_[size_t(first + b)];
    if (there == rows[size_t(b)]) continue;
    there = rows[size_t(b)];
    if (begin < 0) begin = b;
    end = b + 1;
  }
  if (begin < 0) return;
  const int64_t width = tables_[0].table.shape()[1];
  std::vector<int64_t> all(size_t((end - begin) * width), 0);
  for (int64_t b = begin; b < end; b++)
    std::copy(rows[size_t(b)].begin(), rows[size_t(b)].end(), all.begin() + (b - begin) * width);
  for (const Copy& copy : tables_) {
    Var changed = copy.table.rows(first + begin, end - begin);
    copy_(changed, Tensor::from(all, changed.shape(), copy.table.tensor().device()));
  }
}

Tensor BlockTable::rows(int64_t first, const Tensor& positions) const {
  Copy& here = copy_on(positions.device());
  const bool is_found = here.found && here.found_first == first &&
                        here.positions.data() == positions.data() &&
                        here.positions.shape() == positions.shape();
  if (is_found) return here.found;
  const Tensor table = narrow(here.table.tensor(), 0, first, positions.size(0));
  const Tensor blocks = gather(table, 1, floor_divide(positions, block_));
  here.found = blocks * block_ + remainder(positions, block_);
  here.positions = positions, here.found_first = first;
  return here.found;
}

int64_t BlockTable::needed(int64_t first, const std::vector<int64_t>& starts,
                           const std::vector<int64_t>& ends) const {
  int64_t needed = 0;
  for (size_t b = 0; b < ends.size(); b++) {
    if (starts[b] >= ends[b]) continue;
    const std::vector<int64_t>& row = rows_[size_t(first) + b];
    const int64_t held = int64_t(row.size()), end = ceil_div(ends[b], block_);
    needed += std::max<int64_t>(0, end - held);
    for (int64_t i = starts[b] / block_; i < std::min(held, end); i++)
      needed += uses_[size_t(row[size_t(i)])] > 1;
  }
  return needed;
}

void BlockTable::prepare(int64_t first, const std::vector<int64_t>& starts,
                         const std::vector<int64_t>& ends) {
  copies_.clear();
  for (Copy& copy : tables_) copy.positions = copy.found = {};
  const int64_t missing = needed(first, starts, ends);
  check(missing <= free_blocks(), ErrorCode::kOutOfMemory, "ModelCache", "the texts need ", missing,
        " more blocks of ", block_, " positions, and ", free_blocks(), " of ", blocks(),
        " are free");
  const auto taken = [&] {
    const int64_t block = free_.back();
    free_.pop_back();
    uses_[size_t(block)] = 1;
    return block;
  };
  std::vector<std::vector<int64_t>> of_call(ends.size());
  for (size_t b = 0; b < ends.size(); b++) {
    if (starts[b] >= ends[b]) continue;
    std::vector<int64_t>& row = rows_[size_t(first) + b];
    const int64_t end = ceil_div(ends[b], block_);
    for (int64_t i = starts[b] / block_; i < end; i++) {
      if (i >= int64_t(row.size())) {
        row.push_back(taken());
      } else if (int64_t& own = row[size_t(i)]; uses_[size_t(own)] > 1) {
        const int64_t copy = taken();
        copies_.emplace_back(own, copy);
        release(own);
        own = copy;
      }
    }
    of_call[b] = row;
  }
  upload(first, of_call);
}

void BlockTable::release(int64_t block) {
  if (--uses_[size_t(block)] == 0) free_.push_back(block);
}

void BlockTable::truncate(int64_t sequence, int64_t length) {
  std::vector<int64_t>& row = rows_[size_t(sequence)];
  const size_t kept = size_t(ceil_div(length, block_));
  while (row.size() > kept) {
    release(row.back());
    row.pop_back();
  }
}

void BlockTable::fork(int64_t from, int64_t to) {
  if (from != to) share(rows_[size_t(from)], int64_t(rows_[size_t(from)].size()) * block_, to);
}

std::vector<int64_t> BlockTable::hold(int64_t sequence, int64_t length) {
  std::vector<int64_t> held = rows_[size_t(sequence)];
  held.resize(size_t(ceil_div(length, block_)));
  for (const int64_t block : held) uses_[size_t(block)]++;
  return held;
}

void BlockTable::release(const std::vector<int64_t>& held) {
  for (const int64_t block : held) release(block);
}

void BlockTable::share(const std::vector<int64_t>& held, int64_t length, int64_t sequence) {
  const std::vector<int64_t> shared(held.begin(), held.begin() + ceil_div(length, block_));
  for (const int64_t block : shared) uses_[size_t(block)]++;  // first: it may have them already
  truncate(sequence, 0);
  rows_[size_t(sequence)] = shared;
}

}  // namespace wick
