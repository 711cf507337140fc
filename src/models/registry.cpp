#include "wick/models/registry.h"

#include <algorithm>

#include "models/architectures.h"

namespace wick {
namespace {

/// The row that has the text under this key. Errors: kFormat, with the texts that there are.
const Architecture& row_of(const Settings& settings, const char* key,
                           std::vector<std::string_view> (*Architecture::*names)()) {
  const std::string text = settings.text(key);
  std::vector<std::string_view> known;
  for (const Architecture* row : kArchitectures)
    for (const std::string_view name : (row->*names)()) {
      if (name == text) return *row;
      if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
    }
  std::string list;
  for (const std::string_view name : known)
    list += (list.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  settings.fail_expected(key, list);
}

}  // namespace

const Architecture& architecture_of_folder(const Settings& config) {
  return row_of(config, "model_type", &Architecture::model_types);
}

const Architecture& architecture_of_gguf(const Settings& metadata) {
  return row_of(metadata, "general.architecture", &Architecture::ggufs);
}

}  // namespace wick
