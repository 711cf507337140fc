// The path of a model that a program's argument names: a path, or a name of the HuggingFace hub.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "wick/core/device.h"
#include "wick/hub/download.h"

namespace wick {

struct FetchOptions {
  /// Of several GGUF types, one that fits its free memory; missing: any type fits.
  std::optional<Device> device = {};
  bool weights = true;                                             // see DownloadOptions
  std::function<void(int64_t done, int64_t total)> progress = {};  // see DownloadOptions
  std::function<void(const std::string& line)> note = {};          // see DownloadOptions
};

/// The name on the hub that an argument is, "ORG/NAME[:FILE or TYPE][@REVISION]"; nothing if it is
/// a path. A file or folder that is there is never taken for a name; "hf://ORG/NAME" always is one.
/// Errors: as of parse_hub_name.
WICK_API std::optional<HubName> hub_name_of(const std::string& model);

/// Returns the argument if it is a path, else the path of the model after download_model.
///   load_model(fetch_model("HuggingFaceTB/SmolLM2-135M-Instruct"))
/// Errors: as of download_model.
WICK_API std::string fetch_model(const std::string& model, const FetchOptions& options = {});

}  // namespace wick
