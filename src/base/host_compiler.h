// Compiles C++ for the host at run time and caches the result on disk.
#pragma once
#include <string>
#include <vector>

namespace wick {

/// The folder for compiled code: WICK_CACHE_DIR, else XDG_CACHE_HOME/wick, else ~/.cache/wick;
/// created if missing. If it is not writable or belongs to another user, a temporary folder of this
/// process is used instead and removed when the process exits.
std::string cache_folder();

/// Compiles `source` into a shared library with the system's compiler (WICK_CXX, else c++, g++ or
/// clang++ in PATH), loads it and returns the address of the function `entry`. Libraries are cached
/// by source, flags, compiler and compiler version. Safe to call from several threads and processes
/// at once. A library is never unloaded.
///
/// where: prefix of error texts. Errors: kUnsupported if there is no compiler or it rejects the
/// source (with its first errors); kInvalidArgument if WICK_CXX names no program.
void* compiled_entry(const std::string& where, const std::string& source, const std::string& entry,
                     const std::vector<std::string>& flags);

}  // namespace wick
