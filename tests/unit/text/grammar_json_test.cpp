#include "grammar_texts.h"

namespace wick {
namespace {

using test::expect_texts;

TEST(JsonObject, HasJson) {
  expect_texts(Grammar::json_object(),
               {
                   "{}",
                   " {\n}",
                   R"({"a": 1, "b": [true,false, null], "c": {"d": -0.5e+10}})",
                   "{\n  \"a\": [\n    1,\n    2\n  ]\n}",
                   R"({"": "\"\\\/\b\f\n\r\t\u0041\uFFFF\ud83d\ude00é€😀"})",
                   R"({"n":[0,-1,1234567890123456789,0.12345678901234567,1E5,1e-99]})",
                   "{\"a\":\n\t\t[],\"b\": {}}",
               },
               {
                   "",
                   "[]",
                   "1",
                   "{",
                   "{\"a\"}",
                   "{a:1}",
                   "{\"a\":1,}",
                   "{\"a\":1}}",
                   "{\"a\":01}",
                   "{\"a\":.5}",
                   "{\"a\":1.}",
                   "{\"a\":+1}",
                   "{\"a\":12345678901234567890}",
                   "{\"a\":1e999}",
                   "{\"a\":nul}",
                   "{\"a\":\"\n\"}",
                   R"({"a":"\x"})",
                   R"({"a":"\ud800"})",
                   R"({"a":"\udc00\ud800"})",
                   R"({"a":"\ud83dx"})",
                   "{\"a\":\"\x80\"}",
                   "{\"a\" :1}",
                   "{\"a\":  1}",
                   "{\"a\":1}\n",
                   "  {}",
               });
}

TEST(JsonObject, NestsAsDeeplyAsTheTextDoes) {
  std::string text = "{\"a\":";
  for (int i = 0; i < 20000; i++) text += i % 2 ? "[" : "{\"b\": ";
  text += "0";
  for (int i = 20000; i-- > 0;) text += i % 2 ? "]" : "}";
  EXPECT_TRUE(Grammar::json_object().matches(text + "}"));
  EXPECT_FALSE(Grammar::json_object().matches(text + "]"));
}

}  // namespace
}  // namespace wick
