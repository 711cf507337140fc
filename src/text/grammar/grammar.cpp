#include "wick/text/grammar.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "text/grammar/front_ends.h"
#include "text/grammar/make_grammar.h"
#include "text/grammar/matcher.h"
#include "wick/base/error.h"

namespace wick {

using namespace grammars;

TokenTable::TokenTable(std::vector<std::string> bytes)
    : trie_(std::make_shared<const TokenTrie>(std::move(bytes))) {}

int64_t TokenTable::size() const { return trie_->size(); }

std::string_view TokenTable::bytes(int64_t id) const {
  return id < 0 || id >= size() ? std::string_view() : trie_->bytes(id);
}

struct Grammar::Compiled {
  std::shared_ptr<const Automaton> automaton;
  std::string where;
  std::optional<TokenTable> table = {};
  std::mutex mutex = {};
  std::vector<std::shared_ptr<Matcher>> matchers = {};  // one for each vocabulary

  static Grammar of(const Syntax& syntax, Syntax::Rule root,
                    std::optional<TokenTable> table = std::nullopt) {
    return Grammar(std::shared_ptr<Compiled>(new Compiled{
        .automaton = compile(syntax, root), .where = syntax.where(), .table = std::move(table)}));
  }
};

Grammar GrammarMaker::make(const Syntax& syntax, Syntax::Rule root,
                           std::optional<TokenTable> table) {
  return Grammar::Compiled::of(syntax, root, std::move(table));
}

Grammar Grammar::gbnf(std::string_view text, const std::string& where) {
  Syntax syntax(where);
  return Compiled::of(syntax, read_gbnf(text, syntax));
}

Grammar Grammar::regex(std::string_view text) {
  Syntax syntax("regex");
  const Syntax::Rule root = syntax.add_rule();
  syntax.define(root, read_regex(text, syntax));
  return Compiled::of(syntax, root);
}

Grammar Grammar::choice(const std::vector<std::string>& texts) {
  Syntax syntax("choice");
  check(!texts.empty(), ErrorCode::kInvalidArgument, syntax.where(), "expected texts, got no text");
  for (size_t i = 0; i < texts.size(); i++)
    check(is_utf8(texts[i]), ErrorCode::kInvalidArgument, syntax.where(), "text ", i,
          " is not UTF-8");
  const Syntax::Rule root = syntax.add_rule();
  syntax.define(root, syntax.texts(texts));
  return Compiled::of(syntax, root);
}

Grammar Grammar::json_object() {
  Syntax syntax("json object");
  JsonValues values(syntax);
  const Syntax::Rule root = syntax.add_rule();
  syntax.define(root, syntax.sequence({values.space_before_text(), values.object()}));
  return Compiled::of(syntax, root);
}

Grammar Grammar::json_schema(const Setting& schema, const std::string& where) {
  Syntax syntax(where);
  return Compiled::of(syntax, read_json_schema(schema, syntax));
}

std::shared_ptr<Matcher> Grammar::matcher(const TokenTable& given) const {
  const TokenTable& table = compiled_->table ? *compiled_->table : given;
  constexpr size_t kMaxMatchers = 4;
  const std::lock_guard lock(compiled_->mutex);
  auto& matchers = compiled_->matchers;
  const auto known = std::find_if(matchers.begin(), matchers.end(),
                                  [&](const auto& m) { return m->trie() == table.trie_; });
  if (known != matchers.end()) return *known;
  if (matchers.size() == kMaxMatchers) matchers.erase(matchers.begin());
  return matchers.emplace_back(
      std::make_shared<Matcher>(compiled_->automaton, table.trie_, compiled_->where));
}

bool Grammar::matches(std::string_view text) const {
  Machine machine(compiled_->automaton, compiled_->where);
  uint32_t set = machine.start();
  for (const char byte : text) {
    machine.start_work();
    set = machine.next(set, uint8_t(byte));
    if (set == Machine::kDead) return false;
  }
  return !machine.holes(set).empty();
}

GrammarState::GrammarState(const Grammar& grammar, const TokenTable& table,
                           std::vector<int64_t> end_ids)
    : matcher_(grammar.matcher(table)),
      position_(std::make_unique<Position>(matcher_->start())),
      end_ids_(std::make_shared<const std::vector<int64_t>>(std::move(end_ids))) {
  for (const int64_t id : *end_ids_)
    check(id >= 0, ErrorCode::kInvalidArgument, "GrammarState", "end_ids: expected ids, got ", id);
}
GrammarState::~GrammarState() = default;
GrammarState::GrammarState(const GrammarState& other)
    : matcher_(other.matcher_),
      position_(std::make_unique<Position>(*other.position_)),
      end_ids_(other.end_ids_),
      ended_(other.ended_) {}
GrammarState::GrammarState(GrammarState&&) noexcept = default;
GrammarState& GrammarState::operator=(const GrammarState& other) {
  return *this = GrammarState(other);
}
GrammarState& GrammarState::operator=(GrammarState&&) noexcept = default;

int64_t GrammarState::mask_size() const {
  int64_t size = matcher_->trie()->size();
  for (const int64_t id : *end_ids_) size = std::max(size, id + 1);
  return size;
}

void GrammarState::mask(std::span<uint32_t> words) {
  const int64_t bits = int64_t(words.size()) * 32;
  check(bits >= mask_size(), ErrorCode::kInvalidArgument, "mask", "expected at least ", mask_size(),
        " bits, got ", bits);
  if (ended_)
    std::fill(words.begin(), words.end(), 0);
  else
    matcher_->mask(*position_, words);
  const bool ends = ended_ || may_end();
  for (const int64_t id : *end_ids_) {
    const uint32_t bit = uint32_t(1) << (id % 32);
    uint32_t& word = words[size_t(id) / 32];
    word = ends ? word | bit : word & ~bit;
  }
  check(ends || std::any_of(words.begin(), words.end(), [](uint32_t word) { return word != 0; }),
        ErrorCode::kUnsupported, matcher_->where(),
        "no token of the vocabulary can follow the text");
}

bool GrammarState::accept(int64_t id) {
  if (ended_) return false;
  if (std::count(end_ids_->begin(), end_ids_->end(), id) > 0) {
    if (!may_end()) return false;
    ended_ = true;
    return true;
  }
  const TokenTrie& trie = *matcher_->trie();
  if (id < 0 || id >= trie.size() || trie.bytes(id).empty()) return false;
  return matcher_->accept(*position_, trie.bytes(id));
}

bool GrammarState::accept_text(std::string_view bytes) {
  return !ended_ && matcher_->accept(*position_, bytes);
}

bool GrammarState::may_end() const { return !ended_ && matcher_->may_end(*position_); }

bool GrammarState::has_ended() const { return ended_ || !matcher_->may_go_on(*position_); }

}  // namespace wick
