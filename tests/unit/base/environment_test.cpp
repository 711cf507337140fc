#include "base/environment.h"

#include <cstdlib>

#include "../expect.h"

namespace wick {
namespace {

constexpr const char* kName = "WICK_TEST_VARIABLE";

class Environment : public testing::Test {
 protected:
  ~Environment() override { unsetenv(kName); }
  static void set(const char* text) { setenv(kName, text, 1); }
};

TEST_F(Environment, IsNothingWhereTheVariableIsNotSetOrEmpty) {
  unsetenv(kName);
  EXPECT_FALSE(environment(kName));
  set("");
  EXPECT_FALSE(environment(kName));
  EXPECT_FALSE(environment_integer(kName, 0, 1));
  EXPECT_FALSE(environment_choice(kName, {"a"}));
}

TEST_F(Environment, GivesTheText) {
  set("a b");
  EXPECT_EQ(environment(kName), "a b");
}

TEST_F(Environment, TakesIntegersOfTheRange) {
  for (const int value : {-3, 0, 12}) {
    set(std::to_string(value).c_str());
    EXPECT_EQ(environment_integer(kName, -3, 12), value);
  }
}

TEST_F(Environment, RefusesWhatIsNoIntegerOfTheRange) {
  for (const char* text : {"13", "-4", "1x", "x", "1.5", " 1", "99999999999999999999"}) {
    set(text);
    EXPECT_ERROR(
        environment_integer(kName, -3, 12), kInvalidArgument,
        "WICK_TEST_VARIABLE: expected an integer from -3 to 12, got \"" + std::string(text) + "\"");
  }
}

TEST_F(Environment, TakesOneOfTheWords) {
  set("never");
  EXPECT_EQ(environment_choice(kName, {"auto", "never"}), 1);
  set("Never");
  EXPECT_ERROR(environment_choice(kName, {"auto", "never"}), kInvalidArgument,
               "WICK_TEST_VARIABLE: expected one of auto, never, got \"Never\"");
}

}  // namespace
}  // namespace wick
