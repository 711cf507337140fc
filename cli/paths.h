// The places of a command's outputs.
#pragma once
#include <string>

namespace wick::cli {

/// Checks the place of a file or folder to be made from `in`: neither `in` itself nor, unless
/// `replace`, anything that exists; in a folder that exists. Errors: kInvalidArgument.
void require_place(const std::string& out, const std::string& in, bool replace);

/// The path of the running program.
std::string this_program();

}  // namespace wick::cli
