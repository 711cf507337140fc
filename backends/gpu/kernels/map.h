// y = f(x...), elementwise. A Map defines the function and its operands, which may differ in type:
//
//   struct Map : MapOf<Elements<bool>, Elements<float>, Elements<float>> {  // out, the inputs
//     struct Params {...};  // plain data known only at run time: an op, numbers
//     static Params params(const Call&);
//     template <class Body>
//     static WICK_DEVICE void choose(const Params&, const Body& body);  // body(f), of y = f(x...)
//   };
//
// It is launched in two forms: rows with inner strides of 0 or 1 (contiguous operands are one row),
// and any strides.
#pragma once
#include "kernels/elements.h"

namespace wick::gpu {

/// The operands of a Map, each an Elements or OneOf (elements.h).
template <class OutElements, class... InElements>
struct MapOf {
  using Out = OutElements;
  using In = TypeList<InElements...>;
  static constexpr int kArity = sizeof...(InElements);
  static constexpr int kWidest = max_of(OutElements::kBytes, InElements::kBytes...);
  /// Elements per access of the rows form: 16 bytes of the widest operand.
  static constexpr int kPack = 16 / kWidest;
  /// Whether the functions have long code, and inputs of one type (Map::Input): selects MapBusyRow.
  static constexpr bool kIsBusy = false;
};

/// A Map of one function without run-time parameters.
template <class F>
struct OneFunction {
  struct Params {};
  static Params params(const Call&) { return {}; }
  template <class Body>
  static WICK_DEVICE void choose(const Params&, const Body& body) {
    body(F());
  }
};

/// Packs of n elements of each input.
template <int packs, int n, class In>
struct Inputs;
template <int packs, int n>
struct Inputs<packs, n, TypeList<>> {
  template <bool plain>
  WICK_DEVICE void load(DType, const void* const*, const uint32*, const bool*, uint32, uint32) {}
  template <class F, class... X>
  WICK_DEVICE auto apply(const F& f, int, int, X... x) const {
    return f(x...);
  }
};
template <int packs, int n, class First, class... Rest>
struct Inputs<packs, n, TypeList<First, Rest...>> {
  Pack<typename First::Value, n> first[packs];
  Inputs<packs, n, TypeList<Rest...>> rest;

  /// Loads packs of each input's row, `step` apart from element i on, or its one repeated element.
  /// plain: no row repeats one element.
  template <bool plain>
  WICK_DEVICE void load(DType dtype, const void* const* in, const uint32* row, const bool* repeats,
                        uint32 i, uint32 step) {
    if (!plain && *repeats) {
      const auto one = First::template load<1>(dtype, *in, *row);
      for (int p = 0; p < packs; p++)
        for (int e = 0; e < n; e++) first[p].v[e] = one.v[0];
    } else {
      for (int p = 0; p < packs; p++)
        first[p] = First::template load<n>(dtype, *in, *row + i + p * step);
    }
    rest.template load<plain>(dtype, in + 1, row + 1, repeats + 1, i, step);
  }
  /// Applies f to the inputs' elements e of pack p.
  template <class F, class... X>
  WICK_DEVICE auto apply(const F& f, int p, int e, X... x) const {
    return rest.apply(f, p, e, x..., first[p].v[e]);
  }
};

/// The arguments common to the kernels of both forms.
template <class Map>
struct MapArgs {
  void* out;
  const void* in[Map::kArity];
  typename Map::Params params;
  DType dtype;                // of the OneOf operands
  bool repeats[Map::kArity];  // rows form: the inner stride is 0
};

/// Computes packs of n elements of a row, `step` elements apart from element i on.
template <class Map, int n, int packs, bool plain = false>
WICK_DEVICE void map_packs(const MapArgs<Map>& a, const uint32 (&row)[Map::kArity + 1], uint32 i,
                           uint32 step = 0) {
  Inputs<packs, n, typename Map::In> x;
  x.template load<plain>(a.dtype, a.in, row + 1, a.repeats, i, step);
  Pack<typename Map::Out::Value, n> y[packs] = {};
  Map::choose(a.params, [&](const auto& f) {
    WICK_UNROLL
    for (int p = 0; p < packs; p++) {
      WICK_UNROLL
      for (int e = 0; e < n; e++) y[p].v[e] = x.apply(f, p, e);
    }
  });
  for (int p = 0; p < packs; p++)
    Map::Out::template store<n>(a.dtype, a.out, row[0] + i + p * step, y[p]);
}

// One row, as contiguous operands are: a block computes kTile elements. There are no offsets to
// decode, so even expensive formulas reach the memory bandwidth. plain: no operand repeats an
// element; testing that in the kernel costs silu of bf16 6%.
template <class Map, bool plain>
struct MapRow {
  static constexpr int kThreads = 256, kArity = Map::kArity, kPack = Map::kPack;
  static constexpr int kPacks = kPack <= 4 ? 2 : 1;  // per thread
  static constexpr uint32 kTile = kThreads * kPacks * kPack;
  struct Args : MapArgs<Map> {
    uint32 length;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {int(ceil_div(a.length, kTile))}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    constexpr uint32 row[kArity + 1] = {};
    const uint32 tile = ctx.block().x * kTile;
    if (a.length - tile >= kTile)
      map_packs<Map, kPack, kPacks, plain>(a, row, tile + ctx.thread() * kPack, kThreads * kPack);
    else
      for (uint32 i = tile + ctx.thread(); i < a.length; i += kThreads)
        map_packs<Map, 1, 1, plain>(a, row, i);
  }
};

// One row of functions with long code, which the kernel contains once instead of once for each of a
// thread's elements: a loop reads these from the thread's own part of shared memory.
template <class Map>
struct MapBusyRow {
  static constexpr int kThreads = 256, kArity = Map::kArity, kPack = Map::kPack;
  static constexpr uint32 kTile = kThreads * kPack;
  using In = typename Map::Input;
  struct Args : MapArgs<Map> {
    uint32 length;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {int(ceil_div(a.length, kTile))}; }
  template <class Ctx>
  struct Shared {
    typename In::Value x[kArity][kPack][kThreads];
    typename Map::Out::Value y[kPack][kThreads];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int thread = ctx.thread();
    const uint32 first = ctx.block().x * kTile + thread * kPack;
    if (first >= a.length) return;
    const bool is_whole = a.length - first >= kPack;
    const uint32 count = is_whole ? kPack : a.length - first;
    for (int o = 0; o < kArity; o++) {
      if (is_whole && !a.repeats[o]) {
        const auto pack = In::template load<kPack>(a.dtype, a.in[o], first);
        for (int e = 0; e < kPack; e++) shared.x[o][e][thread] = pack.v[e];
      } else {
        for (uint32 e = 0; e < count; e++)
          shared.x[o][e][thread] =
              In::template load<1>(a.dtype, a.in[o], a.repeats[o] ? 0 : first + e).v[0];
      }
    }
    Map::choose(a.params, [&](const auto& f) {
      for (uint32 e = 0; e < count; e++) {
        if constexpr (kArity == 1)
          shared.y[e][thread] = f(shared.x[0][e][thread]);
        else
          shared.y[e][thread] = f(shared.x[0][e][thread], shared.x[1][e][thread]);
      }
    });
    if (is_whole) {
      Pack<typename Map::Out::Value, kPack> y;
      for (int e = 0; e < kPack; e++) y.v[e] = shared.y[e][thread];
      Map::Out::template store<kPack>(a.dtype, a.out, first, y);
    } else {
      for (uint32 e = 0; e < count; e++)
        Map::Out::template store<1>(a.dtype, a.out, first + e, {{shared.y[e][thread]}});
    }
  }
};

// Rows that are contiguous or repeat one element. Each thread decodes the outer index once; short
// rows share a block, long ones span several.
template <class Map>
struct MapRows {
  static constexpr int kThreads = 256, kArity = Map::kArity, kPack = Map::kPack;
  // Without a limit, 16-bit arithmetic uses one register more than full occupancy allows. Two
  // operands need more than that: with 8 blocks, i16 spilled and took twice the time.
  static constexpr int kResidentBlocks = Map::kWidest != 2 ? 1 : kArity == 1 ? 8 : 5;
  struct Args : MapArgs<Map> {
    uint32 rows, length;  // length: elements per row, in whole aligned packs
    RowSplit split;
    Indexer<kArity + 1> outer;  // out's offsets, then the inputs'
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.split.blocks}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const RowSplit::Accesses place = a.split.place(ctx.block().x, ctx.thread());
    if (place.row >= a.rows) return;
    uint32 row[kArity + 1];
    a.outer.locate(place.row, row);
    uint32 i = place.first * kPack;
    for (int left = a.split.steps; left > 0 && i < a.length; left--, i += place.step * kPack)
      map_packs<Map, kPack, 1>(a, row, i);
  }
};

// Any strides. A thread computes kItems elements, a block's width apart, one after another:
// computing them together would use more registers and lower the occupancy.
template <class Map>
struct MapStrided {
  static constexpr int kThreads = 256, kItems = 4, kArity = Map::kArity;
  struct Args : MapArgs<Map> {
    int32 numel;
    Indexer<kArity + 1> at;  // out's offsets, then the inputs'
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.numel, kThreads * kItems)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    int element = ctx.block().x * (kThreads * kItems) + ctx.thread();
    for (int item = 0; item < kItems && element < a.numel; item++, element += kThreads) {
      uint32 at[kArity + 1];
      a.at.locate(element, at);
      map_packs<Map, 1, 1, true>(a, at, 0);
    }
  }
};

template <class Map>
MapArgs<Map> map_args(const Call& call, const Operands<Map::kArity + 1>& part) {
  MapArgs<Map> args{};
  args.out = part.data[0];
  for (int o = 0; o < Map::kArity; o++) {
    args.in[o] = part.data[o + 1];
    args.repeats[o] = part.rank > 0 && part.strides[o + 1][part.rank - 1] == 0;
  }
  args.params = Map::params(call);
  args.dtype = call.in[call.num_in - 1].dtype;
  return args;
}

template <class Map>
struct RowsLaunch {
  static constexpr int kOperands = Map::kArity + 1;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const Operands<kOperands> all = operands_of<Map::kArity>(call);
    const int inner = all.rank - 1;  // -1: one element
    if (Map::kIsBusy && inner > 0) return "there is more than one row";
    if (inner >= 0 && all.strides[0][inner] != 1) return "the inner stride is not 1";
    if (inner > 0 && all.shape[inner] % Map::kPack != 0) return "rows are not of whole packs";
    if (inner == 0 && Map::kArity == 1 && all.strides[1][0] == 0) return "one element is repeated";
    for (int o = 0; o < kOperands; o++) {
      if (inner >= 0 && all.strides[o][inner] > 1) return "an inner stride is neither 0 nor 1";
      if (inner >= 0 && all.strides[o][inner] == 0) continue;
      const int bytes = Map::kPack * all.element_bytes[o];
      if (!is_aligned(all.data[o], bytes < 16 ? bytes : 16))
        return "operands are not aligned to packs";
      for (int d = 0; d < inner; d++)
        if (all.strides[o][d] % Map::kPack != 0) return "rows are not aligned to packs";
    }
    return nullptr;
  }
  static Status run(const Call& call) {
    return for_each_part(operands_of<Map::kArity>(call), [&call](const Operands<kOperands>& part) {
      const int inner = part.rank - 1;
      const int64 length = part.rank > 0 ? part.shape[inner] : 1;
      const MapArgs<Map> args = map_args<Map>(call, part);
      if constexpr (Map::kIsBusy) {
        return launch<MapBusyRow<Map>>({args, uint32(length)}, call);
      } else {
        if (part.rank <= 1) return run_row(args, uint32(length), call);
        using K = MapRows<Map>;
        const int64 rows = part.numel() / length;
        return launch<K>({args, uint32(rows), uint32(length),
                          RowSplit::of(rows, length / K::kPack, K::kThreads), part.indexer(inner)},
                         call);
      }
    });
  }

 private:
  static Status run_row(const MapArgs<Map>& args, uint32 length, const Call& call) {
    if constexpr (Map::kArity > 1) {
      for (const bool repeats : args.repeats)
        if (repeats) return launch<MapRow<Map, false>>({args, length}, call);
    }
    return launch<MapRow<Map, true>>({args, length}, call);
  }
};

template <class Map>
struct StridedLaunch {
  static constexpr int kOperands = Map::kArity + 1;
  static const char* accepts(const Call&, const DeviceInfo&) { return nullptr; }
  static Status run(const Call& call) { return run_on(operands_of<Map::kArity>(call), call); }
  static Status run_on(const Operands<kOperands>& all, const Call& call) {
    return for_each_part(all, [&call](const Operands<kOperands>& part) {
      using K = MapStrided<Map>;
      return launch<K>({map_args<Map>(call, part), int32(part.numel()), part.indexer(part.rank)},
                       call);
    });
  }
};

template <class Map>
void add_strided_map(KernelList& list, const Signature& signature, DType any) {
  add_kernel<StridedLaunch<Map>, kAllFamilies>(list, "strided", signature, any);
}
/// Adds both forms, in order of preference. any: the dtype of an operand "*".
template <class Rows, class Strided = Rows>
void add_map(KernelList& list, const Signature& signature, DType any) {
  add_kernel<RowsLaunch<Rows>, kAllFamilies>(list, "rows", signature, any);
  add_strided_map<Strided>(list, signature, any);
}

}  // namespace wick::gpu
