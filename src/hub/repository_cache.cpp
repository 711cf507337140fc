#include "hub/repository_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "hub/hub_paths.h"
#include "wick/base/file_error.h"

namespace wick::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModels = "models--";

[[noreturn]] void fail_with_reason(const std::string& path, const char* doing) {
  const int reason = errno;
  fail_file(reason, path, doing, ": ", std::strerror(reason));
}

/// The size of a regular file at the path or where its link leads; -1 if there is none.
int64_t size_of(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? int64_t(info.st_size) : -1;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// Whether an error of flock says that the file system has no locks.
bool has_no_locks(int error) { return error == ENOSYS || error == ENOLCK || error == EOPNOTSUPP; }

/// Whether the path still names the opened file.
bool is_at(int descriptor, const std::string& path) {
  struct stat opened, named;
  return fstat(descriptor, &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

std::string folder_name(const std::string& repository) {
  const size_t slash = repository.find('/');
  return std::string(kModels) + repository.substr(0, slash) + "--" + repository.substr(slash + 1);
}

std::string repository_of_folder(const std::string& name) {
  if (!name.starts_with(kModels)) return "";
  std::string repository = name.substr(kModels.size());
  const size_t dashes = repository.find("--");
  if (dashes == repository.npos) return "";
  repository.replace(dashes, 2, "/");
  return is_repository(repository) ? repository : "";
}

std::string repository_of_snapshot(const std::string& path) {
  const fs::path snapshot = path, snapshots = snapshot.parent_path();
  const bool is_one =
      snapshots.filename() == "snapshots" && is_commit(snapshot.filename().string());
  return is_one ? repository_of_folder(snapshots.parent_path().filename()) : "";
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_file(error.value(), path, "cannot be created: ", error.message());
}

RepositoryCache::RepositoryCache(const std::string& cache, const std::string& repository)
    : folder_(cache + "/" + folder_name(repository)),
      locks_(cache + "/.locks/" + folder_name(repository)) {}

std::optional<std::string> RepositoryCache::commit_of(const std::string& revision) const {
  if (is_commit(revision)) return revision;
  const std::string path = folder_ + "/refs/" + revision;
  if (size_of(path) < 0) return std::nullopt;
  const std::string commit = read_text_file(path);
  return is_commit(commit) ? std::optional(commit) : std::nullopt;
}

void RepositoryCache::set_commit(const std::string& revision, const std::string& commit) const {
  if (revision == commit || commit_of(revision) == commit) return;
  const std::string path = folder_ + "/refs/" + revision;
  make_folder(parent_of(path));
  write_text_file(path, commit);
}

std::optional<Listing> RepositoryCache::listing(const std::string& commit) const {
  const std::string path = folder_ + "/trees/" + commit + ".json";
  try {
    return read_tree_json(read_text_file(path), path);
  } catch (const Error&) {
    return std::nullopt;  // the hub is asked again
  }
}

void RepositoryCache::set_listing(const std::string& commit, const Listing& listing) const {
  make_folder(folder_ + "/trees");
  write_text_file(folder_ + "/trees/" + commit + ".json", to_tree_json(listing));
}

Listing RepositoryCache::files_in_snapshot(const std::string& commit) const {
  Listing listing;
  const fs::path root = snapshot(commit);
  std::error_code error;
  for (fs::recursive_directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
    RepositoryFile file;
    file.path = entry->path().lexically_relative(root).string();
    file.bytes = size_of(entry->path());
    if (file.bytes >= 0) listing.push_back(std::move(file));
  }
  return listing;
}

bool RepositoryCache::has_file(const std::string& commit, const RepositoryFile& file) const {
  return size_of(snapshot(commit) + "/" + file.path) == file.bytes;
}

bool RepositoryCache::has_content(const RepositoryFile& file) const {
  return size_of(content(file)) == file.bytes;
}

void RepositoryCache::link(const std::string& commit, const RepositoryFile& file) const {
  const std::string path = snapshot(commit) + "/" + file.path;
  make_folder(parent_of(path));
  std::string target = "../../blobs/" + file.digest();  // from snapshots/COMMIT
  for (const char c : file.path)
    if (c == '/') target = "../" + target;
  // Beside the path and then renamed, so that the path is there at every moment.
  const std::string made = path + ".link-" + std::to_string(getpid());
  unlink(made.c_str());
  const bool is_linked = symlink(target.c_str(), made.c_str()) == 0;
  const std::string from = is_linked ? made : content(file);
  if (rename(from.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    if (is_linked) unlink(made.c_str());
    fail_file(reason, path, "cannot be written: ", std::strerror(reason));
  }
}

void RepositoryCache::make_folders() const {
  make_folder(folder_ + "/blobs");
  make_folder(locks_);
}

// Source: filelock 4.3 (MIT), UnixFileLock, whose files stay.
bool FileLock::try_take(const std::string& path) {
  if (taken_) return true;
  for (;;) {
    descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0664);
    if (descriptor_ < 0) fail_with_reason(path, "cannot be written");
    if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) {
      if (is_at(descriptor_, path)) return taken_ = true;
    } else if (has_no_locks(errno)) {
      return taken_ = true;
    } else if (errno != EINTR) {
      const bool is_held = errno == EWOULDBLOCK;
      if (!is_held) fail_with_reason(path, "cannot be locked");
      release();
      return false;
    }
    release();
  }
}

void FileLock::release() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
  taken_ = false;
}

}  // namespace wick::hub
