#include "wick/hub/hub_name.h"

#include <gtest/gtest.h>

#include "../expect.h"
#include "hub/hub_paths.h"

namespace wick {
namespace {

/// "REPOSITORY|CHOICE|REVISION", or "" for a text that is no name.
std::string parts_of(const std::string& text) {
  const auto name = parse_hub_name(text);
  return name ? name->repository + "|" + name->choice + "|" + name->revision : "";
}

TEST(HubName, HasARepositoryAChoiceAndARevision) {
  EXPECT_EQ(parts_of("org/name"), "org/name||main");
  EXPECT_EQ(parts_of("Org-1/na.me_2"), "Org-1/na.me_2||main");
  EXPECT_EQ(parts_of("org/name:Q4_K_M"), "org/name|Q4_K_M|main");
  EXPECT_EQ(parts_of("org/name@v1.0"), "org/name||v1.0");
  EXPECT_EQ(parts_of("org/name:a/b-00001-of-00002.gguf@refs/pr/1"),
            "org/name|a/b-00001-of-00002.gguf|refs/pr/1");
  EXPECT_EQ(parts_of("hf://org/name:Q8_0"), "org/name|Q8_0|main");
  EXPECT_EQ(parts_of("hf://org/file.gguf"), "org/file.gguf||main");
}

TEST(HubName, IsNoPath) {
  for (const char* path : {"",
                           "name",
                           "/org/name",
                           "./org/name",
                           "../name",
                           "org/name/",
                           "a/b/c",
                           "org//name",
                           "~/name",
                           "org/name.gguf",
                           "org/model.safetensors",
                           "org/pytorch_model.bin",
                           "or g/name",
                           "org/na*me",
                           "-org/name",
                           "org/.name",
                           "org/name.",
                           "org/na--me",
                           "org/na..me",
                           "http://localhost/name",
                           "org\\name/x",
                           "org/name\n",
                           "http:",
                           "C:/name"})
    EXPECT_EQ(parts_of(path), "") << path;
  EXPECT_EQ(parts_of("org/" + std::string(96, 'a')), "org/" + std::string(96, 'a') + "||main");
  EXPECT_EQ(parts_of("org/" + std::string(97, 'a')), "");
}

TEST(HubName, RejectsChoicesAndRevisionsThatCannotBe) {
  for (const char* text :
       {"org/name:", "org/name:../x.gguf", "org/name:/x.gguf", "org/name:a//b", "org/name@",
        "org/name@../../x", "org/name@a..b", "org/name@/a", "org/name@.a", "org/name@a.lock",
        "org/name@a b", "org/name@a:b", "org/name@v1:Q4_K_M", "hf://name", "hf://"})
    EXPECT_ERROR(parse_hub_name(text), kInvalidArgument, "expected ORG/NAME[:FILE or TYPE]");
}

TEST(HubName, BecomesTheTextAgain) {
  for (const char* text : {"org/name", "org/name:Q8_0", "org/name@v1", "org/name:a/b.gguf@v1",
                           "org/name:a@b.gguf@main"})
    EXPECT_EQ(to_string(*parse_hub_name(text)), text);
}

TEST(HubPaths, StayInTheirFolder) {
  for (const char* path :
       {"a", "a/b.c", "1_Pooling/config.json", "a b", "ä/ö", "..a", "a..", "..."})
    EXPECT_TRUE(hub::is_file_path(path)) << path;
  for (const char* path : {"", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "./a",
                           "a/.", "a\nb", "a\x7f", "\xff"})
    EXPECT_FALSE(hub::is_file_path(path)) << path;
  EXPECT_FALSE(hub::is_file_path(std::string_view("a\0b", 3)));
  EXPECT_TRUE(hub::is_file_path(std::string(255, 'a')));
  EXPECT_FALSE(hub::is_file_path(std::string(256, 'a')));
  EXPECT_FALSE(hub::is_file_path("a/" + std::string(2000, 'a')));
}

TEST(HubPaths, DigestsAreHexadecimal) {
  const std::string sha1(40, 'a'), sha256(64, '0');
  EXPECT_TRUE(hub::is_digest(sha1) && hub::is_digest(sha256) && hub::is_commit(sha1));
  EXPECT_FALSE(hub::is_commit(sha256) || hub::is_digest(std::string(40, 'A')) ||
               hub::is_digest(std::string(41, 'a')) || hub::is_digest("../" + sha1.substr(3)));
}

}  // namespace
}  // namespace wick
