#include "wick/io/json.h"

#include <limits>

#include "../expect.h"

namespace wick {
namespace {

TEST(Json, WhatIsWrittenIsReadAgain) {
  Settings inner;
  inner.set("theta", 1e-5).set("deep", Setting::List{Setting::List{1, 2}, Setting::List{}});
  Settings s;
  s.set("n", int64_t(9007199254740993))
      .set("x", 0.1)
      .set("text", "a\"b\\c\n\xc3\xa9")
      .set("yes", true);
  s.set("none", nullptr).set("inner", inner).set("empty", Settings());
  for (const int indent : {-1, 0}) {
    const std::string text = to_json(s, indent);
    EXPECT_EQ(text.find('\n') == std::string::npos, indent < 0) << text;
    const Settings back = parse_json(text, "x.json");
    EXPECT_EQ(to_json(back, indent), text);
    EXPECT_EQ(back.integer("n"), 9007199254740993);
    EXPECT_EQ(back.real("x"), 0.1);
    EXPECT_EQ(back.group("inner")->real("theta"), 1e-5);
    EXPECT_EQ(back.text("text"), "a\"b\\c\n\xc3\xa9");
  }
}

TEST(Json, ControlCharactersAreEscapedSoThatTerminalsMayPrintThem) {
  const std::string text = "\x1f \x7f\xc2\x80\xc2\x9f\xc2\xa0~\xc3\x9b";
  const std::string written = to_json(text, -1);
  EXPECT_EQ(written, "\"\\u001f \\u007f\\u0080\\u009f\xc2\xa0~\xc3\x9b\"");
  EXPECT_EQ(std::get<std::string>(parse_json_value(written, "x").value), text);
}

TEST(Json, NumbersKeepTheirKind) {
  const std::string text = "[4.0,4,-0.0,1e+30,9007199254740992.0]";
  EXPECT_EQ(to_json(parse_json_value(text, "x.json"), -1), text);
}

TEST(Json, TheWholeMayBeOfAnyKind) {
  const Setting list = parse_json_value("[1, 0.5, {\"a\": [2]}, \"b\"]", "x.json");
  const auto& items = std::get<Setting::List>(list.value);
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(std::get<double>(items[1].value), 0.5);
  EXPECT_EQ(std::get<Settings>(items[2].value).integers("a"), (std::vector<int64_t>{2}));
  EXPECT_EQ(to_json(list, -1), "[1,0.5,{\"a\":[2]},\"b\"]");
  EXPECT_EQ(std::get<int64_t>(parse_json_value("-7", "x.json").value), -7);
  const std::string path = ::testing::TempDir() + "wick-json-test.json";
  write_json(path, list);
  EXPECT_EQ(to_json(read_json_value(path), -1), to_json(list, -1));
  EXPECT_ERROR(read_json(path), kFormat, path + ": expected a JSON object");
  std::remove(path.c_str());
  EXPECT_ERROR(read_json_value(path), kIo, path + ": ");
  EXPECT_ERROR(parse_json_value("[{\"a\":1,\"a\":3}]", "x.json"), kFormat,
               "x.json: \"a\" appears twice");
  EXPECT_ERROR(parse_json_value("[1", "x.json"), kFormat, "x.json: expected JSON: ");
}

TEST(Json, ANumberThatIsNoneIsNull) {
  Settings s;
  s.set("x", std::numeric_limits<double>::infinity());
  EXPECT_EQ(to_json(s, -1), "{\"x\":null}");
}

TEST(Json, IntegersBeyondSixtyFourBitsAreReals) {
  const Settings s = parse_json(
      R"({"model_max_length": 1000000000000000019884624838656, "least": -9223372036854775809,
          "u64": 18446744073709551615, "9999999999999999999999": "1000000000000000000000\\\"000000",
          "i64": -9223372036854775808, "list": [9999999999999999999999,1]})",
      "x.json");
  EXPECT_EQ(s.real("model_max_length"), 1e30);
  EXPECT_EQ(s.real("least"), -0x1p63);
  EXPECT_EQ(s.real("u64"), 0x1p64);
  EXPECT_EQ(s.text("9999999999999999999999"), "1000000000000000000000\\\"000000");
  EXPECT_EQ(std::get<int64_t>(s.find("i64")->value), INT64_MIN);
  EXPECT_ERROR(s.integers("list"), kFormat, "x.json: \"list\": expected");
  EXPECT_ERROR(parse_json("{\"a\":1e999}", "c.json"), kFormat, "c.json: expected JSON: ");
  EXPECT_ERROR(parse_json("{\"a\":10000000000000000000001-}", "c.json"), kFormat,
               "expected JSON: ");
}

TEST(Json, BadTextIsAnErrorThatNamesTheFile) {
  for (const char* text : {"", "{", "{\"a\":}", "{\"a\":1,}", "nonsense", "{\"a\":1} more"})
    EXPECT_ERROR(parse_json(text, "c.json"), kFormat, "c.json: expected JSON: ");
  EXPECT_ERROR(parse_json("[1]", "c.json"), kFormat, "c.json: expected a JSON object");
  EXPECT_ERROR(parse_json("{\"a\":1,\"b\":2,\"a\":3}", "c.json"), kFormat,
               "c.json: \"a\" appears twice");
  EXPECT_ERROR(parse_json("{\"o\":{\"a\":1,\"a\":3}}", "c.json"), kFormat,
               "c.json: \"o\": \"a\" appears twice");
  EXPECT_ERROR(parse_json(std::string(5000, '[') + std::string(5000, ']'), "c.json"), kFormat,
               "c.json: expected JSON");
}

TEST(Json, AFileThatIsNotThereSaysSo) {
  EXPECT_ERROR(read_json("/nonexistent/config.json"), kIo, "/nonexistent/config.json: ");
  EXPECT_ERROR(write_json("/nonexistent/config.json", {}), kIo, "/nonexistent/config.json: ");
}

}  // namespace
}  // namespace wick
