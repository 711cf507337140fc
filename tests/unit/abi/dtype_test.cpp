#include "wick/abi/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace wick {
namespace {

constexpr int kNumValues = 256;  // of a DType, the most of them unknown

TEST(DType, FactsOfEveryTypeAgreeWithIt) {
  int d = 0;
  for_each(StoredTypes{}, [&]<class T>() {
    EXPECT_EQ(int(kDTypeOf<T>), d);
    EXPECT_EQ(dtype_size(DType(d)), int(sizeof(T))) << dtype_name(DType(d));
    EXPECT_EQ(facts_of(DType(d)).block_elements, 1) << dtype_name(DType(d));
    d++;
  });
  for (; d < kNumDTypes; d++) EXPECT_TRUE(is_block(DType(d))) << dtype_name(DType(d));
}

TEST(DType, NamesAreThereAndDiffer) {
  std::set<std::string> names;
  for (int d = 0; d < kNumDTypes; d++) {
    EXPECT_STRNE(dtype_name(DType(d)), "?") << d;
    names.insert(dtype_name(DType(d)));
  }
  EXPECT_EQ(int(names.size()), kNumDTypes);
}

/// Whether a list has the dtype.
template <class List>
bool has(DType d) {
  return dispatch(d, List{}, []<class>() {});
}

TEST(DType, KindsAreThoseOfTheLists) {
  for (int value = 0; value < kNumValues; value++) {
    const DType d = DType(value);
    SCOPED_TRACE(dtype_name(d));
    EXPECT_EQ(is_integer(d), has<IntegerTypes>(d));
    EXPECT_EQ(is_computed(d), has<AllTypes>(d));
    EXPECT_EQ(is_floating(d), has<StoredTypes>(d) && !has<BitTypes>(d));
    EXPECT_EQ(is_signed(d), (has<TypeList<int8, int16, int32, int64>>(d)));
    EXPECT_EQ(is_block(d), value < kNumDTypes && !has<StoredTypes>(d));
  }
}

TEST(DType, UnknownValuesAreOfNoKindAndHaveNoBytes) {
  for (int value = kNumDTypes; value < kNumValues; value++) {
    const DType d = DType(value);
    EXPECT_STREQ(dtype_name(d), "?");
    EXPECT_EQ(facts_of(d).kind, DTypeKind::kNone);
    EXPECT_EQ(dtype_size(d), 0);
    EXPECT_EQ(bytes_of(d, 5), 0);
  }
}

template <class T>
concept CanBeAsked = requires {
  kDTypeOf<T>;
};

TEST(DType, ToAskForThatOfATypeWithoutOneDoesNotCompile) {
  static_assert(HasDType<float> && HasDType<bool> && HasDType<f4>);
  static_assert(CanBeAsked<float>);
  static_assert(!CanBeAsked<void*> && !CanBeAsked<char> && !CanBeAsked<long long>);
}

TEST(DType, BytesOfElementsAreTheirSizeTimesTheirNumber) {
  static_assert(bytes_of(DType::kF32, 5) == 20 && bytes_of(DType::kBool, 7) == 7);
  EXPECT_EQ(bytes_of(DType::kF64, 0), 0);
  EXPECT_EQ(bytes_of(DType::kF16, (int64(1) << 60) + 1), (int64(1) << 61) + 2);
}

TEST(DType, BytesOfBlocksAreThoseOfWholeOnes) {
  static_assert(bytes_of(DType::kQ8_0, 32) == 34 && bytes_of(DType::kQ8_0, 0) == 0);
  EXPECT_EQ(bytes_of(DType::kQ8_0, 3 * 32), 3 * 34);
  EXPECT_EQ(bytes_of(DType::kQ8_0, int64(1) << 40), (int64(1) << 35) * 34);
  // 32 elements of 8 bits each and an f16: the block of GGUF.
  EXPECT_EQ(facts_of(DType::kQ8_0).block_bytes, int(32 * sizeof(int8) + sizeof(f16)));
}

TEST(DTypeDeathTest, PartsOfBlocksEndTheProgram) {
  volatile int elements = 33;
  volatile DType dtype = DType::kQ8_0;
  EXPECT_DEATH((void)bytes_of(dtype, elements), "");
  EXPECT_DEATH((void)dtype_size(dtype), "");
}

}  // namespace
}  // namespace wick
