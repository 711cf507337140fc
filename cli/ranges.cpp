#include "ranges.h"

#include <charconv>
#include <cmath>
#include <string>

namespace wick::cli {
namespace {

/// Parses the whole text as a number.
template <class T>
bool reads(const std::string& text, T* value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end;
}

/// Accepts a text only if it is an allowed number. CLI11 puts the flag's name before the message;
/// its own parsing would read "1e20" as 1 and "-1" as 2^64 - 1.
template <class T, class Allowed>
CLI::Validator numbers(const std::string& expected, Allowed allowed) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        T value{};
        return reads(text, &value) && allowed(value) ? ""
                                                     : "expected " + expected + ", got " + text;
      },
      "", "");
}

std::string short_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

CLI::Validator integer_from(int64_t lowest, int64_t highest) {
  return numbers<int64_t>(
      "an integer from " + std::to_string(lowest) + " to " + std::to_string(highest),
      [=](int64_t value) { return lowest <= value && value <= highest; });
}

CLI::Validator seed_range() {
  return numbers<uint64_t>("an integer from 0 to 2^64 - 1", [](uint64_t) { return true; });
}

CLI::Validator real_from(RealRange range) {
  std::string expected = "a number ";
  expected += (range.above_lowest ? "above " : "of at least ") + short_text(range.lowest);
  if (range.highest < std::numeric_limits<double>::max())
    expected += (range.below_highest ? " and below " : " and up to ") + short_text(range.highest);
  return numbers<double>(expected, [range](double value) {
    return std::isfinite(value) && range.lowest <= value && value <= range.highest &&
           !(range.above_lowest && value == range.lowest) &&
           !(range.below_highest && value == range.highest);
  });
}

}  // namespace wick::cli
