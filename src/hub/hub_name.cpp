#include "wick/hub/hub_name.h"

#include "hub/hub_paths.h"
#include "wick/base/error.h"

namespace wick {
namespace {

constexpr std::string_view kScheme = "hf://";
constexpr const char* kForm = "expected ORG/NAME[:FILE or TYPE][@REVISION]";

/// Whether a name ends like a file that wick reads or that models come in.
bool is_file_name(std::string_view name) {
  for (const std::string_view ending : {".gguf", ".safetensors", ".json", ".bin", ".pth", ".pt"})
    if (name.ends_with(ending)) return true;
  return false;
}

}  // namespace

std::optional<HubName> parse_hub_name(std::string_view text) {
  const std::string_view given = text;
  const bool has_scheme = text.starts_with(kScheme);
  if (has_scheme) text.remove_prefix(kScheme.size());
  HubName name;
  const size_t end = std::min(text.find_first_of(":@"), text.size());
  name.repository = text.substr(0, end);
  const bool is_name =
      hub::is_repository(name.repository) && (has_scheme || !is_file_name(name.repository));
  if (!is_name) {
    check(!has_scheme, ErrorCode::kInvalidArgument, given, kForm, " after hf://");
    return std::nullopt;
  }
  std::string_view rest = text.substr(end);
  if (const size_t at = rest.rfind('@'); at != rest.npos) {
    name.revision = rest.substr(at + 1);
    rest = rest.substr(0, at);
    check(hub::is_revision(name.revision), ErrorCode::kInvalidArgument, given, kForm,
          ", got a revision that no repository has");
  }
  if (!rest.empty()) {
    name.choice = rest.substr(1);
    check(hub::is_file_path(name.choice), ErrorCode::kInvalidArgument, given, kForm,
          ", got no file or type after \":\"");
  }
  return name;
}

std::string to_string(const HubName& name) {
  std::string text = name.repository;
  if (!name.choice.empty()) text += ":" + name.choice;
  // A file's name may have an "@" too; the last one is the revision's.
  if (name.revision != "main" || text.find('@') != text.npos) text += "@" + name.revision;
  return text;
}

}  // namespace wick
