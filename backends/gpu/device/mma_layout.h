// Which lane holds which elements of a 16 x 16 tile: the only difference between the vendors' matrix
// registers, as data.
//
// Element i of a lane's operand is at [row(lane, i), k(lane, i)]: operands are [row, k] on both sides
// of a product. Element i of its accumulator is C[m(lane, i), n(lane, i)]. kRun consecutive elements
// of an operand are consecutive in k. kLoadsColumns: load_columns (mma.h) needs as few accesses as
// load_rows. A lane's accumulator has kColumns columns n; element i is of its column column(i). The
// other elements of these columns are in the lanes whose number differs in the bits from kColumnLanes
// to kColumnLanesEnd. Sources: CDNA3 ISA 7.4 (v_mfma_f32_16x16x16), RDNA3 ISA 7.9, RDNA4 ISA 7.12 (v_wmma),
// PTX ISA 9.7.15 (mma.m16n8k16).
#pragma once
#include "device/pass.h"
namespace wick::gpu {
struct NoMatrix {};
struct MatrixGfx9 {  // MFMA, wave 64
  static constexpr int kOperand = 4, kAccumulator = 4, kRun = 4;
  static constexpr int kColumns = 1, kColumnLanes = 16, kColumnLanesEnd = 64;
  static constexpr bool kLoadsColumns = false;
  static constexpr WICK_HD int row(int lane, int) { return lane % 16; }
  static constexpr WICK_HD int k(int lane, int i) { return lane / 16 * 4 + i; }
  static constexpr WICK_HD int m(int lane, int i) { return lane / 16 * 4 + i; }
  static constexpr WICK_HD int n(int lane, int) { return lane % 16; }
  static constexpr WICK_HD int column(int) { return 0; }
};
struct MatrixGfx11 {  // WMMA: both halves of the wave hold the same operand
  static constexpr int kOperand = 16, kAccumulator = 8, kRun = 16;
  static constexpr int kColumns = 1, kColumnLanes = 16, kColumnLanesEnd = 32;
  static constexpr bool kLoadsColumns = false;
  static constexpr WICK_HD int row(int lane, int) { return lane % 16; }
  static constexpr WICK_HD int k(int, int i) { return i; }
  static constexpr WICK_HD int m(int lane, int i) { return 2 * i + lane / 16; }
  static constexpr WICK_HD int n(int lane, int) { return lane % 16; }
  static constexpr WICK_HD int column(int) { return 0; }
};
struct MatrixGfx12 {  // WMMA
  static constexpr int kOperand = 8, kAccumulator = 8, kRun = 8;
  static constexpr int kColumns = 1, kColumnLanes = 16, kColumnLanesEnd = 32;
  static constexpr bool kLoadsColumns = false;
  static constexpr WICK_HD int row(int lane, int) { return lane % 16; }
  static constexpr WICK_HD int k(int lane, int i) { return lane / 16 * 8 + i; }
  static constexpr WICK_HD int m(int lane, int i) { return lane / 16 * 8 + i; }
  static constexpr WICK_HD int n(int lane, int) { return lane % 16; }
  static constexpr WICK_HD int column(int) { return 0; }
};
struct MatrixSm80 {  // two mma.m16n8k16 with the operands exchanged: the instruction's rows are our
                     // n
  static constexpr int kOperand = 8, kAccumulator = 8, kRun = 2;
  static constexpr int kColumns = 2, kColumnLanes = 1, kColumnLanesEnd = 4;
  static constexpr bool kLoadsColumns = true;  // ldmatrix.trans
  static constexpr WICK_HD int row(int lane, int i) { return lane / 4 + i / 2 % 2 * 8; }
  static constexpr WICK_HD int k(int lane, int i) { return lane % 4 * 2 + i % 2 + i / 4 * 8; }
  static constexpr WICK_HD int m(int lane, int i) { return lane % 4 * 2 + i % 2 + i / 4 * 8; }
  static constexpr WICK_HD int n(int lane, int i) { return lane / 4 + i / 2 % 2 * 8; }
  static constexpr WICK_HD int column(int i) { return i / 2 % 2; }
};
/// Whether a lane's accumulator is also, element by element, an operand with row = n and k = m. True
/// for all layouts but gfx11's.
template <class M>
constexpr WICK_HD bool accumulator_is_operand() {
  if (M::kOperand != M::kAccumulator) return false;
  for (int lane = 0; lane < 256 / M::kAccumulator; lane++)
    for (int i = 0; i < M::kOperand; i++)
      if (M::row(lane, i) != M::n(lane, i) || M::k(lane, i) != M::m(lane, i)) return false;
  return true;
}
}  // namespace wick::gpu
