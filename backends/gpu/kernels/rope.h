// rope: (x1 cos - x2 sin, x2 cos + x1 sin) for pairs, whose halves are D / 2 apart or neighbours.
// A thread rotates kPairs neighbouring pairs of a row [b, t, h], or one if they do not form packs.
#pragma once
#include "kernels/row_groups.h"
#include "wick/abi/ops/rope.h"

namespace wick::gpu {

/// The operands of one launch in Indexer<4>; kRopePosition numbers the positions.
enum RopeOperand { kRopeOut, kRopeIn, kRopePositions, kRopePosition };

template <class T>
struct Rope {
  using C = Compute<T>;
  static constexpr int kThreads = 256, kPairs = 4;
  struct Args {
    T* y;
    const T* x;
    const C *cos, *sin;  // [positions, half]
    const int64* positions;
    Indexer<4> at;  // of a row
    RowSplit split;
    uint32 rows, half;
    int64 limit;           // of positions
    int64 first_position;  // of the launch
    C sign;                // of sin
    bool interleaved;
    bool packs;  // kPairs pairs are aligned, and divide half
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.split.blocks}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const RowSplit::Accesses place = a.split.place(ctx.block().x, ctx.thread());
    if (place.row >= a.rows) return;
    uint32 offset[4];
    a.at.locate(place.row, offset);
    const int64 position = a.positions[offset[kRopePositions]];
    const bool in_range = 0 <= position && position < a.limit;
    if (!in_range && place.first == 0)
      ctx.fail(StatusCode::kIdOutOfRange, kRope.id, a.first_position + offset[kRopePosition],
               position, a.limit);
    const int64 angles = in_range ? position * a.half : 0;
    const uint32 step = a.packs ? kPairs : 1;
    uint32 pair = place.first * step;
    for (int s = 0; s < a.split.steps && pair < a.half; s++, pair += place.step * step) {
      const T* const x = a.x + offset[kRopeIn];
      T* const y = a.y + offset[kRopeOut];
      if (a.packs)
        rotate<kPairs>(a, x, y, pair, angles, in_range);
      else
        rotate<1>(a, x, y, pair, angles, in_range);
    }
  }

 private:
  /// Rotates the n pairs from `pair` on; writes zeros for a position beyond the tables.
  template <int n>
  static WICK_DEVICE void rotate(const Args& a, const T* x, T* y, uint32 pair, int64 angles,
                                 bool in_range) {
    // Both forms read two runs of n elements, in which a pair's halves are i and half + i, or 2 i
    // and 2 i + 1.
    const uint32 first = a.interleaved ? 2 * pair : pair;
    const uint32 second = a.interleaved ? 2 * pair + n : a.half + pair;
    const auto low = load_pack<n>(x + first), high = load_pack<n>(x + second);
    const auto cos = load_pack<n>(a.cos + angles + pair), sin = load_pack<n>(a.sin + angles + pair);
    C v[2 * n], rotated[2 * n];
    for (int e = 0; e < n; e++) {
      v[e] = widen<C>(low.v[e]);
      v[n + e] = widen<C>(high.v[e]);
    }
    for (int e = 0; e < n; e++) {
      const C c = cos.v[e], s = sin.v[e] * a.sign;
      const C along[2] = {v[e], v[n + e]}, neighbours[2] = {v[2 * e], v[2 * e + 1]};
      const C x1 = a.interleaved ? neighbours[0] : along[0];
      const C x2 = a.interleaved ? neighbours[1] : along[1];
      const C y1 = in_range ? x1 * c - x2 * s : C(0), y2 = in_range ? x2 * c + x1 * s : C(0);
      if (a.interleaved)
        rotated[2 * e] = y1, rotated[2 * e + 1] = y2;
      else
        rotated[e] = y1, rotated[n + e] = y2;
    }
    Pack<T, n> out[2];
    for (int e = 0; e < n; e++) {
      out[0].v[e] = narrow<T>(rotated[e]);
      out[1].v[e] = narrow<T>(rotated[n + e]);
    }
    store_pack(y + first, out[0]);
    store_pack(y + second, out[1]);
  }
};

template <class T>
struct RopeLaunch {
  using C = Compute<T>;
  static constexpr Signature signature{kRope, kDTypeOf<T>};

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View &x = call.in[0], &cos = call.in[1], &sin = call.in[2], &positions = call.in[3],
               &y = call.out[0];
    if (x.rank != 4 || y.rank != 4 || positions.rank != 2) return "operands are not of rank 4";
    for (int d = 0; d < 4; d++)
      if (x.shape[d] != y.shape[d]) return "x and the output differ in shape";
    if (x.shape[3] % 2 != 0) return "the last dim is odd";
    if (x.shape[3] > 1 && (x.strides[3] != 1 || y.strides[3] != 1))
      return "the inner stride is not 1";
    if (positions.shape[0] != x.shape[0] || positions.shape[1] != x.shape[1])
      return "positions are not [B, T]";
    if (cos.rank != 2 || cos.shape[1] != x.shape[3] / 2 || !cos.contiguous())
      return "cos is not [P, D / 2]";
    if (const char* why = check_vector(sin, cos.numel())) return why;
    return x.shape[3] <= kLaunchLimit ? nullptr : "there is more than a launch covers";
  }
  static Status run(const Call& call) {
    const View &x = call.in[0], &cos = call.in[1], &positions = call.in[3], &y = call.out[0];
    const auto& attributes = *static_cast<const RopeAttributes*>(call.attributes);
    const int64 half = x.shape[3] / 2;
    if (x.numel() == 0) return {};
    Operands<4> rows = operands(x, positions, y);
    const bool packs = has_packs(rows, half, call);
    return for_each_part(
        rows,
        [&](const Operands<4>& part) {
          using K = Rope<T>;
          typename K::Args args{};
          args.y = reinterpret_cast<T*>(part.data[kRopeOut]);
          args.x = reinterpret_cast<const T*>(part.data[kRopeIn]);
          args.cos = cos.as<C>();
          args.sin = call.in[2].as<C>();
          args.positions = reinterpret_cast<const int64*>(part.data[kRopePositions]);
          args.at = part.indexer(part.rank);
          args.rows = uint32(part.numel());
          args.half = uint32(half);
          args.split = RowSplit::of(args.rows, packs ? half / K::kPairs : half, K::kThreads);
          args.limit = cos.shape[0];
          args.first_position = part.begin[kRopePosition];
          args.sign = attributes.inverse ? C(-1) : C(1);
          args.interleaved = attributes.interleaved != 0;
          args.packs = packs;
          return launch<K>(args, call);
        },
        {.numel = ceil_div(kLaunchLimit, 2 * half), .reach = kLaunchLimit - 2 * half});
  }

 private:
  /// The rows [b, t, h].
  static Operands<4> operands(const View& x, const View& positions, const View& y) {
    Operands<4> rows;
    const View* const views[] = {&y, &x, &positions};
    for (int o = 0; o < 3; o++) {
      rows.data[o] = static_cast<char*>(views[o]->data);
      rows.element_bytes[o] = dtype_size(views[o]->dtype);
    }
    rows.data[kRopePosition] = nullptr;
    rows.element_bytes[kRopePosition] = 0;
    rows.add_dim(x.shape[0], {y.strides[0], x.strides[0], positions.strides[0], x.shape[1]});
    rows.add_dim(x.shape[1], {y.strides[1], x.strides[1], positions.strides[1], 1});
    rows.add_dim(x.shape[2], {y.strides[2], x.strides[2], 0, 0});
    return rows;
  }
  static bool has_packs(const Operands<4>& rows, int64 half, const Call& call) {
    constexpr int n = Rope<T>::kPairs;
    constexpr int bytes = n * sizeof(T) < 16 ? n * sizeof(T) : 16;
    bool packs = half % n == 0 && is_aligned(call.in[1].data) && is_aligned(call.in[2].data);
    for (int o = kRopeOut; o <= kRopeIn; o++) {
      packs = packs && is_aligned(rows.data[o], bytes);
      for (int d = 0; d < rows.rank; d++) packs = packs && rows.strides[o][d] % n == 0;
    }
    return packs;
  }
};

}  // namespace wick::gpu
