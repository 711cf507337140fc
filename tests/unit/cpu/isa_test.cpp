#include "runtime/isa.h"

#include <cstdlib>

#include "expect.h"
#include "runtime/backend.h"

namespace wick::cpu {
namespace {

TEST(Isa, TheMachinesOwnIsTakenWhereNothingIsAskedFor) {
  for (const Isa machine : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512})
    EXPECT_EQ(choose_isa(machine, std::nullopt), machine);
}

TEST(Isa, ALesserOneMayBeAskedFor) {
  EXPECT_EQ(choose_isa(Isa::kAvx512, "baseline"), Isa::kBaseline);
  EXPECT_EQ(choose_isa(Isa::kAvx512, "avx2"), Isa::kAvx2);
  EXPECT_EQ(choose_isa(Isa::kAvx2, "avx2"), Isa::kAvx2);
}

TEST(Isa, WhatTheMachineLacksIsAnErrorThatNamesBoth) {
  EXPECT_ERROR(choose_isa(Isa::kAvx2, "avx512"), kUnsupported,
               "WICK_CPU: this machine lacks avx512 (x86-64-v4), it has avx2 (x86-64-v3)");
  EXPECT_ERROR(choose_isa(Isa::kBaseline, "avx2"), kUnsupported, "WICK_CPU");
}

TEST(Isa, ABuildOfFewerSetsGivesTheWidestThatTheMachineHas) {
  constexpr unsigned kBaseline = 1, kAvx2 = 2, kAvx512 = 4;
  EXPECT_EQ(choose_isa(Isa::kAvx512, std::nullopt, kAvx2), Isa::kAvx2);
  EXPECT_EQ(choose_isa(Isa::kAvx2, std::nullopt, kBaseline | kAvx512), Isa::kBaseline);
  EXPECT_ERROR(
      choose_isa(Isa::kAvx2, std::nullopt, kAvx512), kUnsupported,
      "cpu: this build has kernels for avx512 alone, this machine has avx2; configure with "
      "-DWICK_CPU_ISAS=native");
  EXPECT_ERROR(choose_isa(Isa::kAvx512, "avx2", kBaseline | kAvx512), kUnsupported,
               "WICK_CPU: this build lacks avx2, it has baseline, avx512; configure with "
               "-DWICK_CPU_ISAS=avx2");
}

TEST(Isa, AnUnknownWordIsAnErrorThatListsTheWords) {
  EXPECT_ERROR(choose_isa(Isa::kAvx512, "sse9"), kInvalidArgument,
               "WICK_CPU: expected baseline, avx2 or avx512, got \"sse9\"");
}

/// The architecture that the backend reports when WICK_CPU is `word`.
std::string architecture_under(const char* word) {
  return wick::test::in_child([&] {
    setenv("WICK_CPU", word, 1);
    DeviceInfo info;
    const Status status = cpu_backend()->device_info(0, &info);
    return status.ok() ? std::string(info.architecture) : std::string(status.text);
  });
}

TEST(Isa, TheBackendFollowsTheEnvironment) {
  for (int i = 0; i <= int(machine_isa()); i++)
    EXPECT_EQ(architecture_under(kIsaNames[i]), kArchitectures[i]);
  EXPECT_EQ(architecture_under("mmx"),
            "invalid argument: WICK_CPU: expected baseline, avx2 or avx512, got \"mmx\"");
}

}  // namespace
}  // namespace wick::cpu
