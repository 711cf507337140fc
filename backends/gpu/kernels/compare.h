// Elementwise ops whose operands differ in size, comparisons (out bool) and where (condition bool),
// in two forms: rows (inner strides 0 or 1; contiguous operands are one row) and any strides.
//
// A Map says how n neighbours are computed: kArity, kPack (neighbours of one access) and apply<n>.
#pragma once
#include "kernels/common.h"
#include "scalar/compare.h"

namespace wick::gpu {

/// What a Map is told at run time.
struct MixedKind {
  int32 formula;  // of Comparisons: its place in the list
  DType dtype;    // of the last input

  static MixedKind of(const Call& call) {
    return {place_in(*call.op, Comparisons{}), call.in[call.num_in - 1].dtype};
  }

 private:
  template <class... F>
  static int32 place_in(const Op& op, TypeList<F...>) {
    int32 place = 0;
    const bool found = ((op == F::op || (place++, false)) || ...);
    return found ? place : -1;
  }
};

/// The n neighbours at p, or its one element n times.
template <int n, class T>
WICK_DEVICE Pack<T, n> load_or_repeat(const T* p, bool repeats) {
  if (!repeats) return load_pack<n>(p);
  Pack<T, n> x;
  for (int e = 0; e < n; e++) x.v[e] = *p;
  return x;
}

/// y = f(a, b), the formula told at run time.
template <class C, int n, class... F>
WICK_DEVICE Pack<uint8, n> compare(int32 formula, const C (&a)[n], const C (&b)[n],
                                   TypeList<F...>) {
  Pack<uint8, n> y{};
  const auto each = [&]<class G>(G compared) {
    for (int e = 0; e < n; e++) y.v[e] = compared(a[e], b[e]);
  };
  int32 place = 0;
  ((formula == place++ ? each(F()) : void()), ...);
  return y;
}

/// Comparison of elements of type T.
template <class T>
struct CompareOf {
  using Element = Either<kSame<T, bool>, uint8, T>;  // a bool's byte may be anything
  using C = Compute<T>;
  static constexpr int kArity = 2, kPack = kPackSize<Element>;
  template <int n>
  static WICK_DEVICE void apply(const MixedKind& kind, void* out, uint32 to,
                                const void* const (&in)[2], const uint32 (&from)[2],
                                const bool (&repeats)[2]) {
    C x[2][n];
    for (int o = 0; o < 2; o++) {
      const auto stored =
          load_or_repeat<n>(static_cast<const Element*>(in[o]) + from[o], repeats[o]);
      for (int e = 0; e < n; e++) {
        if constexpr (kSame<T, bool>)
          x[o][e] = stored.v[e] != 0;
        else
          x[o][e] = widen<C>(stored.v[e]);
      }
    }
    store_pack(static_cast<uint8*>(out) + to, compare(kind.formula, x[0], x[1], Comparisons{}));
  }
};

/// The same for every float up to f32, one element.
struct CompareFloats {
  static constexpr int kArity = 2;
  template <int n>
  static WICK_DEVICE void apply(const MixedKind& kind, void* out, uint32 to,
                                const void* const (&in)[2], const uint32 (&from)[2],
                                const bool (&)[2]) {
    static_assert(n == 1);
    float x[2][1];
    for (int o = 0; o < 2; o++) {
      const uint32 at[1] = {from[o]};
      load_floats(kind.dtype, in[o], at, x[o]);
    }
    static_cast<uint8*>(out)[to] = compare(kind.formula, x[0], x[1], Comparisons{}).v[0];
  }
};

/// condition ? a : b, of elements only their size.
template <int bytes>
struct WhereOf {
  using Element = Bits<bytes>;
  static constexpr int kArity = 3, kPack = kPackSize<Element>;
  template <int n>
  static WICK_DEVICE void apply(const MixedKind&, void* out, uint32 to, const void* const (&in)[3],
                                const uint32 (&from)[3], const bool (&repeats)[3]) {
    const auto condition =
        load_or_repeat<n>(static_cast<const uint8*>(in[0]) + from[0], repeats[0]);
    const auto a = load_or_repeat<n>(static_cast<const Element*>(in[1]) + from[1], repeats[1]);
    const auto b = load_or_repeat<n>(static_cast<const Element*>(in[2]) + from[2], repeats[2]);
    Pack<Element, n> y;
    for (int e = 0; e < n; e++) y.v[e] = condition.v[e] != 0 ? a.v[e] : b.v[e];
    store_pack(static_cast<Element*>(out) + to, y);
  }
};

// Rows whose elements lie side by side or are one element repeated. The outer index is decoded once
// a thread.
template <class Map>
struct MixedRows {
  static constexpr int kArity = Map::kArity, kPack = Map::kPack;
  struct Args {
    void* out;
    const void* in[kArity];
    MixedKind kind;
    Indexer<kArity + 1> outer;  // out's offsets, then the inputs'
    RowSplit split;
    uint32 rows, length;   // length: elements of a row; every row's packs are aligned
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
    uint32 offset[kArity + 1], from[kArity];
    a.outer.locate(place.row, offset);
    uint32 first = place.first * kPack;
    for (int step = 0; step < a.split.steps && first < a.length; step++) {
      for (int o = 0; o < kArity; o++) from[o] = offset[o + 1] + (a.repeats[o] ? 0 : first);
      if (first + kPack <= a.length)
        Map::template apply<kPack>(a.kind, a.out, offset[0] + first, a.in, from, a.repeats);
      else
        apply_rest(a, offset[0] + first, from, a.length - first);
      first += place.step * kPack;
    }
  }

 private:
  static WICK_DEVICE void apply_rest(const Args& a, uint32 to, uint32 (&from)[kArity],
                                     uint32 rest) {
    for (uint32 e = 0; e < rest; e++) {
      Map::template apply<1>(a.kind, a.out, to + e, a.in, from, a.repeats);
      for (int o = 0; o < kArity; o++) from[o] += a.repeats[o] ? 0 : 1;
    }
  }
};

// Any strides. A thread takes kItems elements, a block's width apart.
template <class Map>
struct MixedStrided {
  static constexpr int kArity = Map::kArity;
  struct Args {
    void* out;
    const void* in[kArity];
    MixedKind kind;
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
    constexpr bool repeats[kArity] = {};
    int i = ctx.block().x * (kThreads * kItems) + ctx.thread();
    for (int item = 0; item < kItems && i < a.numel; item++, i += kThreads) {
      uint32 offset[kArity + 1], from[kArity];
      a.at.locate(i, offset);
      for (int o = 0; o < kArity; o++) from[o] = offset[o + 1];
      Map::template apply<1>(a.kind, a.out, offset[0], a.in, from, repeats);
    }
  }
};

template <class Map>
struct MixedRowsLaunch {
  static constexpr int kOperands = Map::kArity + 1;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    Operands<kOperands> all;
    if (!collapse_call<Map::kArity>(call, &all)) return "operands differ in shape";
    if (all.rank == 0) return "there is one element";
    const int inner = all.rank - 1;
    if (all.strides[0][inner] != 1) return "the inner stride is not 1";
    for (int o = 0; o < kOperands; o++) {
      if (all.strides[o][inner] > 1) return "an inner stride is neither 0 nor 1";
      if (all.strides[o][inner] == 0) continue;
      const int bytes = Map::kPack * all.element_bytes[o];
      if (!is_aligned(all.data[o], bytes)) return "operands are not aligned to packs";
      for (int d = 0; d < inner; d++)
        if (all.strides[o][d] % Map::kPack != 0) return "rows are not aligned to packs";
    }
    return nullptr;
  }
  static Status run(const Call& call) {
    Operands<kOperands> all;
    collapse_call<Map::kArity>(call, &all);
    return for_each_part(all, [&call](const Operands<kOperands>& part) {
      using K = MixedRows<Map>;
      const int outer = part.rank - 1;
      typename K::Args args{};
      args.out = part.data[0];
      for (int o = 0; o < Map::kArity; o++) {
        args.in[o] = part.data[o + 1];
        args.repeats[o] = part.strides[o + 1][outer] == 0;
      }
      args.kind = MixedKind::of(call);
      args.outer = part.indexer(outer);
      args.rows = uint32(part.numel() / part.shape[outer]);
      args.length = uint32(part.shape[outer]);
      args.split = RowSplit::of(args.rows, ceil_div<int64>(args.length, K::kPack), K::kThreads);
      return launch<K>(args, call);
    });
  }
};

template <class Map>
struct MixedStridedLaunch {
  static constexpr int kOperands = Map::kArity + 1;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    Operands<kOperands> all;
    return collapse_call<Map::kArity>(call, &all) ? nullptr : "operands differ in shape";
  }
  static Status run(const Call& call) {
    Operands<kOperands> all;
    collapse_call<Map::kArity>(call, &all);
    return for_each_part(all, [&call](const Operands<kOperands>& part) {
      using K = MixedStrided<Map>;
      typename K::Args args{};
      args.out = part.data[0];
      for (int o = 0; o < Map::kArity; o++) args.in[o] = part.data[o + 1];
      args.kind = MixedKind::of(call);
      args.at = part.indexer(part.rank);
      args.numel = int32(part.numel());
      return launch<K>(args, call);
    });
  }
};

}  // namespace wick::gpu
