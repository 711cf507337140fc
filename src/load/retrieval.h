// Models with a vector for each token, such as ColPali.
#pragma once
#include <string>

#include "load/folder_texts.h"
#include "wick/load/load_model.h"

namespace wick {

/// Errors: kUnsupported if the model has no vector for each token.
void require_retrieval(const LanguageModel& model, const char* op);

/// The texts of a folder's processor_config.json; where it lacks them, those that the code which
/// published the model has.
///
/// config  the folder's config.json
/// texts   of the folder, with the token of padding
RetrievalTexts read_retrieval_texts(const std::string& folder, const Settings& config,
                                    const FolderTexts& texts);

}  // namespace wick
