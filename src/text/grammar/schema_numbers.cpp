// Ranges of numbers as texts: each digit is compared with the bounds' digits.
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "text/grammar/schema_values.h"

namespace wick::grammars {
namespace {

using Expr = Syntax::Expr;

constexpr int kMaxDigits = JsonValues::kMaxDigits, kMaxDecimals = JsonValues::kMaxDecimals;
// Decimal numbers of so many digits stay different as f64.
constexpr int kExactDigits = 15;

/// A number >= 0: the digits before the point ("0" or no zero first) and after it.
struct Decimal {
  std::string digits, decimals;
  bool is_excluded = false;  // as a bound

  char decimal(size_t index) const { return index < decimals.size() ? decimals[index] : '0'; }
  bool is_zero_from(size_t index) const {
    return index >= decimals.size() || decimals.find_first_not_of('0', index) == std::string::npos;
  }
};

Decimal decimal_of(long double value, bool is_excluded) {
  Decimal result{.digits = "", .decimals = "", .is_excluded = is_excluded};
  char text[1200];
  if (value == std::floor(value) && value < 1e19L) {
    const auto end = std::to_chars(text, text + sizeof text, uint64_t(value)).ptr;
    result.digits.assign(text, end);
    return result;
  }
  const auto end =
      std::to_chars(text, text + sizeof text, double(value), std::chars_format::fixed).ptr;
  const std::string_view all(text, size_t(end - text));
  const size_t point = std::min(all.find('.'), all.size());
  result.digits = all.substr(0, point);
  if (point < all.size()) result.decimals = all.substr(point + 1);
  return result;
}

/// The texts of the numbers >= 0 of a range.
class Magnitudes {
 public:
  /// decimals: the most of them.
  Magnitudes(Syntax& syntax, Decimal low, std::optional<Decimal> high, int decimals)
      : s_(syntax), low_(std::move(low)), high_(std::move(high)), decimals_(decimals) {}

  Expr write() {
    const int low_digits = int(low_.digits.size()),
              high_digits = high_ ? int(high_->digits.size()) : kMaxDigits + 1;
    if (low_digits <= kMaxDigits) add_start(low_digits, true, high_digits == low_digits);
    const int least = low_digits + 1, most = std::min(high_digits - 1, kMaxDigits);
    if (least <= most)
      add(kStart, {s_.characters({{'1', '9'}}), digits(least - 1, most - 1), fraction(0)}, kEnd);
    if (high_digits > low_digits && high_digits <= kMaxDigits) add_start(high_digits, false, true);
    return s_.graph(arrows_);
  }

 private:
  static constexpr uint32_t kStart = 0, kEnd = 1;
  /// Digits read, of `count` before the point; whether they are the first digits of a bound.
  struct Progress {
    int count, read;
    bool is_low, is_high;
    auto operator<=>(const Progress&) const = default;
  };

  void add(uint32_t from, std::vector<Expr> parts, uint32_t to) {
    arrows_.push_back({from, s_.sequence(std::move(parts)), to});
  }
  Expr digits(int min, int max) {
    return s_.repeat(s_.characters({{'0', '9'}}), uint32_t(min), uint32_t(max));
  }
  /// Any decimals after so many.
  Expr fraction(int read) {
    if (read == decimals_) return s_.empty();
    if (read > 0) return digits(0, decimals_ - read);
    return s_.optional(s_.sequence({s_.text("."), digits(1, decimals_)}));
  }

  uint32_t state(const Progress& at) {
    const auto [found, is_new] = states_.try_emplace(at, uint32_t(states_.size() + 2));
    const uint32_t id = found->second;
    if (is_new) add_arrows(at, id);
    return id;
  }
  void add_start(int count, bool is_low, bool is_high) {
    add(kStart, {s_.empty()}, state({count, 0, is_low, is_high}));
  }

  void add_arrows(const Progress& at, uint32_t from) {
    const int decimals_read = at.read - at.count;
    if (decimals_read == 0) {
      if (may_end(at, 0)) add(from, {s_.empty()}, kEnd);
      if (decimals_ == 0) return;
      // After the point there is at least one digit, so this is a state of its own.
      const uint32_t point = uint32_t(states_.size() + 2);
      states_[{at.count, -1, at.is_low, at.is_high}] = point;
      add(from, {s_.text(".")}, point);
      return add_digits(at, point);
    }
    if (decimals_read > 0) {
      if (may_end(at, size_t(decimals_read))) add(from, {s_.empty()}, kEnd);
      if (decimals_read == decimals_) return;
    }
    add_digits(at, from);
  }

  /// Whether the number may end at bounds whose digits it has had.
  bool may_end(const Progress& at, size_t decimals) const {
    if (at.is_low && !(low_.is_zero_from(decimals) && !low_.is_excluded)) return false;
    return !at.is_high || !high_->is_zero_from(decimals) || !high_->is_excluded;
  }

  static char digit_at(const Decimal& bound, const Progress& at) {
    return at.read < at.count ? bound.digits[size_t(at.read)]
                              : bound.decimal(size_t(at.read - at.count));
  }

  void add_digits(const Progress& at, uint32_t from) {
    const char least = at.read == 0 && at.count > 1 ? '1' : '0';
    const char low = at.is_low ? digit_at(low_, at) : least,
               high = at.is_high ? digit_at(*high_, at) : '9';
    const auto add_digit = [&](char digit) {
      add(from, {s_.text(std::string(1, digit))},
          state({at.count, at.read + 1, at.is_low && digit == low, at.is_high && digit == high}));
    };
    if (low > high) return;
    char free_low = low, free_high = high;
    if (at.is_low) add_digit(low), free_low++;
    if (at.is_high && (high > low || !at.is_low)) add_digit(high);
    if (at.is_high) free_high--;
    if (free_low > free_high) return;
    const int read = at.read + 1;
    add(from,
        {s_.characters({{char32_t(free_low), char32_t(free_high)}}),
         read < at.count ? digits(at.count - read, at.count - read) : s_.empty(),
         fraction(std::max(0, read - at.count))},
        kEnd);
  }

  Syntax& s_;
  Decimal low_;
  std::optional<Decimal> high_;
  int decimals_;
  std::map<Progress, uint32_t> states_;
  std::vector<Syntax::Arrow> arrows_;
};

/// Rounds a bound to so many decimals, away from zero or towards it.
void round(Decimal& bound, int decimals, bool up) {
  if (bound.decimals.size() <= size_t(decimals)) return;
  const bool is_exact = bound.is_zero_from(size_t(decimals));
  bound.decimals.resize(size_t(decimals));
  if (is_exact) return;
  bound.is_excluded = false;
  if (!up) return;
  for (std::string* part : {&bound.decimals, &bound.digits})
    for (size_t i = part->size(); i-- > 0; (*part)[i] = '0')
      if ((*part)[i] < '9') {
        (*part)[i]++;
        return;
      }
  bound.digits.insert(0, 1, '1');
}

Expr write_magnitudes(Syntax& s, long double low, bool excludes_low,
                      std::optional<long double> high, bool excludes_high, bool is_integer) {
  if (low >= 1e19L || (high && (low > *high || (low == *high && (excludes_low || excludes_high)))))
    return s.nothing();
  if (high && *high >= 1e19L) high = {};
  Decimal least = decimal_of(low, excludes_low);
  std::optional<Decimal> most;
  if (high) most = decimal_of(*high, excludes_high);
  int decimals = is_integer ? 0 : kMaxDecimals;
  const auto keep_apart = [&](const Decimal& bound) {
    if (!bound.is_excluded || is_integer) return;
    if (bound.digits == "0" && bound.decimals.empty()) return;  // exact at any size
    const int digits = bound.digits == "0" ? 0 : int(bound.digits.size());
    decimals = std::min(decimals, std::max(0, kExactDigits - digits));
  };
  keep_apart(least);
  if (most) keep_apart(*most);
  round(least, decimals, true);
  if (most) round(*most, decimals, false);
  return Magnitudes(s, std::move(least), std::move(most), decimals).write();
}

}  // namespace

Expr write_numbers(const NumberRange& range, Syntax& s, const JsonValues& values) {
  if (!range.min && !range.max) return range.is_integer ? values.integer() : values.number();
  std::optional<long double> min = range.min, max = range.max;
  bool excludes_min = range.excludes_min, excludes_max = range.excludes_max;
  if (range.is_integer) {
    if (min) min = std::exchange(excludes_min, false) ? std::floor(*min) + 1 : std::ceil(*min);
    if (max) max = std::exchange(excludes_max, false) ? std::ceil(*max) - 1 : std::floor(*max);
  }
  std::vector<Expr> choices;
  if (!max || *max >= 0) {
    const bool begins_at_zero = !min || *min < 0;
    choices.push_back(write_magnitudes(s, begins_at_zero ? 0 : *min,
                                       !begins_at_zero && excludes_min, max, excludes_max,
                                       range.is_integer));
  }
  if (!min || *min < 0) {
    const bool ends_at_zero = !max || *max >= 0;
    std::optional<long double> most;
    if (min) most = -*min;
    choices.push_back(s.sequence(
        {s.text("-"), write_magnitudes(s, ends_at_zero ? 0 : -*max, ends_at_zero || excludes_max,
                                       most, excludes_min, range.is_integer)}));
  }
  return s.choice(std::move(choices));
}

}  // namespace wick::grammars
