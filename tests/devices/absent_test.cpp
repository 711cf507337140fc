#include "absent.h"

#include <gtest/gtest.h>

namespace wick::test {
namespace {

TEST(Absent, IsWhatIsNotThere) {
  const BackendStatus none;
  EXPECT_TRUE(is_absent(Error(ErrorCode::kModuleMissing, "no wick_rocm.so"), none));
  EXPECT_TRUE(is_absent(Error(ErrorCode::kRuntimeMissing, "no libamdhip64"), none));
  EXPECT_TRUE(is_absent(Error(ErrorCode::kDeviceMissing, "no AMD GPU"), none));
}

TEST(Absent, IsNotWhatIsThereAndFails) {
  BackendStatus broken;
  broken.module = "/lib/wick_rocm.so";
  EXPECT_FALSE(is_absent(Error(ErrorCode::kModuleMissing, "cannot be loaded"), broken));
  broken.unusable = {"rocm:0 cannot be opened"};
  EXPECT_FALSE(is_absent(Error(ErrorCode::kDeviceMissing, "no such device"), broken));
  for (const ErrorCode code : {ErrorCode::kRocm, ErrorCode::kCuda, ErrorCode::kKernelNotFound,
                               ErrorCode::kOutOfMemory, ErrorCode::kInvalidArgument})
    EXPECT_FALSE(is_absent(Error(code, "planted"), {})) << error_code_name(code);
}

TEST(FindDevice, GivesADeviceOrTheReason) {
  std::string why;
  EXPECT_TRUE(find_device("cpu", &why));
  EXPECT_EQ(why, "");
  if (!find_device("cuda:0", &why)) {
    EXPECT_NE(why, "");
  }
  EXPECT_THROW(find_device("gpu:0", &why), Error);
}

#ifdef WICK_TESTS_HAVE_EMULATOR
TEST(FindDevice, TakesNoAbsenceOfTheEmulator) {
  std::string why;
  EXPECT_TRUE(find_device("emu:32", &why));
  EXPECT_THROW(find_device("emu:48", &why), Error);
}
#endif

}  // namespace
}  // namespace wick::test
