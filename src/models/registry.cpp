#include "wick/models/registry.h"

#include <algorithm>

#include "models/architectures.h"
#include "models/names/typed_settings.h"
#include "wick/models/image_text_model.h"

namespace wick {
namespace {

using Names = std::vector<std::string_view>;

/// The row that has the text under this key; nullptr if no row has it. known: receives the texts
/// that there are.
const Architecture* row_of(const std::string& text, Names (*Architecture::*names)(), Names* known) {
  for (const Architecture* row : kArchitectures)
    for (const std::string_view name : (row->*names)()) {
      if (name == text) return row;
      if (std::find(known->begin(), known->end(), name) == known->end()) known->push_back(name);
    }
  return nullptr;
}

[[noreturn]] void fail_unknown(const Settings& settings, const char* key, const Names& known) {
  std::string list;
  for (const std::string_view name : known)
    list += (list.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  settings.fail_expected(key, list);
}

/// The type of a config.json's model. Files of Based may have GPT-2's, or lack it; the ColPalis of
/// their authors have PaliGemma's.
std::string type_of(const Settings& config) {
  const bool is_based =
      config.has("alt_mixer_layers") && config.text_or("model_type", "gpt2") == "gpt2";
  if (is_based) return "based";
  const std::string type = config.text("model_type");
  const bool is_colpali = type == "paligemma" && contains(config.texts("architectures"), "ColPali");
  return is_colpali ? "colpali" : type;
}

const char* work_of(ModelKind kind) {
  return kind == ModelKind::kImageText ? "compares images with texts" : "continues or embeds texts";
}

}  // namespace

void ModelConfig::require_parallel() const {
  fail(ErrorCode::kUnsupported, "tensor parallel", "several ranks cannot share a model of type ",
       facts().model_type);
}

ModelKind kind_of_folder(const Settings& config) {
  const std::string type = type_of(config);
  Names known;
  if (row_of(type, &Architecture::model_types, &known)) return ModelKind::kCausal;
  for (const std::string_view name : image_text_model_types()) {
    if (name == type) return ModelKind::kImageText;
    known.push_back(name);
  }
  fail_unknown(config, "model_type", known);
}

void require_kind(const Settings& config, ModelKind kind) {
  const ModelKind own = kind_of_folder(config);
  check(own == kind, ErrorCode::kUnsupported, config.where(), "expected a model that ",
        work_of(kind), "; one of type ", type_of(config), " ", work_of(own));
}

const Architecture& architecture_of_folder(const Settings& config) {
  require_kind(config, ModelKind::kCausal);
  Names known;
  return *row_of(type_of(config), &Architecture::model_types, &known);
}

const Architecture& architecture_of_gguf(const Settings& metadata) {
  Names known;
  const char* const key = "general.architecture";
  if (const Architecture* row = row_of(metadata.text(key), &Architecture::ggufs, &known))
    return *row;
  fail_unknown(metadata, key, known);
}

}  // namespace wick
