#include "wick/load/fetch_model.h"

#include <cerrno>
#include <filesystem>

#include "wick/base/file_error.h"

namespace wick {

std::optional<HubName> hub_name_of(const std::string& model) {
  std::error_code unreadable;  // its reader reports the reason
  if (std::filesystem::exists(std::filesystem::symlink_status(model, unreadable)))
    return std::nullopt;
  return parse_hub_name(model);
}

std::string fetch_model(const std::string& model, const FetchOptions& options) {
  const std::optional<HubName> name = hub_name_of(model);
  if (!name) return model;
  try {
    return download_model(*name,
                          {.weights = options.weights,
                           .memory_bytes = options.device ? options.device->memory().free_bytes : 0,
                           .progress = options.progress,
                           .note = options.note});
  } catch (const FileError& error) {
    const bool may_be_path = name->choice.empty() && name->revision == "main";
    if (error.reason() != ENOENT || !may_be_path || model.starts_with("hf://")) throw;
    throw FileError(ENOENT, std::string(error.what()) + "; no file or folder has this name either");
  }
}

}  // namespace wick
