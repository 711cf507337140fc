#include "base/json_text.h"

#include <gtest/gtest.h>

namespace wick {
namespace {

// Expected of kPython and kAscii: json.dumps(text, ensure_ascii=False or True) of Python 3.11.
TEST(JsonText, StringsAreEscapedByTheChosenRule) {
  const std::string text = "\"\\/\b\f\n\r\t\x01\x1f \x7f\xc2\x9b\xc2\xa0é🦊";
  EXPECT_EQ(json_quote(text, JsonEscapes::kPython),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f \x7f\xc2\x9b\xc2\xa0é🦊\"");
  EXPECT_EQ(
      json_quote(text, JsonEscapes::kAscii),
      "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f \\u007f\\u009b\\u00a0\\u00e9\\ud83e\\udd8a\"");
  EXPECT_EQ(json_quote(text),
            "\"\\\"\\\\/\\u0008\\u000c\\n\\u000d\\t\\u0001\\u001f \\u007f\\u009b\xc2\xa0é🦊\"");
}

TEST(JsonText, BytesThatAreNotUtf8AreReplaced) {
  for (const JsonEscapes escapes : {JsonEscapes::kPython, JsonEscapes::kControls})
    EXPECT_EQ(json_quote("a\xff\xe4\xbd\"\xe4", escapes), "\"a\ufffd\ufffd\\\"\ufffd\"");
  EXPECT_EQ(json_quote("\xff", JsonEscapes::kAscii), "\"\\ufffd\"");
}

/// {"a": [1, [], {}], "b": {"c": null}} in this layout.
std::string written(const JsonLayout& layout, int level = 0) {
  JsonWriter json(layout, level);
  json.begin_object();
  json.key("a");
  json.begin_list();
  json.literal("1");
  json.begin_list();
  json.end_list();
  json.begin_object();
  json.end_object();
  json.end_list();
  json.key("b");
  json.begin_object();
  json.key("c");
  json.literal("null");
  json.end_object();
  json.end_object();
  EXPECT_EQ(json.level(), level);
  return json.text();
}

TEST(JsonText, ListsAndObjectsAreLaidOut) {
  EXPECT_EQ(written({}), "{\"a\":[1,[],{}],\"b\":{\"c\":null}}");
  EXPECT_EQ(written({.item_separator = ", ", .key_separator = ": "}),
            "{\"a\": [1, [], {}],\"b\": {\"c\": null}}");
  EXPECT_EQ(written({.entry_lines = true, .indent = "  "}, 1),
            "{\n    \"a\":[1,[],{}],\n    \"b\":{\n      \"c\":null\n    }\n  }");
  EXPECT_EQ(written({.entry_lines = true, .item_lines = true, .indent = "-"}),
            "{\n-\"a\":[\n--1,\n--[],\n--{}\n-],\n-\"b\":{\n--\"c\":null\n-}\n}");
}

TEST(JsonText, ValuesStandAlone) {
  JsonWriter json({});
  json.string("x");
  EXPECT_EQ(json.text(), "\"x\"");
}

}  // namespace
}  // namespace wick
