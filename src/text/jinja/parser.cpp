#include "text/jinja/parser.h"

#include <algorithm>

namespace wick::jinja {
namespace {

/// The parser of tags: a method per statement.
class Parser {
 public:
  explicit Parser(TokenStream& tokens) : tokens_(tokens), expressions_(tokens) {}

  Body parse_template() {
    Body body = parse_until({});
    return body;
  }

 private:
  using Ends = std::vector<std::string_view>;
  using Nesting = ExpressionParser::Nesting;

  /// Statements up to `{%` and one of the names, which becomes the current token; without names, up
  /// to the end.
  Body parse_until(const Ends& ends) {
    const Nesting nesting(expressions_);
    Body body;
    while (!tokens_.is(TokenKind::kEnd)) {
      if (tokens_.is(TokenKind::kData)) {
        Token data = tokens_.next();
        ExpressionPtr text = std::make_unique<Expression>();
        text->kind = ExpressionKind::kConstant;
        text->place = data.place;
        text->constant = constant_text(std::move(data.text));
        output(body, data.place).parts.push_back(std::move(text));
      } else if (tokens_.is(TokenKind::kVariableBegin)) {
        const SourcePosition place = tokens_.next().place;
        ExpressionPtr value = expressions_.parse_tuple(true);
        output(body, place).parts.push_back(std::move(value));
        tokens_.expect(TokenKind::kVariableEnd, "'}}'");
      } else {
        const SourcePosition place = tokens_.expect(TokenKind::kBlockBegin, "'{%'").place;
        if (std::any_of(ends.begin(), ends.end(), [&](auto end) { return tokens_.is_name(end); }))
          return body;
        body.push_back(parse_statement(place));
        tokens_.expect(TokenKind::kBlockEnd, "'%}'");
      }
    }
    if (!ends.empty())
      tokens_.fail_at(tokens_.current().place, "the template ends before {% ", ends.back(),
                      " %} of line ", opened_.back().line);
    return body;
  }

  /// The rest of a tag, and the statements after it up to one of the names.
  Body parse_body(const Ends& ends) {
    tokens_.skip_if(TokenKind::kColon);
    tokens_.expect(TokenKind::kBlockEnd, "'%}'");
    return parse_until(ends);
  }

  /// parse_body, and its end.
  Body parse_whole_body(std::string_view end) {
    Body body = parse_body({end});
    tokens_.next();
    return body;
  }

  static Output& output(Body& body, SourcePosition place) {
    if (body.empty() || !std::holds_alternative<Output>(body.back().node))
      body.push_back({place, Output()});
    return std::get<Output>(body.back().node);
  }

  Statement parse_statement(SourcePosition place) {
    const Token tag = tokens_.expect(TokenKind::kName, "the name of a tag");
    struct Row {
      std::string_view name;
      Statement (Parser::*parse)();
    };
    static constexpr Row kTags[] = {
        {"for", &Parser::parse_for},     {"if", &Parser::parse_if},
        {"set", &Parser::parse_set},     {"macro", &Parser::parse_macro},
        {"call", &Parser::parse_call},   {"filter", &Parser::parse_filter_block},
        {"with", &Parser::parse_with},   {"generation", &Parser::parse_generation},
        {"break", &Parser::parse_break}, {"continue", &Parser::parse_continue},
        {"print", &Parser::parse_print},
    };
    opened_.push_back(place);
    for (const Row& row : kTags) {
      if (tag.text != row.name) continue;
      Statement statement = (this->*row.parse)();
      statement.place = place;
      opened_.pop_back();
      return statement;
    }
    if (tag.text.starts_with("end") || tag.text == "else" || tag.text == "elif")
      tokens_.fail_at(tag.place, "{% ", tag.text, " %} ends no block that is open");
    tokens_.refuse_at(tag.place, "unknown tag {% ", tag.text, " %}");
  }

  Statement parse_for() {
    For node;
    node.target = expressions_.parse_target(false, "in");
    if (!tokens_.skip_if_name("in"))
      tokens_.fail_at(tokens_.current().place, "expected 'in', got ", describe(tokens_.current()));
    node.iterable = expressions_.parse_tuple(false, "recursive");
    if (tokens_.skip_if_name("if")) node.test = expressions_.parse_expression();
    node.is_recursive = tokens_.skip_if_name("recursive");
    loops_++;
    node.body = parse_body({"else", "endfor"});
    loops_--;
    if (tokens_.next().text == "else") node.otherwise = parse_whole_body("endfor");
    return {{}, std::move(node)};
  }

  Statement parse_if() {
    If node;
    for (;;) {
      ExpressionPtr condition = expressions_.parse_tuple(false);
      Body body = parse_body({"elif", "else", "endif"});
      node.branches.emplace_back(std::move(condition), std::move(body));
      const bool is_elif = tokens_.current().text == "elif",
                 is_else = tokens_.current().text == "else";
      tokens_.next();
      if (is_elif) continue;
      if (is_else) node.branches.emplace_back(nullptr, parse_whole_body("endif"));
      return {{}, std::move(node)};
    }
  }

  Statement parse_set() {
    ExpressionPtr target = expressions_.parse_target(true);
    if (tokens_.skip_if(TokenKind::kAssign)) {
      ExpressionPtr value = expressions_.parse_tuple(true);
      return {{}, Set{std::move(target), std::move(value)}};
    }
    SetBlock node;
    node.target = std::move(target);
    if (tokens_.is(TokenKind::kPipe)) node.filter = expressions_.parse_filters(nullptr);
    node.body = parse_whole_body("endset");
    return {{}, std::move(node)};
  }

  void parse_parameters(MacroDefinition& definition) {
    tokens_.expect(TokenKind::kLeftParen, "'('");
    while (!tokens_.is(TokenKind::kRightParen)) {
      if (!definition.parameters.empty()) tokens_.expect(TokenKind::kComma, "','");
      const Token name = tokens_.expect(TokenKind::kName, "a parameter");
      if (std::find(definition.parameters.begin(), definition.parameters.end(), name.text) !=
          definition.parameters.end())
        tokens_.fail_at(name.place, "repeated parameter '", name.text, "'");
      if (definition.parameters.size() == kMaxParameters)
        tokens_.refuse_at(name.place, "more than ", kMaxParameters, " parameters");
      definition.parameters.push_back(name.text);
      if (tokens_.skip_if(TokenKind::kAssign))
        definition.defaults.push_back(expressions_.parse_expression());
      else if (!definition.defaults.empty())
        tokens_.fail_at(name.place, "a parameter without a default follows one with a default");
    }
    tokens_.next();
  }

  /// The body of a function: break and continue do not reach a loop around it.
  Body parse_function_body(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Body body = parse_whole_body(end);
    loops_ = loops;
    return body;
  }

  Statement parse_macro() {
    Macro node;
    node.definition.name = tokens_.expect(TokenKind::kName, "a macro's name").text;
    parse_parameters(node.definition);
    node.definition.body = parse_function_body("endmacro");
    return {{}, std::move(node)};
  }

  Statement parse_call() {
    CallBlock node;
    if (tokens_.is(TokenKind::kLeftParen)) parse_parameters(node.definition);
    const SourcePosition place = tokens_.current().place;
    node.call = expressions_.parse_expression();
    if (node.call->kind != ExpressionKind::kCall) tokens_.fail_at(place, "expected a call");
    node.definition.body = parse_function_body("endcall");
    return {{}, std::move(node)};
  }

  Statement parse_generation() {
    Generation node;
    node.definition.body = parse_function_body("endgeneration");
    return {{}, std::move(node)};
  }

  Statement parse_filter_block() {
    FilterBlock node;
    node.filter = expressions_.parse_filters(nullptr, true);
    node.body = parse_whole_body("endfilter");
    return {{}, std::move(node)};
  }

  Statement parse_with() {
    With node;
    while (!tokens_.is(TokenKind::kBlockEnd)) {
      if (!node.assignments.empty()) tokens_.expect(TokenKind::kComma, "','");
      ExpressionPtr target = expressions_.parse_target(false);
      tokens_.expect(TokenKind::kAssign, "'='");
      node.assignments.emplace_back(std::move(target), expressions_.parse_expression());
    }
    node.body = parse_whole_body("endwith");
    return {{}, std::move(node)};
  }

  Statement parse_break() {
    check_in_loop("break");
    return {{}, Break()};
  }

  Statement parse_continue() {
    check_in_loop("continue");
    return {{}, Continue()};
  }

  void check_in_loop(const char* tag) const {
    if (loops_ == 0) tokens_.fail_at(opened_.back(), "{% ", tag, " %} outside of a loop");
  }

  Statement parse_print() {
    Output node;
    while (!tokens_.is(TokenKind::kBlockEnd)) {
      if (!node.parts.empty()) tokens_.expect(TokenKind::kComma, "','");
      node.parts.push_back(expressions_.parse_expression());
    }
    return {{}, std::move(node)};
  }

  static constexpr size_t kMaxParameters = 250;

  TokenStream& tokens_;
  ExpressionParser expressions_;
  std::vector<SourcePosition> opened_;  // the tags that are open
  int loops_ = 0;                       // around the current statement, in its function
};

}  // namespace

Template parse(std::string_view source, const std::string& where) {
  TokenStream tokens(tokenize(source, where), where);
  Template result;
  result.body = Parser(tokens).parse_template();
  return result;
}

}  // namespace wick::jinja
