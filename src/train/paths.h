// Queries of the file system that throw wick's Error instead of std exceptions.
#pragma once
#include <string>
#include <vector>

namespace wick {

/// Errors of all functions: kIo, with the system's reason.
std::string absolute_path(const std::string& path);
/// Creates the folder and its parents if missing.
void make_folder(const std::string& path);
/// The regular files in a folder, excluding links, sorted.
std::vector<std::string> files_in(const std::string& folder);

}  // namespace wick
