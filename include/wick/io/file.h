// Whole files, read and written, and queries of paths.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/export.h"
#include "wick/base/file_error.h"

namespace wick {

/// Reads a regular file. Errors: FileError, with path and reason; kOutOfMemory if the file is
/// larger than the available memory.
WICK_API std::string read_file(const std::string& path);
/// Writes the bytes to a temporary file, then renames it, so that a failure leaves the old file
/// intact. If path is a link, replaces its target; never replaces a folder, fifo or device. Errors:
/// FileError.
WICK_API void write_file(const std::string& path, std::string_view bytes);

/// A file to be written, and its size.
struct FileSize {
  std::string path;
  int64_t bytes = 0;
};
/// Checks that files of these sizes could be written now, all of them at once: creates their
/// temporary files, takes the disk space where the file system can, and removes them. For programs
/// that work for long before they write. Errors: FileError, for the first path that cannot be
/// written.
WICK_API void require_writable(const std::vector<FileSize>& files);

/// Whether the path exists. Errors of both: FileError, with the system's reason.
WICK_API bool is_there(const std::string& path);
/// Whether the path is a folder, or a link to one.
WICK_API bool is_folder(const std::string& path);

}  // namespace wick
