#include "wick/hub/cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "base/file.h"
#include "hub/choose_files.h"
#include "hub/hub_paths.h"
#include "hub/hub_settings.h"
#include "hub/repository_cache.h"
#include "wick/base/file_error.h"

namespace wick {
namespace {

using namespace hub;  // the parts of this folder
namespace fs = std::filesystem;

constexpr std::string_view kIncomplete = ".incomplete";

/// Calls f with each path in a folder, at any depth if `deep`. Links are not followed. A folder that
/// is missing has none. Errors: FileError.
template <class F>
void for_each_path(const std::string& folder, bool deep, const F& f) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) return;
  for (const fs::recursive_directory_iterator end; !error && entry != end;) {
    if (!deep) entry.disable_recursion_pending();
    f(entry->path());
    entry.increment(error);
  }
  if (error) fail_file(error.value(), folder, error.message());
}

bool is_folder(const fs::path& path) {
  std::error_code unreadable;
  return fs::is_directory(fs::symlink_status(path, unreadable));
}

/// The digest of the content that a snapshot's link leads to; "" for a file of the snapshot's own.
std::string content_of(const fs::path& link) {
  std::error_code no_link;
  const fs::path target = fs::read_symlink(link, no_link);
  return no_link || target.parent_path().filename() != "blobs" ? "" : target.filename().string();
}

/// The names of the revisions that lead to each commit.
std::map<std::string, std::vector<std::string>> names_of_commits(const std::string& folder) {
  std::map<std::string, std::vector<std::string>> names;
  const fs::path refs = folder + "/refs";
  for_each_path(refs, true, [&](const fs::path& path) {
    if (is_folder(path)) return;
    try {
      names[read_text_file(path)].push_back(path.lexically_relative(refs).string());
    } catch (const FileError&) {
      // Such as one that another program replaces at this moment.
    }
  });
  return names;
}

/// The size on the disk of the file at a path; of a link to huggingface_hub's store of contents that
/// repositories share 0.
int64_t disk_bytes(const fs::path& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? int64_t(info.st_size) : 0;
}

CachedModel model_in(const std::string& folder, const std::string& repository) {
  CachedModel model{.repository = repository, .folder = folder, .revisions = {}, .types = {}};
  const auto names = names_of_commits(folder);
  std::set<std::string> types, revisions;
  const fs::path snapshots = folder + "/snapshots";
  for_each_path(snapshots, false, [&](const fs::path& snapshot) {
    const std::string commit = snapshot.filename();
    if (const auto found = names.find(commit); found != names.end())
      revisions.insert(found->second.begin(), found->second.end());
    else
      revisions.insert(commit);
    for_each_path(snapshot, true, [&](const fs::path& path) {
      if (is_folder(path)) return;
      model.files++;
      if (const std::string type = gguf_type(path.string()); !type.empty()) types.insert(type);
      model.bytes += disk_bytes(path);
      struct stat info;
      if (stat(path.c_str(), &info) == 0) model.used = std::max<int64_t>(model.used, info.st_atime);
    });
  });
  for_each_path(folder + "/blobs", false, [&](const fs::path& path) {
    const int64_t bytes = disk_bytes(path);
    model.bytes += bytes;
    if (path.string().ends_with(kIncomplete)) model.incomplete_bytes += bytes;
  });
  model.revisions.assign(revisions.begin(), revisions.end());
  model.types.assign(types.begin(), types.end());
  return model;
}

void remove_file(const fs::path& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return;
  const int reason = errno;
  fail_file(reason, path.string(), "cannot be removed: ", std::strerror(reason));
}

void remove_folder(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) fail_file(error.value(), path.string(), "cannot be removed: ", error.message());
}

/// The files of a snapshot that a choice means. Errors: as of choose_files.
std::set<std::string> paths_of_choice(const RepositoryCache& cache, const std::string& commit,
                                      const HubName& name) {
  std::set<std::string> paths;
  const Listing listing = cache.files_in_snapshot(commit);
  for (const RepositoryFile& file :
       choose_files(listing, to_string(name), {.choice = name.choice}).files)
    paths.insert(file.path);
  return paths;
}

/// A removal from one repository.
class Removal {
 public:
  Removal(const RepositoryCache& cache, const HubName& name, bool all_revisions)
      : cache_(cache), name_(name), all_revisions_(all_revisions) {}

  int64_t run() {
    select();
    lock();
    // Links before contents, so that an interruption leaves no link without its content.
    for (const fs::path& path : links_) remove_file(path);
    for (const fs::path& snapshot : emptied_) remove_snapshot(snapshot);
    int64_t freed = own_bytes_;
    for (const fs::path& path : contents_) {
      freed += disk_bytes(path);
      remove_file(path);
    }
    if (is_all_) remove_folder(cache_.folder());
    return freed;
  }

 private:
  void select() {
    std::optional<std::string> commit;
    if (!all_revisions_) commit = cache_.commit_of(name_.revision);
    std::set<std::string> kept_contents;
    bool keeps_snapshot = false;
    for_each_path(cache_.folder() + "/snapshots", false, [&](const fs::path& snapshot) {
      const std::string its_commit = snapshot.filename();
      const bool is_meant = all_revisions_ || its_commit == commit;
      std::set<std::string> chosen;
      if (is_meant && !name_.choice.empty()) {
        try {
          chosen = paths_of_choice(cache_, its_commit, name_);
        } catch (const Error&) {
          if (!without_choice_) without_choice_ = std::current_exception();
        }
      }
      bool keeps_file = false;
      for_each_path(snapshot, true, [&](const fs::path& path) {
        if (is_folder(path)) return;
        const std::string relative = path.lexically_relative(snapshot).string();
        if (is_meant && (name_.choice.empty() || chosen.count(relative) > 0)) {
          links_.push_back(path);
          own_bytes_ += disk_bytes(path);
          return;
        }
        keeps_file = true;
        kept_contents.insert(content_of(path));
      });
      if (is_meant && !keeps_file) emptied_.push_back(snapshot);
      keeps_snapshot |= !is_meant || keeps_file;
    });
    // Another revision may have the file.
    if (links_.empty() && without_choice_) std::rethrow_exception(without_choice_);
    is_all_ = !keeps_snapshot && (all_revisions_ || !links_.empty());
    for_each_path(cache_.folder() + "/blobs", false, [&](const fs::path& path) {
      const std::string file = path.filename();
      if (is_all_ || (!file.ends_with(kIncomplete) && kept_contents.count(file) == 0))
        contents_.push_back(path);
    });
    const bool has_any = !links_.empty() || !emptied_.empty() || (is_all_ && !contents_.empty());
    if (!has_any)
      fail_file(ENOENT, to_string(name_), "the cache ", cache_.folder(), " does not have it");
  }

  /// Keeps other programs from downloading the contents while they are removed.
  void lock() {
    cache_.make_folders();
    for (const fs::path& path : contents_) {
      std::string digest = path.filename();
      digest = digest.substr(0, digest.find('.'));
      if (!is_digest(digest) || !locked_.insert(digest).second) continue;
      locks_.push_back(std::make_unique<FileLock>());
      if (!locks_.back()->try_take(cache_.lock(digest)))
        fail_file(EBUSY, to_string(name_), "another program downloads it");
    }
  }

  void remove_snapshot(const fs::path& snapshot) {
    const std::string commit = snapshot.filename();
    for (const auto& [its_commit, names] : names_of_commits(cache_.folder()))
      if (its_commit == commit)
        for (const std::string& name : names) remove_file(cache_.folder() + "/refs/" + name);
    remove_folder(snapshot);
    remove_file(cache_.folder() + "/trees/" + commit + ".json");
  }

  const RepositoryCache& cache_;
  const HubName& name_;
  const bool all_revisions_;
  std::vector<fs::path> links_, emptied_, contents_;
  bool is_all_ = false;
  std::exception_ptr without_choice_;
  int64_t own_bytes_ = 0;  // of files that are no links
  std::set<std::string> locked_;
  std::vector<std::unique_ptr<FileLock>> locks_;
};

}  // namespace

std::string hub_cache() { return read_settings().cache; }

std::vector<CachedModel> list_cached_models() {
  std::vector<CachedModel> models;
  for_each_path(hub_cache(), false, [&](const fs::path& path) {
    const std::string repository = repository_of_folder(path.filename());
    if (!repository.empty() && is_folder(path)) models.push_back(model_in(path, repository));
  });
  std::sort(models.begin(), models.end(),
            [](const auto& a, const auto& b) { return a.repository < b.repository; });
  return models;
}

int64_t remove_cached_model(const HubName& name, bool all_revisions) {
  const RepositoryCache cache(hub_cache(), name.repository);
  if (!is_folder(cache.folder()))
    fail_file(ENOENT, to_string(name), "the cache ", hub_cache(), " does not have it");
  return Removal(cache, name, all_revisions).run();
}

}  // namespace wick
