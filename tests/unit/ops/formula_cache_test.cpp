// The compiler of formulas and its cache, each case in a process that has asked for none yet: a
// program of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "../expect.h"
#include "../temporary_folder.h"
#include "wick/wick.h"

namespace wick {
namespace {

using test::in_child;
using test::TemporaryFolder;

std::string half_of_3() {
  return to_string(elementwise_kernel("half", "a / 2 + 0")(full({}, 3.0)));
}
const std::string kHalfOf3 = "1.5000\nTensor[[], f32]";

/// A compiler that notes in a file each time that it compiles.
std::string noting_compiler(const TemporaryFolder& folder) {
  const std::string path =
      folder.write("noting", "#!/bin/sh\n[ \"$1\" = --version ] || echo x >> '" +
                                 folder.file("notes") + "'\nexec c++ \"$@\"\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(FormulaCache, IsUsedByTheNextProcessAndMadeAnewWhenBroken) {
  const TemporaryFolder folder;
  const std::string compiler = noting_compiler(folder), cache = folder.file("cache");
  const auto run = [&] {
    return in_child([&] {
      setenv("WICK_CXX", compiler.c_str(), 1);
      setenv("WICK_CACHE_DIR", cache.c_str(), 1);
      return half_of_3();
    });
  };
  EXPECT_EQ(run(), kHalfOf3);
  EXPECT_EQ(run(), kHalfOf3);
  EXPECT_EQ(folder.read("notes"), "x\n");
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(cache))
    files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1u);  // nothing half made is left
  EXPECT_EQ(files[0].extension(), ".so");
  std::ofstream(files[0]) << "half a file";
  EXPECT_EQ(run(), kHalfOf3);
  EXPECT_EQ(folder.read("notes"), "x\nx\n");
  // What others could have written is not loaded.
  std::filesystem::permissions(files[0], std::filesystem::perms::all);
  EXPECT_EQ(run(), kHalfOf3);
  EXPECT_EQ(folder.read("notes"), "x\nx\nx\n");
  EXPECT_EQ(in_child([&] {
              setenv("WICK_CACHE_DIR", cache.c_str(), 1);
              setenv("WICK_CXX", (compiler + "-gone").c_str(), 1);
              return half_of_3();
            }),
            "invalid argument: WICK_CXX: expected a program, found no " + compiler + "-gone");
}

TEST(FormulaCache, ServesSeveralProcessesAtOnce) {
  const TemporaryFolder folder;
  setenv("WICK_TEST_CACHE", folder.file("cache").c_str(), 1);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; i++) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("WICK_CACHE_DIR", std::getenv("WICK_TEST_CACHE"), 1);
      try {
        _exit(half_of_3() == kHalfOf3 ? 0 : 1);
      } catch (...) {
        _exit(2);
      }
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(FormulaCache, AFolderThatCannotServeIsReplaced) {
  const TemporaryFolder folder;
  for (const std::string& unusable : {std::string("/dev/null/cache"), folder.write("file", "")})
    EXPECT_EQ(in_child([&] {
                setenv("TMPDIR", folder.path().c_str(), 1);
                setenv("WICK_CACHE_DIR", unusable.c_str(), 1);
                return half_of_3();
              }),
              kHalfOf3);
  // Others may write there: so they could plant code.
  std::filesystem::create_directory(folder.file("open"));
  std::filesystem::permissions(folder.file("open"), std::filesystem::perms::all);
  EXPECT_EQ(in_child([&] {
              setenv("TMPDIR", folder.path().c_str(), 1);
              setenv("WICK_CACHE_DIR", folder.file("open").c_str(), 1);
              return half_of_3();
            }),
            kHalfOf3);
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("open")));
}

TEST(FormulaCache, WithoutACompilerThereIsOneClearError) {
  const TemporaryFolder folder;
  EXPECT_EQ(in_child([&] {
              unsetenv("WICK_CXX");
              setenv("PATH", folder.path().c_str(), 1);
              return half_of_3();
            }),
            "unsupported: half: compiling it needs c++, g++ or clang++, found none in PATH; "
            "install one or set WICK_CXX");
}

}  // namespace
}  // namespace wick
