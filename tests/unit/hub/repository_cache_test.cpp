#include "hub/repository_cache.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "../expect.h"
#include "../temporary_folder.h"

namespace wick::hub {
namespace {

namespace fs = std::filesystem;

const std::string kCommit(40, 'c'), kId(40, 'a');

void write_content(const RepositoryCache& cache, const RepositoryFile& file,
                   const std::string& text) {
  cache.make_folders();
  std::ofstream(cache.content(file), std::ios::binary) << text;
}

TEST(RepositoryCache, NamesFoldersAsHuggingfaceHubDoes) {
  EXPECT_EQ(folder_name("org/na-me"), "models--org--na-me");
  EXPECT_EQ(repository_of_folder("models--org--na-me"), "org/na-me");
  for (const char* name : {"models--org", "datasets--org--name", "models--", "models----x",
                           "models--a--b--c", "version.txt"})
    EXPECT_EQ(repository_of_folder(name), "") << name;
  EXPECT_EQ(repository_of_snapshot("/x/models--org--name/snapshots/" + kCommit), "org/name");
  EXPECT_EQ(repository_of_snapshot("/x/models--org--name/blobs/" + kCommit), "");
  EXPECT_EQ(repository_of_snapshot("/x/models--org--name/snapshots/main"), "");
  EXPECT_EQ(repository_of_snapshot("name"), "");
}

TEST(RepositoryCache, KeepsTheCommitOfARevision) {
  const test::TemporaryFolder folder;
  const RepositoryCache cache(folder.path(), "org/name");
  EXPECT_EQ(cache.commit_of("main"), std::nullopt);
  EXPECT_EQ(cache.commit_of(kCommit), kCommit);
  cache.set_commit("refs/pr/1", kCommit);
  EXPECT_EQ(cache.commit_of("refs/pr/1"), kCommit);
  EXPECT_EQ(folder.read("models--org--name/refs/refs/pr/1"), kCommit);
  fs::create_directories(folder.file("models--org--name/refs"));
  folder.write("models--org--name/refs/main", "../../x");
  EXPECT_EQ(cache.commit_of("main"), std::nullopt);
}

TEST(RepositoryCache, LinksASnapshotToContents) {
  const test::TemporaryFolder folder;
  const RepositoryCache cache(folder.path(), "org/name");
  const RepositoryFile file{"a/b/c.json", 5, kId};
  EXPECT_FALSE(cache.has_content(file));
  write_content(cache, file, "12345");
  EXPECT_TRUE(cache.has_content(file));
  EXPECT_FALSE(cache.has_file(kCommit, file));
  for (int i = 0; i < 2; i++) {
    cache.link(kCommit, file);
    EXPECT_TRUE(cache.has_file(kCommit, file));
  }
  const std::string path = cache.snapshot(kCommit) + "/a/b/c.json";
  EXPECT_EQ(fs::read_symlink(path), "../../../../blobs/" + kId);
  const Listing files = cache.files_in_snapshot(kCommit);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].path, "a/b/c.json");
  EXPECT_EQ(files[0].bytes, 5);
  EXPECT_TRUE(cache.files_in_snapshot(kId).empty());
}

TEST(RepositoryCache, DoesNotTakeAnotherSizeForTheFile) {
  const test::TemporaryFolder folder;
  const RepositoryCache cache(folder.path(), "org/name");
  const RepositoryFile file{"c.json", 6, kId};
  write_content(cache, file, "12345");
  cache.link(kCommit, file);
  EXPECT_FALSE(cache.has_content(file) || cache.has_file(kCommit, file));
}

TEST(RepositoryCache, KeepsTheListOfACommit) {
  const test::TemporaryFolder folder;
  const RepositoryCache cache(folder.path(), "org/name");
  EXPECT_FALSE(cache.listing(kCommit).has_value());
  cache.set_listing(kCommit, {{"c.json", 6, kId}});
  ASSERT_TRUE(cache.listing(kCommit).has_value());
  EXPECT_EQ(cache.listing(kCommit)->at(0).path, "c.json");
  folder.write("models--org--name/trees/" + kCommit + ".json", "{");
  EXPECT_FALSE(cache.listing(kCommit).has_value());
}

TEST(FileLock, IsHeldByOne) {
  const test::TemporaryFolder folder;
  FileLock first, second;
  EXPECT_TRUE(first.try_take(folder.file("x.lock")));
  EXPECT_TRUE(first.try_take(folder.file("x.lock")));
  EXPECT_FALSE(second.try_take(folder.file("x.lock")));
  first.release();
  EXPECT_TRUE(second.try_take(folder.file("x.lock")));
  EXPECT_ERROR(first.try_take(folder.file("missing/x.lock")), kIo, "cannot be written");
}

}  // namespace
}  // namespace wick::hub
