// The texts beside a folder's tokenizer: special tokens and the chat template.
#pragma once
#include <string>

#include "wick/base/settings.h"

namespace wick {

struct FolderTexts {
  Settings settings;                            // tokenizer_config.json; empty if there is none
  std::string template_source, template_where;  // "" if there is none

  /// The text of a special token, such as "bos_token"; "" if the files name none.
  std::string token(const char* key) const;
};

/// Reads tokenizer_config.json and chat_template.jinja, as far as they are there.
FolderTexts read_folder_texts(const std::string& folder);

}  // namespace wick
