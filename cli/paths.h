// Questions to the file system whose answer may be an error of wick's, never std's.
#pragma once
#include <string>
#include <vector>

namespace wick::cli {

/// Whether a path leads to anything. Errors, here and below: kIo, with the system's reason.
bool is_there(const std::string& path);
bool is_folder(const std::string& path);
std::string absolute_path(const std::string& path);
/// Makes the folder and those above it, where they are not there.
void make_folder(const std::string& path);
/// The regular files in a folder, links to them excepted, in order.
std::vector<std::string> files_in(const std::string& folder);

}  // namespace wick::cli
