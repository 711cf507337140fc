// The models in the cache of the HuggingFace hub: their list, and their removal.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "wick/hub/hub_name.h"

namespace wick {

/// A model's repository in the cache.
struct CachedModel {
  std::string repository;  // "ORG/NAME"
  std::string folder;
  std::vector<std::string> revisions;  // branches and tags, sorted; commits without such a name
  std::vector<std::string> types;      // of its GGUF files, sorted
  int64_t files = 0;                   // of all revisions
  int64_t bytes = 0;                   // on the disk, incomplete files included
  int64_t incomplete_bytes = 0;        // of downloads that have not ended
  int64_t used = 0;                    // seconds since 1970 of the last access to a file
};

/// The folder of the cache, as HF_HUB_CACHE, HF_HOME or XDG_CACHE_HOME set it; it need not exist.
WICK_API std::string hub_cache();

/// The models in the cache, sorted by name. Data sets and other kinds are left out.
/// Errors: FileError if the folder cannot be read.
WICK_API std::vector<CachedModel> list_cached_models();

/// Removes from the cache the files of a model: of the name's revision or of all, and all files
/// unless the name has a choice, a GGUF file or type. Contents that other revisions use
/// stay. Programs that have opened a file keep it until they close it. Returns the bytes that were
/// freed.
/// Errors: FileError with ENOENT if the cache has no such files, with EBUSY while a program
/// downloads them, and of the system.
WICK_API int64_t remove_cached_model(const HubName& name, bool all_revisions);

}  // namespace wick
