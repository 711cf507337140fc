// The list of what is known to fail, and how versions compare.
#include "doctor/known_bad.h"

#include <set>

#include "../expect.h"

namespace wick::test {
namespace {

using doctor::compare_versions;

TEST(KnownBad, EveryEntryHasATextACureAndASource) {
  std::set<std::string> ids;
  for (const doctor::KnownBad& bad : doctor::known_bad_list().versions) {
    EXPECT_TRUE(ids.insert(bad.id).second) << bad.id << " twice";
    EXPECT_FALSE(bad.problem.empty()) << bad.id;
    EXPECT_FALSE(bad.cure.empty()) << bad.id;
    ASSERT_FALSE(bad.sources.empty()) << bad.id;
    for (const std::string& source : bad.sources)
      EXPECT_TRUE(source.starts_with("https://")) << bad.id << ": " << source;
    if (!bad.from.empty() && !bad.below.empty()) {
      EXPECT_LT(compare_versions(bad.from, bad.below), 0) << bad.id;
    }
    EXPECT_TRUE(std::set<std::string>({"linux", "hip", "amdgpu", "nvidia"}).count(bad.component) ||
                bad.component.starts_with("firmware."))
        << bad.id << ": " << bad.component;
  }
  EXPECT_GE(ids.size(), 15u);
  for (const doctor::BadVariable& bad : doctor::known_bad_list().variables) {
    EXPECT_FALSE(bad.cure.empty()) << bad.name;
    // wick's own variables are documented by wick.
    const bool is_ours = bad.name.starts_with("WICK_");
    EXPECT_TRUE(is_ours || !bad.sources.empty()) << bad.name;
  }
}

TEST(KnownBad, VersionsCompareByTheirNumbers) {
  EXPECT_LT(compare_versions("6.9", "6.17"), 0);
  EXPECT_LT(compare_versions("6.17.13-arch1-1", "6.18"), 0);
  EXPECT_EQ(compare_versions("6.18", "6.18.0"), 0);
  EXPECT_GT(compare_versions("6.18.3-arch1-1", "6.18"), 0);
  EXPECT_GT(compare_versions("7.0.0-28-generic", "6.18"), 0);
  EXPECT_EQ(compare_versions("0x00000083", "0x83"), 0);
  EXPECT_LT(compare_versions("0x80", "0x83"), 0);
  EXPECT_LT(compare_versions("470.256.02", "525.60.13"), 0);
  EXPECT_LT(compare_versions("", "1"), 0);
  EXPECT_EQ(compare_versions("nonsense", ""), 0);
}

TEST(KnownBad, AnEntryThatIsWrongIsNamed) {
  EXPECT_ERROR(doctor::parse_known_bad(R"({"versions": [{"id": "x", "severity": "bad"}]})"),
               kFormat, "known_bad.json: x: \"severity\": expected note, warning or problem");
  EXPECT_ERROR(doctor::parse_known_bad(R"({"variables": []})"), kFormat,
               "\"versions\": expected a list");
  EXPECT_ERROR(doctor::parse_known_bad(R"({"versions": [7], "variables": []})"), kFormat,
               "expected an object");
}

}  // namespace
}  // namespace wick::test
