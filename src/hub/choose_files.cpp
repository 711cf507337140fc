#include "hub/choose_files.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <set>

#include "wick/base/error.h"

namespace wick::hub {
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kConfig = "config.json";
// What wick reads beside the weights of a folder.
constexpr const char* kFolderFiles[] = {kConfig,
                                        "generation_config.json",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "chat_template.jinja",
                                        "spiece.model",
                                        "preprocessor_config.json",
                                        "processor_config.json",
                                        "1_Pooling/config.json"};

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = char(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// The name without ".gguf" and without "-00001-of-00003" before it.
std::string_view stem_of(std::string_view name, int* part = nullptr, int* parts = nullptr) {
  name.remove_suffix(std::string_view(".gguf").size());
  constexpr std::string_view kPattern = "-#####-of-#####";
  if (name.size() <= kPattern.size()) return name;
  const std::string_view end = name.substr(name.size() - kPattern.size());
  for (size_t i = 0; i < end.size(); i++)
    if (kPattern[i] == '#' ? !std::isdigit(static_cast<unsigned char>(end[i]))
                           : end[i] != kPattern[i])
      return name;
  if (part) *part = std::stoi(std::string(end.substr(1, 5)));
  if (parts) *parts = std::stoi(std::string(end.substr(10, 5)));
  return name.substr(0, name.size() - end.size());
}

// ---- types

constexpr const char* kFloatTypes[] = {"F32", "F16", "BF16", "FP16", "FP32"};

bool is_float_type(std::string_view type) {
  return std::find(std::begin(kFloatTypes), std::end(kFloatTypes), type) != std::end(kFloatTypes);
}

/// Whether a word in capitals is a type: Q4_K_M, IQ2_XXS, TQ1_0, MXFP4, BF16.
bool is_type(std::string_view word) {
  if (is_float_type(word) || word == "MXFP4" || word == "MXFP4_MOE") return true;
  if (word.starts_with('I') || word.starts_with('T')) word.remove_prefix(1);
  if (word.size() < 2 || word[0] != 'Q' || !std::isdigit(static_cast<unsigned char>(word[1])))
    return false;
  word.remove_prefix(2);
  // Up to two parts such as "_K" and "_XXS". More are those of layouts that llama.cpp no longer has.
  for (int parts = 0; !word.empty(); parts++) {
    if (parts == 2 || word[0] != '_') return false;
    const size_t end = std::min(word.find('_', 1), word.size());
    if (end < 2 || end > 4) return false;
    word.remove_prefix(end);
  }
  return true;
}

struct TypeInName {
  std::string type;
  size_t at = 0;  // in the text
};

/// The last type among the words of a text.
TypeInName find_type(std::string_view text) {
  TypeInName found;
  bool after_ud = false;  // Unsloth's dynamic types
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find_first_of("-.", from), text.size());
    const std::string word = upper(text.substr(from, to - from));
    // "model_q4_0": the type may be the end of the word.
    for (size_t at = 0; at < word.size();) {
      const std::string_view rest = std::string_view(word).substr(at);
      if (is_type(rest)) {
        const bool is_dynamic = after_ud && at == 0;
        found = {(is_dynamic ? "UD-" : "") + std::string(rest), from + at - (is_dynamic ? 3 : 0)};
        break;
      }
      const size_t next = word.find('_', at);
      if (next == word.npos) break;
      at = next + 1;
    }
    after_ud = word == "UD";
    from = to + 1;
  }
  return found;
}

// ---- GGUF files

/// A GGUF file, or the parts of one.
struct GgufSet {
  std::string type, model;  // model: the name before the type
  std::vector<const RepositoryFile*> parts;
  int expected_parts = 1;
  int64_t bytes = 0;
  bool is_aside = false;  // no language model: an image tower, statistics for quantizing

  const std::string& path() const { return parts.front()->path; }
};

std::vector<GgufSet> gguf_sets(const Listing& listing) {
  std::map<std::string, GgufSet> sets;  // by path without the part
  for (const RepositoryFile& file : listing) {
    if (!file.path.ends_with(".gguf")) continue;
    const std::string_view name = file_name(file.path);
    if (name == ".gguf") continue;
    int part = 1, parts = 1;
    const std::string_view stem = stem_of(name, &part, &parts);
    const std::string folder = file.path.substr(0, file.path.size() - name.size());
    GgufSet& set =
        sets[folder + std::string(stem) + (parts > 1 ? "/" + std::to_string(parts) : "")];
    const TypeInName in_name = find_type(stem);
    set.type =
        in_name.type.empty() ? find_type(folder.substr(0, folder.rfind('/'))).type : in_name.type;
    std::string_view model = in_name.type.empty() ? stem : stem.substr(0, in_name.at);
    while (!model.empty() && std::string_view("-._").find(model.back()) != model.npos)
      model.remove_suffix(1);
    set.model = model;
    set.expected_parts = parts;
    set.parts.push_back(&file);
    set.bytes += file.bytes;
    const std::string capitals = upper(stem);
    set.is_aside =
        capitals.find("MMPROJ") != capitals.npos || capitals.find("IMATRIX") != capitals.npos;
  }
  std::vector<GgufSet> result;
  for (auto& [key, set] : sets) {
    std::sort(set.parts.begin(), set.parts.end(),
              [](const auto* a, const auto* b) { return a->path < b->path; });
    result.push_back(std::move(set));
  }
  return result;
}

bool is_named(const GgufSet& set, const std::string& choice) {
  for (const RepositoryFile* part : set.parts)
    if (part->path == choice || file_name(part->path) == choice) return true;
  return false;
}

/// "Q4_K_M, Q8_0", the smallest first; files without a type by their paths.
std::string list_of(std::vector<const GgufSet*> sets) {
  constexpr size_t kShown = 40;
  std::stable_sort(sets.begin(), sets.end(),
                   [](const auto* a, const auto* b) { return a->bytes < b->bytes; });
  std::string text;
  for (size_t i = 0; i < std::min(sets.size(), kShown); i++)
    text += (i ? ", " : "") + (sets[i]->type.empty() ? sets[i]->path() : sets[i]->type);
  if (sets.size() > kShown) text += " and " + std::to_string(sets.size() - kShown) + " more";
  return text;
}

/// "a.gguf, b.gguf"
std::string paths_of(const std::vector<const GgufSet*>& sets) {
  std::string text;
  for (const GgufSet* set : sets) text += (text.empty() ? "" : ", ") + set->path();
  return text;
}

const GgufSet& set_of_choice(const std::vector<const GgufSet*>& sets, const std::string& name,
                             const std::string& choice) {
  std::vector<const GgufSet*> found;
  for (const GgufSet* set : sets)
    if (is_named(*set, choice)) found.push_back(set);
  if (found.empty())
    for (const GgufSet* set : sets)
      if (!set->is_aside && set->type == upper(choice)) found.push_back(set);
  check(!found.empty(), ErrorCode::kInvalidArgument, name, "the repository has no file or type \"",
        choice, "\"; it has ", list_of(sets));
  check(found.size() == 1, ErrorCode::kInvalidArgument, name, "several files are \"", choice,
        "\": ", paths_of(found), "; expected the path of one after \":\"");
  return *found.front();
}

bool is_cached(const GgufSet& set, const ChooseOptions& options) {
  return options.is_cached &&
         std::all_of(set.parts.begin(), set.parts.end(),
                     [&](const RepositoryFile* part) { return options.is_cached(*part); });
}

const GgufSet& best_set(std::vector<const GgufSet*> sets, const std::string& name,
                        const ChooseOptions& options) {
  std::erase_if(sets, [](const GgufSet* set) { return set->is_aside; });
  check(!sets.empty(), ErrorCode::kUnsupported, name,
        "the repository has no GGUF file of a language model");
  std::set<std::string> models;
  for (const GgufSet* set : sets) models.insert(upper(set->model));
  check(models.size() == 1, ErrorCode::kInvalidArgument, name,
        "the repository has GGUF files of several models: ", paths_of(sets),
        "; expected one after \":\"");
  const bool has_quantized = std::any_of(sets.begin(), sets.end(), [](const GgufSet* set) {
    return !set->type.empty() && !is_float_type(set->type);
  });
  if (has_quantized)
    std::erase_if(sets, [&](const GgufSet* set) {
      return (set->type.empty() || is_float_type(set->type)) && !is_cached(*set, options);
    });
  const std::vector<const GgufSet*> all = sets;
  // Beside the weights a model needs memory for its cache and its computation.
  constexpr double kMargin = 1.1;
  std::erase_if(sets, [&](const GgufSet* set) {
    return options.memory_bytes > 0 && kMargin * double(set->bytes) > double(options.memory_bytes);
  });
  const auto is_smaller = [](const GgufSet* a, const GgufSet* b) { return a->bytes < b->bytes; };
  if (sets.empty()) {
    const GgufSet& least = **std::min_element(all.begin(), all.end(), is_smaller);
    fail(ErrorCode::kOutOfMemory, name, "no type fits the device, which has ",
         size_text(options.memory_bytes), " free: the smallest, ",
         least.type.empty() ? least.path() : least.type, ", has ", size_text(least.bytes),
         "; a type after \":\" is taken all the same");
  }
  if (std::any_of(sets.begin(), sets.end(),
                  [&](const GgufSet* set) { return is_cached(*set, options); }))
    std::erase_if(sets, [&](const GgufSet* set) { return !is_cached(*set, options); });
  return has_quantized ? **std::max_element(sets.begin(), sets.end(), is_smaller)
                       : **std::min_element(sets.begin(), sets.end(), is_smaller);
}

ChosenFiles choose_gguf(const std::vector<GgufSet>& all, const std::string& name,
                        const ChooseOptions& options) {
  std::vector<const GgufSet*> sets;
  std::set<std::string> types;
  for (const GgufSet& set : all) {
    sets.push_back(&set);
    if (!set.is_aside) types.insert(set.type);
  }
  const GgufSet& set = options.choice.empty() ? best_set(sets, name, options)
                                              : set_of_choice(sets, name, options.choice);
  check(int(set.parts.size()) == set.expected_parts, ErrorCode::kFormat, name,
        "the repository has ", set.parts.size(), " of the ", set.expected_parts, " parts of ",
        set.path());
  ChosenFiles chosen;
  for (const RepositoryFile* part : set.parts) chosen.files.push_back(*part);
  chosen.model = set.path();
  chosen.type = set.type;
  chosen.types = options.choice.empty() ? types.size() : 0;
  return chosen;
}

// ---- folders

bool has_folder(const Listing& listing) {
  return find_file(listing, kConfig) && (find_file(listing, kSingle) || find_file(listing, kIndex));
}

ChosenFiles choose_folder(const Listing& listing, const ChooseOptions& options) {
  ChosenFiles chosen;
  for (const char* path : kFolderFiles)
    if (const RepositoryFile* file = find_file(listing, path)) chosen.files.push_back(*file);
  if (!options.with_weights) return chosen;
  // As SafetensorsReader reads a folder: model.safetensors comes before an index.
  const RepositoryFile* const single = find_file(listing, kSingle);
  if (!single) chosen.index = kIndex;
  chosen.files.push_back(single ? *single : *find_file(listing, kIndex));
  return chosen;
}

[[noreturn]] void fail_without_model(const Listing& listing, const std::string& name) {
  std::string found = "neither GGUF files nor config.json with model.safetensors";
  for (const RepositoryFile& file : listing)
    for (const char* ending : {".bin", ".pth", ".pt", ".ckpt", ".msgpack", ".h5", ".onnx"})
      if (file.path.ends_with(ending))
        fail(ErrorCode::kUnsupported, name, "the repository has ", found, "; wick does not read ",
             file.path);
  fail(ErrorCode::kUnsupported, name, "the repository has ", found);
}

}  // namespace

std::string size_text(int64_t bytes) {
  const bool large = bytes >= int64_t{1} << 30;
  char text[32];
  std::snprintf(text, sizeof text, large ? "%.1f GiB" : "%.2f MiB",
                double(bytes) / double(large ? 1 << 30 : 1 << 20));
  return text;
}

std::string gguf_type(std::string_view path) {
  const std::string_view name = file_name(path);
  if (!name.ends_with(".gguf")) return "";
  const std::string type = find_type(stem_of(name)).type;
  const std::string_view folder = path.substr(0, path.size() - name.size());
  return type.empty() ? find_type(folder.substr(0, folder.rfind('/'))).type : type;
}

ChosenFiles choose_files(const Listing& listing, const std::string& name,
                         const ChooseOptions& options) {
  const std::vector<GgufSet> sets = gguf_sets(listing);
  if (!options.choice.empty()) {
    check(!sets.empty(), ErrorCode::kInvalidArgument, name,
          "the repository has no GGUF files for \"", options.choice, "\" to choose from",
          has_folder(listing) ? "; wick quantize makes one of its safetensors" : "");
    return choose_gguf(sets, name, options);
  }
  if (has_folder(listing)) return choose_folder(listing, options);
  if (sets.empty()) fail_without_model(listing, name);
  return choose_gguf(sets, name, options);
}

}  // namespace wick::hub
