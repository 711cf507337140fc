// Which dtype an op computes in and returns: PyTorch's conventions.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// The dtype that both promote to: the higher kind of bool < integer < float wins; within a kind,
/// the smallest dtype that can represent both.
DType promote(DType a, DType b);
/// The dtype that both tensors promote to; a tensor without dims counts only if its kind is higher.
DType promote(const Tensor& a, const Tensor& b);
/// The dtype in which an op on a tensor and a number computes.
DType promote(DType a, Number b);
/// The dtype itself if it is floating, else f32.
DType floating(DType dtype);

/// f64 for f64, else f32. Composites compute in it, so that intermediate results are not rounded to
/// a narrower dtype.
DType computed_in(DType dtype);

/// Errors: kDeviceMismatch; the message names both devices.
void check_same_device(const char* op, const Tensor& a, const Tensor& b);
/// Errors: kUnsupported for a block dtype: ops store, copy and move blocks but do not compute in
/// them.
void check_elements(const char* op, DType dtype);

/// Whether an op accepts tensors of a block dtype. Ops that view or move whole blocks do.
enum class BlockDTypes { kRejected, kAccepted };
/// Errors: kInvalidArgument if x is empty; kUnsupported if x has a block dtype the op does not accept.
void check_defined(const char* op, const Tensor& x, BlockDTypes blocks = BlockDTypes::kRejected);
/// Errors: those of check_defined; kDTypeMismatch if x is not floating.
void check_floating(const char* op, const Tensor& x);

}  // namespace wick
