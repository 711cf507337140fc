// Keeps outputs from replacing the files that they are made from.
#pragma once
#include <string>
#include <vector>

namespace wick {

/// Checks that no file to be written is one that the model at `in` consists of, be it
/// under another path or through a link. Errors: kInvalidArgument.
void require_other_files(const std::string& in, const std::vector<std::string>& outs);

}  // namespace wick
