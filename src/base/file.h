// Files: mapped to read, and written so that a half one never bears the final name.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace wick {

/// A file's bytes in memory, read only, brought in as they are touched. Errors: kIo, which names
/// the path.
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

/// Writes to "path.part-PID-N" and renames it to path in commit(); what is not committed is
/// removed. Where path is a link, the file that it leads to is replaced, and the link stays; what is
/// neither absent nor a regular file is never replaced. Errors, of all: kIo, which names the path and
/// the reason.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, int64_t bytes);
  void write(std::string_view text) { write(text.data(), int64_t(text.size())); }
  /// Puts the file on the disk, then gives it its name.
  void commit();

 private:
  [[noreturn]] void fail_with_reason(const char* doing);

  std::string path_, place_, part_;
  int descriptor_ = -1;
};

/// The whole of a text file. Errors: kIo; kOutOfMemory.
std::string read_text_file(const std::string& path);
/// Replaces a file's content as AtomicFile does. Errors: kIo.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace wick
