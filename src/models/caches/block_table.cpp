#include "models/caches/block_table.h"
#include "scalar/round_up.h"

#include <algorithm>

#include "wick/base/error.h"
#include "wick/ops/autograd.h"
#include "wick/ops/create.h"
#include "wick/ops/inplace.h"

namespace wick {

BlockTable::BlockTable(int64_t sequences, int64_t capacity, int64_t block, int64_t blocks,
                       const Device& device)
    : block_(block), rows_(size_t(sequences)), uses_(size_t(blocks), 0) {
  for (int64_t i = blocks; i-- > 0;) free_.push_back(i);
  const Shape shape = {sequences, ceil_div(capacity, block)};
  table_ = Var(zeros(shape, {.dtype = DType::kI64, .device = device}), false);
}

void BlockTable::upload() {
  const Shape& shape = table_.shape();
  std::vector<int64_t> all(size_t(shape[0] * shape[1]), 0);
  for (size_t b = 0; b < rows_.size(); b++)
    std::copy(rows_[b].begin(), rows_[b].end(), all.begin() + int64_t(b) * shape[1]);
  copy_(table_, Tensor::from(all, shape, table_.tensor().device()));
}

void BlockTable::prepare(int64_t first, const std::vector<int64_t>& starts,
                         const std::vector<int64_t>& ends) {
  copies_.clear();
  std::vector<int64_t>* const rows = rows_.data() + first;
  int64_t needed = 0;
  for (size_t b = 0; b < ends.size(); b++) {
    const int64_t held = int64_t(rows[b].size()), end = ceil_div(ends[b], block_);
    needed += std::max<int64_t>(0, end - held);
    for (int64_t i = starts[b] / block_; i < std::min(held, end); i++)
      needed += uses_[size_t(rows[b][size_t(i)])] > 1;
  }
  check(needed <= free_blocks(), ErrorCode::kOutOfMemory, "ModelCache", "the texts need ", needed,
        " more blocks of ", block_, " positions, and ", free_blocks(), " of ", blocks(),
        " are free");
  if (needed == 0) return;
  const auto taken = [&] {
    const int64_t block = free_.back();
    free_.pop_back();
    uses_[size_t(block)] = 1;
    return block;
  };
  for (size_t b = 0; b < ends.size(); b++) {
    const int64_t end = ceil_div(ends[b], block_);
    for (int64_t i = starts[b] / block_; i < end; i++) {
      if (i >= int64_t(rows[b].size())) {
        rows[b].push_back(taken());
      } else if (int64_t& own = rows[b][size_t(i)]; uses_[size_t(own)] > 1) {
        const int64_t copy = taken();
        copies_.emplace_back(own, copy);
        release(own);
        own = copy;
      }
    }
  }
  upload();
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
  truncate(to, 0);
  rows_[size_t(to)] = rows_[size_t(from)];
  for (const int64_t block : rows_[size_t(to)]) uses_[size_t(block)]++;
  upload();
}

}  // namespace wick
