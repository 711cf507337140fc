// Type-erased functions over n elements of a row, which each instruction set's kernels provide. The
// loops over shapes and strides (walk.h, elementwise.cpp, reduce.cpp, gather.cpp) call them, and so
// are compiled only once.
#pragma once
#include "wick/abi/dtype.h"

namespace wick::cpu {

/// Elements per conversion buffer: 4 KiB of the widest type, so that three buffers fit into the L1
/// cache.
inline constexpr int64 kChunk = 512;
inline constexpr int64 kChunkBytes = kChunk * 8;

/// Reads n elements `stride` elements apart (0 repeats one) and converts them to the compute type.
using Load = void (*)(const void* from, int64 stride, int64 n, void* to);
/// Converts n values of the compute type and writes them `stride` elements apart.
using Store = void (*)(const void* from, void* to, int64 stride, int64 n);
/// y[i] = f(a[i], b[i]), all of the compute type; b is nullptr for one operand. y may be a or b.
using Apply = void (*)(const void* a, const void* b, void* y, int64 n);

/// y[i] = condition[i] ? a[i] : b[i]; a condition is one byte. y may be a or b.
using Choose = void (*)(const void* condition, const void* a, const void* b, void* y, int64 n);

/// How elements of a dtype are read and written as the compute type.
struct Access {
  Load load = nullptr;
  Store store = nullptr;
  int64 size = 0;       // bytes per element of the tensor
  int64 wide_size = 0;  // bytes per value of the compute type
  bool direct = false;  // both have the same bits: a row of stride 1 needs no buffer
};

}  // namespace wick::cpu
