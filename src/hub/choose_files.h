// Which files of a repository make up a model that wick can load.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "hub/listing.h"

namespace wick::hub {

struct ChooseOptions {
  std::string choice = "";   // HubName::choice
  bool with_weights = true;  // false: of a folder only its other files
  int64_t memory_bytes = 0;  // free memory of the device; 0: any type fits
  /// Whether the cache has a file: types that it has are preferred. Empty: it has no file.
  std::function<bool(const RepositoryFile&)> is_cached = {};
};

struct ChosenFiles {
  Listing files;
  /// The index among the files that names further ones, the shards; "" without shards.
  std::string index = "";
  /// The model's file among them; "": the model is their folder.
  std::string model = "";
  std::string type = "";  // of a GGUF file, such as "Q4_K_M"; "" if its name has none
  /// The types that were there to choose from; 0 if the name said which.
  size_t types = 0;
};

/// Chooses the files. A folder of safetensors comes before GGUF files unless options.choice names
/// one of these: by its path, its name or its type. Without a choice, the largest quantized type
/// whose size fits the memory; f16, bf16 and f32 only where there is no quantized one, since Q8_0
/// loses next to nothing and is half of their size.
/// name: begins errors. Errors: kInvalidArgument for a choice that no file or several files meet,
/// and without one for a repository of several models; kUnsupported for a repository without a
/// model that wick loads; kOutOfMemory if no type fits; kFormat if the list lacks a part of a split
/// set.
ChosenFiles choose_files(const Listing& listing, const std::string& name,
                         const ChooseOptions& options);

/// The type that a GGUF file's path states, in capitals, such as "Q4_K_M" or "UD-Q4_K_XL"; "" if it
/// states none.
std::string gguf_type(std::string_view path);

/// "3.1 GiB", "270.60 MiB".
std::string size_text(int64_t bytes);

}  // namespace wick::hub
