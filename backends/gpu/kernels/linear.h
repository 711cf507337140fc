// y[m, n] = sum over k of x[m, k] w[n, k], with weights of another dtype than x, blocks among them.
// This file has the call and the kernel for a few rows; linear_tiled.h has a kernel for any number,
// linear_matrix.h one on matrix units.
#pragma once
#include "kernels/matmul.h"
#include "kernels/weights.h"
#include "wick/abi/ops/linear_epilogue.h"

/// A call that clang inlines even into a large kernel, whose arguments would be in scratch memory
/// else.
#if defined(__clang__)
#define WICK_INLINE_CALL [[clang::always_inline]]
#else
#define WICK_INLINE_CALL
#endif

namespace wick::gpu {

/// More weights for the same x. Their columns follow the first weights' columns.
struct LinearPart {
  WeightRows w;
  void* y;
  const void* bias;  // or nullptr
  int32 first;       // column; n if there is no such part
};

struct LinearArgs {
  void* y;
  const void* x;
  WeightRows w;
  int64 x_row;                  // in elements
  int32 m, n, k;                // n: of all parts; of both weights for is_gated
  const void *bias, *residual;  // of the epilogue, of x's dtype; or nullptr
  EpilogueActivation activation;
  const void* norm;  // [k] of x's dtype: y is of rms_norm(x, norm); or nullptr
  float eps;         // of the norm
  LinearPart more[2];
  bool is_gated;          // even columns are of w, odd ones of more[0]; y is f(even) odd
  DType dtype;            // of x and y
  bool x_packs, y_packs;  // rows are aligned to 16 bytes
  int32 blocks_m, blocks_n;

  struct BlockTile {
    int m, n;
  };
  /// A block's tile, in an order in which neighbouring blocks share rows in the cache.
  WICK_DEVICE BlockTile place(int block) const {
    constexpr int kGroup = 8;  // blocks along m that advance along n together
    const int group = block / (kGroup * blocks_n), in_group = block % (kGroup * blocks_n);
    const int rows = blocks_m - group * kGroup < kGroup ? blocks_m - group * kGroup : kGroup;
    return {group * kGroup + in_group % rows, in_group / rows};
  }
  WICK_DEVICE int x_bytes() const { return dtype == DType::kF32 ? 4 : 2; }  // of an element
  WICK_DEVICE const uint8* x_of(int row) const {
    return static_cast<const uint8*>(x) + row * x_row * x_bytes();
  }
  /// The weights of a column. The choices are among values: a choice among members would keep all
  /// arguments in scratch memory.
  WICK_DEVICE const uint8* row_of(int column) const {
    const WeightRows second = more[0].w, third = more[1].w;
    const int first_of_second = more[0].first, first_of_third = more[1].first;
    const uint8* data = w.data;
    int64 row_bytes = w.row_bytes;
    int at = is_gated ? column / 2 : column;
    if (is_gated ? column % 2 != 0 : column >= first_of_second) {
      data = second.data, row_bytes = second.row_bytes;
      at = is_gated ? at : column - first_of_second;
    }
    if (!is_gated && column >= first_of_third)
      data = third.data, row_bytes = third.row_bytes, at = column - first_of_third;
    return data + at * row_bytes;
  }
  /// For K::prefetch: `columns` columns from `first` on.
  template <class Ctx>
  WICK_DEVICE void prefetch(const Ctx& ctx, int first, int columns) const {
    const int64 most = Ctx::kPrefetchBytes / columns;
    for (int i = ctx.thread(); i < columns && first + i < n; i += Ctx::kThreads)
      ctx.prefetch(row_of(first + i), w.used_bytes < most ? w.used_bytes : most);
  }
  /// Finishes the sum of an element of y, and stores it. As in row_of, the choices are of values.
  WICK_INLINE void store(int row, int column, float v) const {
    const LinearPart second = more[0], third = more[1];
    const bool in_second = column >= second.first, in_third = column >= third.first;
    const auto choose = [&](auto a, auto b, auto c) { return in_third ? c : in_second ? b : a; };
    const int first = choose(0, second.first, third.first);
    const int end = choose(second.first, third.first, n);
    const void* const of_columns = choose(bias, second.bias, third.bias);
    void* const to = choose(y, second.y, third.y);
    column -= first;
    const int64 at = (int64(row) * (end - first) + column) * x_bytes();
    if (of_columns) v += element(dtype, of_columns, int64(column) * x_bytes());
    Pack<float, 1> x{{v}};
    WICK_INLINE_CALL activate(activation, x);
    if (residual) x.v[0] += element(dtype, residual, at);
    store_element(dtype, static_cast<uint8*>(to) + at, x.v[0]);
  }
  /// The same of columns 2 i and 2 i + 1 of is_gated.
  WICK_INLINE void store_gated(int row, int i, float gate, float up) const {
    Pack<float, 1> x{{gate}};
    WICK_INLINE_CALL activate(activation, x);
    x.v[0] *= up;
    store_element(dtype, static_cast<uint8*>(y) + (int64(row) * (n / 2) + i) * x_bytes(), x.v[0]);
  }

 private:
  static WICK_INLINE float element(DType dtype, const void* p, int64 bytes) {
    const uint8* const at = static_cast<const uint8*>(p) + bytes;
    if (dtype == DType::kF32) return *reinterpret_cast<const float*>(at);
    if (dtype == DType::kBf16) return widen<float>(*reinterpret_cast<const bf16*>(at));
    return widen<float>(*reinterpret_cast<const f16*>(at));
  }
  static WICK_INLINE void store_element(DType dtype, uint8* at, float v) {
    if (dtype == DType::kF32)
      *reinterpret_cast<float*>(at) = v;
    else if (dtype == DType::kBf16)
      WICK_INLINE_CALL* reinterpret_cast<bf16*>(at) = narrow<bf16>(v);
    else
      WICK_INLINE_CALL* reinterpret_cast<f16*>(at) = narrow<f16>(v);
  }
};

/// A call on the host of linear, linear_mixed_epilogue, linear_parts, linear_mixed_parts or
/// gated_linear, of the latter three with a norm too.
struct LinearCall {
  const Call& call;
  const bool has_epilogue, has_norm, has_parts, has_mixed_parts, is_gated;
  const int num_weights;

  explicit LinearCall(const Call& c)
      : call(c),
        has_epilogue(*c.op == kLinearMixedEpilogue),
        has_norm(*c.op == kRmsNormLinearParts || *c.op == kRmsNormLinearMixedParts ||
                 *c.op == kRmsNormGatedLinear),
        has_parts(*c.op == kLinearParts || *c.op == kRmsNormLinearParts),
        has_mixed_parts(*c.op == kLinearMixedParts || *c.op == kRmsNormLinearMixedParts),
        is_gated(*c.op == kGatedLinear || *c.op == kRmsNormGatedLinear),
        num_weights(has_parts || has_mixed_parts ? parts().parts
                    : is_gated                   ? 2
                                                 : 1) {}
  /// Of a call with parts.
  MixedPartsAttributes parts() const {
    if (has_norm) {
      const auto& a = *static_cast<const NormPartsAttributes*>(call.attributes);
      return {a.parts, a.has_bias, {a.dtypes[0], a.dtypes[1], a.dtypes[2]}};
    }
    if (has_mixed_parts) return *static_cast<const MixedPartsAttributes*>(call.attributes);
    const auto& a = *static_cast<const PartsAttributes*>(call.attributes);
    return {a.parts, a.has_bias, {}};
  }
  const View& weight(int i) const { return call.in[1 + i]; }
  DType weight_dtype(int i) const {
    return has_mixed_parts ? DType(parts().dtypes[i]) : weight(i).dtype;
  }
  /// Of a row, in elements.
  int64 weight_size(int i) const {
    const int64 size = weight(i).shape[1];
    if (!has_mixed_parts) return size;
    const auto& facts = facts_of(weight_dtype(i));
    return size / facts.block_bytes * facts.block_elements;
  }
  const View& y(int i = 0) const { return call.out[is_gated ? 0 : i]; }
  int64 m() const { return call.in[0].shape[0]; }
  int64 k() const { return call.in[0].shape[1]; }
  /// Columns of all weights.
  int64 n() const {
    int64 all = 0;
    for (int i = 0; i < num_weights; i++) all += weight(i).shape[0];
    return all;
  }

  /// The reason why no kernel takes the call; nullptr if one may, which multiplies several rows by
  /// several weights or one alone.
  const char* check(bool takes_rows_by_several = false) const {
    const View& x = call.in[0];
    if (x.rank != 2) return "x is not of rank 2";
    if (num_weights > 1 && m() != 1 && !takes_rows_by_several)
      return "of several weights x has one row";
    if (m() > kLaunchLimit || n() > kLaunchLimit || k() > kLaunchLimit)
      return "a dim has more than 2^30 elements";
    if (k() > 1 && x.strides[1] != 1) return "an inner stride is not 1";
    for (int i = 0; i < num_weights; i++) {
      const View &w = weight(i), &to = y(i);
      if (w.rank != 2 || to.rank != 2) return "operands are not of rank 2";
      if (x.shape[0] != to.shape[0] || w.shape[0] != to.shape[1] || x.shape[1] != weight_size(i))
        return "sizes differ";
      if (k() > 1 && w.strides[1] != 1) return "an inner stride is not 1";
      const DType dtype = weight_dtype(i);
      if (is_block(dtype) && !is_aligned(w.data, block_alignment(dtype)))
        return "blocks are not aligned to the words that they are read in";
      if (!to.contiguous()) return "the output is not contiguous";
    }
    return has_epilogue ? Epilogue<float>::check(call) : nullptr;
  }
  /// For kernels that decode the weights once for each tile of rows: for more rows than these it is
  /// faster to decode them once for all, which the composite does.
  static constexpr int64 kMaxRows = 32;
  const char* check_rows() const {
    return is_block(weight(0).dtype) && m() > kMaxRows
               ? "a product of more than 32 rows takes the weights decoded"
               : nullptr;
  }
  int64 blocks(int64 tile_m, int64 tile_n) const {
    return ceil_div(m(), tile_m) * ceil_div(n(), tile_n);
  }
  LinearArgs args(int64 tile_m, int64 tile_n) const {
    const View& x = call.in[0];
    LinearArgs a{};
    a.y = y().data, a.x = x.data, a.dtype = x.dtype;
    a.m = int32(m()), a.n = int32(n()), a.k = int32(k());
    a.x_row = a.m > 1 ? x.strides[0] : 0;
    a.w = rows_of(weight(0));
    a.x_packs = packs(x, a.x_row), a.y_packs = packs(y(), y().shape[1]);
    a.blocks_m = int32(ceil_div<int64>(a.m, tile_m)),
    a.blocks_n = int32(ceil_div<int64>(a.n, tile_n));
    a.more[0].first = a.more[1].first = a.n;
    // All weights are read alike.
    for (int i = 1; i < num_weights; i++) a.w.packs = a.w.packs && rows_of(weight(i)).packs;
    if (has_epilogue) {
      const auto& epilogue = *static_cast<const EpilogueAttributes*>(call.attributes);
      if (epilogue.has_bias) a.bias = call.in[2].data;
      if (epilogue.has_residual) a.residual = call.in[3].data;
      a.activation = epilogue.activation;
    }
    if (has_parts || has_mixed_parts) add_parts(a, parts().has_bias != 0);
    if (is_gated) {
      a.more[0].w = rows_of(weight(1));
      a.activation = has_norm ? static_cast<const NormGatedAttributes*>(call.attributes)->activation
                              : static_cast<const GatedAttributes*>(call.attributes)->activation;
      a.is_gated = true;
    }
    if (has_norm) {
      const View& scale = call.in[call.num_in - 1];
      a.norm = scale.data;
      a.eps = float(is_gated ? static_cast<const NormGatedAttributes*>(call.attributes)->eps
                             : static_cast<const NormPartsAttributes*>(call.attributes)->eps);
      a.x_packs = a.x_packs && is_aligned(scale.data);
    }
    return a;
  }

 private:
  static bool packs(const View& v, int64 row) {
    return is_aligned(v.data) && bytes_of(v.dtype, row) % 16 == 0;
  }
  static WeightRows rows_of(const View& w) {
    const int64 row = w.shape[0] > 1 ? w.strides[0] : 0;
    return {w.as<uint8>(), bytes_of(w.dtype, row), w.dtype, !is_block(w.dtype) && packs(w, row),
            bytes_of(w.dtype, w.shape[1])};
  }
  void add_parts(LinearArgs& a, bool has_bias) const {
    if (has_bias) a.bias = call.in[4].data;
    int64 first = 0;
    for (int i = 1; i < num_weights; i++) {
      first += weight(i - 1).shape[0];
      a.more[i - 1] = {rows_of(weight(i)), y(i).data, has_bias ? call.in[4 + i].data : nullptr,
                       int32(first)};
    }
  }
};
/// Adds L for linear and linear_mixed_epilogue.
template <class L, unsigned families>
void add_linear(KernelList& list, const char* form, DType x, DType w, uint32 flags = 0) {
  add_kernel<L, families>(list, form, {kLinear, x, flags}, w);
  add_kernel<L, families>(list, form, {kLinearMixedEpilogue, x, flags}, w);
}
/// Adds L for linear_parts and gated_linear of a normalised x.
template <class L, unsigned families>
void add_normalized(KernelList& list, const char* form, DType x, DType w, uint32 flags = 0) {
  add_kernel<L, families>(list, form, {kRmsNormLinearParts, x, flags}, w);
  add_kernel<L, families>(list, form, {kRmsNormGatedLinear, x, flags}, w);
}
/// Adds L for linear_parts and gated_linear.
template <class L, unsigned families>
void add_several(KernelList& list, const char* form, DType x, DType w, uint32 flags = 0) {
  add_kernel<L, families>(list, form, {kLinearParts, x, flags}, w);
  add_kernel<L, families>(list, form, {kGatedLinear, x, flags}, w);
}

/// Whether a product's k has parts with weights and factors of their own:
///
///   part_of(k), size()    the part of an element of k, and the elements of each
///   row(part, column)     the part's weights of a column
///   factor(part)          multiplies x
template <class Weights>
inline constexpr bool kHasParts = requires(const Weights& w) {
  w.part_of(0);
};

/// The columns from `first` on of which a block computes as many as it does, below `end`.
struct ColumnRange {
  int first, end;
};
/// The sums of a block's waves.
template <class Ctx, int sums>
struct VectorShared {
  float partial[Ctx::kWaves][sums];
};

// A few rows. Each group of a block's waves computes kColumns columns of y; its lanes read packs
// along k. W: a loader; rows: the most rows of x.
template <class W, int rows>
struct LinearVector {
  static constexpr int kThreads = 256, kColumns = rows == 4 ? 4 : 2;
  static constexpr int64 kBusyBlocks = 512;
  struct Args : LinearArgs {
    int32 waves;  // of a group: a power of two
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks_m * a.blocks_n}; }
  static WICK_HD int columns_of_block(int wave, int waves) {
    return kColumns * (kThreads / wave / waves);
  }
  /// Waves of a group: as many as keep a card busy that has few columns to compute.
  static int waves_for(int wave, int64 blocks_m, int64 n, int64 k) {
    int waves = 1;
    while (waves < kThreads / wave && waves * wave * W::kPack < k &&
           blocks_m * ceil_div<int64>(n, columns_of_block(wave, waves)) < kBusyBlocks)
      waves *= 2;
    return waves;
  }
  template <class Ctx>
  using Shared = VectorShared<Ctx, rows * kColumns>;

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto block = args.place(ctx.block().x);
    // Rows beyond the last repeat it and are not stored.
    const int first_m = block.m * rows;
    const uint8* x[rows];
    for (int m = 0; m < rows; m++)
      x[m] = args.x_of(first_m + m < args.m ? first_m + m : args.m - 1);
    const int columns = columns_of_block(Ctx::kWave, args.waves);
    multiply(ctx, shared, args, args.waves, x, [&](int column) { return args.row_of(column); },
             first_m, {block.n * columns, args.n});
  }

  template <class Ctx>
  static WICK_DEVICE void prefetch(const Ctx& ctx, const Args& args) {
    const int columns = columns_of_block(Ctx::kWave, args.waves);
    args.prefetch(ctx, args.place(ctx.block().x).n * columns, columns);
  }

  /// The block's columns of rows [first_m, first_m + rows) of y, from to.first on.
  /// weights_of(column): a column's weights; or parts of k that have weights of their own
  /// (kHasParts).
  template <class Ctx, class Weights>
  static WICK_INLINE void multiply(const Ctx& ctx, Shared<Ctx>& shared, const LinearArgs& args,
                                   int waves, const uint8* (&x)[rows], const Weights& weights_of,
                                   int first_m, const ColumnRange& to, float factor = 1) {
    multiply(ctx, shared, args, args.w, waves, x, weights_of, first_m, to, factor);
  }
  /// format: of the weights, which the loader may read. norm_factor: beside args.norm, of one row
  /// and a W that takes it.
  template <class Ctx, class Weights>
  static WICK_INLINE void multiply(const Ctx& ctx, Shared<Ctx>& shared, const LinearArgs& args,
                                   const WeightRows& format, int waves, const uint8* (&x)[rows],
                                   const Weights& weights_of, int first_m, const ColumnRange& to,
                                   float norm_factor = 1) {
    const int group_n = to.first + ctx.wave() / waves * kColumns;
    const int lane = ctx.wave() % waves * Ctx::kWave + ctx.lane(), lanes = waves * Ctx::kWave;
    const uint8* w[kColumns];
    // Columns beyond the last repeat it and are not stored.
    const auto column = [&](int n) { return group_n + n < to.end ? group_n + n : to.end - 1; };
    if constexpr (!kHasParts<Weights>)
      for (int n = 0; n < kColumns; n++) w[n] = weights_of(column(n));

    float sums[rows][kColumns] = {};
    const auto add = [&](DType dtype, bool x_packs) {
      for (int k = lane * W::kPack; k < args.k; k += lanes * W::kPack) {
        int of_row = k, row_end = args.k;
        float factor = 1;
        if constexpr (kHasParts<Weights>) {
          const int part = weights_of.part_of(k);
          of_row = k - part * weights_of.size(), row_end = weights_of.size();
          factor = weights_of.factor(part);
          WICK_UNROLL
          for (int n = 0; n < kColumns; n++) w[n] = weights_of.row(part, column(n));
        }
        typename W::Pack packs[kColumns];
        WICK_UNROLL
        for (int n = 0; n < kColumns; n++) packs[n] = W::load(format, w[n], of_row, row_end);
        WICK_UNROLL
        for (int part = 0; part < W::kPack / kPart; part++) {
          float weights[kColumns][kPart];
          WICK_UNROLL
          for (int n = 0; n < kColumns; n++) W::decode(packs[n], part, weights[n]);
          WICK_UNROLL
          for (int m = 0; m < rows; m++) {
            const int at = k + part * kPart, end = W::kPack > kPart ? at + kPart : args.k;
            float v[kPart];
            load_floats(dtype, x[m], at, end, x_packs, v);
            if constexpr (rows == 1 && requires { W::kTakesNorm; }) {
              if (args.norm) {
                float scale[kPart];
                load_floats(dtype, static_cast<const uint8*>(args.norm), at, end, x_packs, scale);
                WICK_UNROLL
                for (int e = 0; e < kPart; e++) v[e] = v[e] * norm_factor * scale[e];
              }
            }
            if constexpr (kHasParts<Weights>) WICK_UNROLL
            for (int e = 0; e < kPart; e++) v[e] *= factor;
            WICK_UNROLL
            for (int n = 0; n < kColumns; n++) WICK_UNROLL
            for (int e = 0; e < kPart; e++) sums[m][n] = fma(v[e], weights[n][e], sums[m][n]);
          }
        }
      }
    };
    // With one row, a choice among x's dtypes at each pack would be a fifth of the instructions.
    // ExpertSum of a W of whole packs takes x in packs alone: fewer copies leave more registers.
    constexpr bool chooses_once = rows == 1 && !requires { W::kIsRare; };
    if (chooses_once && args.x_packs && args.dtype == DType::kBf16)
      add(DType::kBf16, true);
    else if (chooses_once && args.x_packs && args.dtype == DType::kF16)
      add(DType::kF16, true);
    else if (chooses_once && args.x_packs && args.dtype == DType::kF32)
      add(DType::kF32, true);
    else if constexpr (!kHasParts<Weights> || !requires { W::kWholePacks; })
      add(args.dtype, args.x_packs);
    finish(ctx, shared, args, waves, sums, first_m, to);
  }

  /// Adds up the sums of a group's lanes and stores them.
  template <class Ctx>
  static WICK_INLINE void finish(const Ctx& ctx, Shared<Ctx>& shared, const LinearArgs& args,
                                 int waves, float (&sums)[rows][kColumns], int first_m,
                                 const ColumnRange& to) {
    WICK_UNROLL
    for (int m = 0; m < rows; m++) WICK_UNROLL
    for (int n = 0; n < kColumns; n++) {
      masks_down<Ctx::kWave / 2, 1>(
          [&]<int mask>() { sums[m][n] += ctx.template shuffle_xor<mask>(sums[m][n]); });
      if (ctx.lane() == 0) shared.partial[ctx.wave()][m * kColumns + n] = sums[m][n];
    }
    ctx.sync();
    // One thread per sum, or per pair of them.
    const int group = ctx.thread() / (rows * kColumns), element = ctx.thread() % (rows * kColumns);
    if (group >= Ctx::kWaves / waves) return;
    const int m = first_m + element / kColumns;
    const int n = to.first + group * kColumns + element % kColumns;
    if (m < args.m && n < to.end) store(args, waves, shared.partial, group, element, m, n);
  }
  /// Adds up the sums of a group's waves for an element, and stores y's of row m and column n.
  static WICK_INLINE void store(const LinearArgs& args, int waves,
                                float (*partial)[rows * kColumns], int group, int element, int m,
                                int n, float factor = 1) {
    const auto sum_of = [&](int of) {
      float sum = partial[group * waves][of];
      for (int i = 1; i < waves; i++) sum += partial[group * waves + i][of];
      return sum * factor;
    };
    if (!args.is_gated)
      args.store(m, n, sum_of(element));
    else if (n % 2 == 0)
      args.store_gated(m, n / 2, sum_of(element), sum_of(element + 1));
  }
};

// A block computes 1, 4 or 8 rows; max_rows: the most of x.
template <class W, int max_rows = 16>
struct LinearVectorLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const LinearCall linear(call);
    if (const char* why = linear.check()) return why;
    if constexpr (requires { W::kWholePacks; })
      for (int i = 0; i < linear.num_weights; i++)
        if (linear.k() % W::kPack != 0 || !is_aligned(linear.weight(i).data) ||
            linear.weight(i).strides[0] % W::kPack != 0)
          return "the weights' rows are not whole packs, aligned to 16 bytes";
    return linear.m() > max_rows ? "x has more rows" : nullptr;
  }
  static Status run(const Call& call) {
    if constexpr (max_rows == 1) {
      return run_rows<1>(call);
    } else {
      const int64 m = LinearCall(call).m();
      if (m == 1) return run_rows<1>(call);
      return m <= 4 ? run_rows<4>(call) : run_rows<8>(call);
    }
  }

 private:
  template <int rows>
  static Status run_rows(const Call& call) {
    using K = LinearVector<typename W::template ForRows<rows>, rows>;
    const LinearCall linear(call);
    const int wave = wave_of(call.device);
    const int waves = K::waves_for(wave, ceil_div<int64>(linear.m(), rows), linear.n(), linear.k());
    return launch<K>({linear.args(rows, K::columns_of_block(wave, waves)), waves}, call);
  }
};

/// Add the kernels of linear_direct.cpp, linear_mixed_parts.cpp and linear_matrix.cpp, which take
/// long to compile.
void add_direct_linear(KernelList&);
void add_mixed_parts(KernelList&);
void add_matrix_linear(KernelList&);

}  // namespace wick::gpu
