// Helpers of the ops over the rows of a matrix [N, D] with an inner stride of 1.
#pragma once
#include <algorithm>

#include "base/parallel.h"
#include "wick/abi/call.h"

namespace wick::cpu {

// The fewest elements per thread, about 5 us of work: of exponentials, or of a few products.
inline constexpr int64 kExpGrain = 8192, kProductGrain = 32768;

inline char* row_of(const View& x, int64 i) {
  return x.as<char>() + bytes_of(x.dtype, i * x.strides[0]);
}

/// Calls f(i) for every row of the matrix, in parallel; each thread takes at least `grain` elements.
template <class F>
void for_rows(const View& matrix, int64 grain, F&& f) {
  const int64 rows = std::max<int64>(1, grain / std::max<int64>(1, matrix.shape[1]));
  parallel_for(matrix.shape[0], rows, [&](int64 begin, int64 end) {
    for (int64 i = begin; i < end; i++) f(i);
  });
}

}  // namespace wick::cpu
