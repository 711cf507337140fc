// C++ compiled for the host while the program runs, and kept on disk.
#pragma once
#include <string>
#include <vector>

namespace wick {

/// The folder in which compiled code is kept: WICK_CACHE_DIR, else XDG_CACHE_HOME/wick, else
/// ~/.cache/wick; made if it is not there. What cannot be written, or belongs to others, is
/// replaced by a folder of this process alone, which is removed when it ends.
std::string cache_folder();

/// The entry of a shared library made of `source` by the system's compiler: WICK_CXX, else c++, g++
/// or clang++ of PATH. Libraries are found again by source, flags, compiler and its version; any
/// number of threads and processes may ask at once. A library is never unloaded.
///
/// where: what errors begin with. Errors: kUnsupported if there is no compiler, or it does not take
/// the source (with its first complaints); kInvalidArgument if WICK_CXX names no program.
void* compiled_entry(const std::string& where, const std::string& source, const std::string& entry,
                     const std::vector<std::string>& flags);

}  // namespace wick
