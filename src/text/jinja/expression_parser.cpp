#include <algorithm>
#include <set>

#include "text/jinja/parser.h"

namespace wick::jinja {
namespace {

/// Nesting of parentheses, tags and the like: each takes a dozen frames of the stack.
constexpr int kMaxNesting = 150;
/// Depth of the tree, which long sums and chains of filters deepen too.
constexpr int kMaxTreeDepth = 400;

struct BinarySymbol {
  TokenKind token;
  BinaryOp op;
};
constexpr BinarySymbol kSums[] = {{TokenKind::kAdd, BinaryOp::kAdd},
                                  {TokenKind::kSubtract, BinaryOp::kSubtract}};
constexpr BinarySymbol kProducts[] = {{TokenKind::kMultiply, BinaryOp::kMultiply},
                                      {TokenKind::kDivide, BinaryOp::kDivide},
                                      {TokenKind::kFloorDivide, BinaryOp::kFloorDivide},
                                      {TokenKind::kRemainder, BinaryOp::kRemainder}};
constexpr BinarySymbol kPowers[] = {{TokenKind::kPower, BinaryOp::kPower}};

struct RelationSymbol {
  TokenKind token;
  Relation relation;
};
constexpr RelationSymbol kRelations[] = {
    {TokenKind::kEqual, Relation::kEqual},     {TokenKind::kNotEqual, Relation::kNotEqual},
    {TokenKind::kLess, Relation::kLess},       {TokenKind::kLessEqual, Relation::kLessEqual},
    {TokenKind::kGreater, Relation::kGreater}, {TokenKind::kGreaterEqual, Relation::kGreaterEqual}};

template <class Table>
auto find_symbol(const Table& table, TokenKind kind) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [&](const auto& row) { return row.token == kind; });
  return found == std::end(table) ? nullptr : found;
}

bool is_assignable(const Expression& target) {
  if (target.kind == ExpressionKind::kTuple)
    return std::all_of(target.children.begin(), target.children.end(),
                       [](const ExpressionPtr& item) { return is_assignable(*item); });
  return target.kind == ExpressionKind::kName || target.kind == ExpressionKind::kNamespaceAttribute;
}

int depth_of(const ExpressionPtr& node) { return node ? node->depth : 0; }

}  // namespace

bool TokenStream::skip_if(TokenKind kind) {
  if (!is(kind)) return false;
  next();
  return true;
}

bool TokenStream::skip_if_name(std::string_view name) {
  if (!is_name(name)) return false;
  next();
  return true;
}

Token TokenStream::expect(TokenKind kind, const char* what) {
  if (!is(kind)) fail_at(current().place, "expected ", what, ", got ", describe(current()));
  return next();
}

ExpressionParser::Nesting::Nesting(ExpressionParser& parser) : parser_(parser) {
  if (++parser_.nesting_ <= kMaxNesting) return;
  parser_.nesting_--;
  parser_.tokens_.refuse_at(parser_.tokens_.current().place, "the template nests deeper than ",
                            kMaxNesting, " levels");
}

template <class... Children>
ExpressionPtr ExpressionParser::make(ExpressionKind kind, SourcePosition place,
                                     Children... children) {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->place = place;
  (node->children.push_back(std::move(children)), ...);
  return checked(std::move(node));
}

ExpressionPtr ExpressionParser::checked(ExpressionPtr node) {
  int depth =
      std::max(depth_of(node->arguments.more_positional), depth_of(node->arguments.more_named));
  for (const ExpressionPtr& child : node->children) depth = std::max(depth, depth_of(child));
  for (const ExpressionPtr& child : node->arguments.positional)
    depth = std::max(depth, depth_of(child));
  for (const auto& [name, child] : node->arguments.named) depth = std::max(depth, depth_of(child));
  node->depth = 1 + depth;
  if (node->depth > kMaxTreeDepth)
    tokens_.refuse_at(node->place, "the expression has more than ", kMaxTreeDepth, " levels");
  return node;
}

ExpressionPtr ExpressionParser::parse_expression(bool with_conditional) {
  const Nesting nesting(*this);
  return with_conditional ? parse_conditional() : parse_or();
}

ExpressionPtr ExpressionParser::parse_conditional() {
  ExpressionPtr value = parse_or();
  while (tokens_.is_name("if")) {
    const SourcePosition place = tokens_.next().place;
    ExpressionPtr condition = parse_or();
    ExpressionPtr otherwise;
    if (tokens_.skip_if_name("else")) otherwise = parse_expression();
    value = make(ExpressionKind::kConditional, place, std::move(value), std::move(condition),
                 std::move(otherwise));
  }
  return value;
}

ExpressionPtr ExpressionParser::parse_or() {
  ExpressionPtr left = parse_and();
  while (tokens_.is_name("or")) {
    const SourcePosition place = tokens_.next().place;
    left = make(ExpressionKind::kOr, place, std::move(left), parse_and());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_and() {
  ExpressionPtr left = parse_not();
  while (tokens_.is_name("and")) {
    const SourcePosition place = tokens_.next().place;
    left = make(ExpressionKind::kAnd, place, std::move(left), parse_not());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!tokens_.is_name("not")) return parse_compare();
  const Nesting nesting(*this);
  const SourcePosition place = tokens_.next().place;
  return make(ExpressionKind::kNot, place, parse_not());
}

ExpressionPtr ExpressionParser::parse_compare() {
  const SourcePosition place = tokens_.current().place;
  ExpressionPtr first = parse_sum();
  ExpressionPtr node;
  for (;;) {
    Relation relation = Relation::kIn;
    if (const auto* symbol = find_symbol(kRelations, tokens_.current().kind))
      relation = symbol->relation;
    else if (tokens_.is_name("not") && tokens_.look().is_name("in")) {
      relation = Relation::kNotIn;
      tokens_.next();
    } else if (!tokens_.is_name("in"))
      break;
    tokens_.next();
    if (!node) node = make(ExpressionKind::kCompare, place, std::move(first));
    node->relations.push_back(relation);
    node->children.push_back(parse_sum());
  }
  return node ? checked(std::move(node)) : std::move(first);
}

ExpressionPtr ExpressionParser::parse_sum() {
  ExpressionPtr left = parse_concat();
  while (const auto* symbol = find_symbol(kSums, tokens_.current().kind)) {
    const SourcePosition place = tokens_.next().place;
    left = make(ExpressionKind::kBinary, place, std::move(left), parse_concat());
    left->op = symbol->op;
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_concat() {
  ExpressionPtr first = parse_product();
  if (!tokens_.is(TokenKind::kTilde)) return first;
  ExpressionPtr node = make(ExpressionKind::kConcat, tokens_.current().place, std::move(first));
  while (tokens_.skip_if(TokenKind::kTilde)) node->children.push_back(parse_product());
  return checked(std::move(node));
}

ExpressionPtr ExpressionParser::parse_product() {
  ExpressionPtr left = parse_power();
  while (const auto* symbol = find_symbol(kProducts, tokens_.current().kind)) {
    const SourcePosition place = tokens_.next().place;
    left = make(ExpressionKind::kBinary, place, std::move(left), parse_power());
    left->op = symbol->op;
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_power() {
  ExpressionPtr left = parse_unary();
  while (const auto* symbol = find_symbol(kPowers, tokens_.current().kind)) {
    const SourcePosition place = tokens_.next().place;
    left = make(ExpressionKind::kBinary, place, std::move(left), parse_unary());
    left->op = symbol->op;
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_unary(bool with_filters) {
  ExpressionPtr node;
  if (tokens_.is(TokenKind::kSubtract) || tokens_.is(TokenKind::kAdd)) {
    const Nesting nesting(*this);
    const auto kind = tokens_.is(TokenKind::kAdd) ? ExpressionKind::kPlus : ExpressionKind::kNegate;
    const SourcePosition place = tokens_.next().place;
    node = make(kind, place, parse_unary(false));
  } else
    node = parse_primary();
  node = parse_postfix(std::move(node));
  return with_filters ? parse_filters_and_tests(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::parse_primary(bool with_namespace) {
  const Token& token = tokens_.current();
  const SourcePosition place = token.place;
  ExpressionPtr node;
  switch (token.kind) {
    case TokenKind::kName: {
      std::string name = tokens_.next().text;
      node = make(ExpressionKind::kConstant, place);
      if (name == "true" || name == "True")
        node->constant = true;
      else if (name == "false" || name == "False")
        node->constant = false;
      else if (name == "none" || name == "None")
        node->constant = Value::None();
      else {
        node->kind = ExpressionKind::kName;
        node->name = std::move(name);
        if (with_namespace && tokens_.skip_if(TokenKind::kDot)) {
          node->kind = ExpressionKind::kNamespaceAttribute;
          node->target = tokens_.expect(TokenKind::kName, "an attribute").text;
        }
      }
      return node;
    }
    case TokenKind::kString: {
      std::string text;
      while (tokens_.is(TokenKind::kString)) text += tokens_.next().text;
      node = make(ExpressionKind::kConstant, place);
      node->constant = constant_text(std::move(text));
      return node;
    }
    case TokenKind::kInteger:
      node = make(ExpressionKind::kConstant, place);
      node->constant = tokens_.next().integer;
      return node;
    case TokenKind::kFloat:
      node = make(ExpressionKind::kConstant, place);
      node->constant = tokens_.next().real;
      return node;
    case TokenKind::kLeftParen:
      return parse_parenthesized();
    case TokenKind::kLeftBracket:
      return parse_list();
    case TokenKind::kLeftBrace:
      return parse_dict();
    default:
      tokens_.fail_at(place, "expected an expression, got ", describe(token));
  }
}

template <class Parse>
ExpressionPtr ExpressionParser::parse_items(const Parse& parse, std::string_view end_word,
                                            bool may_be_empty) {
  const SourcePosition place = tokens_.current().place;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  for (;;) {
    if (!items.empty()) tokens_.expect(TokenKind::kComma, "','");
    if (tokens_.is(TokenKind::kVariableEnd) || tokens_.is(TokenKind::kBlockEnd) ||
        tokens_.is(TokenKind::kRightParen) || (!end_word.empty() && tokens_.is_name(end_word)))
      break;
    items.push_back(parse());
    if (!tokens_.is(TokenKind::kComma)) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (items.empty() && !may_be_empty)
    tokens_.fail_at(place, "expected an expression, got ", describe(tokens_.current()));
  ExpressionPtr node = make(ExpressionKind::kTuple, place);
  node->children = std::move(items);
  return checked(std::move(node));
}

ExpressionPtr ExpressionParser::parse_tuple(bool with_conditional, std::string_view end_word) {
  return parse_items([&] { return parse_expression(with_conditional); }, end_word, false);
}

ExpressionPtr ExpressionParser::parse_target(bool with_namespace, std::string_view end_word) {
  ExpressionPtr target =
      parse_items([&] { return parse_primary(with_namespace); }, end_word, false);
  if (!is_assignable(*target)) tokens_.fail_at(target->place, "cannot assign to this expression");
  return target;
}

ExpressionPtr ExpressionParser::parse_parenthesized() {
  tokens_.next();
  ExpressionPtr node = parse_items([&] { return parse_expression(); }, {}, true);
  tokens_.expect(TokenKind::kRightParen, "')'");
  return node;
}

ExpressionPtr ExpressionParser::parse_list() {
  ExpressionPtr node = make(ExpressionKind::kList, tokens_.next().place);
  while (!tokens_.is(TokenKind::kRightBracket)) {
    if (!node->children.empty()) tokens_.expect(TokenKind::kComma, "','");
    if (tokens_.is(TokenKind::kRightBracket)) break;
    node->children.push_back(parse_expression());
  }
  tokens_.next();
  return checked(std::move(node));
}

ExpressionPtr ExpressionParser::parse_dict() {
  ExpressionPtr node = make(ExpressionKind::kDict, tokens_.next().place);
  while (!tokens_.is(TokenKind::kRightBrace)) {
    if (!node->children.empty()) tokens_.expect(TokenKind::kComma, "','");
    if (tokens_.is(TokenKind::kRightBrace)) break;
    node->children.push_back(parse_expression());
    tokens_.expect(TokenKind::kColon, "':'");
    node->children.push_back(parse_expression());
  }
  tokens_.next();
  return checked(std::move(node));
}

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr object) {
  for (;;) {
    if (tokens_.is(TokenKind::kDot) || tokens_.is(TokenKind::kLeftBracket))
      object = parse_subscript(std::move(object));
    else if (tokens_.is(TokenKind::kLeftParen))
      object = parse_call(std::move(object));
    else
      return object;
  }
}

ExpressionPtr ExpressionParser::parse_filters_and_tests(ExpressionPtr input) {
  for (;;) {
    if (tokens_.is(TokenKind::kPipe))
      input = parse_filters(std::move(input));
    else if (tokens_.is_name("is"))
      input = parse_test(std::move(input));
    else if (tokens_.is(TokenKind::kLeftParen))
      input = parse_call(std::move(input));
    else
      return input;
  }
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr object) {
  const Token token = tokens_.next();
  if (token.kind == TokenKind::kDot) {
    if (tokens_.is(TokenKind::kInteger)) {
      ExpressionPtr key = make(ExpressionKind::kConstant, tokens_.current().place);
      key->constant = tokens_.next().integer;
      return make(ExpressionKind::kItem, token.place, std::move(object), std::move(key));
    }
    ExpressionPtr node = make(ExpressionKind::kAttribute, token.place, std::move(object));
    node->name = tokens_.expect(TokenKind::kName, "a name or number").text;
    return node;
  }
  if (tokens_.skip_if(TokenKind::kRightBracket))  // an empty tuple
    return make(ExpressionKind::kItem, token.place, std::move(object),
                make(ExpressionKind::kTuple, token.place));
  const auto bound = [&] {
    const bool given = !tokens_.is(TokenKind::kColon) && !tokens_.is(TokenKind::kRightBracket);
    return given ? parse_expression() : nullptr;
  };
  ExpressionPtr start = bound();
  if (!tokens_.is(TokenKind::kColon)) {
    std::vector<ExpressionPtr> keys;
    keys.push_back(std::move(start));
    while (tokens_.skip_if(TokenKind::kComma)) keys.push_back(parse_expression());
    tokens_.expect(TokenKind::kRightBracket, "']'");
    if (keys.size() == 1)
      return make(ExpressionKind::kItem, token.place, std::move(object), std::move(keys[0]));
    ExpressionPtr key = make(ExpressionKind::kTuple, token.place);
    key->children = std::move(keys);
    return make(ExpressionKind::kItem, token.place, std::move(object), checked(std::move(key)));
  }
  tokens_.next();
  ExpressionPtr stop = bound(), step;
  if (tokens_.skip_if(TokenKind::kColon)) step = bound();
  tokens_.expect(TokenKind::kRightBracket, "']'");
  return make(ExpressionKind::kSlice, token.place, std::move(object), std::move(start),
              std::move(stop), std::move(step));
}

CallArguments ExpressionParser::parse_arguments() {
  CallArguments arguments;
  const SourcePosition place = tokens_.expect(TokenKind::kLeftParen, "'('").place;
  const auto ensure = [&](bool valid) {
    if (!valid) tokens_.fail_at(place, "the order of the call's arguments is invalid");
  };
  bool first = true;
  std::set<std::string> names;
  while (!tokens_.is(TokenKind::kRightParen)) {
    if (!first) {
      tokens_.expect(TokenKind::kComma, "','");
      if (tokens_.is(TokenKind::kRightParen)) break;
    }
    first = false;
    if (tokens_.skip_if(TokenKind::kMultiply)) {
      ensure(!arguments.more_positional && !arguments.more_named);
      arguments.more_positional = parse_expression();
    } else if (tokens_.skip_if(TokenKind::kPower)) {
      ensure(!arguments.more_named);
      arguments.more_named = parse_expression();
    } else if (tokens_.is(TokenKind::kName) && tokens_.look().kind == TokenKind::kAssign) {
      ensure(!arguments.more_named);
      const Token name = tokens_.next();
      tokens_.next();
      if (!names.insert(name.text).second)
        tokens_.fail_at(name.place, "repeated argument '", name.text, "'");
      arguments.named.emplace_back(name.text, parse_expression());
    } else {
      ensure(!arguments.more_positional && !arguments.more_named && arguments.named.empty());
      arguments.positional.push_back(parse_expression());
    }
  }
  tokens_.next();
  return arguments;
}

ExpressionPtr ExpressionParser::parse_call(ExpressionPtr callee) {
  const SourcePosition place = callee->place;
  ExpressionPtr node = make(ExpressionKind::kCall, place, std::move(callee));
  node->arguments = parse_arguments();
  return checked(std::move(node));
}

std::string ExpressionParser::parse_dotted_name(const char* what) {
  std::string name = tokens_.expect(TokenKind::kName, what).text;
  while (tokens_.skip_if(TokenKind::kDot))
    name += "." + tokens_.expect(TokenKind::kName, what).text;
  return name;
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr input, bool starts_inline) {
  while (starts_inline || tokens_.is(TokenKind::kPipe)) {
    if (!starts_inline) tokens_.next();
    starts_inline = false;
    ExpressionPtr node = make(ExpressionKind::kFilter, tokens_.current().place, std::move(input));
    node->name = parse_dotted_name("a filter");
    if (tokens_.is(TokenKind::kLeftParen)) node->arguments = parse_arguments();
    input = checked(std::move(node));
  }
  return input;
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr input) {
  const SourcePosition place = tokens_.next().place;
  const bool is_negated = tokens_.skip_if_name("not");
  ExpressionPtr node = make(ExpressionKind::kTest, place, std::move(input));
  node->name = parse_dotted_name("a test");
  const Token& token = tokens_.current();
  switch (token.kind) {
    case TokenKind::kLeftParen:
      node->arguments = parse_arguments();
      break;
    case TokenKind::kName:
      if (token.text == "else" || token.text == "or" || token.text == "and") break;
      if (token.text == "is") tokens_.fail_at(token.place, "tests cannot be chained with 'is'");
      [[fallthrough]];
    case TokenKind::kString:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
    case TokenKind::kLeftBracket:
    case TokenKind::kLeftBrace:
      node->arguments.positional.push_back(parse_postfix(parse_primary()));
      break;
    default:
      break;
  }
  node = checked(std::move(node));
  return is_negated ? make(ExpressionKind::kNot, place, std::move(node)) : std::move(node);
}

}  // namespace wick::jinja
