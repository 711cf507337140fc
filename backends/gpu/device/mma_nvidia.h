// The implementation of mma.h for NVIDIA: ldmatrix and mma.sync. The inline assembly is volatile,
// since the compiler must not move a wave operation into a branch.
#pragma once
#include "device/mma.h"

namespace wick::gpu {

/// An operand as the registers of the instructions.
struct OperandRegisters {
  uint32 r[4];
};

// ldmatrix: lane l supplies the address of line l % 8 of square l / 8 (8 x 8); register j holds
// square j.
template <class C, class T>
WICK_DEVICE auto load_rows(const C& ctx, const T* tile, int stride) {
  const T* line = tile + ctx.lane() % 16 * stride + ctx.lane() / 16 * 8;
  OperandRegisters x;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(x.r[0]), "=r"(x.r[1]), "=r"(x.r[2]), "=r"(x.r[3])
               : "r"(uint32(__cvta_generic_to_shared(line)))
               : "memory");
  return __builtin_bit_cast(Operand<T, typename C::Matrix>, x);
}
template <class C, class T>
WICK_DEVICE auto load_columns(const C& ctx, const T* tile, int stride) {
  const T* line = tile + (ctx.lane() % 8 + ctx.lane() / 16 * 8) * stride + ctx.lane() / 8 % 2 * 8;
  OperandRegisters x;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(x.r[0]), "=r"(x.r[1]), "=r"(x.r[2]), "=r"(x.r[3])
               : "r"(uint32(__cvta_generic_to_shared(line)))
               : "memory");
  return __builtin_bit_cast(Operand<T, typename C::Matrix>, x);
}

template <class C, class T>
WICK_DEVICE void multiply(const C&, Sums<typename C::Matrix>& c,
                          const Operand<T, typename C::Matrix>& a,
                          const Operand<T, typename C::Matrix>& b) {
  const OperandRegisters x = __builtin_bit_cast(OperandRegisters, b);
  const OperandRegisters y = __builtin_bit_cast(OperandRegisters, a);
  for (int j = 0; j < 2; j++) {  // 8 of our m each
    float* const d = c.v + 4 * j;
    if constexpr (kSame<T, f16>) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
          "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(x.r[0]), "r"(x.r[1]), "r"(x.r[2]), "r"(x.r[3]), "r"(y.r[j]), "r"(y.r[2 + j]));
    } else {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
          "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(x.r[0]), "r"(x.r[1]), "r"(x.r[2]), "r"(x.r[3]), "r"(y.r[j]), "r"(y.r[2 + j]));
    }
  }
}

}  // namespace wick::gpu
