// The functions that a request allows to be called.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "wick/base/settings.h"

namespace wick::answers {

/// The type that a function's schema gives to a parameter, as far as it decides how a text is read.
enum class ParameterType {
  kUnknown,         // JSON if the text is JSON, otherwise a string
  kString,          // a string, whatever the text is
  kNullableString,  // the same, but for "null"
  kBoolean,         // true or false, in any case of letters
};

ParameterType type_of(const Settings& schema);

/// The object, or the text, with this name; nullptr if there is no such one.
const Settings* object_in(const Settings& settings, std::string_view key);
const std::string* text_in(const Settings& settings, std::string_view key);

class Tools {
 public:
  /// tools: as of ChatOptions::tools. Entries without a name are passed over.
  explicit Tools(const Setting::List& tools);

  bool is_empty() const { return functions_.empty(); }
  bool has(const std::string& name) const { return functions_.count(name) > 0; }
  ParameterType type(const std::string& name, const std::string& parameter) const;

 private:
  std::map<std::string, std::map<std::string, ParameterType>> functions_;
};

/// The value of a parameter that a model has written as text, as JSON.
std::string parameter_json(std::string text, ParameterType type);

}  // namespace wick::answers
