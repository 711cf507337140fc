#include "text/jinja/value.h"

#include <cmath>

#include "../expect.h"
#include "text/jinja/compare.h"
#include "text/jinja/convert.h"
#include "text/jinja/number.h"
#include "text/jinja/print.h"
#include "text/jinja/text.h"

namespace wick::jinja {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

class JinjaValue : public testing::Test {
 protected:
  Value text(std::string bytes) { return make_unmarked(meter, std::move(bytes)); }
  std::string shown(const Value& value) {
    MarkedString out;
    append_repr(meter, out, value);
    return out.bytes();
  }

  const std::string where = "t";
  Meter meter{where, 1'000'000, 1 << 20};
};

TEST_F(JinjaValue, ADictKeepsTheFirstPlaceAndTheLastValueOfEqualKeys) {
  const Value dict =
      make_dict(meter, {{1, text("a")}, {text("k"), 2}, {true, text("b")}, {1.0, text("c")}});
  EXPECT_EQ(shown(dict), "{1: 'c', 'k': 2}");
  EXPECT_EQ(*dict.dict()->find(meter, std::string_view("k"))->integer(), 2);
  EXPECT_EQ(dict.dict()->find(meter, std::string_view("x")), nullptr);
  EXPECT_NE(dict.dict()->find(meter, Value(1.0)), nullptr);
  EXPECT_EQ(dict.dict()->find(meter, Value::None()), nullptr);
  EXPECT_ERROR(make_dict(meter, {{make_list(meter, {}), 1}}), kInvalidArgument,
               "unhashable type: 'list'");
}

TEST_F(JinjaValue, SettingsBecomeValuesWithValidUtf8) {
  const Settings settings =
      Settings().set("a", Setting::List{1, 2.5, nullptr, true}).set("b\xff", "\xe4");
  EXPECT_EQ(shown(value_of(meter, settings)), "{'a': [1, 2.5, None, True], 'b\ufffd': '\ufffd'}");
}

TEST_F(JinjaValue, ValuesNestToALimit) {
  Value list = make_list(meter, {});
  const auto nest = [&] {
    for (int i = 0; i < 1000; i++) list = make_list(meter, {list});
  };
  EXPECT_ERROR((nest(), 0), kUnsupported, "values nest deeper than 500 levels");
  EXPECT_EQ(list.depth(), 500);
}

TEST_F(JinjaValue, LiveBytesAndStepsAreLimited) {
  EXPECT_ERROR(text(std::string(2 << 20, 'a')), kUnsupported, "more than 1048576 bytes of memory");
  for (int i = 0; i < 10; i++) text(std::string(500'000, 'a'));  // each is gone before the next
  const auto run = [&] {
    for (;;) meter.step();
  };
  EXPECT_ERROR((run(), 0), kUnsupported, "more than 1000000 steps");
}

TEST_F(JinjaValue, IntegersOverflowToAnError) {
  const std::tuple<BinaryOp, int64_t, int64_t> rows[] = {
      {BinaryOp::kAdd, kHighest, 1},      {BinaryOp::kSubtract, kLowest, 1},
      {BinaryOp::kMultiply, kHighest, 2}, {BinaryOp::kFloorDivide, kLowest, -1},
      {BinaryOp::kPower, 2, 63},
  };
  for (const auto& [op, lhs, rhs] : rows)
    EXPECT_ERROR(binary(meter, op, lhs, rhs), kUnsupported, "an integer exceeds 64 bits");
  EXPECT_ERROR(negate(meter, kLowest), kUnsupported, "64 bits");
  EXPECT_EQ(*binary(meter, BinaryOp::kRemainder, kLowest, -1).integer(), 0);
  EXPECT_EQ(*binary(meter, BinaryOp::kPower, -1, kHighest).integer(), -1);
  EXPECT_ERROR(truncate(meter, 0x1p63), kUnsupported, "64 bits");
  EXPECT_EQ(truncate(meter, -0x1p63), kLowest);
}

TEST_F(JinjaValue, DivisionTakesTheDivisorsSign) {
  const std::tuple<double, double, double, double> rows[] = {
      {7, 2, 3, 1}, {-7, 2, -4, 1}, {7, -2, -4, -1}, {-7, -2, 3, -1}, {6, -3, -2, 0}};
  for (const auto& [lhs, rhs, quotient, rest] : rows) {
    EXPECT_EQ(*binary(meter, BinaryOp::kFloorDivide, int64_t(lhs), int64_t(rhs)).integer(),
              quotient);
    EXPECT_EQ(*binary(meter, BinaryOp::kRemainder, int64_t(lhs), int64_t(rhs)).integer(), rest);
    EXPECT_EQ(*binary(meter, BinaryOp::kFloorDivide, lhs, rhs).real(), quotient);
    EXPECT_EQ(*binary(meter, BinaryOp::kRemainder, lhs, rhs).real(), rest);
  }
}

TEST_F(JinjaValue, IntegersAndFloatsCompareExactly) {
  EXPECT_FALSE(equal(meter, kHighest, 0x1p63));
  EXPECT_TRUE(compare(meter, CompareOp::kLess, kHighest, 0x1p63));
  EXPECT_TRUE(compare(meter, CompareOp::kGreater, (int64_t(1) << 53) + 1, 0x1p53));
  EXPECT_TRUE(equal(meter, kLowest, -0x1p63));
  EXPECT_TRUE(compare(meter, CompareOp::kGreater, -1, -1.5));
  EXPECT_TRUE(equal(meter, true, 1.0));
  const double nan = std::nan("");
  EXPECT_FALSE(equal(meter, nan, nan));
  EXPECT_FALSE(compare(meter, CompareOp::kLess, nan, 1));
  EXPECT_FALSE(compare(meter, CompareOp::kGreaterEqual, 1, nan));
  EXPECT_ERROR(compare(meter, CompareOp::kLess, 1, text("a")), kInvalidArgument,
               "'<' not supported between instances of 'int' and 'str'");
}

TEST_F(JinjaValue, SortsAreStableInBothDirections) {
  const Items keys{2, 1, 2, 1}, values{10, 11, 12, 13};
  EXPECT_EQ(shown(make_list(meter, sorted(meter, values, keys, false))), "[11, 13, 10, 12]");
  EXPECT_EQ(shown(make_list(meter, sorted(meter, values, keys, true))), "[10, 12, 11, 13]");
}

TEST_F(JinjaValue, NumbersAreReadAsPythonReadsThem) {
  const std::tuple<const char*, int, std::optional<int64_t>> rows[] = {
      {" 12 ", 10, 12}, {"-7", 10, -7},   {"+7", 10, 7},   {"1_000", 10, 1000},
      {"1__0", 10, {}}, {"_1", 10, {}},   {"1_", 10, {}},  {"0x1F", 16, 31},
      {"0x1F", 0, 31},  {"0x1F", 10, {}}, {"0x_1", 16, 1}, {"z", 36, 35},
      {"010", 0, {}},   {"00", 0, 0},     {"", 10, {}},    {"- 1", 10, {}},
      {"--1", 10, {}},  {"٣", 10, 3},     {"1.0", 10, {}}, {"-9223372036854775808", 10, kLowest},
  };
  for (const auto& [digits, base, value] : rows)
    EXPECT_EQ(parse_integer(meter, digits, base), value) << digits << " in base " << base;
  EXPECT_ERROR(parse_integer(meter, "9223372036854775808", 10), kUnsupported, "64 bits");
  EXPECT_EQ(parse_real(" -1.5e2 "), -150.0);
  EXPECT_EQ(parse_real("1_0.5"), 10.5);
  EXPECT_EQ(parse_real("-Infinity"), -HUGE_VAL);
  EXPECT_EQ(parse_real("1e999"), HUGE_VAL);
  EXPECT_EQ(parse_real("5."), 5.0);
  EXPECT_EQ(parse_real("0x10"), std::nullopt);
  EXPECT_EQ(parse_real("e5"), std::nullopt);
}

TEST_F(JinjaValue, RoundingIsHalfToEvenOfTheExactValue) {
  const std::tuple<double, int64_t, double> rows[] = {
      {0.5, 0, 0},  {1.5, 0, 2},    {2.675, 2, 2.67},    {25, -1, 20},
      {35, -1, 40}, {-25, -1, -20}, {1e300, 400, 1e300}, {5, -400, 0}};
  for (const auto& [x, digits, rounded] : rows)
    EXPECT_EQ(*round_number(meter, x, digits).real(), rounded) << x << ", " << digits;
  EXPECT_EQ(*round_number(meter, 25, -1).integer(), 20);
  EXPECT_EQ(*round_number(meter, -35, -1).integer(), -40);
  EXPECT_EQ(*round_number(meter, 7, 3).integer(), 7);
}

TEST_F(JinjaValue, FloatsPrintTheirShortestDigits) {
  const std::pair<double, const char*> rows[] = {
      {0.1, "0.1"},    {1, "1.0"},         {1e15, "1000000000000000.0"},
      {1e16, "1e+16"}, {1e-4, "0.0001"},   {1e-5, "1e-05"},
      {-0.0, "-0.0"},  {5e-324, "5e-324"}, {HUGE_VAL, "inf"}};
  for (const auto& [x, digits] : rows) EXPECT_EQ(real_text(x), digits);
}

TEST_F(JinjaValue, QuotesAreChosenAsPythonChoosesThem) {
  EXPECT_EQ(quoted_text("a"), "'a'");
  EXPECT_EQ(quoted_text("it's"), "\"it's\"");
  EXPECT_EQ(quoted_text("it's \"x\""), "'it\\'s \"x\"'");
  EXPECT_EQ(quoted_text("\n\x7fé\u200b"), "'\\n\\x7fé\\u200b'");
}

TEST_F(JinjaValue, SearchesAreLinearInTheText) {
  const std::string many(1'000'000, 'a');
  EXPECT_EQ(find_text(many, many.substr(0, 500'000) + "b"), std::string::npos);
  EXPECT_EQ(find_text("abcabc", "ca"), 2u);
  EXPECT_EQ(find_text("abc", "", 3), 3u);
  EXPECT_EQ(find_last_text(meter, "abcabc", "bc"), 4u);
  EXPECT_ERROR(find_last_text(meter, many, "b" + many.substr(0, 500'000)), kUnsupported, "steps");
}

TEST_F(JinjaValue, SlicesCountCodePoints) {
  const Value word = text("aöü🦊z");
  EXPECT_EQ(shown(slice(meter, word, 1, 4, {})), "'öü🦊'");
  EXPECT_EQ(shown(slice(meter, word, {}, {}, -2)), "'züa'");
  EXPECT_EQ(shown(slice(meter, word, kHighest, kLowest, kLowest)), "'z'");
  EXPECT_EQ(shown(*item_at(meter, word, -2)), "'🦊'");
  EXPECT_EQ(item_at(meter, word, 5), std::nullopt);
  EXPECT_ERROR(slice(meter, word, {}, {}, 0), kInvalidArgument, "slice step cannot be zero");
}

}  // namespace
}  // namespace wick::jinja
