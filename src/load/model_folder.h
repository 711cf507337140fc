// A folder of models, and their names.
#pragma once
#include <string>
#include <vector>

namespace wick {

/// Whether a file is a part of a split set, but not its first: model-00002-of-00003.gguf.
bool is_later_part(const std::string& name);
/// The name of a model's file, without .gguf, or of its folder; of a folder that is a snapshot in
/// the hub's cache ORG/NAME.
std::string model_name(const std::string& path);
/// The paths of the models in a folder, sorted: each GGUF file, of a split set the first part, and
/// each folder with config.json. Hidden files and folders are left out. Errors: FileError.
std::vector<std::string> models_in(const std::string& folder);

}  // namespace wick
