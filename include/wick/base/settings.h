// Values by name, as config.json or a model file's metadata hold them; asked for by name and type.
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

/// Values by name. Errors, of all that is asked for: kFormat, "WHERE: "KEY": expected ..., got
/// ...". A value of null counts as none.
class WICK_API Settings {
 public:
  using Entry = std::pair<std::string, Setting>;

  Settings() = default;
  /// where: the file, or "FILE: OUTER" of a value that itself holds values.
  explicit Settings(std::string where) : where_(std::move(where)) {}
  /// Errors: kFormat if two entries have one name.
  Settings(std::string where, std::vector<Entry> entries);

  const std::string& where() const { return where_; }
  /// The values in the order in which they were set.
  const std::vector<Entry>& entries() const { return entries_; }
  /// Adds the value, or puts it in place of the one that has this name.
  Settings& set(const std::string& key, Setting value);
  /// The value of this name; nullptr if there is none.
  const Setting* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  /// An integer of at least `lowest`.
  int64_t integer(std::string_view key, int64_t lowest = 0) const;
  int64_t integer_or(std::string_view key, int64_t otherwise, int64_t lowest = 0) const;
  /// A finite number; an integer is a real number too.
  double real(std::string_view key) const;
  double real_or(std::string_view key, double otherwise) const;
  bool flag_or(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key) const;
  std::string text_or(std::string_view key, const std::string& otherwise) const;
  /// The integers of a list, or of one integer; empty if there is no value.
  std::vector<int64_t> integers(std::string_view key) const;
  /// The finite numbers of a list, or the one number; empty if there is no value. Integers are real
  /// numbers too.
  std::vector<double> reals(std::string_view key) const;
  /// The texts of a list; empty if there is no value.
  std::vector<std::string> texts(std::string_view key) const;
  /// The values inside of the value of this name; nullptr if there is none.
  const Settings* group(std::string_view key) const;

  /// Throws the error of a value that is not what was expected.
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
  Setting(std::nullptr_t) {}                         // NOLINT: a value is written as it is
  Setting(bool v) : value(v) {}                      // NOLINT
  Setting(int v) : value(int64_t(v)) {}              // NOLINT
  Setting(int64_t v) : value(v) {}                   // NOLINT
  Setting(double v) : value(v) {}                    // NOLINT
  Setting(const char* v) : value(std::string(v)) {}  // NOLINT
  Setting(std::string v) : value(std::move(v)) {}    // NOLINT
  Setting(List v) : value(std::move(v)) {}           // NOLINT
  Setting(Settings v) : value(std::move(v)) {}       // NOLINT
};

/// What a value is, for errors: "the integer 5", "the text "five"", "a list".
WICK_API std::string describe(const Setting& setting);

}  // namespace wick
