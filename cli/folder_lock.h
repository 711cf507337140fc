// The lock of a folder that a training run writes into.
#pragma once
#include <string>

namespace wick::cli {

/// Holds the lock of a folder; a second instance for the same folder is refused, in whichever
/// process. The lock is flock's on FOLDER/training.lock: the kernel drops it when the process ends,
/// in whatever way, so a file that a killed process left locks nothing.
class FolderLock {
 public:
  /// Errors: kInvalidArgument if the folder is locked, naming the process; kIo. On a file system
  /// without locks it warns on stderr and locks nothing.
  explicit FolderLock(const std::string& folder);
  /// Removes the file.
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace wick::cli
