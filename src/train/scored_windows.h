// Texts to score, cut into overlapping windows.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace wick {

/// Each byte is scored once, after at least half a window of context where that much text precedes
/// it. A text starts as if after a newline.
struct ScoredWindows {
  std::vector<int64_t> ids, targets;  // [N, T]; padded with 0
  std::vector<float> scored;          // [N, T]: 1 where the target counts, else 0
  int64_t count = 0, bytes = 0;       // N, and the number of targets that count
};
ScoredWindows windows_of(const std::vector<std::string>& texts, int64_t context);

}  // namespace wick
