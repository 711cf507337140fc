#include "wick/abi/op.h"

#include <gtest/gtest.h>

#include "wick/abi/backend.h"

namespace wick {
namespace {

struct Numbers {
  static constexpr const char* kLayout = "f64 a";
  double a;
};
struct Others {
  static constexpr const char* kLayout = "f64 b";
  double b;
};

TEST(Op, IsKnownByItsNamesHash) {
  EXPECT_EQ(hash_text("a"), 0xaf63dc4c8601ec8cu);  // FNV-1a's published value
  EXPECT_EQ(Op("a", "T:T").id, hash_text("a"));
  EXPECT_EQ(Op("a", "T:T"), Op("a", "TT:T"));
  EXPECT_FALSE(Op("a", "T:T") == Op("b", "T:T"));
}

TEST(Op, HasTheDTypesOfItsOperands) {
  constexpr OperandDTypes f16 = operand_dtypes(Op("all", "TRSIBF*:T"), DType::kF16, DType::kU8);
  constexpr DType expected[] = {DType::kF16,  DType::kF32, DType::kF16, DType::kI64,
                                DType::kBool, DType::kF32, DType::kU8,  DType::kF16};
  EXPECT_EQ(f16.num_in, 7);
  EXPECT_EQ(f16.num_out, 1);
  for (int i = 0; i < 8; i++) EXPECT_EQ(f16.all[i], expected[i]) << i;
  EXPECT_EQ(operand_dtypes(Op("a", "T:R"), DType::kF64).all[1], DType::kF64);
  EXPECT_EQ(operand_dtypes(Op("fill", ":T"), DType::kI8).num_in, 0);
  EXPECT_EQ(summed_dtype(DType::kBool), DType::kI64);
  EXPECT_EQ(summed_dtype(DType::kU64), DType::kU64);
  EXPECT_EQ(summed_dtype(DType::kBf16), DType::kBf16);
}

TEST(Op, AgreesWithOneOfTheSameOperandsAndAttributes) {
  const Op op("a", "T:T", attributes<Numbers>);
  EXPECT_TRUE(same_contract(op, Op("a", "T:T", attributes<Numbers>)));
  EXPECT_FALSE(same_contract(op, Op("a", "T:T")));
  EXPECT_FALSE(same_contract(op, Op("a", "T:T", attributes<Others>)));
  EXPECT_FALSE(same_contract(op, Op("a", "TT:T", attributes<Numbers>)));
  EXPECT_FALSE(same_contract(op, Op("ab", "T:T", attributes<Numbers>)));
}

TEST(KernelKey, TellsOpsDTypesAndCountsApart) {
  const Op op("a", "T:T"), other("b", "T:T");
  const DType f32[] = {DType::kF32, DType::kF32}, mixed[] = {DType::kF32, DType::kF64};
  const DType zero[] = {DType(0), DType(0)};
  const KernelKey key = key_of({&op, f32, 1, 1});
  EXPECT_EQ(key, key_of({&op, f32, 1, 1}));
  for (const KernelQuery& query :
       {KernelQuery{&other, f32, 1, 1}, {&op, mixed, 1, 1}, {&op, f32, 2, 0}, {&op, f32, 1, 0}})
    EXPECT_FALSE(key == key_of(query));
  EXPECT_FALSE(key_of({&op, zero, 1, 0}) == key_of({&op, zero, 2, 0}));  // dtype 0 counts too
}

TEST(KernelKey, HoldsAsManyOperandsAsACallHas) {
  const Op op("a", "TTTTTTTT:TTTTTTTT");
  DType dtypes[2 * kMaxOperands] = {};
  const KernelKey all = key_of({&op, dtypes, kMaxOperands, kMaxOperands});
  for (int i = 0; i < 2 * kMaxOperands; i++) {
    DType changed[2 * kMaxOperands] = {};
    changed[i] = DType(kNumDTypes - 1);
    EXPECT_FALSE(all == key_of({&op, changed, kMaxOperands, kMaxOperands})) << i;
  }
}

}  // namespace
}  // namespace wick
