#include "models/decoder/family.h"

#include <algorithm>

namespace wick {

const std::vector<const Family*>& families() {
  static const std::vector<const Family*> all = [] {
    std::vector<const Family*> rows;
#define WICK_VENDOR(vendor) \
  for (const Family& family : vendor##_families()) rows.push_back(&family);
#include "models/decoder/families/vendors.def"
#undef WICK_VENDOR
    return rows;
  }();
  return all;
}

const Family* find_family(std::string_view model_type) {
  for (const Family* family : families())
    if (family->model_type == model_type) return family;
  return nullptr;
}

bool has_gguf_key(const Family& family, std::string_view key) {
  return std::find(family.gguf_keys.begin(), family.gguf_keys.end(), key) != family.gguf_keys.end();
}

}  // namespace wick
