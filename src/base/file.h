// Files: memory-mapped reading, and writing that never leaves a partial file under the final name.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace wick {

/// What errors say of a file that ends before what it promises.
inline constexpr std::string_view kCutShort = "cut short; an incomplete download?";

/// A file mapped into memory, read-only; pages load on first access. Errors: FileError.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const uint8_t> bytes() const { return {data_, size_t(size_)}; }

 private:
  std::string path_;
  const uint8_t* data_ = nullptr;
  int64_t size_ = 0;
};

/// Writes to "path.part-PID-N"; commit() renames it to path, and the destructor removes it if not
/// committed. If path is a link, its target is replaced and the link stays. Anything that exists
/// and is not a regular file is never replaced. The part file is locked (flock) while it is written,
/// and the constructor removes the part files of this path that nobody locks: those of processes
/// that were killed. Errors of all functions: FileError, with path and reason.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, int64_t bytes);
  void write(std::string_view text) { write(text.data(), int64_t(text.size())); }
  /// Takes disk space for so many bytes, if the file system can. The file then has this size.
  void reserve(int64_t bytes);
  /// Syncs the file to disk, then renames it. mode: permissions whatever the umask; 0: as the umask says.
  void commit(unsigned mode = 0);

 private:
  std::string path_, place_, part_;
  int descriptor_ = -1;
};

/// Reads a whole file. Errors: FileError; kOutOfMemory.
std::string read_text_file(const std::string& path);
/// Replaces a file as AtomicFile does. Errors: FileError.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace wick
