#include "text/jinja/parser.h"

#include "../expect.h"
#include "text/jinja/scope.h"

namespace wick::jinja {
namespace {

/// The expression with a parenthesis around each operation.
std::string shown(const Expression& node) {
  const auto child = [&](size_t i) { return shown(*node.children[i]); };
  switch (node.kind) {
    case ExpressionKind::kConstant:
      return node.constant.integer() ? std::to_string(*node.constant.integer()) : "?";
    case ExpressionKind::kName:
      return node.name;
    case ExpressionKind::kNegate:
      return "(-" + child(0) + ")";
    case ExpressionKind::kNot:
      return "(not " + child(0) + ")";
    case ExpressionKind::kAnd:
      return "(" + child(0) + " and " + child(1) + ")";
    case ExpressionKind::kOr:
      return "(" + child(0) + " or " + child(1) + ")";
    case ExpressionKind::kBinary:
      return "(" + child(0) + "+-*/\\%^"[int(node.op)] + child(1) + ")";
    case ExpressionKind::kConcat:
      return "(" + child(0) + "~" + child(1) + ")";
    case ExpressionKind::kCompare:
      return "(" + child(0) + " ? " + child(1) + ")";
    case ExpressionKind::kConditional:
      return "(" + child(1) + " ? " + child(0) + " : " + child(2) + ")";
    case ExpressionKind::kFilter:
      return child(0) + "|" + node.name;
    case ExpressionKind::kTest:
      return "(" + child(0) + " is " + node.name + ")";
    case ExpressionKind::kAttribute:
      return child(0) + "." + node.name;
    default:
      return "?";
  }
}

std::string shown(const std::string& expression) {
  const Template tree = parse("{{ " + expression + " }}", "t");
  return shown(*std::get<Output>(tree.body[0].node).parts[0]);
}

TEST(JinjaParser, OperatorsBindAsInJinja2) {
  const std::pair<const char*, const char*> rows[] = {
      {"a + b * c", "(a+(b*c))"},
      {"a ~ b + c", "((a~b)+c)"},  // ~ binds tighter than +
      {"a ** b ** c", "((a^b)^c)"},
      {"-a ** b", "((-a)^b)"},
      {"-a|abs", "(-a)|abs"},
      {"-a.b", "(-a.b)"},
      {"not a == b", "(not (a ? b))"},
      {"not a in b and c", "((not (a ? b)) and c)"},
      {"a or b and c", "(a or (b and c))"},
      {"a is defined and b", "((a is defined) and b)"},
      {"a + b is odd", "(a+(b is odd))"},
      {"a if b else c if d else e", "(b ? a : (d ? c : e))"},
      {"a.b|c|d", "a.b|c|d"},
  };
  for (const auto& [source, tree] : rows) EXPECT_EQ(shown(source), tree) << source;
}

TEST(JinjaParser, SyntaxErrorsNameTheirPlace) {
  const std::pair<const char*, const char*> rows[] = {
      {"{% if a %}\n{% for x in y %}{% endif %}",
       "line 2, column 20: {% endif %} ends no block that is open"},
      {"{% else %}", "line 1, column 4: {% else %} ends no block that is open"},
      {"{% for x of y %}", "line 1, column 10: expected 'in', got 'of'"},
      {"{% for a.b in y %}{% endfor %}", "line 1, column 9: expected"},
      {"{% set 1 = 2 %}", "line 1, column 8: cannot assign to this expression"},
      {"{% set (a, 1) = 2 %}", "line 1, column 9: cannot assign to this expression"},
      {"{{ }}", "line 1, column 4: expected an expression, got '}}'"},
      {"{{ a b }}", "line 1, column 6: expected '}}', got 'b'"},
      {"{{ f(a=1, 2) }}", "line 1, column 5: the order of the call's arguments is invalid"},
      {"{{ f(a=1, a=2) }}", "line 1, column 11: repeated argument 'a'"},
      {"{{ a is b is c }}", "line 1, column 11: tests cannot be chained with 'is'"},
      {"{% macro f(a=1, b) %}{% endmacro %}", "line 1, column 17: a parameter without a default"},
      {"{% macro f(a, a) %}{% endmacro %}", "line 1, column 15: repeated parameter 'a'"},
      {"{% call f %}{% endcall %}", "line 1, column 9: expected a call"},
      {"{% for x in y %}{% macro f() %}{% break %}{% endmacro %}{% endfor %}",
       "line 1, column 32: {% break %} outside of a loop"},
      {"{% 1 %}", "line 1, column 4: expected the name of a tag, got a number"},
  };
  for (const auto& [source, text] : rows) {
    SCOPED_TRACE(source);
    EXPECT_ERROR(parse(source, "t"), kFormat, text);
  }
}

TEST(JinjaParser, UnknownTagsAreNamed) {
  for (const char* tag : {"include", "extends", "block", "import", "autoescape", "do", "trans"})
    EXPECT_ERROR(parse(std::string("{% ") + tag + " x %}", "t"), kUnsupported,
                 "t: line 1, column 4: unknown tag {% " + std::string(tag) + " %}");
}

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; i++) out += text;
  return out;
}

TEST(JinjaParser, NestingIsLimited) {
  const std::string deep[] = {
      "{{ " + repeated("(", 1000) + "1" + repeated(")", 1000) + " }}",
      "{{ " + repeated("[", 1000) + repeated("]", 1000) + " }}",
      "{{ " + repeated("-", 1000) + "1 }}",
      "{{ " + repeated("not ", 1000) + "1 }}",
      "{{ 1" + repeated(" + 1", 1000) + " }}",
      "{{ x" + repeated(".a", 1000) + " }}",
      "{{ x" + repeated("|trim", 1000) + " }}",
      "{{ 1" + repeated(" if 1 else 1", 1000) + " }}",
      repeated("{% if 1 %}", 1000) + repeated("{% endif %}", 1000),
  };
  for (const std::string& source : deep) {
    SCOPED_TRACE(source.substr(0, 20));
    EXPECT_ERROR(parse(source, "t"), kUnsupported, " levels");
  }
  EXPECT_NO_THROW(parse("{{ 1" + repeated(" + 1", 300) + " }}", "t"));
  EXPECT_NO_THROW(parse(repeated("{% if 1 %}", 140) + repeated("{% endif %}", 140), "t"));
  EXPECT_NO_THROW(parse("{% if 1 %}" + repeated("{% elif 1 %}", 5000) + "{% endif %}", "t"));
}

TEST(JinjaScope, TheVariableOfALoopCannotBeAssigned) {
  Template tree = parse("{% for x in y %}{% set loop = 1 %}{% endfor %}", "t");
  EXPECT_ERROR(resolve(tree, "t"), kFormat,
               "t: line 1, column 24: cannot assign to the variable of a loop");
  Template outside = parse("{% set loop = 1 %}", "t");
  EXPECT_NO_THROW(resolve(outside, "t"));
}

TEST(JinjaScope, NamesOfAScopeShareASlotAndInnerScopesHaveTheirOwn) {
  Template tree = parse("{% set a = 1 %}{{ a }}{% for a in b %}{{ a }}{% endfor %}", "t");
  resolve(tree, "t");
  const int slot = std::get<Set>(tree.body[0].node).target->variable.slot;
  EXPECT_EQ(std::get<Output>(tree.body[1].node).parts[0]->variable.slot, slot);
  const For& loop = std::get<For>(tree.body[2].node);
  EXPECT_NE(loop.target->variable.slot, slot);
  EXPECT_EQ(std::get<Output>(loop.body[0].node).parts[0]->variable.slot,
            loop.target->variable.slot);
  EXPECT_FALSE(loop.has_loop);
  EXPECT_EQ(tree.slots, 3);  // a, b, and the loop's a
}

}  // namespace
}  // namespace wick::jinja
