// Names of models on the HuggingFace hub, as programs take them in place of paths.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "wick/base/export.h"

namespace wick {

/// A model of the hub: "ORG/NAME", "ORG/NAME:Q4_K_M", "ORG/NAME:folder/file.gguf@v1.0".
struct HubName {
  std::string repository;         // "ORG/NAME"
  std::string choice = "";        // a GGUF file or a type of one; "": wick chooses
  std::string revision = "main";  // a branch, a tag or a commit
};

/// Reads "ORG/NAME[:FILE or TYPE][@REVISION]", with "hf://" before it or not. Without "hf://", a
/// text that can only mean a file's path is no name: one that begins with "." or "/", or whose NAME
/// ends like a file of weights.
/// Returns nothing for a text that is no such name.
/// Errors: kInvalidArgument for a text with "hf://" that is no name, and for a choice or a revision
/// that no repository can have.
WICK_API std::optional<HubName> parse_hub_name(std::string_view text);

/// The name as parse_hub_name reads it; the revision "main" is left out where it can be.
WICK_API std::string to_string(const HubName& name);

}  // namespace wick
