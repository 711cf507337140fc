// One repository's folder in the cache, as huggingface_hub lays it out:
// blobs has the contents, named by git's SHA-1 or, of large files, by their SHA-256; NAME.incomplete
// is the beginning of one. snapshots has a folder for each commit, of links to the contents. refs
// has the commit of each branch and tag, trees the list of all files of each commit. Beside the
// repositories, .locks has a file for each content, which is locked (flock) while it is written.
#pragma once
#include <optional>
#include <string>

#include "hub/listing.h"

namespace wick::hub {

/// "models--ORG--NAME".
std::string folder_name(const std::string& repository);
/// The repository of such a name; "" if it is none of a model.
std::string repository_of_folder(const std::string& folder_name);
/// The repository of a path CACHE/models--ORG--NAME/snapshots/COMMIT; "" if it is none.
std::string repository_of_snapshot(const std::string& path);

/// Errors of all functions: FileError, unless stated otherwise.
class RepositoryCache {
 public:
  /// cache: the folder of all repositories. repository: as is_repository.
  RepositoryCache(const std::string& cache, const std::string& repository);

  const std::string& folder() const { return folder_; }
  std::string snapshot(const std::string& commit) const { return folder_ + "/snapshots/" + commit; }
  std::string content(const RepositoryFile& file) const {
    return folder_ + "/blobs/" + file.digest();
  }
  std::string incomplete(const RepositoryFile& file) const { return content(file) + ".incomplete"; }
  std::string lock(const std::string& digest) const { return locks_ + "/" + digest + ".lock"; }

  /// The commit that a revision had when it was last asked for; nothing if the cache has none.
  std::optional<std::string> commit_of(const std::string& revision) const;
  void set_commit(const std::string& revision, const std::string& commit) const;

  /// The list of a commit's files; nothing if the cache has none that can be read.
  std::optional<Listing> listing(const std::string& commit) const;
  void set_listing(const std::string& commit, const Listing& listing) const;
  /// The files of a commit's snapshot, without digests. Empty if there is no snapshot.
  Listing files_in_snapshot(const std::string& commit) const;

  /// Whether the snapshot has the file with its size.
  bool has_file(const std::string& commit, const RepositoryFile& file) const;
  /// Whether the cache has the file's content with its size.
  bool has_content(const RepositoryFile& file) const;
  /// Lets the snapshot's path lead to the file's content, which is there. Where the file system has
  /// no links the content moves there.
  void link(const std::string& commit, const RepositoryFile& file) const;
  /// Creates the folders of contents and locks.
  void make_folders() const;

 private:
  std::string folder_, locks_;
};

/// Creates a folder and those above it. Errors: FileError.
void make_folder(const std::string& path);

/// An exclusive lock on a file that stays in place, as the package filelock takes it.
class FileLock {
 public:
  FileLock() = default;
  ~FileLock() { release(); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// Returns false if another program holds the lock. A file system without locks gives it to all.
  /// Errors: FileError if the file cannot be created.
  bool try_take(const std::string& path);
  void release();

 private:
  int descriptor_ = -1;
  bool taken_ = false;
};

}  // namespace wick::hub
