#include "train/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "wick/base/error.h"

namespace wick {
namespace {

/// What the holder wrote: its process id. Empty if it has not written yet.
std::string holder_of(int descriptor) {
  char text[32];
  const ssize_t count = pread(descriptor, text, sizeof text, 0);
  std::string digits;
  for (ssize_t i = 0; i < count && text[i] >= '0' && text[i] <= '9'; i++) digits += text[i];
  return digits;
}

/// Whether the file is still what the path names: its last holder may have removed it.
bool is_at(int descriptor, const std::string& path) {
  struct stat opened, named;
  return fstat(descriptor, &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, const WarningHook& warn)
    : path_(folder + "/training.lock") {
  for (;;) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (descriptor_ < 0) fail(ErrorCode::kIo, path_, "cannot be written: ", std::strerror(errno));
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const std::string holder = holder_of(descriptor_);
      if (error == EINTR) {
        close(descriptor_);
        continue;
      }
      if (error != EWOULDBLOCK) {
        if (warn)
          warn(path_ + ": cannot be locked: " + std::strerror(error) +
               "; a second training into this folder would not be noticed");
        break;
      }
      close(descriptor_);
      fail(ErrorCode::kInvalidArgument, folder, "another training run writes into this folder",
           holder.empty() ? "" : ": process " + holder);
    }
    if (is_at(descriptor_, path_)) break;
    close(descriptor_);
  }
  // Only the text of an error depends on it.
  const std::string own = std::to_string(getpid()) + "\n";
  [[maybe_unused]] const bool said =
      ftruncate(descriptor_, 0) == 0 && pwrite(descriptor_, own.data(), own.size(), 0) > 0;
}

FolderLock::~FolderLock() {
  unlink(path_.c_str());  // before the lock is dropped, so that nobody else holds the file
  close(descriptor_);
}

}  // namespace wick
