#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <sstream>

#include "devices/absent.h"
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
    for (auto* more : {op_rows, elementwise_rows, array_rows})
      for (SurfaceRow& row : more()) rows.push_back(std::move(row));
  std::vector<Case> all;
  for (const std::string& device : devices)
    for (const SurfaceRow& row : rows) all.push_back({device, row});
  return all;
}

bool is_card(const Device& device) {
  return device.kind() == DeviceKind::kRocm || device.kind() == DeviceKind::kCuda;
}

/// Why a row may fail so on a device; "" if it may not: a card's compiler of kernels, hipRTC or NVRTC,
/// is a library that a machine may lack.
std::string excuse(const Error& error, bool card) {
  const std::string text = error.what();
  const bool lacks_compiler = card && error.code() == ErrorCode::kUnsupported &&
                              text.find("kernels cannot be compiled: no ") != std::string::npos;
  return lacks_compiler ? text : "";
}

class Surface : public testing::TestWithParam<Case> {};

TEST_P(Surface, GivesWhatIsWrittenDown) {
  const Case& c = GetParam();
  std::string why;
  const std::optional<Device> device = find_device(c.device, &why);
  if (!device) GTEST_SKIP() << why;
  std::vector<double> found;
  try {
    found = c.row.run(*device);
  } catch (const Error& e) {
    const std::string reason = excuse(e, is_card(*device));
    if (reason.empty()) throw;
    GTEST_SKIP() << reason;
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

TEST(SurfaceRows, CallEveryOpOfTheManifest) {
  std::set<std::string> called, known;
  for (const Case& c : cases({"cpu"}, false)) {
    std::istringstream ops(c.row.ops);
    called.insert(std::istream_iterator<std::string>(ops), {});
  }
  const Settings manifest = read_json(WICK_MANIFEST);
  for (const Setting& op : std::get<Setting::List>(manifest.find("ops")->value)) {
    const std::string name = std::get<Settings>(op.value).text("name");
    known.insert(name);
    for (const std::string& alias : std::get<Settings>(op.value).texts("aliases"))
      known.insert(alias);
    EXPECT_EQ(called.count(name), 1u) << name << " has no row";
  }
  EXPECT_GE(known.size(), 250u);
  for (const std::string& name : called)
    EXPECT_EQ(known.count(name), 1u) << "a row calls " << name << ", which is no op";
}

TEST(SurfaceRows, AreExcusedByAMissingCompilerAlone) {
  const char* const text = "f: kernels cannot be compiled: no hipRTC: none of libhiprtc.so.7";
  EXPECT_FALSE(excuse(Error(ErrorCode::kUnsupported, text), true).empty());
  EXPECT_TRUE(excuse(Error(ErrorCode::kUnsupported, text), false).empty());
  EXPECT_TRUE(excuse(Error(ErrorCode::kInvalidArgument, text), true).empty());
  EXPECT_TRUE(excuse(Error(ErrorCode::kUnsupported, "f: no kernel for f8"), true).empty());
}

}  // namespace
}  // namespace wick::test
