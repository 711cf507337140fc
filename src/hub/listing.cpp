#include "hub/listing.h"

#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/json_text.h"
#include "hub/hub_paths.h"
#include "wick/base/error.h"

namespace wick::hub {
namespace {

namespace dom = simdjson::dom;

/// Parses a text, which must outlive nothing: the document is the parser's.
class Document {
 public:
  Document(std::string_view json, const std::string& where) : where_(where) {
    const auto error = parser_.parse(simdjson::padded_string(json)).get(root_);
    if (error) fail("JSON");
  }
  dom::element root() const { return root_; }
  [[noreturn]] void fail(const std::string& expected) const {
    wick::fail(ErrorCode::kFormat, where_, "expected ", expected, " as the hub answers");
  }

 private:
  const std::string& where_;
  dom::parser parser_;
  dom::element root_;
};

std::optional<std::string_view> text_at(const dom::object& object, std::string_view key) {
  std::string_view text;
  if (object.at_key(key).get(text)) return std::nullopt;
  return text;
}

/// The xetHash of a list, or the xet_hash of the cache; "" if there is none that huggingface_hub takes.
std::string xet_hash_at(const dom::object& object, std::string_view key) {
  const std::string hash(text_at(object, key).value_or(""));
  return hash.size() == 64 && is_digest(hash) ? hash : "";
}

std::optional<int64_t> size_at(const dom::object& object, std::string_view key) {
  int64_t size = 0;
  if (object.at_key(key).get(size) || size < 0) return std::nullopt;
  return size;
}

constexpr int64_t kMaxFileBytes = int64_t{1} << 48;  // sums of all files stay within 64 bits

void require_safe(const RepositoryFile& file, const std::string& where) {
  check(is_file_path(file.path), ErrorCode::kFormat, where, "the list has ", json_quote(file.path),
        ", which is no path of a file in a repository");
  check(file.bytes <= kMaxFileBytes, ErrorCode::kFormat, where, json_quote(file.path),
        ": expected a size, got ", file.bytes);
  check(is_commit(file.git_id), ErrorCode::kFormat, where, json_quote(file.path),
        ": expected an id of git's, got ", json_quote(file.git_id));
  check(file.sha256.empty() || (file.sha256.size() == 64 && is_digest(file.sha256)),
        ErrorCode::kFormat, where, json_quote(file.path), ": expected a SHA-256, got ",
        json_quote(file.sha256));
}

}  // namespace

const RepositoryFile* find_file(const Listing& listing, std::string_view path) {
  for (const RepositoryFile& file : listing)
    if (file.path == path) return &file;
  return nullptr;
}

void add_tree_page(std::string_view json, const std::string& where, Listing& listing) {
  const Document document(json, where);
  dom::array items;
  if (document.root().get(items)) document.fail("a list of files");
  for (const dom::element item : items) {
    dom::object object;
    if (item.get(object)) document.fail("a list of files");
    if (text_at(object, "type") == "directory") continue;
    const auto path = text_at(object, "path"), id = text_at(object, "oid");
    const auto size = size_at(object, "size");
    if (!path || !id || !size) document.fail("path, oid and size of each file");
    RepositoryFile file{std::string(*path), *size, std::string(*id)};
    file.xet_hash = xet_hash_at(object, "xetHash");
    if (dom::object large; !object.at_key("lfs").get(large)) {
      const auto sha256 = text_at(large, "oid");
      const auto large_size = size_at(large, "size");
      if (!sha256 || !large_size) document.fail("oid and size of each large file");
      file.sha256 = *sha256;
      file.bytes = *large_size;
    }
    require_safe(file, where);
    listing.push_back(std::move(file));
  }
}

std::string read_commit(std::string_view json, const std::string& where) {
  const Document document(json, where);
  dom::object object;
  const bool is_object = !document.root().get(object);
  const auto commit = is_object ? text_at(object, "sha") : std::nullopt;
  if (!commit || !is_commit(*commit)) document.fail("the commit of a revision");
  return std::string(*commit);
}

std::vector<std::string> read_search(std::string_view json) {
  std::vector<std::string> names;
  dom::parser parser;
  dom::array items;
  const simdjson::padded_string padded(json);
  if (parser.parse(padded).get(items)) return names;
  for (const dom::element item : items) {
    std::string_view name;
    if (!item["id"].get(name) && is_repository(name)) names.emplace_back(name);
  }
  return names;
}

std::vector<std::string> read_shards(std::string_view json, const std::string& where) {
  const Document document(json, where);
  std::set<std::string> shards;
  dom::object map;
  if (document.root()["weight_map"].get(map))
    fail(ErrorCode::kFormat, where, "expected \"weight_map\", which names the file of each tensor");
  for (const auto field : map) {
    std::string_view name;
    if (field.value.get(name))
      fail(ErrorCode::kFormat, where, json_quote(field.key), ": expected a file's name");
    shards.emplace(name);
  }
  return {shards.begin(), shards.end()};
}

std::string to_tree_json(const Listing& listing) {
  JsonLayout layout;
  layout.escapes = JsonEscapes::kAscii;
  layout.entry_lines = true;
  layout.indent = " ";
  layout.key_separator = ": ";
  std::vector<const RepositoryFile*> order;
  for (const RepositoryFile& file : listing) order.push_back(&file);
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->path < b->path; });
  JsonWriter to(layout);
  to.begin_object();
  to.key("format_version");
  to.literal("1");
  to.key("files");
  to.begin_object();
  for (const RepositoryFile* file : order) {
    to.key(file->path);
    to.begin_object();
    to.key("size");
    to.literal(std::to_string(file->bytes));
    to.key("blob_id");
    to.string(file->git_id);
    if (file->is_large()) {
      to.key("lfs_sha256");
      to.string(file->sha256);
      to.key("lfs_size");
      to.literal(std::to_string(file->bytes));
    }
    if (!file->xet_hash.empty()) {
      to.key("xet_hash");
      to.string(file->xet_hash);
    }
    to.end_object();
  }
  to.end_object();
  to.end_object();
  return to.text();
}

Listing read_tree_json(std::string_view json, const std::string& where) {
  const Document document(json, where);
  dom::object root, files;
  if (document.root().get(root) || size_at(root, "format_version") != 1 ||
      root.at_key("files").get(files))
    document.fail("a list of files");
  Listing listing;
  for (const auto field : files) {
    dom::object object;
    if (field.value.get(object)) document.fail("a list of files");
    const auto size = size_at(object, "size");
    const auto id = text_at(object, "blob_id");
    if (!size || !id) document.fail("size and blob_id of each file");
    RepositoryFile file{std::string(field.key), *size, std::string(*id)};
    file.xet_hash = xet_hash_at(object, "xet_hash");
    if (const auto sha256 = text_at(object, "lfs_sha256")) {
      file.sha256 = *sha256;
      file.bytes = size_at(object, "lfs_size").value_or(*size);
    }
    require_safe(file, where);
    listing.push_back(std::move(file));
  }
  return listing;
}

}  // namespace wick::hub
