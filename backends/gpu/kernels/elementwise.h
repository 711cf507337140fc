// y = f(x...), elementwise, in three forms: contiguous, rows (inner strides 0 or 1) and any
// strides.
//
// A Map says what one element is: Element, kArity and apply; and of the strided form, which is slow
// anyway, what serves it (Strided: load, apply, store): one kernel for all floats that are computed
// in f32, so that fewer are compiled.
#pragma once
#include "kernels/common.h"

namespace wick::gpu {

/// f in the type that it computes in.
template <class F, class C, int arity>
WICK_DEVICE C compute(const C (&x)[arity]) {
  if constexpr (arity == 1)
    return F()(x[0]);
  else
    return F()(x[0], x[1]);
}

/// The strided form of a formula for every float up to f32.
template <class F, int arity>
struct FloatMapOf {
  using Value = float;
  static constexpr int kArity = arity;
  template <int n>
  static WICK_DEVICE void load(DType dtype, const void* p, const uint32 (&at)[n], float (&x)[n]) {
    load_floats(dtype, p, at, x);
  }
  static WICK_DEVICE float apply(const float (&x)[arity]) { return compute<F>(x); }
  static WICK_DEVICE void store(DType dtype, void* p, uint32 i, float y) {
    store_float(dtype, p, i, y);
  }
};

/// What the strided form of a Map of one type takes from it.
template <class T>
struct OneType {
  using Value = T;
  template <int n>
  static WICK_DEVICE void load(DType, const void* p, const uint32 (&at)[n], T (&x)[n]) {
    for (int i = 0; i < n; i++) x[i] = static_cast<const T*>(p)[at[i]];
  }
  static WICK_DEVICE void store(DType, void* p, uint32 i, T y) { static_cast<T*>(p)[i] = y; }
};

/// A formula of src/scalar for elements of type T.
template <class F, class T, int arity>
struct MapOf : OneType<T> {
  using Element = T;
  static constexpr int kArity = arity;
  using Strided = Either<kSame<Compute<T>, float>, FloatMapOf<F, arity>, MapOf>;
  static WICK_DEVICE T apply(const T (&x)[arity]) {
    using C = ComputeIn<F, T>;
    C wide[arity];
    for (int o = 0; o < arity; o++) wide[o] = widen<C>(x[o]);
    return narrow<T>(compute<F>(wide));
  }
};

/// Elements as they are.
template <int bytes>
struct CopyOf : OneType<Bits<bytes>> {
  using Element = Bits<bytes>;
  static constexpr int kArity = 1;
  using Strided = CopyOf;
  static WICK_DEVICE Element apply(const Element (&x)[1]) { return x[0]; }
};

// All operands contiguous. A block takes kTile elements, a thread kPacks times 16 bytes of them.
template <class Map>
struct ContiguousMap {
  using T = typename Map::Element;
  struct Args {
    T* out;
    const T* in[Map::kArity];  // all 16-byte aligned
    int32 numel;
  };
  static constexpr int kThreads = 256, kPack = kPackSize<T>, kPacks = sizeof(T) < 4 ? 1 : 2;
  static constexpr int kTile = kThreads * kPacks * kPack;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.numel, kTile)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int tile = ctx.block().x * kTile;
    if (a.numel - tile >= kTile) {
      Pack<T, kPack> x[Map::kArity][kPacks];
      for (int o = 0; o < Map::kArity; o++)
        for (int i = 0; i < kPacks; i++)
          x[o][i] = load_pack<kPack>(a.in[o] + tile + (i * kThreads + ctx.thread()) * kPack);
      for (int i = 0; i < kPacks; i++) {
        Pack<T, kPack> y;
        for (int e = 0; e < kPack; e++) {
          T element[Map::kArity];
          for (int o = 0; o < Map::kArity; o++) element[o] = x[o][i].v[e];
          y.v[e] = Map::apply(element);
        }
        store_pack(a.out + tile + (i * kThreads + ctx.thread()) * kPack, y);
      }
    } else {
      for (int i = tile + ctx.thread(); i < a.numel; i += kThreads) {
        T element[Map::kArity];
        for (int o = 0; o < Map::kArity; o++) element[o] = a.in[o][i];
        a.out[i] = Map::apply(element);
      }
    }
  }
};

// Rows whose elements lie side by side or are one element repeated. The outer index is decoded once
// a thread; short rows share a block, long ones take several.
template <class Map>
struct RowMap {
  using T = typename Map::Element;
  static constexpr int kArity = Map::kArity, kPack = kPackSize<T>;
  struct Args {
    T* out;
    const T* in[kArity];
    Indexer<kArity + 1> outer;  // out's offsets, then the inputs'
    RowSplit split;
    uint32 rows;
    uint32 length;         // of a row in packs of 16 bytes, all of them aligned
    bool repeats[kArity];  // inner stride 0
  };
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.split.blocks}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const RowSplit::Place place = a.split.place(ctx.block().x, ctx.thread());
    if (place.row >= a.rows) return;
    uint32 offset[kArity + 1];
    a.outer.locate(place.row, offset);
    T repeated[kArity];
    for (int o = 0; o < kArity; o++) repeated[o] = a.in[o][offset[o + 1]];
    uint32 i = place.first;
    for (int step = 0; step < a.split.steps && i < a.length; step++, i += place.step) {
      Pack<T, kPack> x[kArity], y;
      for (int o = 0; o < kArity; o++) {
        if (a.repeats[o]) {
          for (int e = 0; e < kPack; e++) x[o].v[e] = repeated[o];
        } else {
          x[o] = load_pack<kPack>(a.in[o] + offset[o + 1] + i * kPack);
        }
      }
      for (int e = 0; e < kPack; e++) {
        T element[kArity];
        for (int o = 0; o < kArity; o++) element[o] = x[o].v[e];
        y.v[e] = Map::apply(element);
      }
      store_pack(a.out + offset[0] + i * kPack, y);
    }
  }
};

// Any strides. A thread takes kItems elements, a block's width apart.
template <class Map>
struct StridedMap {
  static constexpr int kArity = Map::kArity;
  struct Args {
    void* out;
    const void* in[kArity];
    DType dtype;
    Indexer<kArity + 1> at;  // out's offsets, then the inputs'
    int32 numel;
  };
  static constexpr int kThreads = 256, kItems = 4;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.numel, kThreads * kItems)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int first = ctx.block().x * (kThreads * kItems) + ctx.thread();
    uint32 offset[kItems][kArity + 1];
    for (int i = 0; i < kItems; i++) {
      const int element = first + i * kThreads;
      a.at.locate(element < a.numel ? element : 0, offset[i]);
    }
    typename Map::Value x[kArity][kItems], y[kItems];
    for (int o = 0; o < kArity; o++) {
      uint32 from[kItems];
      for (int i = 0; i < kItems; i++) from[i] = offset[i][o + 1];
      Map::load(a.dtype, a.in[o], from, x[o]);
    }
    for (int i = 0; i < kItems; i++) {
      typename Map::Value one[kArity];
      for (int o = 0; o < kArity; o++) one[o] = x[o][i];
      y[i] = Map::apply(one);
    }
    for (int i = 0; i < kItems; i++)
      if (first + i * kThreads < a.numel) Map::store(a.dtype, a.out, offset[i][0], y[i]);
  }
};

// What launches them: S has the signature, Map the code.
template <class S, class Map>
struct ContiguousLaunch {
  static constexpr Signature signature = S::signature;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    Operands<Map::kArity + 1> all;
    if (!collapse_call<Map::kArity>(call, &all)) return "operands differ in shape";
    if (!all.contiguous()) return "operands are not contiguous";
    for (const char* data : all.data)
      if (!is_aligned(data)) return "operands are not aligned to 16 bytes";
    return nullptr;
  }
  static Status run(const Call& call) {
    Operands<Map::kArity + 1> all;
    collapse_call<Map::kArity>(call, &all);
    return for_each_part(all, [&call](const Operands<Map::kArity + 1>& part) {
      using T = typename Map::Element;
      typename ContiguousMap<Map>::Args args{};
      args.out = reinterpret_cast<T*>(part.data[0]);
      for (int o = 0; o < Map::kArity; o++)
        args.in[o] = reinterpret_cast<const T*>(part.data[o + 1]);
      args.numel = int32(part.numel());
      return launch<ContiguousMap<Map>>(args, call);
    });
  }
};

template <class S, class Map>
struct RowsLaunch {
  static constexpr Signature signature = S::signature;
  static constexpr int kOperands = Map::kArity + 1;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    Operands<kOperands> all;
    if (!collapse_call<Map::kArity>(call, &all)) return "operands differ in shape";
    if (all.rank == 0) return "there is one element";
    const int inner = all.rank - 1;
    constexpr int pack = kPackSize<typename Map::Element>;
    if (all.strides[0][inner] != 1) return "the inner stride is not 1";
    if (all.shape[inner] % pack != 0) return "the inner size is no multiple of 16 bytes";
    for (int o = 0; o < kOperands; o++) {
      if (all.strides[o][inner] > 1) return "an inner stride is neither 0 nor 1";
      if (all.strides[o][inner] == 0) continue;
      if (!is_aligned(all.data[o])) return "operands are not aligned to 16 bytes";
      for (int d = 0; d < inner; d++)
        if (all.strides[o][d] % pack != 0) return "rows are not aligned to 16 bytes";
    }
    return nullptr;
  }
  static Status run(const Call& call) {
    Operands<kOperands> all;
    collapse_call<Map::kArity>(call, &all);
    return for_each_part(all, [&call](const Operands<kOperands>& part) {
      using K = RowMap<Map>;
      using T = typename Map::Element;
      const int outer = part.rank - 1;
      typename K::Args args{};
      args.out = reinterpret_cast<T*>(part.data[0]);
      for (int o = 0; o < Map::kArity; o++) {
        args.in[o] = reinterpret_cast<const T*>(part.data[o + 1]);
        args.repeats[o] = part.strides[o + 1][outer] == 0;
      }
      args.outer = part.indexer(outer);
      args.rows = uint32(part.numel() / part.shape[outer]);
      args.length = uint32(part.shape[outer] / K::kPack);
      args.split = RowSplit::of(args.rows, args.length, K::kThreads);
      return launch<K>(args, call);
    });
  }
};

template <class S, class Map>
struct StridedLaunch {
  static constexpr Signature signature = S::signature;
  static constexpr int kOperands = Map::kArity + 1;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    Operands<kOperands> all;
    return collapse_call<Map::kArity>(call, &all) ? nullptr : "operands differ in shape";
  }
  static Status run(const Call& call) {
    Operands<kOperands> all;
    collapse_call<Map::kArity>(call, &all);
    return for_each_part(all, [&call](const Operands<kOperands>& part) {
      using K = StridedMap<typename Map::Strided>;
      typename K::Args args{};
      args.out = part.data[0];
      for (int o = 0; o < Map::kArity; o++) args.in[o] = part.data[o + 1];
      args.dtype = call.out[0].dtype;
      args.at = part.indexer(part.rank);
      args.numel = int32(part.numel());
      return launch<K>(args, call);
    });
  }
};

template <class S, class Map>
void add_strided_map(KernelList& list) {
  add_kernel<StridedLaunch<S, Map>, kAllFamilies>(list, "strided");
}
/// The three forms, in the order in which they are asked.
template <class S, class Map>
void add_map(KernelList& list) {
  add_kernel<ContiguousLaunch<S, Map>, kAllFamilies>(list, "contiguous");
  add_kernel<RowsLaunch<S, Map>, kAllFamilies>(list, "rows");
  add_strided_map<S, Map>(list);
}

}  // namespace wick::gpu
