#include "base/environment.h"

#include <charconv>
#include <cstdlib>

#include "wick/base/error.h"

namespace wick {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value) return std::nullopt;
  return value;
}

std::optional<int64_t> environment_integer(const char* name, int64_t lowest, int64_t highest) {
  const auto text = environment(name);
  if (!text) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  check(error == std::errc() && end == text->data() + text->size() && lowest <= value &&
            value <= highest,
        ErrorCode::kInvalidArgument, name, "expected an integer from ", lowest, " to ", highest,
        ", got \"", *text, "\"");
  return value;
}

std::optional<int> environment_choice(const char* name,
                                      std::initializer_list<std::string_view> words) {
  const auto text = environment(name);
  if (!text) return std::nullopt;
  std::string list;
  int index = 0;
  for (const std::string_view word : words) {
    if (*text == word) return index;
    list += (index++ ? ", " : "") + std::string(word);
  }
  fail(ErrorCode::kInvalidArgument, name, "expected one of ", list, ", got \"", *text, "\"");
}

}  // namespace wick
