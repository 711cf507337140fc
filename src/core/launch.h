// From tensors to a backend's kernel: views, collapsed dims, the kernel that accepts, scratch.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "core/device_state.h"
#include "wick/core/tensor.h"

namespace wick {

/// An operand of an op as the core sees it: any rank, its memory on the device.
struct Operand {
  void* data;
  DType dtype;
  Dims strides;  // in elements, as many as the op's shape has dims
};
/// The tensor read through its own strides, or those of a shape that it broadcasts to.
Operand operand(const Tensor& x);
Operand operand(const Tensor& x, const Shape& broadcast);

/// The op's own attribute struct, which goes with the operands.
struct Attributes {
  const void* data = nullptr;
  AttributeFacts facts = {};
};
template <class A>
Attributes attributes_of(const A& a) {
  return {&a, attributes<A>};
}

/// Where a launch may not go ahead it says why, so that the op can take its composite instead.
struct Declined {
  std::string why;
};

/// Runs op on operands of one shape, inputs then outputs. Dims are collapsed, and looped over where
/// more than kMaxRank remain. Returns false, and why, if no kernel takes it. Errors of the launch
/// itself are thrown.
bool try_elementwise(const Device& device, const Op& op, const Shape& shape,
                     std::span<const Operand> in, std::span<const Operand> out,
                     Attributes attributes, Declined* declined);

/// Runs op on views as they are: nothing is collapsed. Returns false, and why, if no kernel takes it.
bool try_launch(const Device& device, const Op& op, std::span<const View> in,
                std::span<const View> out, Attributes attributes, Declined* declined);

/// Runs the op as the function above, but where no kernel takes it that is an error (kUnsupported,
/// "matmul: no bf16 kernel on rocm:0 ...").
void elementwise(const Device& device, const Op& op, const Shape& shape,
                 std::span<const Operand> in, std::span<const Operand> out,
                 Attributes attributes = {});
void launch(const Device& device, const Op& op, std::span<const View> in, std::span<const View> out,
            Attributes attributes = {});
/// Why there is no other way.
inline constexpr const char* kNoComposite = "no composite";
inline constexpr const char* kCompositeOff = "no composite, for it is switched off";
[[noreturn]] void fail_unsupported(const Device& device, const Op& op, DType dtype,
                                   const Declined& declined, const char* composite = kNoComposite);

/// Whether the first kernel for these dtypes may write its output over an input.
bool may_run_in_place(const Device& device, const Op& op, std::initializer_list<DType> dtypes,
                      int num_in);

/// Merges neighbouring dims that lie one in the other in every operand, and drops those of size 1.
/// strides[i] are operand i's. Returns the collapsed shape; the strides are changed to match.
Shape collapse(const Shape& shape, std::span<Dims*> strides);

/// A View of collapsed dims. Rank at most kMaxRank.
View make_view(void* data, DType dtype, const Shape& shape, const Dims& strides);
/// The tensor as a View of its own dims.
View make_view(const Tensor& x);

/// The same values in row-major order, off the tape; no copy if they are so already.
Tensor make_contiguous(const Tensor& x);
/// The same values in row-major order on another device, off the tape.
Tensor copy_to(const Tensor& x, const Device& device);
/// Writes from's elements, converted, into to's memory. Shapes equal. Blocks are copied as bytes.
void copy_elements(const Tensor& from, const Tensor& to);
/// The same values in row-major order in memory of their own, off the tape.
Tensor own_copy(const Tensor& x);
/// x, or a copy of it where target's elements, once written, would be read as x's: both look into
/// one memory, and not each of x's elements stands where target's of the same place does.
Tensor apart_from(const Tensor& target, const Tensor& x);

/// Errors: kInvalidArgument if a tensor of this layout and block dtype would have part of a block.
void check_whole_blocks(std::string_view op, const Layout& layout, DType dtype);

}  // namespace wick
