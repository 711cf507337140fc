// Launches a backend's kernel on tensors: builds views, collapses dims, picks the kernel, allocates
// scratch.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "core/device_state.h"
#include "wick/core/tensor.h"

namespace wick {

/// An operand before launch: device memory with strides of any rank.
struct Operand {
  void* data;
  DType dtype;
  Dims strides;  // in elements, one per dim of the op's shape
};
/// The tensor with its own strides, or with those of a shape that it broadcasts to.
Operand operand(const Tensor& x);
Operand operand(const Tensor& x, const Shape& broadcast);

/// The op's attribute struct.
struct Attributes {
  const void* data = nullptr;
  AttributeFacts facts = {};
};
template <class A>
Attributes attributes_of(const A& a) {
  return {&a, attributes<A>};
}

/// Reason that no kernel served a launch, from the last that rejected or declined it, so that the op
/// can run its composite instead.
struct Declined {
  std::string why;
};

/// Runs op on operands of one shape, inputs then outputs. Collapses dims and loops over those
/// beyond kMaxRank. If no kernel serves the call, returns false and sets *declined. Throws errors of
/// the launch itself.
bool try_elementwise(const Device& device, const Op& op, const Shape& shape,
                     std::span<const Operand> in, std::span<const Operand> out,
                     Attributes attributes, Declined* declined);

/// Runs op on views as they are, without collapsing, by the first kernel that accepts the call and
/// does not decline it. If there is none, returns false and sets *declined.
bool try_launch(const Device& device, const Op& op, std::span<const View> in,
                std::span<const View> out, Attributes attributes, Declined* declined);

/// Like the try_ functions above, but throws kUnsupported if no kernel accepts the call ("matmul:
/// no bf16 kernel on rocm:0 ...").
void elementwise(const Device& device, const Op& op, const Shape& shape,
                 std::span<const Operand> in, std::span<const Operand> out,
                 Attributes attributes = {});
void launch(const Device& device, const Op& op, std::span<const View> in, std::span<const View> out,
            Attributes attributes = {});
/// Reasons that no composite runs, for fail_unsupported.
inline constexpr const char* kNoComposite = "no composite";
inline constexpr const char* kCompositeOff = "its composite is switched off";
[[noreturn]] void fail_unsupported(const Device& device, const Op& op, DType dtype,
                                   const Declined& declined, const char* composite = kNoComposite);

/// Whether the first kernel for these dtypes supports writing its output over an input.
bool may_run_in_place(const Device& device, const Op& op, std::initializer_list<DType> dtypes,
                      int num_in);

/// Merges adjacent dims that are contiguous with each other in every operand, and drops dims of
/// size 1. strides[i] holds operand i's strides and is updated. Returns the collapsed shape.
Shape collapse(const Shape& shape, std::span<Dims*> strides);

/// Makes a View. Rank at most kMaxRank.
View make_view(void* data, DType dtype, const Shape& shape, const Dims& strides);
/// Makes a View with the tensor's own dims.
View make_view(const Tensor& x);

/// The same values in row-major order, not recorded on the tape; no copy if already contiguous.
Tensor make_contiguous(const Tensor& x);
/// A row-major copy on another device, not recorded on the tape.
Tensor copy_to(const Tensor& x, const Device& device);
/// A block tensor's memory as u8, in its last dim the bytes of its blocks: for moving blocks without
/// knowledge of their format.
Tensor as_bytes(const Tensor& x);
/// Writes the elements of `from`, converted, into `to`. Shapes must be equal. Blocks are copied as
/// bytes.
void copy_elements(const Tensor& from, const Tensor& to);
/// A row-major copy in new memory, not recorded on the tape.
Tensor own_copy(const Tensor& x);
/// Returns x, or a copy of x if writing to target would change elements of x before they are read:
/// both share storage, and their dtypes or layouts differ.
Tensor apart_from(const Tensor& target, const Tensor& x);

/// Errors: kInvalidArgument if a tensor with this layout and block dtype would split a block.
void check_whole_blocks(std::string_view op, const Layout& layout, DType dtype);

}  // namespace wick
