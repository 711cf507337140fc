// A byte model of order n with Witten-Bell back-off, as a baseline.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace wick::cli {

/// p(b | c1..cn) = (count(c1..cn b) + distinct(c1..cn) p(b | c2..cn)) / (count(c1..cn) +
/// distinct(c1..cn)); at order -1 p(b) = 1 / 256.
/// Source: Witten & Bell 1991, "The zero-frequency problem", method C.
class WittenBell {
 public:
  /// order: 0 to 7 bytes of context.
  WittenBell(const std::vector<std::string>& texts, int order);

  /// The mean of -log p over all bytes of the texts, in nats.
  double loss(const std::vector<std::string>& texts) const;
  /// The probability of the byte text[at] given the bytes before it.
  double probability(const std::string& text, size_t at) const;

 private:
  struct Counts {
    std::vector<std::pair<uint8_t, uint32_t>> bytes;
    double total = 0;
    void add(uint8_t byte);
    double of(uint8_t byte) const;
    double distinct() const { return double(bytes.size()); }
  };

  int order_;
  std::vector<std::unordered_map<uint64_t, Counts>> contexts_;  // indexed by order
};

}  // namespace wick::cli
