#include "core/memory_limit.h"

#include <algorithm>
#include <charconv>

#include "base/environment.h"
#include "wick/base/error.h"

namespace wick {
namespace {

const char* const kVariable = "WICK_MEMORY_LIMIT";

/// "512M" and the like: K, M, G and T are powers of 1024. Errors: kInvalidArgument.
int64_t bytes_of_size(std::string_view size, std::string_view whole) {
  int64_t bytes = 0;
  const char* const last = size.data() + size.size();
  const auto [end, error] = std::from_chars(size.data(), last, bytes);
  bool good = error == std::errc() && bytes > 0;
  int64_t factor = 1;
  if (good && end != last) {
    const size_t unit = std::string_view("KMGT").find(*end);
    good = unit != std::string_view::npos && end + 1 == last;
    if (good) factor <<= 10 * (unit + 1);
  }
  good = good && !__builtin_mul_overflow(bytes, factor, &bytes);
  check(good, ErrorCode::kInvalidArgument, kVariable,
        "expected sizes such as 8G or cuda:0=8G, separated by commas, got \"", whole, "\"");
  return bytes;
}

}  // namespace

int64_t memory_limit_of(std::string_view text, std::string_view device) {
  int64_t limit = kNoLimit;
  for (size_t begin = 0; !text.empty() && begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    std::string_view entry = text.substr(begin, comma - begin);
    begin = comma + 1;
    bool applies = true;
    if (const size_t equals = entry.find('='); equals != entry.npos) {
      const std::string name(entry.substr(0, equals));
      applies = name == device || name + ":0" == device;
      entry = entry.substr(equals + 1);
    }
    const int64_t bytes = bytes_of_size(entry, text);  // of an entry that does not apply, too
    if (applies) limit = bytes;
  }
  return limit;
}

int64_t memory_limit(const std::string& device) {
  const auto text = environment("WICK_MEMORY_LIMIT");
  return text ? memory_limit_of(*text, device) : kNoLimit;
}

}  // namespace wick
