#include "wick/base/settings.h"

#include <cmath>

#include "../expect.h"

namespace wick {
namespace {

Settings example() {
  Settings inner("f.json: \"rope\"");
  inner.set("theta", 500.0);
  Settings s("f.json");
  s.set("n", 5).set("minus", -5).set("x", 0.5).set("yes", true).set("name", "silu");
  s.set("none", nullptr).set("ids", Setting::List{1, 2}).set("names", Setting::List{"a", "b"});
  return s.set("rope", inner);
}

TEST(Settings, GivesValuesByNameAndType) {
  const Settings s = example();
  EXPECT_EQ(s.integer("n"), 5);
  EXPECT_EQ(s.integer("minus", -10), -5);
  EXPECT_EQ(s.real("x"), 0.5);
  EXPECT_EQ(s.real("n"), 5.0);
  EXPECT_TRUE(s.flag_or("yes", false));
  EXPECT_EQ(s.text("name"), "silu");
  EXPECT_EQ(s.integers("ids"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(s.integers("n"), (std::vector<int64_t>{5}));
  EXPECT_EQ(s.texts("names"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(s.group("rope")->real("theta"), 500.0);
}

TEST(Settings, GivesListsOfNumbers) {
  Settings s = example();
  s.set("betas", Setting::List{0.9, 1, -2.5}).set("wild", Setting::List{1, INFINITY});
  EXPECT_EQ(s.reals("betas"), (std::vector<double>{0.9, 1, -2.5}));
  EXPECT_EQ(s.reals("ids"), (std::vector<double>{1, 2}));
  EXPECT_EQ(s.reals("x"), (std::vector<double>{0.5}));
  EXPECT_EQ(s.reals("n"), (std::vector<double>{5}));
  EXPECT_TRUE(s.reals("absent").empty());
  for (const char* key : {"names", "name", "wild", "rope"})
    EXPECT_ERROR(s.reals(key), kFormat, "expected a number or a list of numbers, got ");
}

TEST(Settings, NullIsNothing) {
  const Settings s = example();
  EXPECT_FALSE(s.has("none"));
  EXPECT_EQ(s.integer_or("none", 7), 7);
  EXPECT_TRUE(s.integers("none").empty());
  EXPECT_EQ(s.group("absent"), nullptr);
  EXPECT_ERROR(s.integer("none"), kFormat,
               "f.json: \"none\": expected an integer of at least 0, got nothing");
}

TEST(Settings, AnotherTypeIsAnErrorThatNamesFileKeyExpectedAndGot) {
  const Settings s = example();
  EXPECT_ERROR(s.integer("name"), kFormat,
               "f.json: \"name\": expected an integer of at least 0, got the string \"silu\"");
  EXPECT_ERROR(s.integer("x"), kFormat, "got the number 0.5");
  EXPECT_ERROR(s.integer("yes"), kFormat, "got true");
  EXPECT_ERROR(s.integer("minus", 1), kFormat, "expected an integer of at least 1, got -5");
  EXPECT_ERROR(s.real("yes"), kFormat, "\"yes\": expected a number, got true");
  EXPECT_ERROR(s.flag_or("n", true), kFormat, "\"n\": expected true or false, got 5");
  EXPECT_ERROR(s.text("ids"), kFormat, "\"ids\": expected a string, got a list");
  EXPECT_ERROR(s.integers("names"), kFormat, "expected an integer or a list of integers");
  EXPECT_ERROR(s.texts("ids"), kFormat, "\"ids\": expected a list of strings, got a list");
  EXPECT_ERROR(s.group("n"), kFormat, "\"n\": expected an object, got 5");
  EXPECT_ERROR(s.group("rope")->integer("theta"), kFormat, "f.json: \"rope\": \"theta\": expected");
}

TEST(Settings, ALaterValueTakesThePlaceOfTheFirst) {
  Settings s = example();
  const size_t count = s.entries().size();
  s.set("n", 6);
  EXPECT_EQ(s.integer("n"), 6);
  EXPECT_EQ(s.entries().size(), count);
  EXPECT_EQ(s.entries()[0].first, "n");
}

}  // namespace
}  // namespace wick
