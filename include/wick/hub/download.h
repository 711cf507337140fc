// Models of the HuggingFace hub, downloaded into the cache that huggingface_hub uses too.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "wick/hub/hub_name.h"

namespace wick {

struct DownloadOptions {
  bool weights = true;       // false: of a folder only the files beside the weights
  int64_t memory_bytes = 0;  // of several GGUF types, one that fits so much memory; 0: any
  /// Is called often while bytes arrive, with the number that is there and the number of all; may
  /// throw to end the download, which a later call continues.
  std::function<void(int64_t done, int64_t total)> progress = {};
  /// Is called with one line for each decision: the type that was chosen, a wait, the use of the
  /// cache because the hub cannot be reached.
  std::function<void(const std::string& line)> note = {};
};

/// Downloads the missing files of a model, and returns its path: a folder with config.json and
/// safetensors, or a GGUF file, of a split set the first part. Only the files that load_model reads
/// are downloaded; each is checked against the digest that the hub lists. The hub is asked for the
/// revision's commit each time, unless the name has a commit whose files are all there; if the hub
/// cannot be reached, the cache serves.
///
/// Without a choice in the name, a folder of safetensors comes before GGUF files, and of these the
/// largest quantized type that fits options.memory_bytes is taken, one that is in the cache before
/// others.
///
/// The environment variables are huggingface_hub's: HF_ENDPOINT, HF_HOME, HF_HUB_CACHE, HF_TOKEN,
/// HF_HUB_OFFLINE, HF_HUB_DOWNLOAD_TIMEOUT and the usual ones for proxies. libcurl must be
/// installed.
///
/// Errors: FileError with ENOENT for a model or revision that the hub does not have, EACCES for one
/// that it does not give to this user, EHOSTUNREACH without a network, ENOSPC if the disk has too
/// little space for all files; kInvalidArgument, kUnsupported, kOutOfMemory of the choice of files;
/// kFormat for an answer or a file that is not as promised; kRuntimeMissing without libcurl.
WICK_API std::string download_model(const HubName& name, const DownloadOptions& options = {});

/// The path that download_model returned for the name, from the cache alone; nothing if a file is
/// missing there. options.progress and options.note are not called.
WICK_API std::optional<std::string> find_downloaded(const HubName& name,
                                                    const DownloadOptions& options = {});

}  // namespace wick
