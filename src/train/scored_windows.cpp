#include "train/scored_windows.h"

#include <algorithm>

namespace wick {

ScoredWindows windows_of(const std::vector<std::string>& texts, int64_t context) {
  ScoredWindows windows;
  const int64_t stride = std::max<int64_t>(1, context / 2);
  for (const std::string& text : texts) {
    const std::string stream = "\n" + text;
    const int64_t size = int64_t(text.size());
    // The window's last target is text[end - 1]; it scores the targets from `scored` on.
    for (int64_t scored = 0; scored < size;) {
      const int64_t begin = std::max<int64_t>(0, scored + stride - context);
      const int64_t end = std::min(size, begin + context);
      for (int64_t t = begin; t < begin + context; t++) {
        const bool inside = t < end;
        windows.ids.push_back(inside ? uint8_t(stream[size_t(t)]) : 0);
        windows.targets.push_back(inside ? uint8_t(stream[size_t(t) + 1]) : 0);
        windows.scored.push_back(inside && t >= scored ? 1.0f : 0.0f);
      }
      windows.count++;
      scored = end;
    }
    windows.bytes += size;
  }
  return windows;
}

}  // namespace wick
