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
//
// Operands of kDirectProducts products can also be loaded as kDirectPacks packs of 8 neighbours along k: pack
// p is at [direct_row(lane, p), direct_k(lane, p)] of 16 kDirectProducts of k. Element i of a product's
// operand is then element direct_index(product, i) of the packs, which is in the same row, and in a
// permutation of k that is the same on both sides of a product.
//
// Doubles is the layout of f64 operands, 16 x 8, and f64 accumulators, 16 x 16; NoMatrix if the matrix
// units have no f64. Operands are alike on both sides. The order of k is free, if it is the same on both
// sides, and that of rows, if the accumulator follows. Elements 2 i and 2 i + 1 of an operand are
// neighbours along kNeighbours; kRun consecutive elements of an accumulator are consecutive in n.
#pragma once
#include "device/pass.h"
namespace wick::gpu {
/// A dim of an operand, which has stride 1 in memory.
enum class Inner { kAlongK, kAlongRows };
struct NoMatrix {
  using Doubles = NoMatrix;
};
// Two v_mfma_f64_16x16x4, whose accumulators have every fourth row, unlike those of f32.
struct DoublesGfx9 {
  static constexpr int kOperand = 2, kAccumulator = 4, kRun = 1;
  static constexpr Inner kNeighbours = Inner::kAlongK;
  static constexpr WICK_HD int row(int lane, int) { return lane % 16; }
  static constexpr WICK_HD int k(int lane, int i) { return lane / 16 * 2 + i; }
  static constexpr WICK_HD int m(int lane, int i) { return lane / 16 + i * 4; }
  static constexpr WICK_HD int n(int lane, int) { return lane % 16; }
};
// Two mma.m16n8k8, or eight m8n8k4: our rows 2 r and 2 r + 1 are the instruction's rows r and r + 8, our
// columns 2 c and 2 c + 1 the columns c of two instructions.
struct DoublesSm80 {
  static constexpr int kOperand = 4, kAccumulator = 8, kRun = 4;
  static constexpr Inner kNeighbours = Inner::kAlongRows;
  static constexpr WICK_HD int row(int lane, int i) { return lane / 4 * 2 + i % 2; }
  static constexpr WICK_HD int k(int lane, int i) { return lane % 4 + i / 2 * 4; }
  static constexpr WICK_HD int m(int lane, int i) { return lane / 4 * 2 + i / 4; }
  static constexpr WICK_HD int n(int lane, int i) { return lane % 4 * 4 + i % 4; }
};
struct MatrixGfx9 {  // MFMA, wave 64
  using Doubles = DoublesGfx9;
  static constexpr int kDirectPacks = 1, kDirectProducts = 2;
  static constexpr WICK_HD int direct_row(int lane, int) { return lane % 16; }
  static constexpr WICK_HD int direct_k(int lane, int) { return lane / 16 * 8; }
  static constexpr WICK_HD int direct_index(int product, int i) { return 4 * product + i; }
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
  using Doubles = NoMatrix;
  static constexpr int kDirectPacks = 2, kDirectProducts = 1;
  static constexpr WICK_HD int direct_row(int lane, int) { return lane % 16; }
  static constexpr WICK_HD int direct_k(int, int p) { return 8 * p; }
  static constexpr WICK_HD int direct_index(int, int i) { return i; }
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
  using Doubles = NoMatrix;
  static constexpr int kDirectPacks = 1, kDirectProducts = 1;
  static constexpr WICK_HD int direct_row(int lane, int) { return lane % 16; }
  static constexpr WICK_HD int direct_k(int lane, int) { return lane / 16 * 8; }
  static constexpr WICK_HD int direct_index(int, int i) { return i; }
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
  using Doubles = DoublesSm80;
  static constexpr int kDirectPacks = 2, kDirectProducts = 2;
  static constexpr WICK_HD int direct_row(int lane, int p) { return lane / 4 + 8 * p; }
  static constexpr WICK_HD int direct_k(int lane, int) { return lane % 4 * 8; }
  static constexpr WICK_HD int direct_index(int product, int i) {
    return i / 2 % 2 * 8 + 4 * product + i / 4 * 2 + i % 2;
  }
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
