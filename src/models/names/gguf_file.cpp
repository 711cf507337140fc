#include "models/names/gguf_file.h"

#include <algorithm>

#include "models/names/config_fields.h"
#include "models/names/typed_settings.h"
#include "wick/ops/cast.h"

namespace wick {
namespace {

/// The number that a list repeats for each layer, or the value itself. skips_zeros: layers may have
/// 0 besides. Errors: kUnsupported if the layers differ.
Setting of_all_layers(const std::string& where, const std::string& name, const Setting& value,
                      bool skips_zeros) {
  const auto* const list = std::get_if<Setting::List>(&value.value);
  if (!list || list->empty()) return value;
  const auto is_zero = [](const Setting& item) {
    const auto* const size = std::get_if<int64_t>(&item.value);
    return size && *size == 0;
  };
  const auto begin =
      skips_zeros ? std::find_if_not(list->begin(), list->end(), is_zero) : list->begin();
  const auto* const first = begin != list->end() ? std::get_if<int64_t>(&begin->value) : nullptr;
  if (!first) return value;
  for (size_t layer = size_t(begin - list->begin()) + 1; layer < list->size(); layer++) {
    const auto* const size = std::get_if<int64_t>(&(*list)[layer].value);
    if (!size) return value;
    if (skips_zeros && *size == 0) continue;
    check(*size == *first, ErrorCode::kUnsupported, where, "\"", name,
          "\": expected the same number for all layers, got ", *first, " for layer ",
          begin - list->begin(), " and ", *size, " for layer ", layer);
  }
  return *first;
}

bool is_of_layers(std::string_view key) {
  for (const ConfigField& field : config_fields())
    if (field.gguf.is_of_layers && field.gguf.key == key) return true;
  return false;
}

}  // namespace

const Family& family_of_gguf(const Settings& metadata) {
  constexpr std::string_view kWindow = "attention.sliding_window";
  const std::string architecture = metadata.text("general.architecture");
  const bool has_experts = metadata.integer_or(architecture + ".expert_count", 0) > 0,
             has_window = metadata.integer_or(architecture + "." + std::string(kWindow), 0) > 0;
  const auto fits = [&](const Family& family) {
    return (family.defaults.num_experts > 0) == has_experts &&
           has_gguf_key(family, kWindow) == has_window;
  };
  const Family* found = nullptr;
  std::string known;
  for (const Family* family : families()) {
    if (family->gguf.empty()) continue;
    // Mixtral has Llama's architecture, and OLMo 3 has OLMo 2's.
    if (family->gguf == architecture && (!found || (fits(*family) && !fits(*found))))
      found = family;
    const std::string name = "\"" + std::string(family->gguf) + "\"";
    if (known.find(name) == known.npos) known += (known.empty() ? "" : ", ") + name;
  }
  if (found) return *found;
  metadata.fail_expected("general.architecture", known);
}

GgufFile::GgufFile(const Settings& metadata, const TensorSource& tensors)
    : family(family_of_gguf(metadata)),
      metadata(metadata),
      tensors(tensors),
      prefix_(std::string(family.gguf) + "."),
      values_(metadata.where()) {
  const bool skips_zeros = family.gguf_heads_by_layer || family.layer_type != LayerType::kFull;
  for (const auto& [name, value] : metadata.entries()) {
    if (!name.starts_with(prefix_)) continue;
    const std::string_view key = std::string_view(name).substr(prefix_.size());
    const bool has_one = is_of_layers(key) && !contains(family.gguf_layer_lists, key);
    values_.set(name, has_one ? of_all_layers(metadata.where(), name, value, skips_zeros) : value);
  }
}

std::vector<std::pair<std::string_view, const Setting*>> GgufFile::keys() const {
  std::vector<std::pair<std::string_view, const Setting*>> all;
  for (const auto& [name, value] : values_.entries())
    all.emplace_back(std::string_view(name).substr(prefix_.size()), &value);
  return all;
}

int64_t GgufFile::size_of_layer(std::string_view key, int64_t layer) const {
  const Setting* const value = find(key);
  if (!value || !std::holds_alternative<Setting::List>(value->value) ||
      !contains(family.gguf_layer_lists, key))
    return size(key);
  const std::vector<int64_t> sizes = values_.integers(name(key));
  if (layer >= int64_t(sizes.size()) || sizes[size_t(layer)] < 1)
    values_.fail_expected(name(key), "a number above 0 for layer " + std::to_string(layer));
  return sizes[size_t(layer)];
}

std::vector<double> GgufFile::elements(const char* tensor) const {
  return cast(tensors.load(tensor, Device::cpu()), DType::kF64).to_vector<double>();
}

const TensorInfo& GgufFile::embedding() const {
  const auto found = tensors.tensors.find("token_embd.weight");
  check(found != tensors.tensors.end() && found->second.shape.size() == 2, ErrorCode::kFormat,
        metadata.where(), "expected a tensor \"token_embd.weight\" of 2 dims");
  return found->second;
}

}  // namespace wick
