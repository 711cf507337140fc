// What ops that take ids share.
#pragma once
#include "wick/abi/ops/gather.h"
#include "wick/core/tensor.h"

namespace wick {

/// Errors: kDTypeMismatch if x, which is called `what`, holds no integers.
void check_integers(const char* op, const char* what, const Tensor& x);
/// ids, which are called `what`, as the i64 that kernels read; of u64 what i64 has not is its
/// largest number, which no dim has. Errors: kDTypeMismatch if they are no integers.
Tensor ids_as_i64(const char* op, const char* what, const Tensor& ids);
/// The same of ids beside x. Errors: kDTypeMismatch if they are no integers, kDeviceMismatch.
Tensor checked_ids(const char* op, const Tensor& x, const Tensor& ids);
/// Negative ids counted from the end; what is outside of [-size, size) stays outside.
Tensor ids_from_end(const Tensor& ids, int64_t size);
/// kScatter or kScatterAdd of src where gather with these ids, of src's shape, would read: in
/// target's memory, off the tape.
void scatter_into(const Op& op, int dim, const Tensor& target, const Tensor& ids,
                  const Tensor& src);

}  // namespace wick
