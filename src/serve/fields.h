// The fields of a request's JSON, each with the name that errors give it.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/request_error.h"
#include "wick/base/settings.h"

namespace wick::serve {

/// Parses a request's body. Errors: RequestError 400 unless it is a JSON object, not nested deeply.
Settings parse_body(std::string_view body);

/// 400: "'FIELD': expected ..., got ...".
[[noreturn]] void fail_field(const std::string& field, const std::string& expected,
                             const Setting& got);
/// 400 for a field that wick lacks and that would change the answer.
[[noreturn]] void fail_unsupported(const std::string& field, const std::string& why);

/// A JSON object of a request. A null counts as missing. Errors of the getters: RequestError 400.
class Fields {
 public:
  /// path: of the object, such as "messages[0]"; "" for the body.
  explicit Fields(const Settings& settings, std::string path = {})
      : settings_(settings), path_(std::move(path)) {}

  const Settings& settings() const { return settings_; }
  const std::string& path() const { return path_; }
  /// The field's name in errors.
  std::string name(std::string_view key) const;
  /// nullptr if it is missing.
  const Setting* find(std::string_view key) const;

  /// Reals without a fraction are accepted.
  std::optional<int64_t> integer(std::string_view key, int64_t lowest,
                                 int64_t highest = std::numeric_limits<int64_t>::max()) const;
  std::optional<double> real(std::string_view key, double lowest, double highest) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  /// nullptr if it is missing.
  const Setting::List* list(std::string_view key) const;
  std::optional<Fields> object(std::string_view key) const;

 private:
  const Settings& settings_;
  std::string path_;
};

/// The object that a list holds at an index.
Fields object_in(const Setting::List& list, size_t index, const std::string& name);

}  // namespace wick::serve
