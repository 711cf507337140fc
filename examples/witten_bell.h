// A byte model of order n with Witten-Bell back-off: it counts which bytes follow the last n.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wick/base/error.h"

/// p(b | c1..cn) = (count(c1..cn b) + distinct(c1..cn) p(b | c2..cn)) / (count(c1..cn) +
/// distinct(c1..cn)); at order -1 p(b) = 1 / 256.
/// Source: Witten & Bell 1991, "The zero-frequency problem", method C.
class WittenBell {
 public:
  /// order: 0 to 7 bytes of context. Errors: kInvalidArgument for another one.
  WittenBell(const std::vector<std::string>& texts, int order)
      : order_(order), contexts_(size_t(order) + 1) {
    wick::check(order >= 0 && order <= 7, wick::ErrorCode::kInvalidArgument, "WittenBell",
                "expected an order from 0 to 7, got ", order);
    for (const std::string& text : texts)
      for (size_t i = 0; i < text.size(); i++)
        for (int n = 0; n <= order; n++)
          if (i >= size_t(n)) contexts_[size_t(n)][key(text, i, n)].add(uint8_t(text[i]));
  }

  /// The mean of -log p over all bytes of the texts, in nats.
  double loss(const std::vector<std::string>& texts) const {
    double total = 0, bytes = 0;
    for (const std::string& text : texts)
      for (size_t i = 0; i < text.size(); i++, bytes++) total -= std::log(probability(text, i));
    return total / bytes;
  }

  /// The probability of the byte text[at] given the bytes before it.
  double probability(const std::string& text, size_t at) const {
    double p = 1.0 / 256;
    for (int n = 0; n <= order_ && size_t(n) <= at; n++) {
      const auto found = contexts_[size_t(n)].find(key(text, at, n));
      if (found == contexts_[size_t(n)].end()) break;
      const Counts& c = found->second;
      p = (c.of(uint8_t(text[at])) + c.distinct() * p) / (c.total + c.distinct());
    }
    return p;
  }

 private:
  /// The bytes that followed a context.
  struct Counts {
    std::vector<std::pair<uint8_t, uint32_t>> bytes;
    double total = 0;

    void add(uint8_t byte) {
      total++;
      for (auto& [b, n] : bytes)
        if (b == byte) {
          n++;
          return;
        }
      bytes.push_back({byte, 1});
    }
    double of(uint8_t byte) const {
      for (const auto& [b, n] : bytes)
        if (b == byte) return n;
      return 0;
    }
    double distinct() const { return double(bytes.size()); }
  };

  /// Packs the n bytes before `at`, n <= 7.
  static uint64_t key(const std::string& text, size_t at, int n) {
    uint64_t k = 0;
    for (int i = n; i > 0; i--) k = k << 8 | uint8_t(text[at - size_t(i)]);
    return k;
  }

  int order_;
  std::vector<std::unordered_map<uint64_t, Counts>> contexts_;  // indexed by order
};
