// scatter_add in a fixed order, in chunks so small that all of them are met.
#include "kernels/sorted_add.h"

#include <gtest/gtest.h>

#include <vector>

namespace wick::gpu {

const Backend* emulated_backend();

namespace {

/// Operands of one scatter_add: whole numbers, whose sums are exact in any order.
struct Problem {
  int64 outer, along, inner, targets;
  bool repeated_outer, repeated_along, repeated_inner;  // ids

  int64 first_wrong = -1;  // an id of this number is out of range
};

class SortedAdds : public testing::TestWithParam<int32> {};
INSTANTIATE_TEST_SUITE_P(Waves, SortedAdds, testing::Values(32, 64));

View view_of(void* data, DType dtype, int64 o, int64 j, int64 i, int64 so, int64 sj, int64 si) {
  return {data, dtype, 3, {o, j, i}, {so, sj, si}};
}

template <int64 most_ids, int64 most_targets>
void check(int32 device, const Problem& p) {
  using Add = ChunkedSortedAdd<float, float, most_ids, most_targets>;
  const int64 n = p.outer * p.along * p.inner;
  std::vector<float> src(size_t(n * 2)), y(size_t(p.outer * p.targets * p.inner + 1), 1);
  std::vector<int64> ids(static_cast<size_t>(n));
  for (size_t i = 0; i < src.size(); i++) src[i] = float(i * i % 101);
  for (size_t i = 0; i < ids.size(); i++) ids[i] = int64(i * i * 31 % 1009) % p.targets;
  if (p.first_wrong >= 0) ids[size_t(p.first_wrong)] = p.targets;
  const int64 id_o = p.repeated_outer ? 0 : p.along * p.inner;
  const int64 id_j = p.repeated_along ? 0 : p.inner, id_i = p.repeated_inner ? 0 : 1;
  // src: every other element.
  const View in[] = {view_of(src.data(), DType::kF32, p.outer, p.along, p.inner,
                             2 * p.along * p.inner, 2 * p.inner, 2),
                     view_of(ids.data(), DType::kI64, p.outer, p.along, p.inner, id_o, id_j, id_i)};
  const View out =
      view_of(y.data(), DType::kF32, p.outer, p.targets, p.inner, p.targets * p.inner, p.inner, 1);
  std::vector<float> expected = y;
  int64 wrong = -1;  // the first place of the wrong id in row-major order, repetitions left out
  for (int64 o = 0; o < p.outer; o++)
    for (int64 j = 0; j < p.along; j++)
      for (int64 i = 0; i < p.inner; i++) {
        const int64 id = ids[size_t(o * id_o + j * id_j + i * id_i)];
        if (id == p.targets) {
          int64 position = p.repeated_outer ? 0 : o;
          if (!p.repeated_along) position = position * p.along + j;
          if (!p.repeated_inner) position = position * p.inner + i;
          if (wrong < 0) wrong = position;
        } else {
          expected[size_t((o * p.targets + id) * p.inner + i)] +=
              src[size_t(((o * p.along + j) * p.inner + i) * 2)];
        }
      }
  Call call{};
  call.in = in, call.num_in = 2, call.out = &out, call.num_out = 1;
  call.op = &kScatterAdd;
  call.device = device;
  const IndexedCall indexed = IndexedCall::scatter(call);
  std::vector<char> scratch(size_t(Add::scratch_bytes(indexed)));
  call.scratch = scratch.data();
  call.scratch_bytes = int64(scratch.size());
  ASSERT_TRUE(Add::run(indexed, call).ok());
  EXPECT_EQ(y, expected);
  ErrorRecord record;
  ASSERT_TRUE(emulated_backend()->stream_synchronize(device, nullptr, &record).ok());
  EXPECT_EQ(record.code, uint32(wrong < 0 ? StatusCode::kOk : StatusCode::kIdOutOfRange));
  if (wrong >= 0) {
    EXPECT_EQ(record.position, wrong);
    EXPECT_EQ(record.value, p.targets);
    EXPECT_EQ(record.limit, p.targets);
  }
}

TEST_P(SortedAdds, AreExactInChunksOfAnySize) {
  for (int repeated = 0; repeated < 8; repeated++) {
    const bool o = repeated & 1, j = repeated & 2, i = repeated & 4;
    for (const Problem& p : {Problem{3, 40, 5, 7, o, j, i}, Problem{1, 300, 2, 3, o, j, i},
                             Problem{2, 9, 1, 30, o, j, i}, Problem{1, 1, 70, 2, o, j, i}}) {
      check<int64(1) << 26, 0xffffffff>(GetParam(), p);
      check<64, 0xffffffff>(GetParam(), p);
      check<64, 2>(GetParam(), p);
      check<1, 4>(GetParam(), p);
    }
  }
}

TEST_P(SortedAdds, SayWhichIdIsOutOfRange) {
  for (int repeated = 0; repeated < 8; repeated++) {
    Problem p{2, 40, 3, 7, (repeated & 1) != 0, (repeated & 2) != 0, (repeated & 4) != 0};
    p.first_wrong =
        (p.repeated_outer ? 0 : 120) + (p.repeated_along ? 0 : 33) + (p.repeated_inner ? 0 : 2);
    check<int64(1) << 26, 0xffffffff>(GetParam(), p);
    check<16, 2>(GetParam(), p);
  }
}

TEST_P(SortedAdds, OfManyTilesAndLongRows) {
  check<int64(1) << 26, 0xffffffff>(GetParam(), {1, 9000, 2, 3, false, false, true});
  check<int64(1) << 26, 0xffffffff>(GetParam(), {1, 5000, 2, 300, false, false, false});
  check<4500, 100000>(GetParam(), {1, 9001, 1, 70000, false, false, false});
}

// A part of a call begins in y by y's elements, which may be wider than src's.
TEST(IndexedCall, KnowsTheSizeOfEachOperand) {
  const View src = view_of(nullptr, DType::kF16, 1, 4, 2, 8, 2, 1),
             ids = view_of(nullptr, DType::kI64, 1, 4, 2, 0, 1, 0),
             y = view_of(nullptr, DType::kF32, 1, 3, 2, 6, 2, 1);
  const Operands<4> all = IndexedCall{src, ids, y}.operands(3, 2);
  EXPECT_EQ(all.element_bytes[kMoved], 2);
  EXPECT_EQ(all.element_bytes[kIds], 8);
  EXPECT_EQ(all.element_bytes[kAddressed], 4);
}

}  // namespace
}  // namespace wick::gpu
