// y = x in another dtype, contiguous or with any strides. A kernel has one output type; the input's
// is told at run time and asked once a thread: x is loaded as the widest type of its kind
// (scalar/cast.h). The same dtype is a copy of bits (elementwise.h).
#pragma once
#include "kernels/elementwise.h"
#include "scalar/cast.h"

namespace wick::gpu {

/// Elements i ... i + n - 1 of a type T, as the widest of its kind.
template <class T, int n>
WICK_DEVICE Pack<Wide<T>, n> load_wide(const void* p, uint32 i) {
  using Stored = Either<kSame<T, bool>, uint8, T>;  // a bool's byte may be anything
  const auto x = load_pack<n>(static_cast<const Stored*>(p) + i);
  Pack<Wide<T>, n> wide;
  for (int e = 0; e < n; e++) {
    if constexpr (kSame<T, bool>)
      wide.v[e] = x.v[e] != 0;
    else
      wide.v[e] = widen<Wide<T>>(x.v[e]);
  }
  return wide;
}

/// The same for a type that is told at run time and whose widest is W.
template <class W, int n>
WICK_DEVICE Pack<W, n> load_wide_as(DType from, const void* p, uint32 i) {
  if constexpr (kSame<W, double>) {
    return load_wide<double, n>(p, i);
  } else if constexpr (kSame<W, float>) {
    switch (from) {
      case DType::kF8E4M3:
        return load_wide<f8e4m3, n>(p, i);
      case DType::kF8E5M2:
        return load_wide<f8e5m2, n>(p, i);
      case DType::kBf16:
        return load_wide<bf16, n>(p, i);
      case DType::kF16:
        return load_wide<f16, n>(p, i);
      default:
        return load_wide<float, n>(p, i);
    }
  } else if constexpr (kSame<W, uint64>) {
    return load_wide<uint64, n>(p, i);
  } else {
    switch (from) {
      case DType::kBool:
        return load_wide<bool, n>(p, i);
      case DType::kU8:
        return load_wide<uint8, n>(p, i);
      case DType::kI8:
        return load_wide<int8, n>(p, i);
      case DType::kU16:
        return load_wide<uint16, n>(p, i);
      case DType::kI16:
        return load_wide<int16, n>(p, i);
      case DType::kU32:
        return load_wide<uint32, n>(p, i);
      case DType::kI32:
        return load_wide<int32, n>(p, i);
      default:
        return load_wide<int64, n>(p, i);
    }
  }
}

// Both contiguous. A thread takes kItems neighbours.
template <class To>
struct ContiguousCast {
  struct Args {
    To* out;
    const void* in;  // both 16-byte aligned
    DType from;
    int32 numel;
  };
  static constexpr int kThreads = 256, kItems = 8, kTile = kThreads * kItems;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.numel, kTile)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    switch (a.from) {
      case DType::kF64:
        cast_tile<double>(ctx, a);
        break;
      case DType::kF8E4M3:
      case DType::kF8E5M2:
      case DType::kBf16:
      case DType::kF16:
      case DType::kF32:
        cast_tile<float>(ctx, a);
        break;
      case DType::kU64:
        cast_tile<uint64>(ctx, a);
        break;
      default:
        cast_tile<int64>(ctx, a);
    }
  }

 private:
  template <class W, class Ctx>
  static WICK_DEVICE void cast_tile(const Ctx& ctx, const Args& a) {
    const int tile = ctx.block().x * kTile;
    if (a.numel - tile >= kTile) {
      const int first = tile + ctx.thread() * kItems;
      const auto x = load_wide_as<W, kItems>(a.from, a.in, first);
      Pack<To, kItems> y;
      for (int e = 0; e < kItems; e++) y.v[e] = from_wide<To>(x.v[e]);
      store_pack(a.out + first, y);
    } else {
      for (int i = tile + ctx.thread(); i < a.numel; i += kThreads)
        a.out[i] = from_wide<To>(load_wide_as<W, 1>(a.from, a.in, i).v[0]);
    }
  }
};

// Any strides.
template <class To>
struct StridedCast {
  struct Args {
    To* out;
    const void* in;
    DType from;
    Indexer<2> at;  // out's offsets, then in's
    int32 numel;
  };
  static constexpr int kThreads = 256, kItems = 4;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.numel, kThreads * kItems)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    int i = ctx.block().x * (kThreads * kItems) + ctx.thread();
    for (int item = 0; item < kItems && i < a.numel; item++, i += kThreads) {
      uint32 offset[2];
      a.at.locate(i, offset);
      a.out[offset[0]] = load(a.from, a.in, offset[1]);
    }
  }

 private:
  static WICK_DEVICE To load(DType from, const void* p, uint32 i) {
    switch (from) {
      case DType::kF64:
        return from_wide<To>(load_wide_as<double, 1>(from, p, i).v[0]);
      case DType::kF8E4M3:
      case DType::kF8E5M2:
      case DType::kBf16:
      case DType::kF16:
      case DType::kF32:
        return from_wide<To>(load_wide_as<float, 1>(from, p, i).v[0]);
      case DType::kU64:
        return from_wide<To>(load_wide_as<uint64, 1>(from, p, i).v[0]);
      default:
        return from_wide<To>(load_wide_as<int64, 1>(from, p, i).v[0]);
    }
  }
};

// The rows, for every input type at once.
template <class To>
struct ContiguousCastLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    Operands<2> all;
    if (!collapse_call<1>(call, &all)) return "operands differ in shape";
    if (!all.contiguous()) return "operands are not contiguous";
    if (!is_aligned(all.data[0]) || !is_aligned(all.data[1]))
      return "operands are not aligned to 16 bytes";
    return nullptr;
  }
  static Status run(const Call& call) {
    Operands<2> all;
    collapse_call<1>(call, &all);
    return for_each_part(all, [&call](const Operands<2>& part) {
      return launch<ContiguousCast<To>>({reinterpret_cast<To*>(part.data[0]), part.data[1],
                                         call.in[0].dtype, int32(part.numel())},
                                        call);
    });
  }
};

template <class To>
struct StridedCastLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    Operands<2> all;
    return collapse_call<1>(call, &all) ? nullptr : "operands differ in shape";
  }
  static Status run(const Call& call) {
    Operands<2> all;
    collapse_call<1>(call, &all);
    return for_each_part(all, [&call](const Operands<2>& part) {
      return launch<StridedCast<To>>(
          {reinterpret_cast<To*>(part.data[0]), part.data[1], call.in[0].dtype,
           part.indexer(part.rank), int32(part.numel())},
          call);
    });
  }
};

}  // namespace wick::gpu
