#include "grammar_texts.h"

namespace wick {
namespace {

using test::expect_texts;

Grammar schema(const std::string& text) {
  return Grammar::json_schema(parse_json_value(text, "schema"));
}

struct Row {
  const char* schema;
  std::vector<std::string> texts, others;
};

class JsonSchema : public testing::TestWithParam<Row> {};

TEST_P(JsonSchema, HasTheseTextsAndNotTheOthers) {
  SCOPED_TRACE(GetParam().schema);
  expect_texts(schema(GetParam().schema), GetParam().texts, GetParam().others);
}

const Row kRows[] = {
    // Kinds.
    {"true",
     {"null", "true", "-1.5e3", "\"a\\u0041\"", "[1, {}]", "{\"a\":[]}", " 1"},
     {"", "nul", "[1,]", "1 "}},
    {"{\"title\":\"t\",\"description\":\"d\",\"$schema\":\"s\",\"$id\":\"i\",\"default\":1,"
     "\"examples\":[],\"$comment\":\"c\",\"x-more\":{}}",
     {"null", "[]"},
     {"]"}},
    {R"({"type":"null"})", {"null"}, {"true", "0", "\"null\""}},
    {R"({"type":"boolean"})", {"true", "false"}, {"null", "0", "True"}},
    {R"({"type":"string"})", {"\"\"", "\"a\\n\\u00e9\\/€\""}, {"\"", "\"\n\"", "1", "\"\\x\""}},
    {R"({"type":"integer"})", {"0", "-12", "1234567890123456789"}, {"1.0", "01", "1e3", "\"1\""}},
    {R"({"type":"number"})", {"0", "-12", "1.5", "2e-7"}, {"01", ".5", "1.", "null"}},
    {R"({"type":"array"})", {"[]", "[1, \"a\", [null]]"}, {"{}", "[1 2]"}},
    {R"({"type":"object"})", {"{}", "{\"a\": {\"b\": 1}}"}, {"[]", "{\"a\"}"}},
    {R"({"type":["string","null"]})", {"null", "\"a\""}, {"1", "[]", "true"}},
    {R"({"type":["integer","number"]})", {"1", "1.5"}, {"null"}},
    {R"({"items":false,"minLength":1})", {"[]", "\"a\"", "1", "{\"a\":[1]}"}, {"[1]", "\"\""}},

    // Objects.
    {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":true},
         "required":["b"],"additionalProperties":false})",
     {R"({"b":""})", R"({"a": 1, "b": "x"})", "{\n  \"a\": 1,\n  \"b\": \"\",\n  \"c\": []\n}",
      R"({"b":"","c":null})"},
     {"{}", R"({"a":1})", R"({"b":"","a":1})", R"({"b":1})", R"({"b":"","d":1})", R"({"b":"",})",
      R"({,"b":""})", R"({"a":1"b":""})", R"({"b":"","b":""})"}},
    {R"({"type":"object","properties":{"a":{"type":"integer"},"ab":{}}})",
     {"{}", R"({"a":1})", R"({"a":1,"ab":[],"x":null,"":1,"abc":2,"é\n":3})", R"({"x":1})",
      R"({"b":1,"b":2})"},
     {R"({"a":"1"})", R"({"x":1,"a":"1"})", R"({"x":1,"a":1})", R"({"x":1,"ab":1})",
      R"({"\u0061":"1"})", R"({"x":1,})"}},
    {R"({"type":"object","properties":{"a":{}},"additionalProperties":{"type":"integer"}})",
     {R"({"a":"x","b":1})", R"({"b":1,"c":2})"},
     {R"({"b":"x"})", R"({"a":"x","b":"y"})"}},
    {R"({"type":"object","additionalProperties":{"type":"boolean"}})",
     {"{}", R"({"\u0061":true,"a":false})"},
     {R"({"a":1})"}},
    {R"({"type":"object","properties":{"a":{}},"required":["c","a"],"additionalProperties":{
         "type":"integer"}})",
     {R"({"a":"","c":1})", R"({"a":"","c":1,"d":2})"},
     {R"({"a":""})", R"({"a":"","c":""})", R"({"c":1,"a":1})", R"({"a":"","d":2,"c":1})"}},
    {R"({"type":"object","properties":{"\"\\\n\u0001/€":{"type":"null"}},
         "additionalProperties":false})",
     {"{}", R"({"\"\\\n\u0001/€":null})"},
     {R"({"\"\\\n\u0001\/€":null})", R"({"a":null})"}},
    {R"({"type":"object","properties":{"a":false,"b":{}},"additionalProperties":false})",
     {"{}", R"({"b":1})"},
     {R"({"a":1})", R"({"a":1,"b":1})"}},
    {R"({"type":"object","patternProperties":{"^n":{"type":"integer"},"s$":{"minLength":2}},
         "properties":{"n":{"maximum":5},"other":{}},"additionalProperties":false})",
     {R"({"n":5,"other":1,"no":7,"is":"ab"})", R"({"ns":12})", R"({"s":1})"},
     {R"({"n":6})", R"({"no":"a"})", R"({"is":"a"})", R"({"ns":"ab"})", R"({"x":1})"}},
    {R"({"type":"object","propertyNames":{"pattern":"^[a-c]*$","maxLength":2}})",
     {"{}", R"({"a":1,"bc":[]})"},
     {R"({"abc":1})", R"({"d":1})"}},
    {R"({"type":"object","propertyNames":{"enum":["a","b",1]},"properties":{"b":{},"c":{}}})",
     {R"({"b":1,"a":1})", R"({"a":1})"},
     {R"({"c":1})", R"({"d":1})"}},
    {R"({"type":"object","properties":{"a":{},"b":{},"c":{}},"additionalProperties":false,
         "minProperties":2})",
     {R"({"a":1,"b":1})", R"({"b":1,"c":1})", R"({"a":1,"b":1,"c":1})"},
     {"{}", R"({"a":1})", R"({"c":1})"}},
    {R"({"type":"object","properties":{"a":{},"b":{},"c":{}},"required":["b"],"maxProperties":2})",
     {R"({"b":1})", R"({"a":1,"b":1})", R"({"b":1,"c":1})", R"({"b":1,"x":1})"},
     {R"({"a":1})", R"({"a":1,"b":1,"c":1})", R"({"a":1,"b":1,"x":1})", R"({"b":1,"x":1,"y":1})"}},
    {R"({"type":"object","properties":{"a":{}},"minProperties":2,"maxProperties":3})",
     {R"({"a":1,"x":1})", R"({"a":1,"x":1,"y":1})"},
     {R"({"a":1})", R"({"x":1,"x":1})", R"({"a":1,"x":1,"y":1,"z":1})"}},
    {R"({"type":"object","minProperties":1})", {R"({"x":1})", R"({"x":1,"y":1})"}, {"{}"}},
    {R"({"type":"object","maxProperties":0})", {"{}", "{ }"}, {R"({"x":1})"}},

    // Arrays.
    {R"({"type":"array","items":{"type":"integer"}})",
     {"[]", "[1]", "[1, 2,\n  3]"},
     {"[\"a\"]", "[1,\"a\"]", "[,1]", "[1,,2]"}},
    {R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3})",
     {"[1,2]", "[1,2,3]"},
     {"[]", "[1]", "[1,2,3,4]"}},
    {R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":{
         "type":"null"}})",
     {"[]", "[1]", "[1,\"a\"]", "[1,\"a\",null,null]"},
     {"[\"a\"]", "[1,2]", "[1,\"a\",1]"}},
    {R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false,
         "minItems":2})",
     {"[1,\"a\"]"},
     {"[1]", "[1,\"a\",null]"}},
    {R"({"type":"array","items":[{"type":"integer"}],"additionalItems":{"type":"null"},
         "minItems":2,"maxItems":3})",
     {"[1,null]", "[1,null,null]"},
     {"[1]", "[1,1]", "[1,null,null,null]"}},
    {R"({"type":"array","prefixItems":[{},{},{}],"maxItems":1})", {"[]", "[1]"}, {"[1,2]"}},
    {R"({"type":"array","maxItems":0})", {"[]", "[ ]"}, {"[1]"}},
    {R"({"type":"array","minItems":3})", {"[1,2,3]", "[1,2,3,4]"}, {"[1,2]"}},
    {R"({"type":"array","uniqueItems":true,"maxItems":1})", {"[]", "[2]"}, {"[1,1]"}},
    {R"({"type":"array","uniqueItems":false})", {"[1,1]"}, {}},

    // Constants.
    {R"({"const":{"a":[1,"x\n€"],"b":null}})",
     {R"({"a":[1,"x\n€"],"b":null})", "{\n  \"a\": [ 1, \"x\\n€\" ], \"b\": null}"},
     {R"({"b":null,"a":[1,"x\n€"]})", R"({"a":[1,"x\u000a€"],"b":null})", "{}"}},
    {R"({"enum":["a","ab",1,2.5,3.0,true,null,[],{}]})",
     {"\"a\"", "\"ab\"", "1", "2.5", "3.0", "true", "null", "[]", "{}"},
     {"\"b\"", "2", "false", "[1]"}},
    {R"({"enum":["a",1,2,"b"],"type":"string"})", {"\"a\"", "\"b\""}, {"1"}},
    {R"({"enum":[1,5,9,"long",[1],[1,2],{"a":1},{"b":1}],"minimum":4,"maxLength":2,"maxItems":1,
         "required":["a"]})",
     {"5", "9", "[1]", "{\"a\":1}"},
     {"1", "\"long\"", "[1,2]", "{\"b\":1}"}},
    {R"({"const":null})", {"null"}, {"1", "\"null\""}},
    {R"({"enum":[{"a":null},{"a":1}],"required":["a"],"const":{"a":null}})",
     {R"({"a":null})"},
     {"{}", R"({"a":1})"}},
    {R"({"const":1.0,"type":"integer"})", {"1.0"}, {"1", "2"}},
    {R"({"enum":["/\"\\\u0000\u007f"]})", {"\"/\\\"\\\\\\u0000\x7f\""}, {"\"\\/\\\"\\\\\\u0000\""}},

    // Combinations.
    {R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":1},false]})",
     {"1", "\"a\""},
     {"null", "\"ab\""}},
    {R"({"type":"integer","anyOf":[{"minimum":10},{"maximum":0}]})",
     {"10", "0", "-5"},
     {"5", "\"a\"", "1.5"}},
    {R"({"oneOf":[{"type":"integer"},{"type":"string"},{"type":"null"}]})",
     {"1", "\"a\"", "null"},
     {"1.5"}},
    {R"({"type":"object","properties":{"kind":{"type":"string"}},"required":["kind"],"oneOf":[
         {"properties":{"kind":{"const":"a"},"x":{"type":"integer"}}},
         {"properties":{"kind":{"enum":["b","c"]},"x":{"type":"string"}}}],
         "additionalProperties":true})",
     {R"({"kind":"a","x":1})", R"({"kind":"b","x":"1"})", R"({"kind":"c"})"},
     {R"({"kind":"a","x":"1"})", R"({"kind":"b","x":1})", R"({"x":1})", R"({"kind":"d"})"}},
    {R"({"oneOf":[{"type":"array","items":{"type":"integer"},"minItems":1},
                  {"type":"array","items":{"type":"string"},"minItems":1},
                  {"type":"string","pattern":"^a"},{"type":"string","pattern":"^b"},
                  {"type":"integer","maximum":2},{"type":"integer","exclusiveMinimum":2}]})",
     {"[1]", "[\"a\"]", "\"ax\"", "\"b\"", "2", "3"},
     {"[]", "[1,\"a\"]", "\"c\""}},
    {R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},
                  {"properties":{"a":{"minimum":5},"b":{"type":"string"}},"required":["b"]}]})",
     {R"({"a":5,"b":""})", R"({"a":6,"b":"","c":1})"},
     {R"({"a":4,"b":""})", R"({"a":5})", R"({"b":""})"}},
    {R"({"allOf":[{"properties":{"a":{}},"additionalProperties":{"type":"integer"}},
                  {"properties":{"b":{"minimum":3}},"type":"object"}]})",
     {R"({"a":"x","b":3,"c":1})"},
     {R"({"b":"x"})", R"({"b":2})", R"({"c":"x"})"}},
    {R"({"allOf":[{"minLength":2},{"maxLength":3},{"type":"string"},{"pattern":"a"},
                  {"pattern":"b$"}]})",
     {"\"ab\"", "\"xab\"", "\"bab\""},
     {"\"b\"", "\"xb\"", "\"aab b\"", "\"ba\""}},
    {R"({"allOf":[{"type":"array","prefixItems":[{"minimum":1}],"maxItems":3},
                  {"items":{"type":"integer"},"minItems":2}]})",
     {"[1,0]", "[1,0,0]"},
     {"[1]", "[0,0]", "[1,\"a\"]", "[1,0,0,0]"}},

    // References.
    {R"({"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#"}},
         "required":["v"],"additionalProperties":false})",
     {R"({"v":1})", R"({"v":1,"next":{"v":2,"next":{"v":3}}})"},
     {R"({"v":1,"next":{}})", R"({"v":1,"next":1})"}},
    {R"({"$ref":"#/$defs/tree","$defs":{"tree":{"anyOf":[{"type":"integer"},
         {"type":"array","items":{"$ref":"#/$defs/tree"}}]}}})",
     {"1", "[]", "[1,[2,[3,[]]]]"},
     {"\"a\"", "[[\"a\"]]", "[[]"}},
    {R"({"type":"array","items":{"$ref":"#/definitions/a~1b%20~0c"},
         "definitions":{"a/b ~c":{"type":"null"}}})",
     {"[null]"},
     {"[1]"}},
    {R"({"type":"array","prefixItems":[{"type":"string"},{"$ref":"#/prefixItems/0"}],
         "items":{"$ref":"#/$defs/x","minimum":2},"$defs":{"x":{"type":"integer"}}})",
     {"[\"a\",\"b\",2]"},
     {"[\"a\",1]", "[\"a\",\"b\",1]", "[\"a\",\"b\",\"c\"]"}},
    {R"({"allOf":[{"$ref":"#/$defs/node"},{"required":["next"]}],"$defs":{"node":{
         "type":"object","properties":{"next":{"$ref":"#/$defs/node"}},
         "additionalProperties":false}}})",
     {R"({"next":{}})", R"({"next":{"next":{}}})"},
     {"{}", R"({"next":{"other":1}})"}},

    // Strings.
    {R"({"type":"string","minLength":2,"maxLength":3})",
     {"\"ab\"", "\"€😀é\"", R"("\u0041\n\ud83d\ude00")"},
     {"\"a\"", "\"abcd\"", "\"\\u0041\""}},
    {R"({"type":"string","minLength":1})", {"\"a\"", "\"abc\""}, {"\"\""}},
    {R"({"type":"string","pattern":"b+"})", {"\"b\"", "\"abbc\"", R"("\"\nb\\")"}, {"\"ac\""}},
    {R"({"type":"string","pattern":"^a|b$"})", {"\"ax\"", "\"xb\""}, {"\"xa\"", "\"bx\""}},
    {R"({"type":"string","pattern":"^[^a-z]$"})",
     {"\"A\"", "\"é\"", R"("\"")", R"("\\")", R"("\n")", R"("\u001f")", R"("\u001F")", "\"/\""},
     {"\"a\"", "\"AB\"", "\"\\u0041\"", "\"\n\"", "\"\\/\""}},
    {R"({"type":"string","pattern":"^.\\s\\\\\"$"})",
     {R"("x \\\"")", R"("x\t\\\"")", "\"x\u00a0\\\\\\\"\""},
     {R"("\n \\\"")", R"("x \\")"}},
    {R"({"type":"string","pattern":"^[a-z]+$","maxLength":3,"minLength":2})",
     {"\"ab\"", "\"abc\""},
     {"\"a\"", "\"abcd\"", "\"aB\""}},
    {R"({"type":"string","pattern":"^x{3,100000}$"})", {"\"xxx\"", "\"xxxxxxx\""}, {"\"xx\""}},
    {R"({"type":"string","format":"date"})",
     {"\"2024-02-29\"", "\"2000-02-29\"", "\"2023-12-31\"", "\"0001-01-01\""},
     {"\"2023-02-29\"", "\"1900-02-29\"", "\"2023-13-01\"", "\"2023-04-31\"", "\"0000-01-01\"",
      "\"2023-1-1\""}},
    {R"({"type":"string","format":"time"})",
     {"\"12:30:00Z\"", "\"23:59:59.123+01:30\""},
     {"\"24:00:00Z\"", "\"12:30Z\"", "\"12:30:00\""}},
    {R"({"type":"string","format":"date-time"})",
     {"\"2024-02-29T12:30:00Z\"", "\"2024-02-29T12:30:00.5-08:00\""},
     {"\"2024-02-29\"", "\"2024-02-29 12:30:00Z\"", "\"2024-02-30T12:30:00Z\""}},
    {R"({"type":"string","format":"duration"})",
     {"\"P1Y2M3D\"", "\"PT1H\"", "\"P2W\"", "\"P1DT12H30M5S\""},
     {"\"P\"", "\"PT\"", "\"1D\"", "\"P1DT\""}},
    {R"({"type":"string","format":"uuid"})",
     {"\"123e4567-e89b-12d3-a456-426614174000\""},
     {"\"123e4567-e89b-12d3-a456-42661417400\"", "\"123e4567e89b12d3a456426614174000\""}},
    {R"({"type":"string","format":"email"})",
     {"\"a.b+c@example.co.uk\""},
     {"\"a\"", "\"a@\"", "\".a@b\"", "\"a@-b\""}},
    {R"({"type":"string","format":"hostname"})", {"\"example.com\""}, {"\"a..b\"", "\"-a\""}},
    {R"({"type":"string","format":"ipv4"})",
     {"\"0.0.0.0\"", "\"255.249.199.99\""},
     {"\"256.0.0.0\"", "\"1.2.3\"", "\"01.2.3.4\""}},
    {R"({"type":"string","format":"ipv6"})",
     {"\"::\"", "\"::1\"", "\"1:2:3:4:5:6:7:8\"", "\"2001:db8::ff00:42:8329\"", "\"1::\"",
      "\"1::3:4:5:6:7:8\""},
     {"\"1\"", "\"1:2:3:4:5:6:7\"", "\"1::2::3\"", "\"12345::\"", "\":1\""}},
    {R"({"type":"string","format":"uri"})",
     {"\"https://example.com:80/a/b?x=1#y\"", "\"mailto:a@b.c\"", "\"file:///a\""},
     {"\"example.com\"", "\"http:\"", "\"a b:c\"", "\"http://a b\""}},
    {R"({"type":"string","format":"date","pattern":"^2024","maxLength":10})",
     {"\"2024-01-01\""},
     {"\"2023-01-01\""}},
    {R"({"type":"integer","format":"int64"})", {"5"}, {"5.5"}},

    // Numbers.
    {R"({"type":"integer","minimum":-5,"maximum":12})",
     {"-5", "-1", "0", "9", "10", "12"},
     {"-6", "13", "-10", "00", "-0", "100", "1.0"}},
    {R"({"type":"integer","exclusiveMinimum":2.5,"exclusiveMaximum":5})", {"3", "4"}, {"2", "5"}},
    {R"({"type":"integer","minimum":5,"exclusiveMinimum":true})", {"6"}, {"5"}},
    {R"({"type":"integer","minimum":98})",
     {"98", "99", "100", "1234567890123456789"},
     {"97", "9", "-98", "0"}},
    {R"({"type":"integer","maximum":-98})", {"-98", "-100"}, {"-97", "98", "0", "-9"}},
    {R"({"type":"integer","minimum":1000,"maximum":99999})",
     {"1000", "9999", "10000", "99999"},
     {"999", "100000", "01000"}},
    {R"({"type":"integer","minimum":9223372036854775807})",
     {"9223372036854775807", "9999999999999999999"},
     {"9223372036854775806"}},
    {R"({"type":"number","minimum":0,"maximum":1})",
     {"0", "1", "0.5", "0.0", "1.0", "1.000", "0.99999999999999999"},
     {"1.1", "1.001", "-0.5", "2", "1.", ".5", "00.5", "1e0"}},
    {R"({"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1})",
     {"0.5", "0.00000000000001", "0.99999999999999"},
     {"0", "0.0", "1", "1.0", "1.00", "0.000"}},
    {R"({"type":"number","minimum":-1.25,"maximum":12.5})",
     {"-1.25", "-1.250", "-1.2", "-1", "-0.9", "0", "7.77", "12.5", "12.49", "12", "10.9"},
     {"-1.26", "-1.3", "-2", "12.51", "12.6", "13", "-1.251", "20"}},
    {R"({"type":"number","minimum":12.5})",
     {"12.5", "12.51", "13", "100", "12.6"},
     {"12.4", "12", "2", "-13", "12.49"}},
    {R"({"type":"number","maximum":-0.5})", {"-0.5", "-0.51", "-1", "-20.1"}, {"-0.4", "0", "0.5"}},
    {R"({"type":"number","exclusiveMaximum":-2})", {"-2.1", "-3", "-10"}, {"-2", "-2.0", "-1.9"}},
    {R"({"type":"number","minimum":3,"maximum":3})", {"3", "3.0"}, {"3.1", "2.9"}},
    {R"({"type":"number","minimum":0.1,"maximum":0.30000000000000004})",
     {"0.1", "0.2", "0.30000000000000004"},
     {"0.30000000000000005", "0.09999"}},
    {R"({"type":"number","multipleOf":1,"maximum":3})", {"3", "-1"}, {"2.5", "4"}},
    {R"({"type":"number","maximum":1e300})", {"1", "-5.5"}, {"null"}},
};

INSTANTIATE_TEST_SUITE_P(Rows, JsonSchema, testing::ValuesIn(kRows));

TEST(JsonSchemaNumbers, IntegersOfEveryRangeAreExact) {
  for (int min = -120; min <= 120; min += 7)
    for (int max = min; max <= 120; max += 11) {
      const Grammar grammar = schema("{\"type\":\"integer\",\"minimum\":" + std::to_string(min) +
                                     ",\"maximum\":" + std::to_string(max) + "}");
      for (int i = -130; i <= 130; i++)
        EXPECT_EQ(grammar.matches(std::to_string(i)), min <= i && i <= max)
            << i << " of " << min << " to " << max;
    }
}

TEST(JsonSchemaNumbers, DecimalsOfEveryRangeAreExact) {
  const auto text = [](int hundredths) {
    const int size = std::abs(hundredths);
    std::string digits = std::to_string(size % 100);
    return (hundredths < 0 ? "-" : "") + std::to_string(size / 100) + "." +
           std::string(2 - digits.size(), '0') + digits;
  };
  for (int min = -1300; min <= 1300; min += 93)
    for (int max = min; max <= 1300; max += 117)
      for (const bool excluded : {false, true}) {
        if (excluded && min == max) continue;
        const std::string name = excluded ? "exclusiveM" : "m";
        const Grammar grammar = schema("{\"type\":\"number\",\"" + name + "inimum\":" + text(min) +
                                       ",\"" + name + "aximum\":" + text(max) + "}");
        for (int i = -1400; i <= 1400; i += i % 10 == 0 ? 3 : 1) {
          const bool is_inside = excluded ? min < i && i < max : min <= i && i <= max;
          EXPECT_EQ(grammar.matches(text(i)), is_inside && text(i) != "-0.00")
              << text(i) << " of " << text(min) << " to " << text(max);
        }
      }
}

TEST(JsonSchemaErrors, NameKeywordAndPlace) {
  const auto expect = [](const char* text, const char* part) {
    SCOPED_TRACE(text);
    EXPECT_ERROR(schema(text), kFormat, part);
  };
  expect("1", "json schema: #: expected an object, true or false, got 1");
  expect(R"({"properties":{"a/b":{"items":{"type":"int"}}}})",
         "json schema: #/properties/a~1b/items/type: expected null, boolean, number, integer, "
         "string, array or object, got \"int\"");
  expect(R"({"type":5})", "#/type: expected a string, got 5");
  expect(R"({"properties":[]})", "#/properties: expected an object, got a list");
  expect(R"({"required":"a"})", "#/required: expected a list, got the string \"a\"");
  expect(R"({"minLength":-1})", "#/minLength: expected a count, got -1");
  expect(R"({"maxItems":1.5})", "#/maxItems: expected a count, got the number 1.5");
  expect(R"({"minimum":"1"})", "#/minimum: expected a number, got the string \"1\"");
  expect(R"({"enum":1})", "#/enum: expected a list, got 1");
  expect(R"({"type":"array","items":{"pattern":"a("}})",
         "json schema: #/items/pattern: line 1, column 3: expected \")\", got the end");
  expect(R"({"$ref":"#/$defs/a"})", "#/$ref: \"#/$defs/a\" names no place of the schema");
  expect(R"({"minimum":null})", "#/minimum: expected a number, got null");
  expect(R"({"properties":{"a":null}})", "#/properties/a: expected an object, true or false");
  expect(R"({"$ref":"#/%4"})", "without two hexadecimal digits");
  expect(R"({"$ref":"#"})", "json schema: #: the schema refers to itself for the same value");
  expect(R"({"anyOf":[{"type":"null"},{"$ref":"#"}]})", "refers to itself for the same value");

  const auto unsupported = [](const std::string& text, const char* part) {
    SCOPED_TRACE(text);
    EXPECT_ERROR(schema(text), kUnsupported, part);
  };
  unsupported(R"({"properties":{"a":{"not":{}}}})",
              "json schema: #/properties/a/not: the keyword is not supported");
  for (const char* type : {"integer", "number", "string", "boolean", "null", "array", "object"}) {
    const std::string begin = R"({"type":")" + std::string(type) + '"';
    unsupported(begin + R"(,"not":{"const":5}})", "#/not: the keyword is not supported");
    unsupported(begin + R"(,"if":{},"then":{}})", "#/if: the keyword is not supported");
  }
  unsupported(R"({"requird":["a"]})", "#/requird: the keyword is not supported");
  unsupported(R"({"if":{},"then":{}})", "#/if: the keyword is not supported");
  unsupported(R"({"type":"array","uniqueItems":true})", "#/uniqueItems: the keyword is not");
  unsupported(R"({"type":"array","contains":{}})", "#/contains: the keyword is not supported");
  unsupported(R"({"multipleOf":5})", "#/multipleOf: the keyword is not supported, except for 1");
  unsupported(R"({"format":"iri"})", "#/format: the format \"iri\" is not supported");
  unsupported("{\"pattern\":\"a(?=b)\"}", "#/pattern: line 1, column 2: a look-ahead");
  unsupported(R"({"$ref":"other.json"})", "#/$ref: \"other.json\": wick supports references");
  unsupported(R"({"oneOf":[{"type":"integer"},{"type":"null"},{"type":"number"}]})",
              "#/oneOf: schemas 0 and 2 may allow the same value");
  unsupported(R"({"type":"object","minProperties":2})", "\"minProperties\": a text may repeat");

  EXPECT_ERROR(schema("false"), kInvalidArgument, "json schema: no text matches the grammar");
  EXPECT_ERROR(schema(R"({"type":"string","minLength":2,"maxLength":1})"), kInvalidArgument,
               "no text matches");
  EXPECT_ERROR(schema(R"({"type":"object","required":["a"],"properties":{"a":false}})"),
               kInvalidArgument, "no text matches");
  EXPECT_ERROR(schema(R"({"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}})"),
               kInvalidArgument, "no text matches");
  // Keywords of other kinds of values do not matter.
  const Grammar strings =
      schema(R"({"type":"string","uniqueItems":true,"unevaluatedProperties":false})");
  EXPECT_TRUE(strings.matches("\"a\""));
}

TEST(JsonSchemaLimits, RefuseHostileSchemas) {
  const auto expect = [](const std::string& text) {
    EXPECT_ERROR(schema(text), kUnsupported, "the grammar is too large: it has more than");
  };
  std::string deep = "true";
  for (int i = 0; i < 300; i++) deep = "{\"items\":" + deep + "}";
  expect(deep);
  // 2^40 combinations.
  std::string product = "{\"allOf\":[{}";
  for (int i = 0; i < 40; i++)
    product += ",{\"anyOf\":[{\"minLength\":" + std::to_string(i) +
               "},{\"maxLength\":" + std::to_string(100 + i) + "}]}";
  expect(product + "]}");
  expect(R"({"type":"string","pattern":"a","maxLength":1000000000})");
  expect(R"({"type":"string","pattern":"(((a{999}){999}){999}){999}","maxLength":10})");
  expect(R"({"type":"string","pattern":"(a|b)*a(a|b){30}","maxLength":100})");
  expect(R"({"type":"object","properties":{"a":{}},"maxProperties":1000000000})");
  // Each subset of 40 schemas stands for the items of some array.
  std::string subsets =
      "{\"$ref\":\"#/$defs/0\",\"$defs\":{\"40\":true,\"0\":{\"type\":\"array\",\"prefixItems\":["
      "{\"allOf\":[{\"$ref\":\"#/$defs/0\"},{\"$ref\":\"#/$defs/1\"}]},{\"$ref\":\"#/$defs/0\"}]}";
  for (int i = 1; i < 40; i++) {
    const std::string next = "{\"$ref\":\"#/$defs/" + std::to_string(i + 1) + "\"}";
    subsets += ",\"" + std::to_string(i) + "\":{\"type\":\"array\",\"prefixItems\":[" + next + "," +
               next + "]}";
  }
  expect(subsets + "}}");
}

TEST(JsonSchemaLimits, LargeSchemasAreFine) {
  std::string many = "{\"type\":\"object\",\"properties\":{";
  for (int i = 0; i < 1000; i++)
    many += (i ? ",\"p" : "\"p") + std::to_string(i) + "\":{\"type\":\"integer\"}";
  const Grammar grammar = schema(many + "}}");
  EXPECT_TRUE(grammar.matches(R"({"p0":1,"p999":2,"q":true})"));
  EXPECT_FALSE(grammar.matches(R"({"p0":1,"p998":true})"));
  std::string names = "{\"enum\":[0";
  for (int i = 0; i < 20000; i++) names += ",\"name " + std::to_string(i) + "\"";
  EXPECT_TRUE(schema(names + "]}").matches("\"name 19999\""));
}

TEST(JsonSchemaMasks, AreExact) {
  const Tokenizer tokenizer = test::golden_tokenizer("gpt2");
  test::expect_tokens(
      schema(R"({"type":"object","properties":{"name":{"type":"string","pattern":"^[A-Z]",
                 "maxLength":12},"age":{"type":"integer","minimum":0,"maximum":150},
                 "tags":{"type":"array","items":{"enum":["red","green"]},"maxItems":2}},
                 "required":["name"]})"),
      tokenizer, R"({"name": "Ada \"L\"", "age": 36, "tags": ["red", "green"], "x": 1.5})");
}

}  // namespace
}  // namespace wick
