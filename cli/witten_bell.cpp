#include "witten_bell.h"

#include <cmath>

#include "wick/base/error.h"

namespace wick::cli {
namespace {

/// Packs the n bytes before `at`, n <= 7.
uint64_t key(const std::string& text, size_t at, int n) {
  uint64_t k = 0;
  for (int i = n; i > 0; i--) k = k << 8 | uint8_t(text[at - size_t(i)]);
  return k;
}

}  // namespace

WittenBell::WittenBell(const std::vector<std::string>& texts, int order)
    : order_(order), contexts_(size_t(order) + 1) {
  check(order >= 0 && order <= 7, ErrorCode::kInvalidArgument, "WittenBell",
        "expected an order from 0 to 7, got ", order);
  for (const std::string& text : texts)
    for (size_t i = 0; i < text.size(); i++)
      for (int n = 0; n <= order; n++)
        if (i >= size_t(n)) contexts_[size_t(n)][key(text, i, n)].add(uint8_t(text[i]));
}

double WittenBell::loss(const std::vector<std::string>& texts) const {
  double total = 0, bytes = 0;
  for (const std::string& text : texts)
    for (size_t i = 0; i < text.size(); i++, bytes++) total -= std::log(probability(text, i));
  return total / bytes;
}

double WittenBell::probability(const std::string& text, size_t at) const {
  double p = 1.0 / 256;
  for (int n = 0; n <= order_ && size_t(n) <= at; n++) {
    const auto found = contexts_[size_t(n)].find(key(text, at, n));
    if (found == contexts_[size_t(n)].end()) break;
    const Counts& c = found->second;
    p = (c.of(uint8_t(text[at])) + c.distinct() * p) / (c.total + c.distinct());
  }
  return p;
}

void WittenBell::Counts::add(uint8_t byte) {
  total++;
  for (auto& [b, n] : bytes)
    if (b == byte) {
      n++;
      return;
    }
  bytes.push_back({byte, 1});
}

double WittenBell::Counts::of(uint8_t byte) const {
  for (const auto& [b, n] : bytes)
    if (b == byte) return n;
  return 0;
}

}  // namespace wick::cli
