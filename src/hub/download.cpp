#include "wick/hub/download.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "base/file.h"
#include "base/json_text.h"
#include "hub/choose_files.h"
#include "hub/content_transfer.h"
#include "hub/hub_api.h"
#include "hub/hub_paths.h"

namespace wick {
namespace {

using namespace hub;  // the parts of this folder

constexpr size_t kFilesAtOnce = 4;

class Download {
 public:
  Download(const HubName& name, const DownloadOptions& options)
      : name_(name),
        text_(to_string(name)),
        options_(options),
        settings_(read_settings()),
        cache_(settings_.cache, name.repository) {}

  std::string run();
  std::optional<std::string> find() const;

 private:
  ChooseOptions choose_options(const std::string& commit) const;
  std::string path_of(const ChosenFiles& chosen, const std::string& commit) const;
  std::vector<RepositoryFile> shards_of(const ChosenFiles& chosen, const Listing& listing,
                                        const std::string& commit) const;
  std::string fetch(HubApi& api, const std::string& commit);
  Listing listing_of(HubApi& api, const std::string& commit) const;
  void fetch_files(HubApi& api, const std::string& commit, const Listing& files);
  void require_space(const std::vector<std::unique_ptr<ContentTransfer>>& transfers) const;
  void note(const std::string& line) const {
    if (options_.note) options_.note(line);
  }

  const HubName name_;
  const std::string text_;
  const DownloadOptions options_;
  const HubSettings settings_;
  const RepositoryCache cache_;
  std::vector<std::unique_ptr<ContentTransfer>> transfers_;  // of the moment
  int64_t done_before_ = 0;                                  // bytes of earlier transfers
};

std::string Download::run() {
  // A commit never changes.
  if (is_commit(name_.revision))
    if (const auto path = find()) return *path;
  const auto from_cache = [&](const std::string& reason) {
    const auto path = find();
    if (path) note(reason + "; the cache has it");
    return path;
  };
  if (settings_.offline) {
    if (const auto path = find()) return *path;
    fail_file(ENOENT, text_, "HF_HUB_OFFLINE is set, and the cache ", settings_.cache,
              " does not have the model");
  }
  std::unique_ptr<HubApi> api;
  std::string commit;
  try {
    api = std::make_unique<HubApi>(
        settings_, HttpClient::Hooks{.tick =
                                         [this] {
                                           if (!options_.progress) return;
                                           int64_t done = done_before_, total = done_before_;
                                           for (const auto& transfer : transfers_) {
                                             done += transfer->done();
                                             total += transfer->file().bytes;
                                           }
                                           options_.progress(done, total);
                                         },
                                     .note = [this](const std::string& line) { note(line); }});
    commit = is_commit(name_.revision) ? name_.revision : api->commit(name_);
  } catch (const Refusal& refusal) {
    if (const auto path = from_cache(text_ + ": " + settings_.endpoint + " answers status " +
                                     std::to_string(refusal.head.status)))
      return *path;
    api->explain(refusal, name_);
  } catch (const Error& error) {
    const bool may_be_offline =
        dynamic_cast<const UnreachableError*>(&error) || error.code() == ErrorCode::kRuntimeMissing;
    if (!may_be_offline) throw;
    if (const auto path = from_cache(error.what())) return *path;
    throw;
  }
  try {
    return fetch(*api, commit);
  } catch (const Refusal& refusal) {
    api->explain(refusal, name_);
  }
}

ChooseOptions Download::choose_options(const std::string& commit) const {
  return {.choice = name_.choice,
          .with_weights = options_.weights,
          .memory_bytes = options_.memory_bytes,
          .is_cached = [this, commit](const RepositoryFile& file) {
            return cache_.has_file(commit, file) || cache_.has_content(file);
          }};
}

std::string Download::path_of(const ChosenFiles& chosen, const std::string& commit) const {
  return cache_.snapshot(commit) + (chosen.model.empty() ? "" : "/" + chosen.model);
}

/// The files that the index names. Errors: kFormat.
std::vector<RepositoryFile> Download::shards_of(const ChosenFiles& chosen, const Listing& listing,
                                                const std::string& commit) const {
  const std::string index = cache_.snapshot(commit) + "/" + chosen.index;
  std::vector<RepositoryFile> shards;
  for (const std::string& shard : read_shards(read_text_file(index), index)) {
    const RepositoryFile* const file = find_file(listing, shard);
    check(file != nullptr, ErrorCode::kFormat, text_, chosen.index, " names ", json_quote(shard),
          ", which the repository does not have");
    shards.push_back(*file);
  }
  return shards;
}

/// The model's path if the cache has all of its files.
std::optional<std::string> Download::find() const {
  const std::optional<std::string> commit = cache_.commit_of(name_.revision);
  if (!commit) return std::nullopt;
  // Without a list of the files, such as of an older huggingface_hub, those that are there serve.
  const Listing listing = cache_.listing(*commit).value_or(cache_.files_in_snapshot(*commit));
  const auto has = [&](const RepositoryFile& file) { return cache_.has_file(*commit, file); };
  try {
    ChooseOptions options = choose_options(*commit);
    options.memory_bytes = 0;
    options.is_cached = has;
    const ChosenFiles chosen = choose_files(listing, text_, options);
    if (!std::all_of(chosen.files.begin(), chosen.files.end(), has)) return std::nullopt;
    if (!chosen.index.empty()) {
      const auto shards = shards_of(chosen, listing, *commit);
      if (!std::all_of(shards.begin(), shards.end(), has)) return std::nullopt;
    }
    return path_of(chosen, *commit);
  } catch (const Error&) {
    return std::nullopt;  // the files that are there make no model
  }
}

Listing Download::listing_of(HubApi& api, const std::string& commit) const {
  if (auto listing = cache_.listing(commit)) return *std::move(listing);
  Listing listing = api.listing(name_, commit);
  try {
    cache_.set_listing(commit, listing);
  } catch (const FileError&) {
    // A cache that is read alone serves if it has the files.
  }
  return listing;
}

std::string Download::fetch(HubApi& api, const std::string& commit) {
  const Listing listing = listing_of(api, commit);
  const ChosenFiles chosen = choose_files(listing, text_, choose_options(commit));
  if (chosen.types > 1) {
    int64_t bytes = 0;
    for (const RepositoryFile& file : chosen.files) bytes += file.bytes;
    note(text_ + ": " + (chosen.type.empty() ? chosen.model : chosen.type) + " of " +
         std::to_string(chosen.types) + " types, " + size_text(bytes) + "; " + name_.repository +
         ":TYPE takes another one");
  }
  fetch_files(api, commit, chosen.files);
  if (!chosen.index.empty()) fetch_files(api, commit, shards_of(chosen, listing, commit));
  try {
    // Now that all files are there: until then the earlier commit serves without a network.
    cache_.set_commit(name_.revision, commit);
  } catch (const FileError&) {
    // As of the list.
  }
  return path_of(chosen, commit);
}

void Download::fetch_files(HubApi& api, const std::string& commit, const Listing& files) {
  std::vector<const RepositoryFile*> missing;
  std::set<std::string> digests;  // files may have one content
  for (const RepositoryFile& file : files) {
    if (cache_.has_file(commit, file)) continue;
    missing.push_back(&file);
    if (!cache_.has_content(file) && digests.insert(file.digest()).second)
      transfers_.push_back(std::make_unique<ContentTransfer>(api.url_of(name_, commit, file.path),
                                                             text_, cache_, file, options_.note));
  }
  if (missing.empty()) return;
  cache_.make_folders();
  require_space(transfers_);
  std::vector<Transfer*> all;
  for (const auto& transfer : transfers_) all.push_back(transfer.get());
  api.client().run(all, kFilesAtOnce);
  for (const auto& transfer : transfers_) done_before_ += transfer->file().bytes;
  transfers_.clear();
  for (const RepositoryFile* file : missing) cache_.link(commit, *file);
}

void Download::require_space(const std::vector<std::unique_ptr<ContentTransfer>>& transfers) const {
  int64_t needed = 0;
  for (const auto& transfer : transfers) {
    std::error_code missing;
    const auto there = std::filesystem::file_size(cache_.incomplete(transfer->file()), missing);
    needed += std::max<int64_t>(0, transfer->file().bytes - (missing ? 0 : int64_t(there)));
  }
  struct statvfs disk;
  if (statvfs(cache_.folder().c_str(), &disk) != 0) return;  // the writing fails in its turn
  const auto free = int64_t(disk.f_bavail) * int64_t(disk.f_frsize);
  if (needed > free)
    fail_file(ENOSPC, text_, "the download takes ", size_text(needed), ", and the disk of ",
              cache_.folder(), " has ", size_text(free), " free");
}

}  // namespace

std::string download_model(const HubName& name, const DownloadOptions& options) {
  return Download(name, options).run();
}

std::optional<std::string> find_downloaded(const HubName& name, const DownloadOptions& options) {
  return Download(name, options).find();
}

}  // namespace wick
