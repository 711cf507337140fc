#include "lacking.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absent.h"

namespace wick::test {
namespace {

using Lines = std::vector<std::string>;

HasKernel kernels_of(const Device& device) {
  return
      [device](const Op& op, DType dtype) { return !wick::kernels_of(device, op, dtype).empty(); };
}

class Cards : public testing::TestWithParam<const char*> {};

TEST_P(Cards, LackWhatIsListedAndNothingElse) {
  std::string why;
  const std::optional<Device> card = find_device(GetParam(), &why);
  if (!card) GTEST_SKIP() << why;
  EXPECT_EQ(complaints(kLackingOps, kernels_of(Device::cpu()), kernels_of(*card)), Lines{});
}
INSTANTIATE_TEST_SUITE_P(, Cards, testing::Values("emu:32", "emu:64", "rocm:0", "cuda:0"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

// A CPU with every op of f32 and i32, and cards made after a list of it.
constexpr LackingOps kPlanted[] = {{"", "abs trunc"}, {"i32", "matmul"}};
bool cpu_has(const Op&, DType dtype) { return dtype == DType::kF32 || dtype == DType::kI32; }
bool card_has(const Op& op, DType dtype) {
  const std::string_view name = op.name;
  return cpu_has(op, dtype) && name != "abs" && name != "trunc" &&
         !(name == "matmul" && dtype == DType::kI32);
}

TEST(LackingOps, MayBeRight) { EXPECT_EQ(complaints(kPlanted, cpu_has, card_has), Lines{}); }

TEST(LackingOps, MayNotWork) {
  const HasKernel more = [](const Op& op, DType dtype) {
    const std::string_view name = op.name;
    return card_has(op, dtype) || (name == "trunc" && dtype == DType::kF32) ||
           (name == "matmul" && dtype == DType::kI32);
  };
  EXPECT_EQ(complaints(kPlanted, cpu_has, more),
            Lines({"matmul is listed and has kernels of i32: take it off the list",
                   "trunc is listed and has kernels of f32: take it off the list"}));
}

TEST(LackingOps, MayNotMissAKernelThatGotLost) {
  const HasKernel fewer = [](const Op& op, DType dtype) {
    return card_has(op, dtype) && op.name != std::string_view("exp");
  };
  EXPECT_EQ(complaints(kPlanted, cpu_has, fewer),
            Lines({"exp is not listed and has no kernels of i32 f32"}));
}

TEST(LackingOps, AreOps) {
  constexpr LackingOps kWithTypo[] = {{"", "abs trunc truncate"}, {"i32", "matmul"}};
  EXPECT_EQ(complaints(kWithTypo, cpu_has, card_has), Lines({"truncate is listed and no op"}));
}

TEST(LackingOps, HoldAnyOperand) {
  const DType to_i32[] = {DType::kF32, DType::kI32}, to_f16[] = {DType::kF32, DType::kF16};
  EXPECT_TRUE(lacks("matmul", to_i32, kPlanted));
  EXPECT_FALSE(lacks("matmul", to_f16, kPlanted));
}

TEST(LackingOp, IsTheOneThatAnErrorNames) {
  std::string why;
  const std::optional<Device> card = find_device("emu:32", &why);
  if (!card) GTEST_SKIP() << why;
  const auto of = [&](const char* text, ErrorCode code = ErrorCode::kUnsupported) {
    return lacking_op(Error(code, text), *card, kPlanted);
  };
  EXPECT_EQ(of("trunc: no f32 kernel on emu:32, no composite"), "trunc");
  EXPECT_EQ(of("matmul: no i32 kernel on emu:32, no composite"), "matmul");
  EXPECT_EQ(of("fix: no f32 kernel of trunc on emu:32, no composite"), "trunc");
  EXPECT_EQ(of("trunc: no f32 kernel of exp on emu:32, no composite"), "");
  // What cards have they may not lose.
  EXPECT_EQ(of("exp: no f32 kernel on emu:32, no composite"), "");
  EXPECT_EQ(of("matmul: no bf16 kernel on emu:32, no composite"), "");
  EXPECT_EQ(of("trunc: no f32 kernel on emu:64, no composite"), "");
  EXPECT_EQ(of("trunc: no f32 kernel on emu:32 takes this: a reason; no composite"), "");
  EXPECT_EQ(of("trunc: no f32 kernel on emu:32, no composite", ErrorCode::kKernelError), "");
  EXPECT_EQ(lacking_op(Error(ErrorCode::kUnsupported, "trunc: no f32 kernel on cpu, no composite"),
                       Device::cpu(), kPlanted),
            "");
}

}  // namespace
}  // namespace wick::test
