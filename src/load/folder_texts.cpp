#include "load/folder_texts.h"

#include "wick/io/file.h"
#include "wick/io/json.h"

namespace wick {
namespace {

/// "chat_template" is a template, or a list of named ones, of which "default" serves.
std::string template_text(const Settings& settings) {
  const Setting* found = settings.find("chat_template");
  if (!found) return "";
  const auto* list = std::get_if<Setting::List>(&found->value);
  if (!list) return settings.text("chat_template");
  for (const Setting& item : *list)
    if (const auto* named = std::get_if<Settings>(&item.value);
        named && named->text_or("name", "") == "default")
      return named->text("template");
  settings.fail_expected("chat_template", "a template named \"default\"");
}

}  // namespace

std::string FolderTexts::token(const char* key) const {
  if (!settings.has(key)) return "";
  // A string, or an object with "content".
  if (const auto* token = std::get_if<Settings>(&settings.find(key)->value))
    return token->text("content");
  return settings.text(key);
}

FolderTexts read_folder_texts(const std::string& folder) {
  FolderTexts texts;
  if (const std::string path = folder + "/tokenizer_config.json"; is_there(path)) {
    texts.settings = read_json(path);
    texts.template_source = template_text(texts.settings);
    texts.template_where = path + ": \"chat_template\"";
  }
  if (const std::string path = folder + "/chat_template.jinja"; is_there(path)) {
    texts.template_source = read_file(path);
    texts.template_where = path;
  }
  return texts;
}

}  // namespace wick
