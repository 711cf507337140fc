#include <gtest/gtest.h>

#include <cmath>

#include "rows.h"

namespace wick::test {
namespace {

struct Case {
  std::string device;
  SurfaceRow row;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.device + "_" + info.param.row.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}
void PrintTo(const Case& c, std::ostream* out) { *out << c.row.name << " on " << c.device; }

std::vector<Case> cases(const std::vector<std::string>& devices, bool basic_only) {
  std::vector<SurfaceRow> rows = basic_rows();
  if (!basic_only)
    for (SurfaceRow& row : op_rows()) rows.push_back(std::move(row));
  std::vector<Case> all;
  for (const std::string& device : devices)
    for (const SurfaceRow& row : rows) all.push_back({device, row});
  return all;
}

class Surface : public testing::TestWithParam<Case> {};

TEST_P(Surface, GivesWhatIsWrittenDown) {
  const Case& c = GetParam();
  std::optional<Device> device;
  try {
    device = Device::parse(c.device);
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();
  }
  if (!c.row.run) GTEST_SKIP() << "wick has no such function yet";
  std::vector<double> found;
  try {
    found = c.row.run(*device);
  } catch (const Error& e) {
    // Nothing moves to the CPU silently: a missing kernel says so. The CPU has them all.
    if (e.code() != ErrorCode::kUnsupported || device->is_cpu()) throw;
    GTEST_SKIP() << e.what();
  }
  ASSERT_EQ(found.size(), c.row.expected.size());
  for (size_t i = 0; i < found.size(); i++) {
    const double expected = c.row.expected[i];
    const bool same = found[i] == expected || (std::isnan(found[i]) && std::isnan(expected)) ||
                      std::abs(found[i] - expected) <= 2e-6 * std::abs(expected);
    EXPECT_TRUE(same) << "element " << i << ": " << found[i] << ", expected " << expected;
  }
}

INSTANTIATE_TEST_SUITE_P(device_surface, Surface,
                         testing::ValuesIn(cases({"cpu", "rocm:0", "cuda:0", "emu:32", "emu:64"},
                                                 false)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(rocm_basic, Surface, testing::ValuesIn(cases({"rocm:0"}, true)), name_of);

}  // namespace
}  // namespace wick::test
