// Grammars: which tokens may come next in a generated text.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/export.h"
#include "wick/base/settings.h"

namespace wick {

namespace grammars {
class Matcher;
struct GrammarMaker;
class TokenTrie;
struct Position;
}  // namespace grammars

/// The bytes of a vocabulary's tokens, arranged so that a grammar finds those that it allows. A
/// cheap copyable value; several threads may share it. Tokenizer::token_table has the one of a
/// tokenizer.
class WICK_API TokenTable {
 public:
  /// bytes: by id; a grammar never allows a token without bytes.
  explicit TokenTable(std::vector<std::string> bytes);

  /// One more than the largest id.
  int64_t size() const;
  std::string_view bytes(int64_t id) const;

 private:
  friend class Grammar;
  std::shared_ptr<const grammars::TokenTrie> trie_;
};

/// The texts that a generation may give: a context-free grammar over UTF-8. A cheap copyable value;
/// several threads may share it. With each vocabulary it keeps the masks of the states that texts
/// have reached, at most some 100 MB, for as long as it exists.
///
/// Errors of the functions that make one: kFormat, naming the place, for a text that is no such
/// grammar; kUnsupported, naming construct and place, for a construct that wick lacks, and for a
/// grammar of more than 2^19 states, 2^20 edges or 512 levels; kInvalidArgument if no text matches.
class WICK_API Grammar {
 public:
  /// GBNF, llama.cpp's format; the text is one of the rule "root". Rules may call themselves in any
  /// place. "\xHH" is the character U+00HH. Tokens ("<[7]>", "<think>") are not supported.
  /// where: the beginning of errors, such as a path.
  static Grammar gbnf(std::string_view text, const std::string& where = "gbnf");
  /// A regular expression for the whole text, in the syntax that ECMAScript and Python have in
  /// common: | * + ? {m,n} . [ ] ( ) (?: ) (?P<name> ) and escapes. \d \w and \s have ASCII's
  /// characters, "." all but a newline. Lazy quantifiers match the same texts as others. "^" may
  /// stand at the start and "$" at the end. Not supported: other assertions, back references,
  /// properties (\p), flags and possessive quantifiers.
  static Grammar regex(std::string_view text);
  /// One of the texts. Errors: kInvalidArgument if there is no text or they are not UTF-8.
  static Grammar choice(const std::vector<std::string>& texts);
  /// A JSON object, with any content. Between its parts stands nothing, a space, or a newline and
  /// up to 32 spaces or tabs, so that a model cannot write white space without end; before a comma
  /// or colon nothing, and before the object at most a space. Numbers have at most 19 digits before
  /// the point, 17 after it, and 2 in the exponent.
  static Grammar json_object();

  /// The JSON values that a schema allows: JSON Schema 2020-12, and of the drafts before it the
  /// names that it has replaced. Every text is a value that the schema allows. Of these values the
  /// grammar has some spellings; white space and numbers are written as in json_object.
  /// - The properties of an object come in the order of "properties", then those that "required"
  ///   alone names, then all others. Others may repeat a name, so "minProperties" counts one.
  /// - Constants, names of properties and strings with a pattern or format escape quotes,
  ///   backslashes and U+0000 to U+001F alone; other strings have all escapes.
  /// - Integers have no point and no exponent; numbers with a bound have no exponent. Constants are
  ///   written as in the schema.
  /// Supported: $ref to a place of the schema, type, enum, const, allOf, anyOf, oneOf if its
  /// schemas certainly have no value in common, minimum, maximum, exclusiveMinimum,
  /// exclusiveMaximum, multipleOf 1, minLength, maxLength, pattern (ECMAScript's, as regex has it,
  /// for a part of the string), format (date, time, date-time, duration, uuid, email, hostname,
  /// ipv4, ipv6, uri), items, prefixItems, additionalItems, minItems, maxItems, properties,
  /// patternProperties, additionalProperties, propertyNames, required, minProperties,
  /// maxProperties. Annotations and names that begin with "x-" are passed over.
  /// where: the beginning of errors.
  /// Errors: as above; they name keyword and place, such as "json schema: #/properties/a/not".
  /// kUnsupported for every other keyword, and for a schema that takes too many steps to read.
  static Grammar json_schema(const Setting& schema, const std::string& where = "json schema");

  /// Whether this is one of the texts.
  bool matches(std::string_view text) const;

 private:
  friend class GrammarState;
  friend struct grammars::GrammarMaker;
  struct Compiled;
  explicit Grammar(std::shared_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<grammars::Matcher> matcher(const TokenTable& table) const;

  std::shared_ptr<Compiled> compiled_;
};

/// Where one text stands in a grammar. A copyable value: a copy goes on independently. Copies and
/// other states of the grammar may be used by several threads, each by one at a time.
///
///   GrammarState state(grammar, tokenizer.token_table(), {eos});
///   state.mask(words);  // the ids that may come next
///   state.accept(id);
class WICK_API GrammarState {
 public:
  /// end_ids: tokens that end a text; they are allowed where it may end, and only there, whatever
  /// their bytes.
  /// Errors: kInvalidArgument for an end id below 0.
  GrammarState(const Grammar& grammar, const TokenTable& table, std::vector<int64_t> end_ids = {});
  ~GrammarState();
  GrammarState(const GrammarState&);
  GrammarState(GrammarState&&) noexcept;
  GrammarState& operator=(const GrammarState&);
  GrammarState& operator=(GrammarState&&) noexcept;

  const std::vector<int64_t>& end_ids() const { return *end_ids_; }
  /// The number of bits that mask needs: the vocabulary's size, or more for an end id beyond it.
  int64_t mask_size() const;
  /// Sets bit i % 32 of word i / 32 for each id i that may come next, and clears all others: the
  /// layout of Session::set_mask. Takes some microseconds where a text of the grammar has been
  /// before, and up to some milliseconds elsewhere.
  /// Errors: kInvalidArgument if the words have fewer than mask_size() bits;
  /// kUnsupported if no id may come next though the text may go on (the vocabulary lacks the
  /// bytes), or if the grammar is too ambiguous.
  void mask(std::span<uint32_t> words);
  /// Moves on by a token. False, and nothing moves, for an id that may not come next.
  /// Errors: kUnsupported if the grammar is too ambiguous.
  bool accept(int64_t id);
  /// The same by bytes, which need not be whole tokens.
  bool accept_text(std::string_view bytes);
  /// Whether the text may end here. False after an end id.
  bool may_end() const;
  /// Whether the text has ended: by an end id, or since the grammar has nothing to follow it.
  bool has_ended() const;

 private:
  std::shared_ptr<grammars::Matcher> matcher_;
  std::unique_ptr<grammars::Position> position_;
  std::shared_ptr<const std::vector<int64_t>> end_ids_;
  bool ended_ = false;  // by an end id
};

}  // namespace wick
