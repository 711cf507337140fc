#include "load/finite_rows.h"

#include <algorithm>
#include <vector>

#include "wick/base/error.h"
#include "wick/ops/binary.h"
#include "wick/ops/reduce.h"

namespace wick {

void require_finite_rows(const char* op, const char* item, const Tensor& rows, DType dtype) {
  const std::vector<float> sums = sum(rows * 0, {.dims = {-1}}).to_vector<float>();
  const auto bad = std::find_if(sums.begin(), sums.end(), [](float x) { return x != 0; });
  check(bad == sums.end(), ErrorCode::kFormat, op, "the features of ", item, " ",
        int64_t(bad - sums.begin()),
        " are all 0 or not finite: a weight is not, or the computation overflows ",
        dtype_name(dtype));
}

}  // namespace wick
