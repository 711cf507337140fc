#include "load/model_folder.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "hub/repository_cache.h"
#include "wick/io/file.h"

namespace wick {

namespace fs = std::filesystem;

bool is_later_part(const std::string& name) {
  constexpr std::string_view kPattern = "-#####-of-#####.gguf";
  if (name.size() < kPattern.size()) return false;
  const std::string_view end = std::string_view(name).substr(name.size() - kPattern.size());
  for (size_t i = 0; i < end.size(); i++)
    if (kPattern[i] == '#' ? end[i] < '0' || end[i] > '9' : end[i] != kPattern[i]) return false;
  return end.substr(1, 5) != "00001";
}

std::string model_name(const std::string& path) {
  fs::path name = fs::absolute(path).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  if (std::string repository = hub::repository_of_snapshot(name); !repository.empty())
    return repository;
  return name.extension() == ".gguf" ? name.stem().string() : name.filename().string();
}

std::vector<std::string> models_in(const std::string& folder) {
  std::vector<std::string> models;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    const std::string name = path.filename();
    std::error_code unreadable;  // such as a broken link: no model
    const bool is_model = fs::is_directory(path, unreadable)
                              ? fs::exists(path / "config.json", unreadable)
                              : name.ends_with(".gguf") && !is_later_part(name) &&
                                    fs::is_regular_file(path, unreadable);
    if (is_model && !name.starts_with('.')) models.push_back(path);
  }
  if (error) fail_file(error.value(), folder, error.message());
  std::sort(models.begin(), models.end());
  return models;
}

}  // namespace wick
