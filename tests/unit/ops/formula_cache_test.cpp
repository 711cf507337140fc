// The compiler of formulas and its cache, each case in a process that has asked for none yet: a
// program of its own.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

std::string half_of_3_with(const std::string& compiler, const std::string& cache) {
  return in_child([&] {
    setenv("WICK_CXX", compiler.c_str(), 1);
    setenv("WICK_CACHE_DIR", cache.c_str(), 1);
    return half_of_3();
  });
}

std::filesystem::path only_entry(const std::string& cache) {
  std::filesystem::directory_iterator entries(cache);
  if (entries == std::filesystem::end(entries)) return {};
  const std::filesystem::path first = entries->path();
  EXPECT_EQ(++entries, std::filesystem::end(entries)) << entries->path();
  return first;
}

TEST(FormulaCache, CompilesAnewWhatWasCutShortOrChanged) {
  const TemporaryFolder folder;
  const std::string compiler = noting_compiler(folder), cache = folder.file("cache");
  EXPECT_EQ(half_of_3_with(compiler, cache), kHalfOf3);
  const std::filesystem::path entry = only_entry(cache);
  const std::string name = "cache/" + entry.filename().string(), good = folder.read(name);
  std::string notes = "x\n";
  const auto expect_compiled_anew = [&](const std::string& bytes, const std::string& what) {
    std::filesystem::permissions(folder.write(name, bytes), std::filesystem::perms::owner_all);
    EXPECT_EQ(half_of_3_with(compiler, cache), kHalfOf3) << what;
    EXPECT_EQ(folder.read("notes"), notes += "x\n") << what;
    EXPECT_EQ(only_entry(cache), entry) << what;  // nothing half made is left
  };
  for (const size_t size : {size_t{0}, size_t{1000}, size_t{4096}, good.size() - 1})
    expect_compiled_anew(good.substr(0, size), "cut at " + std::to_string(size));
  for (const size_t from :
       {size_t{4096}, size_t{8192}}) {  // a file whose blocks were never written
    std::string zeros = good;
    std::fill(zeros.begin() + std::ptrdiff_t(std::min(from, good.size())), zeros.end(), 0);
    expect_compiled_anew(zeros, "zeros from " + std::to_string(from));
  }
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  expect_compiled_anew(flipped, "a bit");
}

TEST(FormulaCache, AnEntryThatIsAFolderStays) {
  const TemporaryFolder folder;
  const std::string compiler = noting_compiler(folder), cache = folder.file("cache");
  EXPECT_EQ(half_of_3_with(compiler, cache), kHalfOf3);
  const std::filesystem::path entry = only_entry(cache);
  std::filesystem::remove(entry);
  std::filesystem::create_directories(entry / "inside");
  EXPECT_EQ(half_of_3_with(compiler, cache), kHalfOf3);
  EXPECT_TRUE(std::filesystem::exists(entry / "inside"));
  EXPECT_EQ(only_entry(cache), entry);
}

/// Mounts a disk of this size, which only the calling process sees, on a folder.
bool mount_disk(const std::string& place, const char* size) {
  const std::string user = std::to_string(getuid()), group = std::to_string(getgid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << user << " " << user << " 1";
  std::ofstream("/proc/self/gid_map") << group << " " << group << " 1";
  const std::string options = std::string("mode=700,size=") + size;
  return mount("tmpfs", place.c_str(), "tmpfs", 0, options.c_str()) == 0;
}

TEST(FormulaCache, AFullDiskIsReplacedByATemporaryFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("disk"));
  const std::string denied = "no disk can be mounted";
  const auto run = [&](const char* size) {
    return in_child([&] {
      if (!mount_disk(folder.file("disk"), size)) return denied;
      setenv("WICK_CACHE_DIR", folder.file("disk").c_str(), 1);
      setenv("TMPDIR", folder.path().c_str(), 1);
      const std::string text = half_of_3();
      const bool cached = !std::filesystem::is_empty(folder.file("disk"));
      return text + (cached ? ", cached" : "");
    });
  };
  const std::string roomy = run("64m");
  if (roomy == denied) GTEST_SKIP() << denied;
  EXPECT_EQ(roomy, kHalfOf3 + ", cached");
  EXPECT_EQ(run("4k"), kHalfOf3);
}

TEST(FormulaCache, SaysHowACompilerFailed) {
  const TemporaryFolder folder;
  const auto fails_by = [&](const std::string& how) {
    const std::string compiler =
        folder.write("compiler", "#!/bin/sh\n[ \"$1\" = --version ] || " + how + "\n");
    std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
    std::string text = half_of_3_with(compiler, folder.file("cache"));
    const size_t at = text.find(compiler);
    EXPECT_NE(at, text.npos) << text;
    return at == text.npos ? text : text.replace(at, compiler.size(), "CXX");
  };
  EXPECT_EQ(fails_by("kill -9 $$"),
            "invalid argument: half: CXX cannot compile it: it is ended by signal 9 (Killed)");
  EXPECT_EQ(fails_by("exit 3"),
            "invalid argument: half: CXX cannot compile it: it exits with status 3");
  EXPECT_EQ(fails_by("exit 0"),
            "invalid argument: half: CXX exits with status 0, but writes no library");
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("cache")));
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

TEST(FormulaCache, AKernelForGpusNamesTheDevicesThatRunIt) {
  const TemporaryFolder folder;
  EXPECT_EQ(in_child([&] {
              setenv("WICK_CACHE_DIR", folder.file("cache").c_str(), 1);
              compile_kernel(Device::cpu(), "twice", "__global__ void twice(float* x) {}");
              return std::string("compiles");
            }),
            "unsupported: twice: a kernel for GPUs, got device cpu; use a GPU or --device emu:32");
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
