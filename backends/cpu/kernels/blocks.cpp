// Casts from blocks to floats, and from f32 to the blocks that rounding defines.
#include "dispatch/blocks.h"

#include "kernels/convert.h"
#include "kernels/kernels.h"
#include "scalar/blocks.h"
#include "wick/abi/ops/cast.h"

namespace wick::cpu::WICK_ISA {
namespace {

template <class F>
void decode_blocks(const void* blocks, int64 count, float* to) {
  const uint8* block = static_cast<const uint8*>(blocks);
  for (int64 i = 0; i < count; i++, block += kBlockBytes<F>)
    for (int first = 0; first < kBlockElements<F>; first += F::kGroup, to += F::kGroup) {
      const BlockScale scale = F::scale_of(block, first / F::kGroup);
      if constexpr (kHasOctets<F>) {
        for (int e = 0; e < F::kGroup; e += 8)
          decode_octet<F>(block, first + e, scale, *reinterpret_cast<float(*)[8]>(to + e));
      } else {
        for (int e = 0; e < F::kGroup; e++)
          to[e] = block_value<F>(scale, block_quant<F>(block, first + e));
      }
    }
}

template <class F>
void encode_blocks(const float* from, int64 count, void* blocks) {
  uint8* const block = static_cast<uint8*>(blocks);
  for (int64 i = 0; i < count; i++)
    encode<F>(from + i * kBlockElements<F>, block + i * kBlockBytes<F>);
}

template <class F, class T>
constexpr BlockCast kDecoding = {kBlockElements<F>, kBlockBytes<F>, decode_blocks<F>, nullptr,
                                 writing<T, float>()};
template <class F>
constexpr BlockCast kEncoding = {kBlockElements<F>, kBlockBytes<F>, nullptr, encode_blocks<F>,
                                 reading<float, float>()};

}  // namespace

template <>
void add_family<"blocks">(Table& table) {
  for_each(BlockTypes{}, [&]<class F>() {
    for_each(DecodedTypes{}, [&]<class T>() {
      table.add(kCast, F::kDType, kDTypeOf<T>,
                {.name = "decode", .run = run_decode, .data = &kDecoding<F, T>});
    });
  });
  for_each(RoundedBlockTypes{}, [&]<class F>() {
    table.add(kCast, DType::kF32, F::kDType,
              {.name = "encode", .run = run_encode, .data = &kEncoding<F>});
  });
}

}  // namespace wick::cpu::WICK_ISA
