// c[m, n] = sum over k of a[m, k] b[k, n], for every batch, or the same with an epilogue: matmul
// and linear_epilogue. This file describes a call on the host and the arguments of a launch. The
// kernels: matmul_vector.h and matmul_direct.h for a few rows, matmul_matrix.h and matmul_doubles.h
// on matrix units, matmul_tiled.h everywhere.
#pragma once
#include "kernels/epilogue.h"
#include "wick/abi/ops/matmul.h"

namespace wick::gpu {

/// One operand's strides in elements, along its outer dim (m or n) and along k.
struct Steps {
  int64 row;
  int64 k;
};

template <class T>
struct ProductArgs {
  T* c;
  const T *a, *b;
  Epilogue<T> epilogue;     // with a residual or a wide result there are no batches
  Indexer<3, int64> batch;  // c's, a's and b's offsets
  Steps a_steps, b_steps;
  int64 c_m, c_n;  // c's strides
  int32 m, n, k;
  int32 blocks_m, blocks_n;  // per batch
  bool a_packs, b_packs;     // can be read in packs along the dim of stride 1
  bool c_packs;              // can be written in packs along n

  /// Finishes the sum of row m and column n of a batch, and stores it.
  WICK_DEVICE void store(T* batch_c, int m, int n, Compute<T> sum) const {
    const int64 at = m * c_m + n * c_n;
    if (epilogue.is_more_than_bias())
      epilogue.store(c, at, n, 1, false, Pack<Compute<T>, 1>{{sum}});
    else
      batch_c[at] = narrow<T>(epilogue.with_bias(sum, n));
  }

  /// A block's batch and tile, in an order in which neighbouring blocks share rows of a and b
  /// in the cache.
  struct BlockTile {
    T* c;
    const T *a, *b;
    int m, n, batch;
  };
  WICK_DEVICE BlockTile place(int block) const {
    constexpr int kGroup = 8;  // blocks along m that advance along n together
    const int per_batch = blocks_m * blocks_n, in_batch = block % per_batch;
    int64 offset[3];
    batch.locate(uint32(block / per_batch), offset);
    const int group = in_batch / (kGroup * blocks_n), in_group = in_batch % (kGroup * blocks_n);
    const int rows = blocks_m - group * kGroup < kGroup ? blocks_m - group * kGroup : kGroup;
    return {c + offset[0],   a + offset[1],    b + offset[2], group * kGroup + in_group % rows,
            in_group / rows, block / per_batch};
  }
};

/// A call on the host.
struct Product {
  int64 m, n, k;
  Steps a, b;
  int64 c_m, c_n;
  Operands<3> batch;   // the dims of c, a and b before the last two
  const Call* linear;  // the call, if it is one of linear_epilogue

  static bool is_linear(const Call& call) { return *call.op == kLinearEpilogue; }
  /// b as [k, n]; linear_epilogue has it as [n, k].
  static View right_operand(const Call& call) {
    View b = call.in[1];
    if (is_linear(call)) {
      b.shape[0] = call.in[1].shape[1], b.shape[1] = call.in[1].shape[0];
      b.strides[0] = call.in[1].strides[1], b.strides[1] = call.in[1].strides[0];
    }
    return b;
  }
  static const char* check(const Call& call) {
    const View &a = call.in[0], b = right_operand(call), &c = call.out[0];
    const int rank = c.rank;
    if (rank < 2 || a.rank != rank || b.rank != rank) return "operands differ in rank";
    for (int d = 0; d < rank - 2; d++)
      if (a.shape[d] != c.shape[d] || b.shape[d] != c.shape[d]) return "batch dims differ";
    const int64 m = c.shape[rank - 2], n = c.shape[rank - 1], k = a.shape[rank - 1];
    if (a.shape[rank - 2] != m || b.shape[rank - 2] != k || b.shape[rank - 1] != n)
      return "inner dims differ";
    if (m > kLaunchLimit || n > kLaunchLimit || k > kLaunchLimit)
      return "a dim has more than 2^30 elements";
    if (!c.contiguous()) return "the output is not contiguous";
    return is_linear(call) ? Epilogue<float>::check(call) : nullptr;
  }
  explicit Product(const Call& call) {
    const View &x = call.in[0], y = right_operand(call), &z = call.out[0];
    const int rank = z.rank;
    linear = is_linear(call) ? &call : nullptr;
    m = z.shape[rank - 2], n = z.shape[rank - 1], k = x.shape[rank - 1];
    a = {x.strides[rank - 2], x.strides[rank - 1]};
    b = {y.strides[rank - 1], y.strides[rank - 2]};
    // The stride of a dim of size 1 is arbitrary.
    if (m == 1) a.row = 0;
    if (n == 1) b.row = 0;
    if (k == 1) a.k = a.row != 1, b.k = b.row != 1;
    c_m = n, c_n = 1;
    const View* const views[] = {&z, &x, &y};
    for (int o = 0; o < 3; o++) {
      batch.data[o] = static_cast<char*>(views[o]->data);
      batch.element_bytes[o] = dtype_size(views[o]->dtype);
    }
    for (int d = 0; d < rank - 2; d++)
      batch.push_dim(z.shape[d], {z.strides[d], x.strides[d], y.strides[d]});
  }
  template <class T>
  Epilogue<T> epilogue() const {
    return linear ? Epilogue<T>::of(*linear) : Epilogue<T>::none();
  }
  /// c' = b' a': the same product with m and n exchanged, for one without an epilogue.
  void transpose() {
    const auto exchange = [](auto& x, auto& y) {
      const auto z = x;
      x = y, y = z;
    };
    exchange(m, n), exchange(a, b), exchange(c_m, c_n);
    exchange(batch.data[1], batch.data[2]);
    for (int d = 0; d < batch.rank; d++) exchange(batch.strides[1][d], batch.strides[2][d]);
  }
  /// Whether operand o can be read or written `pack` elements at a time along its dim of stride 1,
  /// which has inner_size elements, when its other stride is `outer`.
  bool in_packs(int o, int64 outer, int64 inner_size, int pack) const {
    bool yes = is_aligned(batch.data[o]) && outer % pack == 0 && inner_size % pack == 0;
    for (int d = 0; d < batch.rank; d++) yes = yes && batch.strides[o][d] % pack == 0;
    return yes;
  }
  /// in_packs of operand 1 or 2, which has these steps and `rows` rows.
  bool operand_in_packs(int o, const Steps& steps, int64 rows, int pack) const {
    return steps.k == 1 ? in_packs(o, steps.row, pack, pack)
                        : steps.row == 1 && in_packs(o, steps.k, rows, pack);
  }
  /// Calls launch_part(args, blocks) for parts of the batches, one block per tile of tile_m x
  /// tile_n. Packs have `pack` elements.
  template <class T, int pack, class Launch>
  Status for_each_launch(int64 tile_m, int64 tile_n, const Launch& launch_part) const {
    if (m == 0 || n == 0) return {};           // for_each_part handles no batches
    constexpr int64 kBlocks = int64(1) << 22;  // per launch; some devices count threads in 32 bits
    const int64 blocks_m = ceil_div(m, tile_m), blocks_n = ceil_div(n, tile_n);
    const auto launch_batches = [&](const Operands<3>& part) {
      ProductArgs<T> args{};
      args.c = reinterpret_cast<T*>(part.data[0]);
      args.a = reinterpret_cast<const T*>(part.data[1]);
      args.b = reinterpret_cast<const T*>(part.data[2]);
      args.epilogue = epilogue<T>();
      args.batch = part.template indexer<int64>(part.rank);
      args.a_steps = a, args.b_steps = b, args.c_m = c_m, args.c_n = c_n;
      args.m = int32(m), args.n = int32(n), args.k = int32(k);
      args.blocks_m = int32(blocks_m), args.blocks_n = int32(blocks_n);
      args.a_packs = operand_in_packs(1, a, m, pack);
      args.b_packs = operand_in_packs(2, b, n, pack);
      args.c_packs = c_n == 1 && in_packs(0, c_m, n, pack);
      // The bias alone is read element by element.
      if (args.epilogue.is_more_than_bias())
        args.c_packs = args.c_packs && args.epilogue.in_packs();
      return launch_part(args, int32(part.numel() * blocks_m * blocks_n));
    };
    const int64 batches = kBlocks / (blocks_m * blocks_n);
    return for_each_part(batch, launch_batches,
                         {.numel = batches > 1 ? batches : 1, .reach = int64(1) << 62});
  }
};

/// The base of a launch L of dtype T: builds the Product of each call and passes it to L, which
/// applies the epilogue if it is added for linear_epilogue too, and defines
///
///   static const char* accepts_product(const Product&, const DeviceInfo&);
///   static Status run_product(const Product&, const Call&);
template <class T, class L>
struct MatmulLaunch {
  static constexpr Signature signature{kMatmul, kDTypeOf<T>};

  static const char* accepts(const Call& call, const DeviceInfo& info) {
    if (const char* why = Product::check(call)) return why;
    return L::accepts_product(Product(call), info);
  }
  static Status run(const Call& call) { return L::run_product(Product(call), call); }
};

/// Adds L for linear_epilogue; wide: also for results of the accumulator's dtype.
template <class L, unsigned families, bool wide>
void add_epilogue(KernelList& list, const char* form) {
  const Signature signature{kLinearEpilogue, L::signature.dtype};
  add_kernel<L, families>(list, form, signature);
  if constexpr (wide) add_kernel<L, families>(list, form, signature, DType::kF32);
}
/// Adds L for matmul and linear_epilogue; wide: also for results of the accumulator's dtype.
template <class L, unsigned families, bool wide = false>
void add_product(KernelList& list, const char* form) {
  add_kernel<L, families>(list, form);
  add_epilogue<L, families, wide>(list, form);
}

/// Add the kernels of matmul_matrix.cpp, matmul_doubles.cpp and matmul_integers.cpp, separate files
/// because they compile slowly.
void add_thin_matmul(KernelList&);
void add_matrix_matmul(KernelList&);
void add_double_matmul(KernelList&);
void add_integer_matmul(KernelList&);

/// Applies the epilogue of a call of linear_epilogue to its output, in place: all of it, or the
/// part after the bias.
Status finish_linear(const Call& call, bool with_bias);

}  // namespace wick::gpu
