// Compiles C++ for the host at run time and caches the result on disk.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace wick {

/// The folder for compiled code: WICK_CACHE_DIR, else XDG_CACHE_HOME/wick, else ~/.cache/wick;
/// created if missing. If it is not writable or belongs to another user, a temporary folder of this
/// process is used instead and removed when the process exits.
std::string cache_folder();

/// Whether only this user or root can write the file: loading compiled code runs it.
bool only_we_write(const std::string& path);

/// 128 bits of a text, as a file name.
std::string cache_key(const std::string& text);

/// A path for a file in the cache's folder that no other call returns, in any process. If the cache's
/// disk is full, the path is in the process's temporary folder.
std::string temporary_path(const std::string& ending);

/// The first three error lines of a compiler's output, joined into one line.
std::string first_complaints(const std::string& output);

struct HostCompiler {
  std::string path, version;
};
/// The system's compiler: WICK_CXX, else c++, g++ or clang++ in PATH; looked up once. Errors:
/// kUnsupported, kInvalidArgument, as compiled_entry.
const HostCompiler& host_compiler(std::string_view where);

struct HostCompiled {
  bool ok;
  std::string output;  // the compiler's
  std::string reason;  // of a failure: its first errors, else how it ended
};
/// Compiles C++ to the file `library` with these flags. Errors: kIo.
HostCompiled compile_library(const HostCompiler& compiler, const std::string& source,
                             const std::vector<std::string>& flags, const std::string& library);

/// Compiles `source` into a shared library with the system's compiler (WICK_CXX, else c++, g++ or
/// clang++ in PATH), loads it and returns the address of the function `entry`. Libraries are cached
/// by source, flags, compiler and compiler version. Safe to call from several threads and processes
/// at once. A library is never unloaded. A cached file that was cut short or changed is compiled anew;
/// a full disk, or an entry that is no file, is replaced by the process's temporary folder.
///
/// where: prefix of error texts. Errors: kUnsupported if there is no compiler; kInvalidArgument if it
/// rejects the source (with its first errors), dies or writes no library, or WICK_CXX names no program;
/// kIo if it is interrupted or runs for more than two minutes; kKernelNotFound if there is no such
/// function.
void* compiled_entry(const std::string& where, const std::string& source, const std::string& entry,
                     const std::vector<std::string>& flags);

}  // namespace wick
