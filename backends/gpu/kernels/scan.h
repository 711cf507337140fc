// Scans of [O, N, I] over N. A line is one (o, i). The order of additions depends on the shape, the
// strides and the wave width alone: threads have neighbouring elements of a line, blocks
// neighbouring pieces of it. If a line has several pieces, a first launch computes their totals.
//
// A formula F of a scan:
//   using In = ...;                        // the type that elements are read and written as
//   using State = ...;                     // the state of consecutive elements; Step joins two
//   none(); of(In, int64 n); value(State)  // n: the element's index; value: the result
//   static constexpr bool kWithIds;        // State has an id, the second output
#pragma once
#include "kernels/block_scan.h"
#include "scalar/cast.h"
#include "scalar/reduce.h"
#include "wick/abi/ops/scan.h"

namespace wick::gpu {

/// Floats up to f32 accumulate in f64; integers in u64, which wraps.
template <class X>
struct Sums {
  using In = X;
  using State = Either<kSame<X, float>, double, uint64>;
  using Step = Plus;
  static constexpr bool kWithIds = false;
  static WICK_DEVICE State none() { return State(0); }
  static WICK_DEVICE State of(X x, int64) { return State(x); }
  static WICK_DEVICE X value(State s) { return X(s); }
};

/// A compensated sum of f64, which has no wider type: the sum, and the rounding errors of its
/// additions.
struct LongSum {
  double sum, cut;
};
template <class Ctx>
WICK_DEVICE LongSum value_of_lane(const Ctx& ctx, const LongSum& v, int source) {
  return {ctx.shuffle(v.sum, source), ctx.shuffle(v.cut, source)};
}
template <>
struct Sums<double> {
  using In = double;
  using State = LongSum;
  static constexpr bool kWithIds = false;
  static WICK_DEVICE State none() { return {0, 0}; }
  static WICK_DEVICE State of(double x, int64) { return {x, 0}; }
  /// The error term of an infinite sum is NaN.
  static WICK_DEVICE double value(State s) { return s.cut == s.cut ? s.sum + s.cut : s.sum; }
  struct Step {
    /// Knuth 1969: the rounding error of a + b.
    WICK_DEVICE State operator()(State a, State b) const {
      const double sum = a.sum + b.sum, b_part = sum - a.sum;
      const double cut = (a.sum - (sum - b_part)) + (b.sum - b_part);
      return {sum, a.cut + b.cut + cut};
    }
  };
};

/// fraction * 2^exponent, 1 <= |fraction| < 2 unless it is 0, infinite or NaN. The product of a
/// part must not overflow, since a 0 before it makes the whole product 0.
struct LongProduct {
  double fraction;
  int64 exponent;

  static constexpr uint64 kExponent = uint64(0x7ff) << 52;
  static WICK_DEVICE double power_of_two(int64 n) {  // -1022 <= n <= 1023
    return __builtin_bit_cast(double, uint64(n + 1023) << 52);
  }
  static WICK_DEVICE LongProduct of(double x, int64 exponent) {
    uint64 bits = __builtin_bit_cast(uint64, x);
    if ((bits & kExponent) == 0 && x != 0) {
      bits = __builtin_bit_cast(uint64, x * power_of_two(64));
      exponent -= 64;
    }
    const uint64 biased = bits >> 52 & 0x7ff;
    if (biased == 0 || biased == 0x7ff) return {x, 0};
    return {__builtin_bit_cast(double, (bits & ~kExponent) | uint64(1023) << 52),
            exponent + int64(biased) - 1023};
  }
  WICK_DEVICE double value() const {
    const double least = power_of_two(-1000);
    if (exponent >= -1000 && exponent <= 1023) return fraction * power_of_two(exponent);
    if (exponent > 0) return fraction * power_of_two(1023) * 2;
    return fraction * least * (exponent > -2000 ? power_of_two(exponent + 1000) : least);
  }
};
template <class Ctx>
WICK_DEVICE LongProduct value_of_lane(const Ctx& ctx, const LongProduct& v, int source) {
  return {ctx.shuffle(v.fraction, source), ctx.shuffle(v.exponent, source)};
}

/// Products of floats.
template <class X>
struct Products {
  using In = X;
  using State = LongProduct;
  static constexpr bool kWithIds = false;
  static WICK_DEVICE State none() { return {1, 0}; }
  static WICK_DEVICE State of(X x, int64) { return LongProduct::of(double(x), 0); }
  static WICK_DEVICE X value(State s) { return X(s.value()); }
  struct Step {
    WICK_DEVICE State operator()(State a, State b) const {
      return LongProduct::of(a.fraction * b.fraction, a.exponent + b.exponent);
    }
  };
};
/// Products of integers, which wrap.
template <>
struct Products<int64> {
  using In = int64;
  using State = uint64;
  static constexpr bool kWithIds = false;
  static WICK_DEVICE State none() { return 1; }
  static WICK_DEVICE State of(int64 x, int64) { return State(x); }
  static WICK_DEVICE int64 value(State s) { return int64(s); }
  struct Step {
    WICK_DEVICE State operator()(State a, State b) const { return a * b; }
  };
};

/// An element and its index; `none` has index -1.
template <class X>
struct Numbered {
  X x;
  int64 id;
};
template <class Ctx, class X>
WICK_DEVICE Numbered<X> value_of_lane(const Ctx& ctx, const Numbered<X>& v, int source) {
  return {ctx.shuffle(v.x, source), ctx.shuffle(v.id, source)};
}

/// Running extreme: of equal elements the last wins, and NaN wins over every number. R: Max or Min.
template <class R, class X>
struct Extremes {
  using In = X;
  using State = Numbered<X>;
  static constexpr bool kWithIds = true;
  static WICK_DEVICE State none() { return {X(0), -1}; }
  static WICK_DEVICE State of(X x, int64 n) { return {x, n}; }
  static WICK_DEVICE X value(State s) { return s.x; }
  struct Step {
    WICK_DEVICE State operator()(State a, State b) const {
      const bool beats = kSame<R, Max> ? b.x >= a.x : b.x <= a.x;
      const bool wins = b.id >= 0 && (a.id < 0 || beats || b.x != b.x);
      return {wins ? b.x : a.x, wins ? b.id : a.id};
    }
  };
};

/// Reads elements of a run-time dtype as an X and writes them: floats up to f32 as f32, integers as
/// i64, which also carries u64's bits. Memory accesses depend on the element size alone.
template <class X>
struct ScanElements {
  using Raw = Bits<sizeof(X)>;
  static WICK_DEVICE X decode(DType, Raw raw) { return __builtin_bit_cast(X, raw); }
  static WICK_DEVICE Raw encode(DType, X x) { return __builtin_bit_cast(Raw, x); }
};
template <>
struct ScanElements<float> {
  using Raw = uint32;
  static WICK_DEVICE float decode(DType dtype, uint32 raw) {
    switch (dtype) {
      case DType::kBf16:
        return to_float(__builtin_bit_cast(bf16, uint16(raw)));
      case DType::kF16:
        return to_float(__builtin_bit_cast(f16, uint16(raw)));
      case DType::kF8E4M3:
        return to_float(__builtin_bit_cast(f8e4m3, uint8(raw)));
      case DType::kF8E5M2:
        return to_float(__builtin_bit_cast(f8e5m2, uint8(raw)));
      default:
        return __builtin_bit_cast(float, raw);
    }
  }
  static WICK_DEVICE uint32 encode(DType dtype, float x) {
    switch (dtype) {
      case DType::kBf16:
        return __builtin_bit_cast(uint16, round_to<bf16>(x));
      case DType::kF16:
        return __builtin_bit_cast(uint16, round_to<f16>(x));
      case DType::kF8E4M3:
        return __builtin_bit_cast(uint8, round_to<f8e4m3>(x));
      case DType::kF8E5M2:
        return __builtin_bit_cast(uint8, round_to<f8e5m2>(x));
      default:
        return __builtin_bit_cast(uint32, x);
    }
  }
};
template <>
struct ScanElements<int64> {
  using Raw = uint64;
  static WICK_DEVICE int64 decode(DType dtype, uint64 raw) {
    const int unused = 64 - 8 * dtype_bytes(dtype);
    if (dtype == DType::kBool) return raw != 0;
    const bool is_signed = dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32;
    return is_signed ? int64(raw << unused) >> unused : int64(raw);
  }
  static WICK_DEVICE uint64 encode(DType, int64 x) { return uint64(x); }

 private:
  static WICK_DEVICE int dtype_bytes(DType dtype) {
    return dtype == DType::kI8 ? 1 : dtype == DType::kI16 ? 2 : dtype == DType::kI32 ? 4 : 8;
  }
};
/// The bits of the elements at these offsets; offset -1: no element.
template <class Raw, int n>
WICK_DEVICE void load_raw(int bytes, const void* p, const int64 (&at)[n], Raw (&raw)[n]) {
  const auto load = [&](const auto* x) {
    WICK_UNROLL
    for (int k = 0; k < n; k++) raw[k] = at[k] >= 0 ? Raw(x[at[k]]) : Raw(0);
  };
  if (bytes == 1)
    load(static_cast<const uint8*>(p));
  else if (bytes == 2)
    load(static_cast<const uint16*>(p));
  else if (bytes == 4)
    load(static_cast<const uint32*>(p));
  else if constexpr (sizeof(Raw) == 8)
    load(static_cast<const uint64*>(p));
}
template <class Raw>
WICK_DEVICE void store_raw(int bytes, void* p, int64 at, Raw raw) {
  if (at < 0) return;
  if (bytes == 1)
    static_cast<uint8*>(p)[at] = uint8(raw);
  else if (bytes == 2)
    static_cast<uint16*>(p)[at] = uint16(raw);
  else if (bytes == 4)
    static_cast<uint32*>(p)[at] = uint32(raw);
  else if constexpr (sizeof(Raw) == 8)
    static_cast<uint64*>(p)[at] = raw;
}

/// The arguments of both kernels. Offsets have 64 bits: memory limits scans, not arithmetic.
template <class F>
struct ScanArgs {
  struct Strides {
    int64 o, n, i;
    WICK_DEVICE int64 at(int64 outer, int64 number, int64 inner) const {
      return outer * o + number * n + inner * i;
    }
  };
  const void* x;
  void* y;
  int64* ids;
  typename F::State* totals;  // one per piece
  DType x_dtype, y_dtype;
  int32 x_bytes, y_bytes;  // per element
  Strides x_strides, y_strides, ids_strides;
  int64 length;
  RowPieces pieces;
  bool writes;  // false: computes the pieces' totals
};

struct NoIds {};

// Along lines: 2^log_lanes threads per line, with kItems neighbouring elements each, so a block has
// a piece of one line, or several lines. Elements go through shared memory, so that neighbouring
// threads load and store neighbouring elements.
template <class F>
struct ScanLines {
  using X = typename F::In;
  using Elements = ScanElements<X>;
  using Raw = typename Elements::Raw;
  using State = typename F::State;
  struct Args : ScanArgs<F> {
    int64 lines;
    FastDivide inner;  // I
    int32 log_lanes;
  };
  static constexpr int kThreads = 256, kLogThreads = 8, kItems = 8, kTile = kThreads * kItems;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) {
    return {int(ceil_div<int64>(a.lines, kThreads >> a.log_lanes) * a.pieces.count)};
  }
  static WICK_DEVICE int padded(int e) { return e + e / kItems; }  // avoids bank conflicts
  template <class Ctx>
  struct Shared {
    Raw x[kTile + kTile / kItems];
    Either<F::kWithIds, int64[kTile + kTile / kItems], NoIds> ids;
    State partial[Ctx::kWaves];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int thread = ctx.thread(), lanes = 1 << a.log_lanes, chunk = lanes * kItems;
    const int group = ctx.block().x / a.pieces.count, piece = ctx.block().x % a.pieces.count;
    const int64 first_line = int64(group) << (kLogThreads - a.log_lanes);
    const int64 begin = piece * a.pieces.length, left = a.length - begin;
    const int64 end = begin + (left < a.pieces.length ? left : a.pieces.length);
    // The offset in x, y or ids of element e of the tile; -1: no element.
    const auto place = [&](const typename Args::Strides& strides, int64 tile, int e) {
      const int64 line = first_line + (e >> (a.log_lanes + 3));
      const int64 n = tile + (e & (chunk - 1));
      if (line >= a.lines || n >= end) return int64(-1);
      const int64 o = a.inner.quotient(uint32(line));
      return strides.at(o, n, line - o * a.inner.divisor);
    };
    Raw next[kItems];
    const auto load = [&](int64 tile) {
      int64 at[kItems];
      for (int k = 0; k < kItems; k++) at[k] = place(a.x_strides, tile, thread + k * kThreads);
      load_raw(a.x_bytes, a.x, at, next);
    };
    State carry = F::none();
    if (a.writes && piece > 0)
      carry = total_of<typename F::Step>(ctx, shared.partial,
                                         a.totals + int64(group) * a.pieces.count, piece, carry);
    load(begin);
    for (int64 tile = begin; tile < end; tile += chunk) {
      for (int k = 0; k < kItems; k++) shared.x[padded(thread + k * kThreads)] = next[k];
      ctx.sync();
      const int64 n = tile + ((thread * kItems) & (chunk - 1));
      State sum = F::none();
      for (int j = 0; j < kItems && n + j < end; j++) {
        const Raw raw = shared.x[padded(thread * kItems + j)];
        sum = typename F::Step()(sum, F::of(Elements::decode(a.x_dtype, raw), n + j));
      }
      if (tile + chunk < end) load(tile + chunk);
      const Scanned<State> scanned =
          scan_threads<typename F::Step>(ctx, shared.partial, sum, F::none(), lanes);
      State here = typename F::Step()(carry, scanned.before);
      carry = typename F::Step()(carry, scanned.total);
      if (a.writes) {
        for (int j = 0; j < kItems && n + j < end; j++) {
          Raw& raw = shared.x[padded(thread * kItems + j)];
          here = typename F::Step()(here, F::of(Elements::decode(a.x_dtype, raw), n + j));
          raw = Elements::encode(a.y_dtype, F::value(here));
          if constexpr (F::kWithIds) shared.ids[padded(thread * kItems + j)] = here.id;
        }
        ctx.sync();
        store(ctx, shared, a, [&](const auto& strides, int k) {
          return place(strides, tile, thread + k * kThreads);
        });
      }
    }  // this thread next fills the slots that it stored from
    if (!a.writes && thread == 0) a.totals[int64(group) * a.pieces.count + piece] = carry;
  }

 private:
  template <class Ctx, class Offset>
  static WICK_DEVICE void store(const Ctx& ctx, Shared<Ctx>& shared, const Args& a,
                                const Offset& place) {
    for (int k = 0; k < kItems; k++)
      store_raw(a.y_bytes, a.y, place(a.y_strides, k),
                shared.x[padded(ctx.thread() + k * kThreads)]);
    if constexpr (F::kWithIds) {
      for (int k = 0; k < kItems; k++) {
        const int64 at = place(a.ids_strides, k);
        if (at >= 0) a.ids[at] = shared.ids[padded(ctx.thread() + k * kThreads)];
      }
    }
  }
};

// Across lines: 2^log_columns neighbouring threads have lines that are neighbours along I, so that
// they load and store neighbouring elements. The block's other threads have the following elements,
// kItems each. Block x: columns and pieces; y and z: o.
template <class F>
struct ScanColumns {
  using X = typename F::In;
  using Elements = ScanElements<X>;
  using Raw = typename Elements::Raw;
  using State = typename F::State;
  using Step = typename F::Step;
  struct Args : ScanArgs<F> {
    int32 outer, inner;  // O, I
    int32 log_columns;
  };
  static constexpr int kThreads = 256, kLogThreads = 8, kItems = 8;
  static constexpr int threads(int) { return kThreads; }
  static int64 groups(const Args& a) { return ceil_div(a.inner, 1 << a.log_columns); }
  static Grid grid(int, const Args& a) {
    return {int(groups(a) * a.pieces.count), a.outer < 32768 ? a.outer : 32768,
            ceil_div(a.outer, 32768)};
  }
  template <class Ctx>
  struct Shared {
    State sums[kThreads];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int columns = 1 << a.log_columns, parts = kThreads >> a.log_columns;
    const int thread = ctx.thread(), part = thread >> a.log_columns;
    const int64 o = int64(ctx.block().z) * 32768 + ctx.block().y;
    if (o >= a.outer) return;
    const int group = ctx.block().x / a.pieces.count, piece = ctx.block().x % a.pieces.count;
    const int i = group * columns + (thread & (columns - 1));
    const int64 begin = piece * a.pieces.length, left = a.length - begin;
    const int64 end = i >= a.inner             ? begin
                      : left < a.pieces.length ? a.length
                                               : begin + a.pieces.length;
    const int64 all = begin + (left < a.pieces.length ? left : a.pieces.length);
    const int64 lines = int64(a.outer) * a.inner, line = o * a.inner + i;
    State carry = F::none();
    if (a.writes && i < a.inner)
      for (int p = 0; p < piece; p++) carry = Step()(carry, a.totals[p * lines + line]);
    for (int64 tile = begin; tile < all; tile += parts * kItems) {
      const int64 n = tile + part * kItems;
      Raw x[kItems];
      const auto place = [&](const typename Args::Strides& strides, int k) {
        return n + k < end ? strides.at(o, n + k, i) : int64(-1);
      };
      int64 at[kItems];
      for (int k = 0; k < kItems; k++) at[k] = place(a.x_strides, k);
      load_raw(a.x_bytes, a.x, at, x);
      State sum = F::none();
      for (int k = 0; k < kItems; k++)
        if (n + k < end) sum = Step()(sum, F::of(Elements::decode(a.x_dtype, x[k]), n + k));
      shared.sums[thread] = sum;
      ctx.sync();
      for (int step = columns; step < kThreads; step *= 2) {
        State up_to = shared.sums[thread];
        if (thread >= step) up_to = Step()(shared.sums[thread - step], up_to);
        ctx.sync();
        shared.sums[thread] = up_to;
        ctx.sync();
      }
      State here = carry;
      if (part > 0) here = Step()(here, shared.sums[thread - columns]);
      carry = Step()(carry, shared.sums[kThreads - columns + (thread & (columns - 1))]);
      ctx.sync();
      if (!a.writes) continue;
      WICK_UNROLL
      for (int k = 0; k < kItems; k++) {
        if (n + k < end) here = Step()(here, F::of(Elements::decode(a.x_dtype, x[k]), n + k));
        store_raw(a.y_bytes, a.y, place(a.y_strides, k),
                  Elements::encode(a.y_dtype, F::value(here)));
        if constexpr (F::kWithIds)
          if (n + k < end) a.ids[place(a.ids_strides, k)] = here.id;
      }
    }
    if (!a.writes && part == 0 && i < a.inner) a.totals[piece * lines + line] = carry;
  }
};

/// A call on the host: its kernel, and how it is split.
struct ScanCall {
  const View& x;
  int64 outer, length, inner;
  bool along;  // along lines: ScanLines
  int32 log_lanes = 0, log_columns = 0;
  RowPieces pieces;

  explicit ScanCall(const Call& call)
      : x(call.in[0]), outer(x.shape[0]), length(x.shape[1]), inner(x.shape[2]) {
    along = inner == 1 || (x.strides[1] < x.strides[2] && x.strides[1] > 0);
    constexpr int kItems = 8, kThreads = 256;
    if (along) {
      while (log_lanes < 8 && kItems << log_lanes < length) log_lanes++;
      pieces = RowPieces::of(outer * inner, length, kItems * kThreads);
      if (log_lanes < 8) pieces = {1, length};
    } else {
      while (log_columns < 5 && 1 << log_columns < inner) log_columns++;
      const int64 blocks = outer * ceil_div<int64>(inner, 1 << log_columns);
      // A few pieces' totals are read by each thread of the pieces that follow.
      pieces = RowPieces::of(blocks < 256 ? 4 * blocks : 1024, length,
                             kItems * (kThreads >> log_columns), 2);
    }
  }
  int64 totals() const { return pieces.count > 1 ? outer * inner * pieces.count : 0; }
  static const char* check(const Call& call) {
    for (int o = 0; o < call.num_out; o++) {
      if (call.in[0].rank != 3 || call.out[o].rank != 3) return "operands are not [O, N, I]";
      for (int d = 0; d < 3; d++)
        if (call.out[o].shape[d] != call.in[0].shape[d]) return "operands differ in shape";
    }
    return nullptr;
  }
};

template <class F>
struct ScanLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) { return ScanCall::check(call); }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    return ScanCall(call).totals() * int64(sizeof(typename F::State));
  }
  static Status run(const Call& call) {
    const ScanCall c(call);
    if (c.outer * c.length * c.inner == 0) return {};
    return run_part(c, call, 0, c.outer, 0, c.inner);
  }

 private:
  using Args = ScanArgs<F>;
  static typename Args::Strides strides_of(const View& v) {
    return {v.strides[0], v.strides[1], v.strides[2]};
  }
  /// Runs the lines [o, o + outer) x [i, i + inner), as many as one launch can number. Lines that
  /// are split into pieces are few.
  static Status run_part(const ScanCall& c, const Call& call, int64 o, int64 outer, int64 i,
                         int64 inner) {
    if (outer * inner > kLaunchLimit) {
      int64 &size = outer > 1 ? outer : inner, &first = outer > 1 ? o : i, half = size / 2;
      const int64 rest = size - half, begin = first;
      size = half;
      if (const Status status = run_part(c, call, o, outer, i, inner); !status.ok()) return status;
      size = rest, first = begin + half;
      return run_part(c, call, o, outer, i, inner);
    }
    const auto at = [&](const View& v) {
      return static_cast<char*>(v.data) + bytes_of(v.dtype, o * v.strides[0] + i * v.strides[2]);
    };
    Args args{at(c.x),
              at(call.out[0]),
              nullptr,
              static_cast<typename F::State*>(call.scratch),
              c.x.dtype,
              call.out[0].dtype,
              dtype_size(c.x.dtype),
              dtype_size(call.out[0].dtype),
              strides_of(c.x),
              strides_of(call.out[0]),
              {},
              c.length,
              c.pieces,
              false};
    if constexpr (F::kWithIds) {
      args.ids = reinterpret_cast<int64*>(at(call.out[1]));
      args.ids_strides = strides_of(call.out[1]);
    }
    if (c.pieces.count > 1) {
      const Status status = launch_scan(c, call, args, outer, inner);
      if (!status.ok()) return status;
    }
    args.writes = true;
    return launch_scan(c, call, args, outer, inner);
  }
  static Status launch_scan(const ScanCall& c, const Call& call, const Args& args, int64 outer,
                            int64 inner) {
    if (c.along)
      return launch<ScanLines<F>>({args, outer * inner, FastDivide::by(inner), c.log_lanes}, call);
    return launch<ScanColumns<F>>({args, int32(outer), int32(inner), c.log_columns}, call);
  }
};

}  // namespace wick::gpu
