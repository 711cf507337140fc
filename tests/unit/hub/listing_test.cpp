#include "hub/listing.h"

#include <gtest/gtest.h>

#include "../expect.h"

namespace wick::hub {
namespace {

const std::string kId(40, 'a'), kSha(64, 'b');

Listing read(const std::string& json) {
  Listing listing;
  add_tree_page(json, "URL", listing);
  return listing;
}

/// One file of a list, its path in JSON.
std::string entry(const std::string& path, const std::string& id = kId,
                  const std::string& rest = "") {
  return R"([{"type": "file", "path": ")" + path + R"(", "size": 3, "oid": ")" + id + "\"" + rest +
         "}]";
}

TEST(Listing, HasFilesAndLargeFiles) {
  const Listing listing = read(R"([{"type": "directory", "path": "a", "oid": "x", "size": 0},
      {"type": "file", "path": "a/b.json", "size": 5, "oid": ")" +
                               kId + R"("},
      {"type": "file", "path": "c.gguf", "size": 7, "oid": ")" +
                               kId + R"(", "lfs": {"oid": ")" + kSha +
                               R"(", "size": 7, "pointerSize": 130}, "xetHash": "z"}])");
  ASSERT_EQ(listing.size(), 2u);
  EXPECT_EQ(listing[0].path, "a/b.json");
  EXPECT_EQ(listing[0].bytes, 5);
  EXPECT_EQ(listing[0].digest(), kId);
  EXPECT_EQ(listing[1].digest(), kSha);
  EXPECT_EQ(find_file(listing, "c.gguf"), &listing[1]);
  EXPECT_EQ(find_file(listing, "c"), nullptr);
}

TEST(Listing, RejectsPathsThatLeaveTheFolder) {
  for (const char* path :
       {"../x", "/etc/passwd", "a/../../x", "a//b", "", "a\\u0000b", "a\\nb", ".."})
    EXPECT_ERROR(read(entry(path)), kFormat, "which is no path of a file in a repository");
}

TEST(Listing, RejectsDigestsThatAreNoFileNames) {
  EXPECT_ERROR(read(entry("a", "../../x")), kFormat, "expected an id of git's");
  EXPECT_ERROR(read(entry("a", kSha)), kFormat, "expected an id of git's");
  EXPECT_ERROR(read(entry("a", kId, R"(, "lfs": {"oid": "../x", "size": 3})")), kFormat,
               "expected a SHA-256");
  EXPECT_ERROR(read(entry("a", kId, R"(, "lfs": {"oid": ")" + kSha + R"(", "size": -3})")), kFormat,
               "expected oid and size of each large file");
  EXPECT_ERROR(
      read(entry("a", kId, R"(, "lfs": {"oid": ")" + kSha + R"(", "size": 9000000000000000000})")),
      kFormat, "expected a size");
}

TEST(Listing, RejectsOtherAnswers) {
  for (const char* text : {"", "<html>", "{}", "[1]", "[{}]", R"([{"type": "file"}])",
                           R"([{"path": 1, "size": 1, "oid": "x"}])"})
    EXPECT_ERROR(read(text), kFormat, "URL: expected ");
  for (const char* text : {"", "[]", "{}", R"({"sha": "main"})", R"({"sha": 5})"})
    EXPECT_ERROR(read_commit(text, "URL"), kFormat, "URL: expected ");
  EXPECT_EQ(read_commit(R"({"sha": ")" + kId + "\"}", "URL"), kId);
}

TEST(Listing, ReadsAnIndexOfShards) {
  const auto shards = read_shards(
      R"({"metadata": {}, "weight_map": {"x": "b.safetensors", "y": "a.safetensors", "z": "b.safetensors"}})",
      "index");
  EXPECT_EQ(shards, (std::vector<std::string>{"a.safetensors", "b.safetensors"}));
  EXPECT_ERROR(read_shards("{}", "index"), kFormat, "index: expected \"weight_map\"");
  EXPECT_ERROR(read_shards(R"({"weight_map": {"x": 1}})", "index"), kFormat, "a file's name");
}

TEST(Listing, LeavesOutOfASearchWhatIsNoName) {
  EXPECT_EQ(read_search(
                R"([{"id": "a/b"}, {"id": "../x"}, {"id": "c\u001b[2J/d"}, 5, {}, {"id": "e/f"}])"),
            (std::vector<std::string>{"a/b", "e/f"}));
  EXPECT_TRUE(read_search("<html>").empty());
}

TEST(Listing, StaysTheSameInTheCache) {
  const Listing listing = {{"b \"ö\".json", 5, kId}, {"a/c.gguf", 7, kId, kSha, kSha}};
  const Listing again = read_tree_json(to_tree_json(listing), "file");
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].path, "a/c.gguf");
  EXPECT_EQ(again[0].bytes, 7);
  EXPECT_EQ(again[0].digest(), kSha);
  EXPECT_EQ(again[0].xet_hash, kSha);
  EXPECT_EQ(again[1].xet_hash, "");
  EXPECT_EQ(again[1].path, listing[0].path);
  EXPECT_EQ(again[1].digest(), kId);
  EXPECT_ERROR(read_tree_json(R"({"format_version": 2, "files": {}})", "file"), kFormat, "file: ");
  EXPECT_ERROR(
      read_tree_json(
          R"({"format_version": 1, "files": {"../x": {"size": 1, "blob_id": ")" + kId + "\"}}}",
          "file"),
      kFormat, "no path of a file");
}

}  // namespace
}  // namespace wick::hub
