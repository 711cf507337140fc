// The lock of a folder that a training run writes into.
#pragma once
#include <string>

#include "wick/train/training_run.h"

namespace wick {

/// Holds the lock of a folder; a second instance for the same folder is refused, in whichever
/// process. The lock is flock's on FOLDER/training.lock: the kernel drops it when the process ends,
/// in whatever way, so a file that a killed process left locks nothing.
class FolderLock {
 public:
  /// Errors: kInvalidArgument if the folder is locked, naming the process; kIo. On a file system
  /// without locks it calls `warn` and locks nothing.
  FolderLock(const std::string& folder, const WarningHook& warn);
  /// Removes the file.
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace wick
