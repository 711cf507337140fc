// Operands of block dtypes. A case has their bytes, as u8.
#pragma once
#include "../unit/exact_activations.h"
#include "reference/blocks.h"
#include "values.h"

namespace wick::conformance {

inline const std::vector<DType> kBlocks = [] {
  std::vector<DType> all;
  for (int d = 0; d < kNumDTypes; d++)
    if (is_block(DType(d))) all.push_back(DType(d));
  return all;
}();
/// Those that cast can make.
inline const std::vector<DType> kRoundedBlocks = {DType::kQ4_0,  DType::kQ4_1, DType::kQ5_0,
                                                  DType::kQ5_1,  DType::kQ8_0, DType::kMXFP4,
                                                  DType::kTQ1_0, DType::kTQ2_0};

/// A shape whose last dim counts blocks, in elements.
HostShape in_elements(DType block, HostShape shape);
/// The bytes of blocks, u8 [..., bytes]: any quants, and scales of random sizes below 1, or special ones.
Array block_bytes(DType block, const HostShape& in_blocks, Values values, Random& random);
/// The tensor that has these bytes, in memory of its own.
Tensor as_blocks(DType block, const Tensor& bytes);
/// x as the CPU's products with blocks round it by default (set_round_activations), a multiple of a step
/// for each 32 neighbours; a row's own values where one of them is too large or too small for that. A device
/// may then leave all rows as they are.
Array rounded_activations(const Array& x);
/// The bytes of a contiguous block tensor.
Tensor bytes_of_blocks(const Tensor& x);

}  // namespace wick::conformance
