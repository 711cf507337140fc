// The cache of kernels from source, each case in a process that has compiled nothing yet: a program of
// its own.
#include <filesystem>
#include <fstream>

#include "../expect.h"
#include "../temporary_folder.h"
#include "wick/wick.h"

namespace wick {
namespace {

using test::in_child;
using test::TemporaryFolder;

constexpr const char* kSource =
    "extern \"C\" __global__ void store(float* y, float v) { y[0] = v; }";

class SourceCache : public testing::Test {
 protected:
  /// Compiles and launches in another process. The compiler notes each source that it compiles.
  std::string run(const std::string& source = kSource, const std::string& device = "emu:32") {
    return in_child([&] {
      setenv("WICK_CXX", compiler_.c_str(), 1);
      setenv("WICK_CACHE_DIR", cache_.c_str(), 1);
      const Device on = Device::parse(device);
      const Tensor y = zeros({1}, {.device = on});
      compile_kernel(on, "store", source).launch(1, 1, 0, y, 2.5f);
      return to_string(y);
    });
  }
  int compilations() const { return int(folder_.read("notes").size()) / 2; }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(cache_))
      found.push_back(entry.path());
    return found;
  }
  std::string make_compiler() {
    const std::string path =
        folder_.write("noting", "#!/bin/sh\n[ \"$1\" = --version ] || echo x >> '" +
                                    folder_.file("notes") + "'\nexec c++ \"$@\"\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  const TemporaryFolder folder_;
  const std::string compiler_ = make_compiler(), cache_ = folder_.file("cache");
};

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void put(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST_F(SourceCache, ServesTheNextProcess) {
  const std::string first = run();
  EXPECT_EQ(run(), first);
  EXPECT_NE(first.find("2.5000"), std::string::npos) << first;
  EXPECT_EQ(compilations(), 1);
  ASSERT_EQ(files().size(), 1u);  // nothing half made is left
  EXPECT_EQ(files()[0].extension(), ".image");
}

TEST_F(SourceCache, KeepsSourcesAndArchitecturesApart) {
  const std::string first = run();
  run(std::string(kSource) + "\n");
  EXPECT_EQ(compilations(), 2);
  run(kSource, "emu:64");
  EXPECT_EQ(compilations(), 3);
  EXPECT_EQ(run(), first);
  EXPECT_EQ(compilations(), 3);
}

TEST_F(SourceCache, IsMadeAnewWhereAFileIsDamaged) {
  const std::string first = run();
  ASSERT_EQ(files().size(), 1u);
  const std::filesystem::path file = files()[0];
  const std::string good = bytes_of(file);
  std::string flipped = good;
  flipped[good.size() / 2] = char(flipped[good.size() / 2] ^ 1);
  int expected = 1;
  for (const std::string& bad :
       {std::string(), std::string("half a file"), good.substr(0, good.size() / 2),
        good.substr(0, 20), good + "x", flipped, good.substr(good.find('\n') + 1)}) {
    put(file, bad);
    EXPECT_EQ(run(), first);
    EXPECT_EQ(compilations(), ++expected);
    EXPECT_EQ(run(), first);  // from the file made anew
    EXPECT_EQ(compilations(), expected);
  }
}

TEST_F(SourceCache, TakesNoImageOfAnotherSource) {
  const std::string first = run();
  ASSERT_EQ(files().size(), 1u);
  const std::filesystem::path mine = files()[0];
  const std::string good = bytes_of(mine);
  run(std::string(kSource) + "\n");
  for (const auto& file : files())
    if (file != mine) put(file, good);
  EXPECT_EQ(run(std::string(kSource) + "\n"), first);
  EXPECT_EQ(compilations(), 3);
}

TEST_F(SourceCache, TakesNoFileThatOthersCanWrite) {
  const std::string first = run();
  ASSERT_EQ(files().size(), 1u);
  std::filesystem::permissions(files()[0], std::filesystem::perms::all);
  EXPECT_EQ(run(), first);
  EXPECT_EQ(compilations(), 2);
}

TEST_F(SourceCache, WithoutACompilerThereIsOneClearError) {
  EXPECT_EQ(
      in_child([&] {
        unsetenv("WICK_CXX");
        setenv("PATH", folder_.path().c_str(), 1);
        compile_kernel(Device::parse("emu:32"), "store", kSource);
        return std::string("compiled");
      }),
      "unsupported: store: kernels from source: compiling it needs c++, g++ or clang++, found none "
      "in PATH; install one or set WICK_CXX on emu:32");
}

}  // namespace
}  // namespace wick
