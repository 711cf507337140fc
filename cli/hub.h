// Models of the HuggingFace hub as arguments of commands.
#pragma once
#include <string>

namespace wick::cli {

/// The path of the model that an argument names: the argument itself if it is a path, else the path
/// after the download, which a bar shows. device: as --device, whose memory limits the choice among
/// GGUF types; "": no limit. with_weights: as DownloadOptions::weights.
/// Errors: as of fetch_model; kInvalidArgument in place of kIo. Throws Interrupted.
std::string fetch_argument(const std::string& model, const std::string& device,
                           bool with_weights = true);

}  // namespace wick::cli
