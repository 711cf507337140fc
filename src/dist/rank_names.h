// Ranks in texts.
#pragma once
#include <string>
#include <vector>

namespace wick::dist {

/// "rank 2", "ranks 1 and 3", "ranks 1, 2 and 3".
inline std::string rank_names(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); i++) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace wick::dist
