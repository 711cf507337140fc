// wick tokenize and wick detokenize: texts to token ids and back.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "commands.h"
#include "failure.h"
#include "hub.h"
#include "input.h"
#include "model.h"
#include "places.h"
#include "printable.h"
#include "wick/io/json.h"
#include "wick/load/load_model.h"

namespace wick::cli {
namespace {

struct Options {
  Places places;
  std::string tokenizer_pre;
  std::optional<std::string> text;
  bool no_special = false, json = false, lines = false;
};

/// Calls line_to_object with the JSON value of each line of the input and prints the result.
template <class F>
void convert_lines(const Options& options, const F& line_to_object) {
  for_each_line(options.places.files.front(),
                [&](const std::string& line, const std::string& place) {
                  const Setting value = parse_json_value(line, place);
                  std::printf("%s\n", to_json(line_to_object(value, place), -1).c_str());
                });
}

std::string input_of(const Options& options) {
  return options.text ? *options.text : read_input(options.places.files.front());
}

// ---- tokenize

Settings tokens_of(const Tokenizer& tokenizer, std::string_view text, bool no_special) {
  const Encoding encoding =
      tokenizer.encode(text, {.add_special = !no_special, .parse_special = !no_special});
  Setting::List ids, tokens, offsets;
  for (size_t i = 0; i < encoding.ids.size(); i++) {
    ids.emplace_back(encoding.ids[i]);
    tokens.emplace_back(encoding.tokens[i]);
    const auto& [begin, end] = encoding.offsets[i];
    offsets.emplace_back(Setting::List{begin, end});
  }
  Settings result;
  return result.set("ids", ids).set("tokens", tokens).set("offsets", offsets);
}

Tokenizer open_tokenizer(const Options& options) {
  const Tokenizer tokenizer =
      reading_input([&] { return load_tokenizer(options.places.path, options.tokenizer_pre); });
  for (const std::string& warning : tokenizer.warnings())
    std::fprintf(stderr, "wick: warning: %s\n", printable(warning).c_str());
  return tokenizer;
}

void tokenize(const Options& options) {
  const Tokenizer tokenizer = open_tokenizer(options);
  if (options.lines) {
    convert_lines(options, [&](const Setting& value, const std::string& place) {
      const auto* text = std::get_if<std::string>(&value.value);
      if (!text) fail_input(place, "expected a JSON string, got ", describe(value));
      return tokens_of(tokenizer, *text, options.no_special);
    });
    return;
  }
  const std::string text = input_of(options);
  if (options.json) {
    std::printf("%s\n", to_json(tokens_of(tokenizer, text, options.no_special), -1).c_str());
    return;
  }
  for (const int64_t id : tokenizer.encode_ids(
           text, {.add_special = !options.no_special, .parse_special = !options.no_special}))
    std::printf("%lld\t%s\n", static_cast<long long>(id), to_json(tokenizer.token(id), -1).c_str());
}

// ---- detokenize

std::string text_of(const Tokenizer& tokenizer, const Setting& value, const std::string& place,
                    bool no_special) {
  const auto* list = std::get_if<Setting::List>(&value.value);
  if (!list) fail_input(place, "expected a JSON list of ids, got ", describe(value));
  std::vector<int64_t> ids;
  for (const Setting& item : *list) {
    const auto* id = std::get_if<int64_t>(&item.value);
    if (!id) fail_input(place, "expected integers in the list, got ", describe(item));
    ids.push_back(*id);
  }
  return tokenizer.decode(ids, no_special);
}

void detokenize(const Options& options) {
  const Tokenizer tokenizer = open_tokenizer(options);
  const auto object_of = [&](const Setting& value, const std::string& place) {
    Settings result;
    return result.set("text", text_of(tokenizer, value, place, options.no_special));
  };
  if (options.lines) return convert_lines(options, object_of);
  const std::string where = options.text ? "--text" : input_name(options.places.files.front());
  const Setting value = parse_json_value(input_of(options), where);
  if (options.json) {
    std::printf("%s\n", to_json(object_of(value, where), -1).c_str());
    return;
  }
  const std::string text = text_of(tokenizer, value, where, options.no_special);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void add(CLI::App& app, const char* name, const char* description, const char* no_special,
         const char* json, const char* lines, void (*run)(const Options&)) {
  CLI::App* command = app.add_subcommand(name, description);
  const auto o = std::make_shared<Options>();
  o->places.add(
      *command,
      "a GGUF file, a folder with one, with tokenizer.json or with a SigLIP's spiece.model, or a "
      "model of the HuggingFace hub: ORG/NAME",
      {.most = 1, .description = "a file with the input (default: stdin)", .text_flag = "--text"});
  CLI::Option* text = command->add_option("--text", o->text, "the input, instead of a file's");
  add_tokenizer_pre_flag(*command, o->tokenizer_pre);
  command->add_flag("--no-special", o->no_special, no_special);
  CLI::Option* as_json = command->add_flag("--json", o->json, json);
  command->add_flag("--lines", o->lines, lines)->needs(as_json)->excludes(text);
  command->callback([o, run] {
    o->places.settle();
    o->places.path = fetch_argument(o->places.path, "", false);
    run(*o);
  });
}

}  // namespace

void add_tokenize(CLI::App& app) {
  add(app, "tokenize", "text to token ids",
      "add no special tokens, and read their texts in the input as text",
      "print one line: ids, tokens, offsets (code points)",
      "with --json: each line of the input is a JSON string, each line of the output its object",
      tokenize);
  add(app, "detokenize", "a JSON list of token ids to text", "leave special tokens out",
      "print one line: {\"text\": ...}",
      "with --json: each line of the input is a list, each line of the output its object",
      detokenize);
}

}  // namespace wick::cli
