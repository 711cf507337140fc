// Times the masks of grammars: microseconds for each token of some JSON documents, whose states the
// grammar meets first or knows.
//
//   grammar-masks MODEL [TOKENS]
//
// MODEL is a GGUF file or a folder with tokenizer.json. Its vocabulary is filled up to TOKENS
// (128,256) by tokens that join two of its own.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "wick/wick.h"

namespace {

constexpr int64_t kTokens = 128'256;  // of Llama 3's vocabulary
constexpr int kRepeats = 5;

struct Case {
  const char *name, *schema, *document;
};

constexpr Case kCases[] = {
    {"person", R"({"type": "object", "properties": {"name": {"type": "string"}, "age":
        {"type": "integer", "minimum": 0, "maximum": 120}, "email": {"type": "string",
        "format": "email"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["name", "age"], "additionalProperties": false})",
     R"({"name": "Ada Lovelace", "age": 36, "email": "ada@example.org", "tags": ["mathematics", "poetry", "engines"]})"},
    {"call of one of three functions", R"({"anyOf": [
        {"type": "object", "properties": {"name": {"const": "weather"}, "arguments":
        {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"enum": ["C", "F"]}},
        "required": ["city"], "additionalProperties": false}}, "required": ["name", "arguments"],
        "additionalProperties": false},
        {"type": "object", "properties": {"name": {"const": "search"}, "arguments":
        {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer",
        "minimum": 1, "maximum": 100}}, "required": ["query"], "additionalProperties": false}},
        "required": ["name", "arguments"], "additionalProperties": false},
        {"type": "object", "properties": {"name": {"const": "book"}, "arguments":
        {"type": "object", "properties": {"from": {"type": "string", "format": "date"}, "to":
        {"type": "string", "format": "date"}}, "required": ["from", "to"],
        "additionalProperties": false}}, "required": ["name", "arguments"],
        "additionalProperties": false}]})",
     R"({"name": "book", "arguments": {"from": "2024-02-29", "to": "2024-03-02"}})"},
    {"strings of patterns and lengths", R"({"type": "object", "properties": {"id": {"type":
        "string", "pattern": "^[A-Z]{2}-[0-9]{4,8}$"}, "title": {"type": "string", "minLength": 3,
        "maxLength": 80}, "when": {"type": "string", "format": "date-time"}, "price": {"type":
        "number", "minimum": 0, "exclusiveMaximum": 10000}}, "required": ["id", "title", "when",
        "price"], "additionalProperties": false})",
     R"({"id": "XY-20481", "title": "A lamp for the desk, \"warm\" – of brass", "when": "2024-05-06T07:08:09Z", "price": 129.95})"},
    {"tree", R"({"$defs": {"node": {"type": "object", "properties": {"value": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}, "required": ["value",
        "children"], "additionalProperties": false}}, "$ref": "#/$defs/node"})",
     R"({"value": "root", "children": [{"value": "left", "children": []}, {"value": "right", "children": [{"value": "leaf of the right", "children": []}]}]})"},
    {"any object", R"({"type": "object"})",
     R"({"a": [1, 2.5, {"b": null, "text": "naïve café — ünïcödé"}], "c": true, "d": {"e": {"f": ["g", "h"]}}, "i": -1e10})"},
};

/// The vocabulary's bytes, filled up by joined pairs of tokens of letters, most with a space first.
wick::TokenTable filled_table(const wick::Tokenizer& tokenizer, int64_t tokens) {
  const wick::TokenTable& own = tokenizer.token_table();
  std::vector<std::string> bytes;
  for (int64_t id = 0; id < own.size(); id++) bytes.emplace_back(own.bytes(id));
  std::vector<std::string> parts;
  for (const std::string& token : bytes)
    if (token.size() >= 2 && token.size() <= 6) parts.push_back(token);
  uint64_t random = 1;
  const auto part = [&] {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return parts[size_t((random >> 33) % parts.size())];
  };
  while (int64_t(bytes.size()) < tokens) bytes.push_back(part() + part());
  return wick::TokenTable(std::move(bytes));
}

double microseconds(const auto& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

/// The time of each mask of a document, in microseconds.
std::vector<double> mask_times(const wick::Grammar& grammar, const wick::TokenTable& table,
                               const std::vector<int64_t>& ids) {
  wick::GrammarState state(grammar, table);
  std::vector<uint32_t> words(size_t((state.mask_size() + 31) / 32));
  std::vector<double> times;
  for (const int64_t id : ids) {
    times.push_back(microseconds([&] { state.mask(words); }));
    if (!(words[size_t(id / 32)] >> (id % 32) & 1) || !state.accept(id)) {
      std::fprintf(stderr, "grammar-masks: the grammar does not allow the document\n");
      std::exit(1);
    }
  }
  return times;
}

double share(std::vector<double> times, double of) {
  std::sort(times.begin(), times.end());
  return times[std::min(times.size() - 1, size_t(of * double(times.size())))];
}

void time_case(const Case& each, const wick::Tokenizer& tokenizer, const wick::TokenTable& table) {
  const wick::Setting schema = wick::parse_json_value(each.schema, each.name);
  const std::vector<int64_t> ids = tokenizer.encode_ids(each.document, {.add_special = false});
  std::vector<double> make, first, known;
  for (int i = 0; i < kRepeats; i++) {
    std::optional<wick::Grammar> grammar;
    make.push_back(microseconds([&] {
      grammar = wick::Grammar::json_schema(schema);
      const wick::GrammarState state(*grammar, table);
    }));
    for (const double time : mask_times(*grammar, table, ids)) first.push_back(time);
    for (const double time : mask_times(*grammar, table, ids)) known.push_back(time);
  }
  std::printf("%-34s %6zu %8.2f %8.1f %8.1f %8.1f %8.2f %8.2f\n", each.name, ids.size(),
              share(make, 0.5) / 1000, share(first, 0.5), share(first, 0.9), share(first, 1),
              share(known, 0.5), share(known, 0.99));
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || count > 3) {
    std::fprintf(stderr, "grammar-masks MODEL [TOKENS]\n");
    return 2;
  }
  try {
    const wick::Tokenizer tokenizer = wick::load_tokenizer(arguments[1]);
    const int64_t tokens = count == 3 ? std::atoll(arguments[2]) : kTokens;
    std::optional<wick::TokenTable> table;
    const double made = microseconds([&] { table = filled_table(tokenizer, tokens); });
    std::printf("%lld tokens, of which %lld are the model's; arranged in %.0f ms\n\n",
                (long long)(table->size()), (long long)(tokenizer.token_table().size()),
                made / 1000);
    std::printf("%-34s %6s %8s %26s %17s\n", "", "", "grammar", "a state met first, us",
                "a known state, us");
    std::printf("%-34s %6s %8s %8s %8s %8s %8s %8s\n", "document", "tokens", "ms", "median", "90 %",
                "most", "median", "99 %");
    for (const Case& each : kCases) time_case(each, tokenizer, *table);
  } catch (const wick::Error& error) {
    std::fprintf(stderr, "grammar-masks: %s\n", error.what());
    return 1;
  }
}
