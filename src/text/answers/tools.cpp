#include "text/answers/tools.h"

#include <algorithm>

#include "base/json_text.h"
#include "text/answers/json_scanner.h"

namespace wick::answers {

const Settings* object_in(const Settings& settings, std::string_view key) {
  const Setting* const value = settings.find(key);
  return value ? std::get_if<Settings>(&value->value) : nullptr;
}
const std::string* text_in(const Settings& settings, std::string_view key) {
  const Setting* const value = settings.find(key);
  return value ? std::get_if<std::string>(&value->value) : nullptr;
}

ParameterType type_of(const Settings& schema) {
  const Setting* const type = schema.find("type");
  if (!type) return ParameterType::kUnknown;
  const auto named = [](const Setting& one, std::string_view name) {
    const std::string* const text = std::get_if<std::string>(&one.value);
    return text && *text == name;
  };
  if (named(*type, "string")) return ParameterType::kString;
  if (named(*type, "boolean")) return ParameterType::kBoolean;
  const Setting::List* const types = std::get_if<Setting::List>(&type->value);
  if (!types) return ParameterType::kUnknown;
  const auto has = [&](std::string_view name) {
    return std::any_of(types->begin(), types->end(),
                       [&](const Setting& one) { return named(one, name); });
  };
  if (!has("string")) return ParameterType::kUnknown;
  return has("null") ? ParameterType::kNullableString : ParameterType::kString;
}

Tools::Tools(const Setting::List& tools) {
  for (const Setting& tool : tools) {
    const Settings* const outer = std::get_if<Settings>(&tool.value);
    const Settings* const function = outer ? object_in(*outer, "function") : nullptr;
    const std::string* const name = function ? text_in(*function, "name") : nullptr;
    if (!name) continue;
    auto& types = functions_[*name];
    const Settings* const schema = object_in(*function, "parameters");
    const Settings* const properties = schema ? object_in(*schema, "properties") : nullptr;
    if (!properties) continue;
    for (const auto& [key, value] : properties->entries())
      if (const Settings* const parameter = std::get_if<Settings>(&value.value))
        types[key] = type_of(*parameter);
  }
}

ParameterType Tools::type(const std::string& name, const std::string& parameter) const {
  const auto function = functions_.find(name);
  if (function == functions_.end()) return ParameterType::kUnknown;
  const auto type = function->second.find(parameter);
  return type == function->second.end() ? ParameterType::kUnknown : type->second;
}

std::string parameter_json(std::string text, ParameterType type) {
  const auto quoted = [&] { return json_quote(text, JsonEscapes::kPython); };
  if (type == ParameterType::kString) return quoted();
  if (type == ParameterType::kNullableString) return text == "null" ? text : quoted();
  if (type == ParameterType::kBoolean) {
    if (text == "True" || text == "TRUE") return "true";
    if (text == "False" || text == "FALSE") return "false";
  }
  return is_json(text) ? text : quoted();
}

}  // namespace wick::answers
