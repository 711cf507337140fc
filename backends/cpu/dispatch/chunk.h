// The pieces that an instruction set's kernels are made of: functions over n elements of a row,
// free of types, so that the walk over shapes and strides (walk.h, elementwise.cpp, reduce.cpp,
// indexing.cpp) exists once and is ordinary code.
#pragma once
#include "wick/abi/dtype.h"

namespace wick::cpu {

/// Elements in the buffers of a walk: 4 KiB of the widest type, so that three of them stay in the
/// L1 cache.
inline constexpr int64 kChunk = 512;
inline constexpr int64 kChunkBytes = kChunk * 8;

/// Reads n elements that stand `stride` elements apart (0 repeats one) as the type that is computed
/// in.
using Load = void (*)(const void* from, int64 stride, int64 n, void* to);
/// Writes n values of the type that is computed in as elements that stand `stride` elements apart.
using Store = void (*)(const void* from, void* to, int64 stride, int64 n);
/// y[i] = f(a[i], b[i]), all of the type that is computed in; b is nullptr for one operand. y may
/// be a or b.
using Apply = void (*)(const void* a, const void* b, void* y, int64 n);

/// y[i] = condition[i] ? a[i] : b[i]; conditions are bytes. y may be a or b.
using Choose = void (*)(const void* condition, const void* a, const void* b, void* y, int64 n);

/// How elements of a dtype are read and written when another type is computed in.
struct Access {
  Load load = nullptr;
  Store store = nullptr;
  int64 size = 0;       // bytes of an element in the tensor
  int64 wide_size = 0;  // and of what is computed in
  bool direct = false;  // the same bits: a row of stride 1 needs no buffer
};

}  // namespace wick::cpu
