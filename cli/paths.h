// File system queries that throw wick's Error instead of std exceptions.
#pragma once
#include <string>
#include <vector>

#include "wick/io/file.h"

namespace wick::cli {

/// Errors of all functions: kIo, with the system's reason.
std::string absolute_path(const std::string& path);
/// Creates the folder and its parents if missing.
void make_folder(const std::string& path);
/// The regular files in a folder, excluding links, sorted.
std::vector<std::string> files_in(const std::string& folder);

/// Checks the place of a file or folder to be made from `in`: neither `in` itself nor, unless
/// `replace`, anything that exists; in a folder that exists. Errors: kInvalidArgument.
void require_place(const std::string& out, const std::string& in, bool replace);

}  // namespace wick::cli
