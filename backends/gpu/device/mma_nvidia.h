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
// square j. The squares of a right operand are in the order of the instruction's A (rows first), those
// of a left one (k first) in pairs that are its B: its operands are consecutive registers.
template <Side side = Side::kRight, class C, class T>
WICK_DEVICE auto load_rows(const C& ctx, const T* tile, int stride) {
  const int first = ctx.lane() % 8, second = ctx.lane() / 8 % 2 * 8, third = ctx.lane() / 16 * 8;
  const T* line = side == Side::kRight ? tile + (first + second) * stride + third
                                       : tile + (first + third) * stride + second;
  OperandRegisters x;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(x.r[0]), "=r"(x.r[1]), "=r"(x.r[2]), "=r"(x.r[3])
               : "r"(uint32(__cvta_generic_to_shared(line)))
               : "memory");
  return __builtin_bit_cast(Operand<T, typename C::Matrix, side>, x);
}
template <Side side = Side::kRight, class C, class T>
WICK_DEVICE auto load_columns(const C& ctx, const T* tile, int stride) {
  const int first = ctx.lane() % 8, second = ctx.lane() / 8 % 2 * 8, third = ctx.lane() / 16 * 8;
  const T* line = side == Side::kRight ? tile + (first + third) * stride + second
                                       : tile + (first + second) * stride + third;
  OperandRegisters x;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(x.r[0]), "=r"(x.r[1]), "=r"(x.r[2]), "=r"(x.r[3])
               : "r"(uint32(__cvta_generic_to_shared(line)))
               : "memory");
  return __builtin_bit_cast(Operand<T, typename C::Matrix, side>, x);
}

template <class T, class C>
WICK_DEVICE auto rounded_operand(const C&, const Sums<typename C::Matrix>& c) {
  OperandRegisters x;
  for (int j = 0; j < 4; j++) {  // elements 2 j and 2 j + 1
    if constexpr (kSame<T, f16>)
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(x.r[j]) : "f"(c.v[2 * j + 1]), "f"(c.v[2 * j]));
    else
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(x.r[j]) : "f"(c.v[2 * j + 1]), "f"(c.v[2 * j]));
  }
  return __builtin_bit_cast(Operand<T, typename C::Matrix>, x);
}

template <class C, class T>
WICK_DEVICE void multiply(const C&, Sums<typename C::Matrix>& c,
                          const Operand<T, typename C::Matrix, Side::kLeft>& a,
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
          : "r"(x.r[0]), "r"(x.r[1]), "r"(x.r[2]), "r"(x.r[3]), "r"(y.r[2 * j]),
            "r"(y.r[2 * j + 1]));
    } else {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
          "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(x.r[0]), "r"(x.r[1]), "r"(x.r[2]), "r"(x.r[3]), "r"(y.r[2 * j]),
            "r"(y.r[2 * j + 1]));
    }
  }
}

// sm_90 has a larger instruction for f64 (PTX ISA 7.8).
template <class C>
WICK_DEVICE void multiply(const C&, DoubleSums<C>& c, const DoubleOperand<C>& a,
                          const DoubleOperand<C>& b) {
  WICK_UNROLL
  for (int j = 0; j < 2; j++) {  // our columns n of this parity
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+d"(c.v[j]), "+d"(c.v[2 + j]), "+d"(c.v[4 + j]), "+d"(c.v[6 + j])
        : "d"(a.v[0]), "d"(a.v[1]), "d"(a.v[2]), "d"(a.v[3]), "d"(b.v[j]), "d"(b.v[2 + j]));
#else
    WICK_UNROLL
    for (int e = 0; e < 2; e++) {  // four of k
      WICK_UNROLL
      for (int r = 0; r < 2; r++)  // our rows m of this parity
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+d"(c.v[4 * r + j]), "+d"(c.v[4 * r + 2 + j])
                     : "d"(a.v[2 * e + r]), "d"(b.v[2 * e + j]));
    }
#endif
  }
}

}  // namespace wick::gpu
