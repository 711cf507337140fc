#include "load/generation_config.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include "load/gguf_tokenizer.h"
#include "wick/io/file.h"
#include "wick/io/json.h"

namespace wick {
namespace {

constexpr std::string_view kSamplingKeys[] = {"temperature", "top_k", "top_p", "min_p",
                                              "repetition_penalty"};
/// Keys without effect on the tokens that wick chooses; other parts of wick set the lengths.
constexpr std::string_view kIdleKeys[] = {
    "eos_token_id",       "bos_token_id",      "pad_token_id",         "decoder_start_token_id",
    "do_sample",          "max_length",        "max_new_tokens",       "transformers_version",
    "use_cache",          "cache_config",      "cache_implementation", "return_dict_in_generate",
    "_from_model_config", "_commit_hash",      "early_stopping",       "output_scores",
    "output_logits",      "output_attentions", "output_hidden_states"};
/// The values with which keys that wick lacks have no effect.
constexpr std::pair<std::string_view, double> kNeutral[] = {
    {"num_beams", 1},      {"num_beam_groups", 1},      {"num_return_sequences", 1},
    {"typical_p", 1},      {"length_penalty", 1},       {"encoder_repetition_penalty", 1},
    {"guidance_scale", 1}, {"no_repeat_ngram_size", 0}, {"encoder_no_repeat_ngram_size", 0},
    {"min_length", 0},     {"min_new_tokens", 0},       {"diversity_penalty", 0},
    {"epsilon_cutoff", 0}, {"eta_cutoff", 0},           {"penalty_alpha", 0}};

bool has_no_effect(std::string_view key, const Setting& setting) {
  const auto neutral = std::find_if(std::begin(kNeutral), std::end(kNeutral),
                                    [&](const auto& pair) { return pair.first == key; });
  return std::visit(
      [&]<class T>(const T& value) {
        if constexpr (std::is_same_v<T, std::nullptr_t>)
          return true;
        else if constexpr (std::is_same_v<T, bool>)
          return !value;
        else if constexpr (std::is_arithmetic_v<T>)
          return neutral != std::end(kNeutral) && double(value) == neutral->second;
        else if constexpr (std::is_same_v<T, Settings>)
          return value.entries().empty();
        else
          return value.empty();
      },
      setting.value);
}

std::string quoted(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "\"" : ", \"") + key + "\"";
  return text;
}

/// One line that names the keys that wick lacks.
void warn_of_unread_keys(const Settings& settings, std::vector<std::string>& warnings) {
  std::vector<std::string> unread;
  for (const auto& [key, value] : settings.entries()) {
    const auto is_key = [&key = key](std::string_view known) { return known == key; };
    if (std::none_of(std::begin(kIdleKeys), std::end(kIdleKeys), is_key) &&
        std::none_of(std::begin(kSamplingKeys), std::end(kSamplingKeys), is_key) &&
        !has_no_effect(key, value))
      unread.push_back(key);
  }
  if (!unread.empty())
    warnings.push_back(settings.where() + ": wick lacks and ignores " + quoted(unread));
}

/// A setting, or its neutral value with a warning if the model's author has it out of range.
double in_range(const Settings& settings, const char* key, double neutral, const char* expected,
                bool (*is_good)(double), std::vector<std::string>& warnings) {
  const double value = settings.real_or(key, neutral);
  if (is_good(value)) return value;
  warnings.push_back(settings.where() + ": \"" + key + "\" is ignored: expected " + expected);
  return neutral;
}

Sampling read_sampling(const Settings& settings, std::vector<std::string>& warnings) {
  const auto read = [&](const char* key, double neutral, const char* expected,
                        bool (*is_good)(double)) {
    return in_range(settings, key, neutral, expected, is_good, warnings);
  };
  Sampling s;
  s.repetition_penalty = read("repetition_penalty", 1, "a number above 0",
                              [](double x) { return x > 0 && std::isfinite(x); });
  if (!settings.flag_or("do_sample", false)) {
    s.temperature = 0;
    std::vector<std::string> idle;
    for (const auto& [key, neutral] :
         {std::pair("temperature", 1.0), {"top_k", 50}, {"top_p", 1}, {"min_p", 0}})
      if (settings.has(key) && settings.real_or(key, neutral) != neutral) idle.push_back(key);
    if (!idle.empty())
      warnings.push_back(settings.where() +
                         ": without \"do_sample\": true the likeliest token is "
                         "taken, whatever " +
                         quoted(idle) + " say");
    return s;
  }
  constexpr int64_t kTransformersTopK = 50;
  s.temperature = read("temperature", 1, "a number of at least 0",
                       [](double x) { return x >= 0 && std::isfinite(x); });
  s.top_k = std::max<int64_t>(  // -1: off, as vLLM has it
      0, settings.integer_or("top_k", kTransformersTopK, std::numeric_limits<int64_t>::min()));
  s.top_p =
      read("top_p", 1, "a number above 0 and at most 1", [](double x) { return x > 0 && x <= 1; });
  s.min_p = read("min_p", 0, "a number in [0, 1]", [](double x) { return x >= 0 && x <= 1; });
  return s;
}

}  // namespace

GenerationConfig read_generation_config(const std::string& folder) {
  GenerationConfig generation;
  const std::string path = folder + "/generation_config.json";
  if (!is_there(path)) return generation;
  const Settings settings = read_json(path);
  generation.eos_token_ids = settings.integers("eos_token_id");
  const bool says =
      settings.has("do_sample") ||
      std::any_of(std::begin(kSamplingKeys), std::end(kSamplingKeys),
                  [&](std::string_view key) { return settings.has(std::string(key)); });
  if (says) generation.sampling = read_sampling(settings, generation.warnings);
  warn_of_unread_keys(settings, generation.warnings);
  return generation;
}

std::vector<int64_t> folder_stop_ids(const std::vector<int64_t>& of_config,
                                     const GenerationConfig& generation, const FolderTexts& texts,
                                     const std::optional<Tokenizer>& tokenizer) {
  std::vector<int64_t> ids;
  const auto add = [&ids](int64_t id) {
    if (id >= 0 && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  };
  for (const int64_t id : of_config) add(id);
  for (const int64_t id : generation.eos_token_ids) add(id);
  if (!tokenizer) return ids;
  if (const auto id = tokenizer->id_of(texts.token("eos_token"))) add(*id);
  for (const int64_t id : gguf_stop_ids(Settings(), tokenizer)) add(id);
  return ids;
}

}  // namespace wick
