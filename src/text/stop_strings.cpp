#include "wick/text/stop_strings.h"

#include <algorithm>
#include <utility>

#include "wick/base/error.h"

namespace wick {

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_)
    check(!stop.empty(), ErrorCode::kInvalidArgument, "stop strings", "a stop string is empty");
}

std::string StopStrings::push(std::string_view piece) {
  if (stopped_) return "";
  held_ += piece;
  size_t end = held_.npos;
  for (const std::string& stop : stops_) end = std::min(end, held_.find(stop));
  if (end != held_.npos) {
    stopped_ = true;
    return held_.substr(0, end);
  }
  // The longest end of the text that begins a stop string.
  size_t keep = 0;
  for (const std::string& stop : stops_)
    for (size_t n = std::min(stop.size() - 1, held_.size()); n > keep; n--)
      if (held_.compare(held_.size() - n, n, stop, 0, n) == 0) keep = n;
  std::string passed = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return passed;
}

std::string StopStrings::finish() { return stopped_ ? "" : std::exchange(held_, ""); }

}  // namespace wick
