#include "text/jinja/interpreter.h"

#include <chrono>

#include "../expect.h"
#include "wick/text/chat_template.h"

namespace wick {
namespace {

std::string render(std::string_view source, const RenderOptions& options = {}) {
  return ChatTemplate(source, "t").render({}, options);
}

TEST(JinjaInterpreter, HostileTemplatesEndInErrors) {
  const std::string grow = "{% set ns = namespace(x=[1]) %}{% for i in range(100000) %}";
  const std::pair<std::string, const char*> rows[] = {
      {"{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
       "steps"},
      {"{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}",
       "steps"},
      {grow + "{% set ns.x = ns.x + ns.x %}{% endfor %}", "bytes of memory"},
      {grow + "{% set ns.x = [ns.x] %}{% endfor %}", "values nest deeper"},
      {grow + "{% set ns.x = ns.x|map('string') %}{% endfor %}", "values nest deeper"},
      {"{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}"
       "{% endfor %}{{ ns.x }}",
       "steps"},
      {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nest too deeply"},
      {"{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "nest too deeply"},
      {"{{ 'a' * 1000000000 }}", "bytes of memory"},
      {"{{ [1] * 9223372036854775807 }}", "bytes of memory"},
      {"{{ '%1000000000d' % 1 }}", "bytes of memory"},
      {"{{ '{:1000000000}'.format(1) }}", "bytes of memory"},
      {"{{ '%.1000000000f' % 1.5 }}", "a precision of more than 1000 digits"},
      {"{{ 'x'.center(1000000000) }}", "bytes of memory"},
      {"{{ [1]|batch(1000000000, 0)|list }}", "bytes of memory"},
      {"{{ [1]|tojson(indent=1000000000) }}", "bytes of memory"},
      {"{{ ('a' * 1000000).replace('a', 'b' * 1000) }}", "bytes of memory"},
      {"{{ ('a' * 1000000).rfind('b' ~ 'a' * 500000) }}", "steps"},
      {"{{ strftime_now('%999999999d') }}", "too long"},
      {"{{ 2 ** 63 }}", "64 bits"},
  };
  for (const auto& [source, text] : rows) {
    SCOPED_TRACE(source);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_ERROR(render(source), kUnsupported, text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  }
}

TEST(JinjaInterpreter, FormatsThatCannotBeNameTheirFault) {
  const std::pair<const char*, const char*> rows[] = {
      {"{{ '%q' % 1 }}", "unsupported format character 'q'"},
      {"{{ '%d' % 'x' }}", "%d format: a number is required, not str"},
      {"{{ '%f' % 'x' }}", "must be real number, not str"},
      {"{{ '%d %d' % 1 }}", "not enough arguments for format string"},
      {"{{ '%d' % (1, 2) }}", "not all arguments converted"},
      {"{{ '%(a)d' % 1 }}", "format requires a mapping"},
      {"{{ '{!x}'.format(1) }}", "unknown conversion specifier x"},
      {"{{ '{a}'.format(1) }}", "no argument named 'a'"},
      {"{{ '{1}'.format(1) }}", "replacement index 1 out of range"},
      {"{{ '{:q}'.format('a') }}", "invalid format specifier 'q'"},
  };
  for (const auto& [source, text] : rows) {
    SCOPED_TRACE(source);
    EXPECT_ERROR(render(source), kInvalidArgument, text);
  }
}

TEST(JinjaInterpreter, LimitsAreThoseOfTheOptions) {
  RenderOptions options;
  options.max_steps = 100;
  EXPECT_EQ(render("{% for i in range(5) %}{{ i }}{% endfor %}", options), "01234");
  EXPECT_ERROR(render("{% for i in range(50) %}{{ i }}{% endfor %}", options), kUnsupported,
               "the template takes more than 100 steps");
  options = {};
  options.max_bytes = 10'000;
  EXPECT_ERROR(render("{{ 'a' * 20000 }}", options), kUnsupported, "more than 10000 bytes");
  // What is no longer used does not count.
  EXPECT_EQ(
      render("{% for i in range(100) %}{{ ('a' * 2000)|length == i }}{% endfor %}", options).size(),
      500u);
}

TEST(JinjaInterpreter, ValuesThatHoldThemselvesAreReleased) {
  EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns }}"),
            "<Namespace {'x': [<Namespace {...}>]}>");
  EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.x = [{1: (ns,)}] %}{{ ns.x }}"),
            "[{1: (<Namespace {'x': [...]}>,)}]");
  EXPECT_EQ(render("{% set ns = namespace() %}{% for i in [1, 2] %}{{ loop.changed(loop) }}"
                   "{% set ns.l = loop %}{% endfor %}{{ ns.l.changed(ns.l) }}"),
            "TrueFalseTrue");
  EXPECT_EQ(render("{% set ns = namespace() %}{% macro f() %}{% set ns.f = f %}{% endmacro %}"
                   "{{ f() }}{{ ns.f() }}"),
            "");
}

TEST(JinjaInterpreter, TheClockAndItsZoneAreLocal) {
  RenderOptions options;
  options.now = [] {
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(86399'007));
  };
  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y %H:%M:%S.%f%z%%f') }}", options),
            "01 Jan 1970 23:59:59.007000%f");
  EXPECT_EQ(render("{{ strftime_now('') }}|{{ strftime_now('%') }}", options), "|%");
  EXPECT_EQ(render("{{ strftime_now('%Y')|int > 2020 }}"), "True");
}

TEST(JinjaInterpreter, MethodsThatWickDoesNotHaveAreNamed) {
  EXPECT_ERROR(render("{{ 'a'.encode() }}"), kUnsupported,
               "line 1, column 7: method 'encode' of a string");
  EXPECT_ERROR(render("{{ (5).bit_length() }}"), kUnsupported,
               "attribute 'bit_length' of a number");
}

TEST(JinjaInterpreter, TheSandboxAllowsNoChangeOfValues) {
  for (const char* call :
       {"[].append(1)", "[1].pop()", "{}.update({})", "{}.pop(1)", "''.__class__()"})
    EXPECT_ERROR(render(std::string("{{ ") + call + " }}"), kInvalidArgument, "is unsafe");
}

}  // namespace
}  // namespace wick
