// The files of a repository at a commit, as the hub lists them and as the cache keeps the list.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick::hub {

struct RepositoryFile {
  std::string path;
  int64_t bytes = 0;
  std::string git_id;         // SHA-1 of git's object: the file's, or of a large file its pointer's
  std::string sha256 = "";    // of a large file's content; "" for others
  std::string xet_hash = "";  // of a large file, for huggingface_hub's own storage; wick keeps it

  bool is_large() const { return !sha256.empty(); }
  /// The name of the file's content in the cache, which is the server's ETag.
  const std::string& digest() const { return is_large() ? sha256 : git_id; }
};

using Listing = std::vector<RepositoryFile>;

const RepositoryFile* find_file(const Listing& listing, std::string_view path);

/// Appends the files of one answer to /api/models/ORG/NAME/tree/COMMIT. where: begins errors.
/// Errors: kFormat if the text is no such answer, or names a path or a digest that could leave the
/// folder of the cache.
void add_tree_page(std::string_view json, const std::string& where, Listing& listing);

/// The commit of an answer to /api/models/ORG/NAME/revision/REVISION. Errors: kFormat.
std::string read_commit(std::string_view json, const std::string& where);
/// The repositories of an answer to /api/models?search=: names that are none are left out. Empty if
/// the text is no such answer.
std::vector<std::string> read_search(std::string_view json);

/// The shards that a model.safetensors.index.json names, sorted. Errors: kFormat.
std::vector<std::string> read_shards(std::string_view json, const std::string& where);

/// The list as huggingface_hub keeps it for each commit.
/// Source of the format: huggingface_hub 2.4 (Apache 2.0), its tree cache.
std::string to_tree_json(const Listing& listing);
/// Reads such a text. Errors: as add_tree_page.
Listing read_tree_json(std::string_view json, const std::string& where);

}  // namespace wick::hub
