// Tensors of a block dtype: q8_0, whose blocks are 32 elements in 34 bytes.
#include <algorithm>

#include "../expect.h"
#include "wick/core/tensor.h"
#include "wick/ops/arrange.h"
#include "wick/ops/create.h"
#include "wick/ops/indexing.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

constexpr int64_t kBlock = 32, kBytes = 34;

/// Bytes that differ from block to block and within one.
std::vector<uint8_t> counting(int64_t blocks) {
  std::vector<uint8_t> bytes(size_t(blocks * kBytes));
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = uint8_t(i * 7 + i / 251);
  return bytes;
}

/// A tensor of q8_0, its shape counted in blocks: the last dim is 32 times what is said.
Tensor blocks_of(Shape shape) {
  const std::vector<uint8_t> bytes = counting(numel(shape));
  shape[shape.size() - 1] *= kBlock;
  return Tensor::from_bytes(bytes.data(), DType::kQ8_0, shape);
}

std::vector<uint8_t> bytes_in(const Tensor& x) {
  std::vector<uint8_t> bytes(size_t(bytes_of(x.dtype(), x.numel())));
  x.read(bytes.data());
  return bytes;
}

/// The blocks of these numbers, as counting made them.
std::vector<uint8_t> picked(const std::vector<int64_t>& blocks) {
  const std::vector<uint8_t> all =
      counting(blocks.empty() ? 0 : *std::max_element(blocks.begin(), blocks.end()) + 1);
  std::vector<uint8_t> bytes;
  for (const int64_t b : blocks)
    bytes.insert(bytes.end(), all.begin() + b * kBytes, all.begin() + (b + 1) * kBytes);
  return bytes;
}

TEST(Blocks, ATensorHasTheBytesItIsMadeFrom) {
  const Tensor x = blocks_of({3, 2});
  EXPECT_EQ(x.shape(), (Shape{3, 64}));
  EXPECT_EQ(x.strides(), (Dims{64, 1}));
  EXPECT_EQ(x.numel(), 192);
  EXPECT_EQ(x.storage()->bytes(), 6 * kBytes);
  EXPECT_EQ(bytes_in(x), counting(6));
  EXPECT_EQ(describe(x), "q8_0[3, 64]");
}

TEST(Blocks, AdoptedMemoryIsUsedAsItLies) {
  std::vector<uint8_t> bytes = counting(2);
  const Tensor x = Tensor::adopt(bytes.data(), DType::kQ8_0, {2, 32}, nullptr);
  EXPECT_EQ(x.storage()->bytes(), 2 * kBytes);
  EXPECT_EQ(narrow(x, 0, 1, 1).data(), bytes.data() + kBytes);
}

TEST(Blocks, ShapesOfPartsOfBlocksAreRefused) {
  for (const Shape& shape : {Shape{}, Shape{31}, Shape{64, 1}, Shape{32, 33}, Shape{0, 5}})
    EXPECT_ERROR(Tensor::empty(shape, {.dtype = DType::kQ8_0}), kInvalidArgument,
                 "tensor: a tensor of q8_0 needs whole blocks of 32 contiguous elements");
  EXPECT_ERROR(Tensor::empty({int64_t(1) << 59, 32}, {.dtype = DType::kQ8_0}), kInvalidArgument,
               "more than 2^63 bytes");
  EXPECT_EQ(Tensor::empty({0, 64}, {.dtype = DType::kQ8_0}).storage()->bytes(), 0);
  EXPECT_EQ(Tensor::empty({3, 0}, {.dtype = DType::kQ8_0}).storage()->bytes(), 0);
}

TEST(Blocks, ViewsOfWholeRowsLookIntoTheSameMemory) {
  const Tensor x = blocks_of({4, 3, 2});
  const auto* begin = static_cast<const char*>(x.data());
  const Tensor rows = narrow(x, 1, 1, 2), one = select(select(x, 0, 2), 0, 1),
               transposed = transpose(x, 0, 1), wide = broadcast_to(one, {5, 64});
  EXPECT_EQ(rows.data(), begin + 2 * kBytes);
  EXPECT_EQ(one.data(), begin + 14 * kBytes);
  EXPECT_EQ(bytes_in(one), picked({14, 15}));
  EXPECT_EQ(bytes_in(narrow(rows, 0, 3, 1)), picked({20, 21, 22, 23}));
  EXPECT_EQ(bytes_in(narrow(transposed, 0, 2, 1)), picked({4, 5, 10, 11, 16, 17, 22, 23}));
  EXPECT_EQ(bytes_in(narrow(wide, 0, 0, 2)), picked({14, 15, 14, 15}));
  EXPECT_EQ(bytes_in(x.index({Slice{1, 4, 2}, 0})), picked({6, 7, 18, 19}));
  EXPECT_EQ(bytes_in(unsqueeze(rows, 0)), bytes_in(rows));
  EXPECT_EQ(unbind(x, 0).size(), 4u);
  EXPECT_EQ(bytes_in(split(x, 3, 0)[1]), picked({18, 19, 20, 21, 22, 23}));
}

TEST(Blocks, TheLastDimIsCutBetweenBlocksOnly) {
  const Tensor x = blocks_of({2, 3});
  EXPECT_EQ(bytes_in(narrow(x, 1, 32, 64)), picked({1, 2, 4, 5}));
  EXPECT_EQ(bytes_in(narrow(x, 1, 64, 0)), picked({}));
  EXPECT_EQ(bytes_in(x.index({1, Slice{64, {}}})), picked({5}));
  EXPECT_ERROR(narrow(x, 1, 16, 32), kInvalidArgument,
               "narrow: a tensor of q8_0 needs whole blocks of 32 contiguous elements in its last "
               "dim, got shape [2, 32], strides [96, 1] and offset 16");
  EXPECT_ERROR(narrow(x, 1, 0, 31), kInvalidArgument, "narrow: a tensor of q8_0");
  EXPECT_ERROR(select(x, 1, 0), kInvalidArgument, "narrow: a tensor of q8_0");
  EXPECT_ERROR(x.index({0, Slice{0, 64, 2}}), kInvalidArgument, "index: a tensor of q8_0");
  EXPECT_ERROR(x.index({Ellipsis{}, 5}), kInvalidArgument, "a tensor of q8_0");
}

TEST(Blocks, TheLastDimStaysTheLast) {
  const Tensor x = blocks_of({2, 32, 1});
  EXPECT_EQ(permute(x, {1, 0, 2}).shape(), (Shape{32, 2, 32}));
  EXPECT_ERROR(transpose(x, 1, 2), kInvalidArgument, "transpose: a tensor of q8_0");
  EXPECT_ERROR(movedim(x, 2, 0), kInvalidArgument, "movedim: a tensor of q8_0");
  EXPECT_ERROR(unsqueeze(x, -1), kInvalidArgument, "reshape: a tensor of q8_0");
}

TEST(Blocks, ReshapedRowsAreOfWholeBlocks) {
  const Tensor x = blocks_of({4, 2});
  EXPECT_EQ(bytes_in(reshape(x, {2, 2, 64})), counting(8));
  EXPECT_EQ(bytes_in(reshape(x, {2, 128})), counting(8));
  EXPECT_EQ(bytes_in(reshape(x, {-1, 32})), counting(8));
  EXPECT_EQ(bytes_in(flatten(x)), counting(8));
  const Tensor some = narrow(reshape(x, {2, 2, 64}), 1, 1, 1);
  EXPECT_EQ(bytes_in(squeeze(some, 1)), picked({2, 3, 6, 7}));
  EXPECT_EQ(bytes_in(reshape(some, {128})), picked({2, 3, 6, 7}));  // copies
  EXPECT_ERROR(reshape(x, {16, 16}), kInvalidArgument, "reshape: a tensor of q8_0");
  EXPECT_ERROR(reshape(some, {8, 16}), kInvalidArgument, "reshape: a tensor of q8_0");
  EXPECT_ERROR(reshape(x, {256, 1}), kInvalidArgument, "reshape: a tensor of q8_0");
}

TEST(Blocks, ACopyOfAViewHasItsRowsSideBySide) {
  const Tensor rows = narrow(blocks_of({3, 4, 1}), 1, 1, 2), copy = rows.contiguous();
  EXPECT_FALSE(rows.is_contiguous());
  EXPECT_TRUE(copy.is_contiguous());
  EXPECT_EQ(copy.storage()->bytes(), 6 * kBytes);
  EXPECT_EQ(bytes_in(copy), picked({1, 2, 5, 6, 9, 10}));
  const Tensor joined = cat({rows, rows}, 2);
  EXPECT_EQ(joined.shape(), (Shape{3, 2, 64}));
  EXPECT_EQ(bytes_in(joined), picked({1, 1, 2, 2, 5, 5, 6, 6, 9, 9, 10, 10}));
  EXPECT_EQ(bytes_in(cat({rows, rows}, 0)), picked({1, 2, 5, 6, 9, 10, 1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(bytes_in(stack({copy, copy}, 1)), picked({1, 2, 1, 2, 5, 6, 5, 6, 9, 10, 9, 10}));
}

TEST(Blocks, DimsBeyondAViewsRankAreCopiedToo) {
  Shape shape(10, 2);
  const Tensor x = blocks_of(shape);
  const Tensor permuted = permute(x, {8, 7, 6, 5, 4, 3, 2, 1, 0, 9});
  const Tensor back = permute(permuted.contiguous(), {8, 7, 6, 5, 4, 3, 2, 1, 0, 9});
  EXPECT_NE(bytes_in(permuted), counting(1024));
  EXPECT_EQ(bytes_in(back), counting(1024));
}

TEST(Blocks, MoveToTheEmulatorAndBack) {
  const Device device = Device::emulated(32);
  const Tensor x = blocks_of({3, 2}), there = x.to(device);
  EXPECT_EQ(describe(there), "q8_0[3, 64] emu:32");
  EXPECT_EQ(bytes_in(there), counting(6));
  EXPECT_EQ(bytes_in(there.to(Device::cpu())), counting(6));
  EXPECT_EQ(bytes_in(there.to(Device::emulated(64))), counting(6));
}

TEST(Blocks, AViewMovesOnlyItsOwnRows) {
  const Device device = Device::emulated(32);
  const Tensor x = blocks_of({3, 4, 1}), there = x.to(device);
  const Tensor up = narrow(x, 1, 1, 2).to(device), down = narrow(there, 1, 1, 2).to(Device::cpu());
  for (const Tensor& moved : {up, down}) {
    EXPECT_EQ(moved.shape(), (Shape{3, 2, 32}));
    EXPECT_EQ(moved.storage()->bytes(), 6 * kBytes);
    EXPECT_EQ(bytes_in(moved), picked({1, 2, 5, 6, 9, 10}));
  }
  EXPECT_EQ(bytes_in(transpose(there, 0, 1).contiguous()),
            picked({0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}
}  // namespace
}  // namespace wick
