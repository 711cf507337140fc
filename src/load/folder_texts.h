// The texts beside a folder's tokenizer: special tokens and the chat template.
#pragma once
#include <string>

#include "wick/base/settings.h"

namespace wick {

struct FolderTexts {
  Settings settings;                            // tokenizer_config.json; empty without one
  std::string template_source, template_where;  // "" without a template

  /// The text of a special token, such as "bos_token"; "" if the files do not name it.
  std::string token(const char* key) const;
};

/// Reads tokenizer_config.json and chat_template.jinja, as far as they are there.
FolderTexts read_folder_texts(const std::string& folder);

}  // namespace wick
