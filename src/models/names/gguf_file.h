// A GGUF file's keys and tensors, as the fields of a config read them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/decoder/family.h"

namespace wick {

/// The family whose models a file with this metadata has. Errors: kFormat for an unknown
/// "general.architecture".
const Family& family_of_gguf(const Settings& metadata);

class GgufFile {
 public:
  GgufFile(const Settings& metadata, const TensorSource& tensors);

  const Family& family;
  const Settings& metadata;
  const TensorSource& tensors;

  // Keys are those after "ARCHITECTURE.".
  std::string name(std::string_view key) const { return prefix_ + std::string(key); }
  bool has(std::string_view key) const { return values_.has(name(key)); }
  /// nullptr if the file lacks the key, or has null.
  const Setting* find(std::string_view key) const { return values_.find(name(key)); }
  int64_t size(std::string_view key) const { return values_.integer(name(key), 1); }
  int64_t size_or(std::string_view key, int64_t otherwise) const {
    return values_.integer_or(name(key), otherwise, 1);
  }
  /// The layer's number in a list that the family's files may have, or the one for all layers.
  int64_t size_of_layer(std::string_view key, int64_t layer) const;
  double real(std::string_view key) const { return values_.real(name(key)); }
  double real_or(std::string_view key, double otherwise) const {
    return values_.real_or(name(key), otherwise);
  }
  std::string text_or(std::string_view key, const std::string& otherwise) const {
    return values_.text_or(name(key), otherwise);
  }
  /// All keys with their values.
  std::vector<std::pair<std::string_view, const Setting*>> keys() const;

  bool has_tensor(const char* tensor) const { return tensors.tensors.count(tensor) > 0; }
  std::vector<double> elements(const char* tensor) const;
  /// Shape and dtype of the embedding. Errors: kFormat if the file lacks it.
  const TensorInfo& embedding() const;

 private:
  std::string prefix_;
  Settings values_;  // with the prefix
};

}  // namespace wick
