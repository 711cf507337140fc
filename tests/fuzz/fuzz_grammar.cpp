// A JSON Schema, a GBNF grammar, a regular expression or a choice, by the first byte; then a walk
// through its texts.
#include "input.h"
#include "wick/io/json.h"
#include "wick/text/grammar.h"

namespace {

wick::Grammar read(char kind, std::string_view text) {
  switch (kind) {
    case 'g':
      return wick::Grammar::gbnf(text);
    case 'r':
      return wick::Grammar::regex(text);
    case 'c':
      return wick::Grammar::choice({std::string(text), "another"});
    default:
      return wick::Grammar::json_schema(wick::parse_json_value(text, "schema"));
  }
}

/// All bytes, and some longer tokens.
const wick::TokenTable& table() {
  static const wick::TokenTable value = [] {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; byte++) tokens.emplace_back(1, char(byte));
    for (const char* token : {"{\"", "\": ", "\", \"", "\"}", "[]", "[1", "null", "true", "ab",
                              "abc", "12", "0.5", "\\u00", "\u00e9", "\U0001f600", "  ", "\n "})
      tokens.emplace_back(token);
    return wick::TokenTable(std::move(tokens));
  }();
  return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  constexpr size_t kMaxBytes = 4096;
  if (count == 0 || count > kMaxBytes) return 0;
  const std::string_view text = wick::fuzz::text_of(bytes, count);
  wick::fuzz::parse([&] {
    const wick::Grammar grammar = read(text[0], text.substr(1));
    wick::GrammarState state(grammar, table());
    std::string written;
    uint64_t random = count;
    for (int i = 0; i < 40 && !state.has_ended(); i++) {
      std::vector<uint32_t> words(size_t(state.mask_size() + 31) / 32);
      if (state.may_end() && random % 8 == 0) break;
      state.mask(words);
      std::vector<int64_t> ids;
      for (int64_t id = 0; id < table().size(); id++)
        if (words[size_t(id) / 32] >> (id % 32) & 1) ids.push_back(id);
      random = random * 6364136223846793005 + 1442695040888963407 + bytes[size_t(i) % count];
      const int64_t id = ids[(random >> 33) % ids.size()];
      if (!state.accept(id)) __builtin_trap();
      written += table().bytes(id);
    }
    if (grammar.matches(written) != state.may_end()) __builtin_trap();
  });
  return 0;
}
