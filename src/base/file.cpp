#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/memory.h"
#include "wick/base/error.h"

namespace wick {
namespace {

constexpr const char* kNotRegular = "not a regular file";

std::string reason() { return std::strerror(errno); }

/// Makes temporary names unique within the process: two threads may replace the same file.
std::string next_number() {
  static std::atomic<unsigned> next{0};
  return std::to_string(next++);
}

/// Opens a regular file for reading. open() accepts folders too, so the type is checked; O_NONBLOCK
/// keeps it from waiting for a pipe's writer.
int open_file(const std::string& path, int64_t* size) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  check(descriptor >= 0, ErrorCode::kIo, path, reason());
  struct stat info;
  const bool regular = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  if (!regular) close(descriptor);
  check(regular, ErrorCode::kIo, path, kNotRegular);
  *size = info.st_size;
  return descriptor;
}

/// Returns the path to write to: `path`, or the target if it is a link. Rejects fifos, device nodes
/// and folders, which the final rename would remove.
std::string place_of(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return path;  // missing, or open() reports the reason
  if (S_ISREG(info.st_mode)) return path;
  if (!S_ISLNK(info.st_mode)) fail(ErrorCode::kIo, path, "cannot be replaced: ", kNotRegular);
  const std::unique_ptr<char, decltype(&std::free)> target(realpath(path.c_str(), nullptr),
                                                           &std::free);
  check(target != nullptr, ErrorCode::kIo, path, "the link cannot be resolved: ", reason());
  check(stat(target.get(), &info) == 0 && S_ISREG(info.st_mode), ErrorCode::kIo, path,
        "cannot be replaced: ", kNotRegular);
  return target.get();
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const int descriptor = open_file(path, &size_);
  void* data =
      size_ == 0 ? nullptr : mmap(nullptr, size_t(size_), PROT_READ, MAP_PRIVATE, descriptor, 0);
  const std::string why = data == MAP_FAILED ? reason() : "";
  close(descriptor);
  check(data != MAP_FAILED, ErrorCode::kIo, path, "cannot be mapped: ", why);
  data_ = static_cast<const uint8_t*>(data);
}

MappedFile::~MappedFile() {
  if (data_) munmap(const_cast<uint8_t*>(data_), size_t(size_));
}

AtomicFile::AtomicFile(const std::string& path)
    : path_(path),
      place_(place_of(path)),
      part_(place_ + ".part-" + std::to_string(getpid()) + "-" + next_number()) {
  descriptor_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(ErrorCode::kIo, path_, "cannot be written: ", reason());
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(part_.c_str());
}

void AtomicFile::fail_with_reason(const char* doing) {
  fail(ErrorCode::kIo, path_, doing, ": ", reason());
}

void AtomicFile::write(const void* data, int64_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::write(descriptor_, from, size_t(bytes));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_with_reason("cannot be written");
    from += done;
    bytes -= done;
  }
}

void AtomicFile::commit() {
  if (fsync(descriptor_) != 0) fail_with_reason("cannot be synced to disk");
  if (rename(part_.c_str(), place_.c_str()) != 0) fail_with_reason("cannot be renamed into place");
  close(descriptor_);
  descriptor_ = -1;
}

std::string read_text_file(const std::string& path) {
  int64_t size = 0;
  const int descriptor = open_file(path, &size);
  const int64_t available = host_memory().available;
  if (size > available) close(descriptor);
  check(size <= available, ErrorCode::kOutOfMemory, path, "the file has ", size,
        " bytes, more than the ", available, " bytes of available memory");
  std::string text(size_t(size), '\0');
  int64_t done = 0;
  while (done < size) {
    const ssize_t count = read(descriptor, text.data() + done, size_t(size - done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += count;
  }
  close(descriptor);
  text.resize(size_t(done));
  return text;
}

void write_text_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace wick
