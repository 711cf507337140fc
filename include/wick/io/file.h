// Whole files of bytes.
#pragma once
#include <string>
#include <string_view>

#include "wick/base/export.h"

namespace wick {

/// The bytes of a regular file. Errors: kIo, with path and reason; kOutOfMemory of a larger one.
WICK_API std::string read_file(const std::string& path);
/// Writes them under another name and renames that when it is whole: a failure leaves what was
/// there. A link's target is replaced, a folder, fifo or device never. Errors: kIo.
WICK_API void write_file(const std::string& path, std::string_view bytes);

}  // namespace wick
