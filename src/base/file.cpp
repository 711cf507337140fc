#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
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
#include "wick/base/file_error.h"

namespace wick {
namespace {

constexpr const char* kNotRegular = "not a regular file";

/// Fails for the reason in errno.
[[noreturn]] void fail_with_reason(const std::string& path, const char* doing = "") {
  const int reason = errno;
  fail_file(reason, path, doing, std::strerror(reason));
}

/// The reason to refuse what is not a regular file.
int type_error(const struct stat& info) { return S_ISDIR(info.st_mode) ? EISDIR : EINVAL; }

/// Makes temporary names unique within the process: two threads may replace the same file.
std::string next_number() {
  static std::atomic<unsigned> next{0};
  return std::to_string(next++);
}

/// Opens a regular file for reading. open() accepts folders too, so the type is checked; O_NONBLOCK
/// keeps it from waiting for a pipe's writer.
int open_file(const std::string& path, int64_t* size) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail_with_reason(path);
  struct stat info {};
  const bool regular = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  if (!regular) {
    close(descriptor);
    fail_file(type_error(info), path, kNotRegular);
  }
  *size = info.st_size;
  return descriptor;
}

/// Returns the path to write to: `path`, or the target if it is a link. Rejects fifos, device nodes
/// and folders, which the final rename would remove.
std::string place_of(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return path;  // missing, or open() reports the reason
  if (S_ISREG(info.st_mode)) return path;
  if (!S_ISLNK(info.st_mode))
    fail_file(type_error(info), path, "cannot be replaced: ", kNotRegular);
  const std::unique_ptr<char, decltype(&std::free)> target(realpath(path.c_str(), nullptr),
                                                           &std::free);
  if (!target) fail_with_reason(path, "the link cannot be resolved: ");
  info = {};
  if (stat(target.get(), &info) != 0 || !S_ISREG(info.st_mode))
    fail_file(type_error(info), path, "cannot be replaced: ", kNotRegular);
  return target.get();
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

constexpr std::string_view kPart = ".part-";

/// Whether the name is that of a part file of `file`: FILE.part-PID-N.
bool is_part_of(std::string_view name, std::string_view file) {
  if (!name.starts_with(file)) return false;
  name.remove_prefix(file.size());
  if (!name.starts_with(kPart)) return false;
  name.remove_prefix(kPart.size());
  const size_t dash = name.find('-');
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  };
  return dash != name.npos && is_number(name.substr(0, dash)) && is_number(name.substr(dash + 1));
}

/// Removes a part file unless a process holds its lock. The number in its name decides nothing: it
/// may be in use again, or be that of another container or machine.
void remove_if_abandoned(const std::string& part) {
  // NFS gives exclusive locks only to files opened for writing.
  const int descriptor = open(part.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (descriptor < 0) return;
  struct stat opened, named;
  if (fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode) &&
      flock(descriptor, LOCK_EX | LOCK_NB) == 0 && lstat(part.c_str(), &named) == 0 &&
      same_file(opened, named))
    unlink(part.c_str());
  close(descriptor);
}

void remove_abandoned_parts(const std::string& place) {
  const size_t slash = place.rfind('/');
  const std::string folder = slash == place.npos ? "" : place.substr(0, slash + 1);
  const std::string file = place.substr(folder.size());
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.empty() ? "." : folder.c_str()),
                                                    &closedir);
  if (!entries) return;
  while (const dirent* entry = readdir(entries.get()))
    if (is_part_of(entry->d_name, file)) remove_if_abandoned(folder + entry->d_name);
}

/// Creates a part file of `place` and locks it. A file system without locks leaves it unlocked, and
/// nobody can take it for an abandoned one. Returns -1 with errno if it cannot be created.
int open_part(const std::string& place, std::string* part) {
  for (;;) {
    *part = place + std::string(kPart) + std::to_string(getpid()) + "-" + next_number();
    const int descriptor = open(part->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == EEXIST) continue;  // of a process with this number
    if (descriptor < 0) return -1;
    // Before the lock, another process may take the file for an abandoned one and remove it.
    struct stat info;
    const bool lost = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!lost && fstat(descriptor, &info) == 0 && info.st_nlink > 0) return descriptor;
    close(descriptor);
  }
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const int descriptor = open_file(path, &size_);
  void* data =
      size_ == 0 ? nullptr : mmap(nullptr, size_t(size_), PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int reason = errno;
  close(descriptor);
  if (data == MAP_FAILED) fail_file(reason, path, "cannot be mapped: ", std::strerror(reason));
  data_ = static_cast<const uint8_t*>(data);
}

MappedFile::~MappedFile() {
  if (data_) munmap(const_cast<uint8_t*>(data_), size_t(size_));
}

AtomicFile::AtomicFile(const std::string& path) : path_(path), place_(place_of(path)) {
  remove_abandoned_parts(place_);
  descriptor_ = open_part(place_, &part_);
  if (descriptor_ < 0) fail_with_reason(path_, "cannot be written: ");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(part_.c_str());
}

void AtomicFile::write(const void* data, int64_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::write(descriptor_, from, size_t(bytes));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_with_reason(path_, "cannot be written: ");
    from += done;
    bytes -= done;
  }
}

void AtomicFile::reserve(int64_t bytes) {
  if (bytes <= 0) return;
  while (fallocate(descriptor_, 0, 0, bytes) != 0) {
    if (errno == EINTR) continue;
    if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)
      fail_with_reason(path_, "cannot be written: ");
    return;  // the file system cannot tell in advance
  }
}

void AtomicFile::commit(unsigned mode) {
  if (mode != 0 && fchmod(descriptor_, mode) != 0)
    fail_with_reason(path_, "cannot be given its permissions: ");
  if (fsync(descriptor_) != 0) fail_with_reason(path_, "cannot be synced to disk: ");
  if (rename(part_.c_str(), place_.c_str()) != 0)
    fail_with_reason(path_, "cannot be renamed into place: ");
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
