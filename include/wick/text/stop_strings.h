// Stop strings: texts at which a generated text ends.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/export.h"

namespace wick {

/// Passes a text on piece by piece, up to the first occurrence of one of the stop strings. Holds
/// back a part that may be the beginning of one.
class WICK_API StopStrings {
 public:
  /// Errors: kInvalidArgument if a stop string is empty.
  explicit StopStrings(std::vector<std::string> stops);

  const std::vector<std::string>& stops() const { return stops_; }
  /// Adds a piece of the text and returns the part that can be passed on.
  std::string push(std::string_view piece);
  /// Whether a stop string has occurred; push then returns "".
  bool stopped() const { return stopped_; }
  /// The part that was held back, if no stop string has occurred.
  std::string finish();

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace wick
