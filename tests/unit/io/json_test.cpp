#include "wick/io/json.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "../expect.h"
#include "base/file.h"

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
  EXPECT_ERROR(parse_json("{\"a\":10000000000000000000001-}", "c.json"), kFormat,
               "expected JSON: ");
}

TEST(Json, BadTextIsAnErrorThatNamesTheFile) {
  for (const char* text : {"", "{", "{\"a\":}", "{\"a\":1,}", "nonsense", "{\"a\":1} more"})
    EXPECT_ERROR(parse_json(text, "c.json"), kFormat, "c.json: expected JSON: ");
  EXPECT_ERROR(parse_json("[1]", "c.json"), kFormat, "c.json: expected a JSON object");
  EXPECT_ERROR(parse_json(std::string(5000, '[') + std::string(5000, ']'), "c.json"), kFormat,
               "c.json: expected JSON");
}

// Expected: Python's json module.
TEST(Json, ConstantsOfPythonAreNumbers) {
  const Settings s = parse_json(
      R"({"a": Infinity, "b": [-Infinity, 1], "c": NaN, "d": "NaN", "Infinity": ["Infinity"],
          "e": ["~NaN", 1e999, -1E+400], "f": "a\\\"NaN", "big": 99999999999999999999})",
      "c.json");
  const auto real = [](const Setting& value) { return std::get<double>(value.value); };
  const auto list = [&](const char* key) { return std::get<Setting::List>(s.find(key)->value); };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(real(*s.find("a")), kInf);
  EXPECT_EQ(real(list("b")[0]), -kInf);
  EXPECT_TRUE(std::isnan(real(*s.find("c"))));
  EXPECT_EQ(s.text("d"), "NaN");
  EXPECT_EQ(s.texts("Infinity"), (std::vector<std::string>{"Infinity"}));
  EXPECT_EQ(std::get<std::string>(list("e")[0].value), "~NaN");
  EXPECT_EQ(real(list("e")[1]), kInf);
  EXPECT_EQ(real(list("e")[2]), -kInf);
  EXPECT_EQ(s.text("f"), "a\\\"NaN");
  EXPECT_EQ(s.real("big"), 1e20);
  EXPECT_TRUE(std::isnan(real(parse_json_value("NaN", "c.json"))));
  EXPECT_EQ(real(parse_json_value("0.0001e+999", "x")), kInf);
  EXPECT_EQ(real(parse_json_value("-1000e306", "x")), -kInf);
  EXPECT_ERROR(s.real("a"), kFormat, "c.json: \"a\": expected a number, got the number inf");
}

TEST(Json, TheLastOfRepeatedKeysStaysInTheFirstOnesPlace) {
  EXPECT_EQ(to_json(parse_json_value(R"([{"a":1,"b":2,"a":{"c":1,"c":[]}}])", "x.json"), -1),
            R"([{"a":{"c":[]},"b":2}])");
  EXPECT_EQ(to_json(parse_json(R"({"a":1,"b":1e999,"a":"x"})", "x.json"), -1),
            R"({"a":"x","b":null})");
}

TEST(Json, AByteOrderMarkIsSkipped) {
  EXPECT_EQ(parse_json("\xef\xbb\xbf{\"a\":1}", "x.json").integer("a"), 1);
  EXPECT_ERROR(parse_json("\xef\xbb\xbf{\"a\":}", "x.json"), kFormat, "line 1, column 6: ");
}

TEST(Json, AnErrorNamesLineColumnAndWhatIsThere) {
  struct Row {
    const char *text, *error;
  };
  const Row rows[] = {
      {"{\n  \"a\": 1,\n}", "line 3, column 1: expected a key in double quotes, got \"}\""},
      {"{\"a\": 1,, \"b\": 2}", "line 1, column 9: expected a key in double quotes, got \",\""},
      {"{\"\u00e9\u6f22\" 1}", "line 1, column 7: expected ':', got \"1\""},
      {"[1 2]", "line 1, column 4: expected ',' or ']', got \"2\""},
      {"{\"a\": 1 \"b\": 2}", "line 1, column 9: expected ',' or '}', got \"\\\"b\""},
      {"[1,]", "line 1, column 4: expected a value, got \"]\""},
      {"nonsense", "line 1, column 1: expected a value, got \"nonsense\""},
      {"[True]", "line 1, column 2: expected a value, got \"True\""},
      {"{NaN: 1}", "line 1, column 2: expected a key in double quotes, got \"NaN\""},
      {"{\"a\": 1} {}", "line 1, column 10: expected the end, got \"{\""},
      {"[01]", "line 1, column 3: expected ',' or ']', got \"1\""},
      {"[1.]", "line 1, column 4: expected a number, got \"]\""},
      {"[-]", "line 1, column 3: expected a number, got \"]\""},
      {"[1NaN]", "line 1, column 3: expected ',' or ']', got \"NaN\""},
      {"[\"a\nb\"]", "line 1, column 4: expected an escape for the control character, got \"\\n"},
      {"[\"\\x\"]", "line 1, column 4: expected an escape that JSON has, got \"x\""},
      {"[\"\\u12g4\"]", "line 1, column 7: expected four hexadecimal digits, got \"g4\""},
      {"[1, \"\xff    \"]", "line 1, column 6: expected UTF-8, got \"\xef\xbf\xbd\""},
      {"[aaaaaaaaaaaaaaaaaaaaaaaaaaaaa]", "expected a value, got \"aaaaaaaaaaaaaaaaaaaa\""},
      {"", "line 1, column 1: expected a value, the text ends"},
      {"{\"a\":\n", "line 2, column 1: expected a value, the text ends"},
      {"[1", "line 1, column 3: expected ',' or ']', the text ends"},
      {"[\"a", "line 1, column 4: expected '\"', the text ends"},
      {"[\"a\\", "line 1, column 5: expected '\"', the text ends"},
      {"[\"\\u1", "line 1, column 6: expected '\"', the text ends"},
      {"[\"\xe6\xbc", "expected '\"', the text ends"},
      {"[tru", "line 1, column 5: expected a value, the text ends"},
      {"[-Infi", "line 1, column 7: expected a value, the text ends"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    EXPECT_ERROR(parse_json_value(row.text, "c.json"), kFormat, "c.json: expected JSON: line ");
    EXPECT_ERROR(parse_json_value(row.text, "c.json"), kFormat, row.error);
  }
}

TEST(Json, AFileThatIsCutShortSaysSo) {
  const std::string path = ::testing::TempDir() + "wick-json-cut.json";
  write_text_file(path, "{\"a\": [1, 2");
  EXPECT_ERROR(read_json(path), kFormat,
               path +
                   ": expected JSON: line 1, column 12: expected ',' or ']', the file ends: cut "
                   "short; an incomplete download?");
  write_text_file(path, "{\"a\": 1} x");
  EXPECT_ERROR(read_json(path), kFormat, "column 10: expected the end, got \"x\"");
  std::remove(path.c_str());
}

TEST(Json, AFileThatIsNotThereSaysSo) {
  EXPECT_ERROR(read_json("/nonexistent/config.json"), kIo, "/nonexistent/config.json: ");
  EXPECT_ERROR(write_json("/nonexistent/config.json", {}), kIo, "/nonexistent/config.json: ");
}

}  // namespace
}  // namespace wick
