// Casts from blocks to floats, and from f32 to the blocks that rounding defines. Indices and
// strides count blocks.
#pragma once
#include "kernels/weights.h"
#include "wick/abi/ops/cast.h"

namespace wick::gpu {

// y = the elements of blocks; y is contiguous. A thread decodes kItems neighbours of one scale.
template <class F, class T>
struct Decode {
  static constexpr int kThreads = 256, kItems = 8, kPerBlock = kBlockElements<F> / kItems;
  struct Args {
    const uint8* x;
    T* y;
    Indexer<1> at;  // of a block of x
    uint32 blocks;
    bool packs;  // x can be read in words, y written in packs
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) {
    return {int(ceil_div(int64(a.blocks) * kPerBlock, int64(kThreads)))};
  }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const uint32 item = uint32(ctx.block().x) * kThreads + ctx.thread();
    const uint32 block = item / kPerBlock;
    const int first = int(item % kPerBlock) * kItems;
    if (block >= a.blocks) return;
    uint32 offset[1];
    a.at.locate(block, offset);
    const uint8* const x = a.x + int64(offset[0]) * kBlockBytes<F>;
    T* const y = a.y + int64(block) * kBlockElements<F> + first;
    float decoded[kItems];
    if (a.packs) {
      const auto quants = load_quants<F, kItems / 4>(x, first);
      for (int e = 0; e < kItems; e++) {
        const float quant = byte_minus(quants.words[e / 4], e % 4, kQuantBias<F>);
        // Without an offset, zero has the scale's sign.
        decoded[e] = F::kHasOffset ? fma(quants.scale.scale, quant, quants.scale.offset)
                                   : quants.scale.scale * quant;
      }
      Pack<T, kItems> pack;
      for (int e = 0; e < kItems; e++) pack.v[e] = narrow<T>(decoded[e]);
      store_pack(y, pack);
    } else {
      decode_octet<F>(x, first, F::scale_of(x, first / F::kGroup), decoded);
      one_by_one([&] {
        for (int e = 0; e < kItems; e++) y[e] = narrow<T>(decoded[e]);
      });
    }
  }
};

// y = x in blocks; y is contiguous. A thread encodes a block.
template <class F>
struct Encode {
  static constexpr int kThreads = 64;
  struct Args {
    const float* x;
    uint8* y;
    Indexer<1> at;  // of a block's first element in x
    int64 step;     // between elements of x
    uint32 blocks;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {int(ceil_div(a.blocks, uint32(kThreads)))}; }
  template <class Ctx>
  struct Shared {};
  struct Strided {
    const float* x;
    int64 step;
    WICK_DEVICE float operator[](int e) const { return x[e * step]; }
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const uint32 block = uint32(ctx.block().x) * kThreads + ctx.thread();
    if (block >= a.blocks) return;
    uint32 offset[1];
    a.at.locate(block, offset);
    const Strided from{a.x + offset[0], a.step};
    uint8* const y = a.y + int64(block) * kBlockBytes<F>;
    if constexpr (blocks::kIsTernary<F>) {
      encode<F>(from, y);  // too many for registers
    } else {
      float x[kBlockElements<F>];
      for (int e = 0; e < kBlockElements<F>; e++) x[e] = from[e];
      encode<F>(x, y);
    }
  }
};

/// A cast's operands on the host, the output first: an index for each block of `elements` elements.
/// An operand's strides count units, which are its blocks or the groups of elements that become a
/// block's, or its elements.
struct BlockUnit {
  int elements, bytes;
};
inline Operands<2> block_operands(const Call& call, int elements, BlockUnit out, BlockUnit in) {
  const View &x = call.in[0], &y = call.out[0];
  Operands<2> all;
  all.data[0] = static_cast<char*>(y.data), all.data[1] = static_cast<char*>(x.data);
  all.element_bytes[0] = out.bytes, all.element_bytes[1] = in.bytes;
  const int last = x.rank - 1;
  for (int d = 0; d < last; d++)
    all.add_dim(x.shape[d], {y.strides[d] / out.elements, x.strides[d] / in.elements});
  all.add_dim(x.shape[last] / elements,
              {elements / out.elements, x.strides[last] * elements / in.elements});
  return all;
}
inline const char* check_blocks(const Call& call) {
  return call.out[0].contiguous() ? nullptr : "the output is not contiguous";
}

template <class F, class T>
struct DecodeLaunch {
  static constexpr Signature signature{kCast, F::kDType};
  static const char* accepts(const Call& call, const DeviceInfo&) { return check_blocks(call); }
  static Status run(const Call& call) {
    constexpr int elements = kBlockElements<F>;
    const BlockUnit out{elements, elements * int(sizeof(T))}, in{elements, kBlockBytes<F>};
    const auto launch_part = [&](const Operands<2>& part) {
      return launch<Decode<F, T>>(
          {reinterpret_cast<const uint8*>(part.data[1]), reinterpret_cast<T*>(part.data[0]),
           part.indexer_of(1), uint32(part.numel()),
           is_aligned(part.data[0]) && is_aligned(part.data[1], kBlockAlignment<F>)},
          call);
    };
    return for_each_part(block_operands(call, elements, out, in), launch_part,
                         {.numel = kLaunchLimit / elements});
  }
};

template <class F>
struct EncodeLaunch {
  static constexpr Signature signature{kCast, DType::kF32};
  static const char* accepts(const Call& call, const DeviceInfo&) { return check_blocks(call); }
  static Status run(const Call& call) {
    constexpr int elements = kBlockElements<F>;
    const BlockUnit out{elements, kBlockBytes<F>}, in{1, int(sizeof(float))};
    const View& x = call.in[0];
    const auto launch_part = [&](const Operands<2>& part) {
      return launch<Encode<F>>(
          {reinterpret_cast<const float*>(part.data[1]), reinterpret_cast<uint8*>(part.data[0]),
           part.indexer_of(1), x.strides[x.rank - 1], uint32(part.numel())},
          call);
    };
    return for_each_part(block_operands(call, elements, out, in), launch_part);
  }
};

}  // namespace wick::gpu
