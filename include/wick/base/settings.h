// Typed named values, such as config.json's or a model file's metadata.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "wick/base/error.h"

namespace wick {

struct Setting;

/// Named values. Typed getters throw kFormat, "WHERE: "KEY": expected ..., got ...", if the value
/// has another type or is missing where no default applies. A null value counts as missing.
class WICK_API Settings {
 public:
  using Entry = std::pair<std::string, Setting>;

  Settings() = default;
  /// where: the file, or "FILE: OUTER" for a nested object; errors begin with it.
  explicit Settings(std::string where);
  /// Errors: kFormat if two entries have the same name.
  Settings(std::string where, std::vector<Entry> entries);

  const std::string& where() const { return where_; }
  /// The entries in insertion order.
  const std::vector<Entry>& entries() const { return entries_; }
  /// Adds the value, or replaces the value with the same name.
  Settings& set(const std::string& key, Setting value);
  /// The value with this name; nullptr if missing.
  const Setting* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  /// An integer of at least `lowest`.
  int64_t integer(std::string_view key, int64_t lowest = 0) const;
  int64_t integer_or(std::string_view key, int64_t otherwise, int64_t lowest = 0) const;
  /// A finite number; integers are accepted.
  double real(std::string_view key) const;
  double real_or(std::string_view key, double otherwise) const;
  bool flag_or(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key) const;
  std::string text_or(std::string_view key, const std::string& otherwise) const;
  /// A list of integers, or a single integer as a list of one; empty if missing.
  std::vector<int64_t> integers(std::string_view key) const;
  /// A list of finite numbers, or a single number as a list of one; empty if missing. Integers are
  /// accepted.
  std::vector<double> reals(std::string_view key) const;
  /// A list of strings; empty if missing.
  std::vector<std::string> texts(std::string_view key) const;
  /// The nested object with this name; nullptr if missing.
  const Settings* group(std::string_view key) const;

  /// Throws kFormat: `key` has another value than was expected.
  [[noreturn]] void fail_expected(std::string_view key, const std::string& expected) const;

 private:
  std::string where_;
  std::vector<Entry> entries_;
};

/// A value of any kind.
struct Setting {
  using List = std::vector<Setting>;
  std::variant<std::nullptr_t, bool, int64_t, double, std::string, List, Settings> value = nullptr;

  Setting() = default;
  Setting(std::nullptr_t) {}                         // NOLINT: implicit conversion
  Setting(bool v) : value(v) {}                      // NOLINT
  Setting(int v) : value(int64_t(v)) {}              // NOLINT
  Setting(int64_t v) : value(v) {}                   // NOLINT
  Setting(double v) : value(v) {}                    // NOLINT
  Setting(const char* v) : value(std::string(v)) {}  // NOLINT
  Setting(std::string v) : value(std::move(v)) {}    // NOLINT
  Setting(List v) : value(std::move(v)) {}           // NOLINT
  Setting(Settings v) : value(std::move(v)) {}       // NOLINT
};

// Defined here because clang requires a complete Setting.
inline Settings::Settings(std::string where) : where_(std::move(where)) {}

/// Describes a value for error messages: "5", "the string "five"", "a list".
WICK_API std::string describe(const Setting& setting);

}  // namespace wick
