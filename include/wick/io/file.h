// Whole files of bytes.
#pragma once
#include <string>
#include <string_view>

#include "wick/base/export.h"

namespace wick {

/// The bytes of a regular file. Errors: kIo, which names the path and the system's reason.
WICK_API std::string read_file(const std::string& path);
/// Writes them under another name and renames that when it is whole: a failure leaves what was
/// there. Errors: kIo.
WICK_API void write_file(const std::string& path, std::string_view bytes);

}  // namespace wick
