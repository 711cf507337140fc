// What fused ops share: the choice between kernel and composite.
#pragma once
#include "core/launch.h"
#include "ops/tape/tape.h"
#include "wick/ops/composite.h"
#include "wick/ops/create.h"

namespace wick {

/// Whether a fused op should try its kernel now.
inline bool wants_kernel() { return composite_mode() != CompositeMode::kAlways; }
/// Whether it may fall back on its composite.
inline bool allows_composite() { return composite_mode() != CompositeMode::kNever; }

/// Tries the kernel if the mode wants one. False: take the composite, which the mode then allows;
/// else an error.
inline bool run_fused(const Device& device, const Op& op, std::span<const View> in,
                      std::span<const View> out, Attributes attributes, DType dtype) {
  if (!wants_kernel()) return false;
  Declined declined;
  if (try_launch(device, op, in, out, attributes, &declined)) return true;
  if (!allows_composite()) fail_unsupported(device, op, dtype, declined);
  return false;
}

/// y, a constant of the inputs since there is nothing to compute: it stays on the tape, and their
/// gradients are zeros.
inline Tensor record_constant(const char* op, Tensor y,
                              std::initializer_list<const Tensor*> inputs) {
  return record(op, std::move(y), inputs, kKeepNothing,
                [](const RuleContext& c, std::span<Tensor> gradients) {
                  for (int i = 0; i < int(gradients.size()); i++)
                    if (c.wants(i))
                      gradients[size_t(i)] =
                          zeros(c.input_shape(i),
                                {.dtype = c.input_dtype(i), .device = c.gradient.device()});
                });
}

/// f64 for f64, else f32: what sums and statistics are kept in.
inline DType accumulator_of(DType dtype) {
  return dtype == DType::kF64 ? DType::kF64 : DType::kF32;
}

/// The tensor off the tape, copied if its inner stride is not 1.
inline Tensor with_unit_stride(const Tensor& x) {
  return x.size(-1) <= 1 || x.strides().back() == 1 ? x.detach() : make_contiguous(x);
}

/// x [..., D] as a View [N, D] whose inner stride is 1; copied if it must be.
inline View rows_of(const Tensor& x, Tensor* copy) {
  const int64_t columns = x.rank() ? x.size(-1) : 1;
  Dims strides;
  const int64_t rows = columns ? x.numel() / columns : 0;
  if (reshape_strides(x.layout(), {rows, columns}, &strides) && (strides[1] == 1 || columns == 1))
    return make_view(x.data(), x.dtype(), {rows, columns}, {strides[0], 1});
  *copy = make_contiguous(x);
  return make_view(copy->data(), x.dtype(), {rows, columns}, {columns, 1});
}

}  // namespace wick
