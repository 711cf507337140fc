// Helpers for ops that take ids.
#pragma once
#include "ops/elementwise/dtypes.h"
#include "wick/abi/ops/gather.h"
#include "wick/core/tensor.h"

namespace wick {

/// Errors: kDTypeMismatch if x, called `what` in the message, does not have an integer dtype.
void check_integers(const char* op, const char* what, const Tensor& x);
/// ids, called `what` in the message, as i64, which the kernels read. u64 values above i64's range
/// become the largest i64, which is out of range in every dim. Errors: kDTypeMismatch if ids are
/// not integers.
Tensor ids_as_i64(const char* op, const char* what, const Tensor& ids);
/// As ids_as_i64, and checks ids against x. Errors: those of check_defined for x; kDTypeMismatch if ids
/// are not integers; kDeviceMismatch.
Tensor checked_ids(const char* op, const Tensor& x, const Tensor& ids,
                   BlockDTypes blocks = BlockDTypes::kRejected);
/// Maps negative ids to count from the end; ids outside [-size, size) stay out of range.
Tensor ids_from_end(const Tensor& ids, int64_t size);
/// kScatter or kScatterAdd: writes or adds src where gather with these ids, of src's shape, would
/// read. Modifies target's memory, off the tape.
void scatter_into(const Op& op, int dim, const Tensor& target, const Tensor& ids,
                  const Tensor& src);

}  // namespace wick
