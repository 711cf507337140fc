// Where the vendors' libraries are looked for. Each search runs in a process of its own, since the
// libraries are never closed. rocm_runtime_test.cpp has the places of ROCm.
#include "runtime/find_library.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace wick::gpu {
namespace {

namespace fs = std::filesystem;

const std::string kFile = WICK_FAKE_RTC_FOLDER "/probe/libwick_probe.so";  // copied to other names

// A library that no machine has, so that only the places of a test are found.
constexpr Library kProbe = {"libwick_probe", Vendor::kNvidia, 13, 12};

using Environment = std::vector<std::pair<std::string, std::string>>;

/// A folder that goes away with the test.
struct Folder {
  Folder() {
    char name[] = "/tmp/wick_find_XXXXXX";
    path = mkdtemp(name);
    fs::permissions(path, fs::perms(0755));
  }
  ~Folder() { fs::remove_all(path); }
  std::string at(const std::string& file) const { return path + "/" + file; }
  void add(const std::string& file) const {
    fs::create_directories(fs::path(at(file)).parent_path());
    fs::copy_file(kFile, at(file));
  }
  std::string path;
};

/// The file that a new process opens, or why it opens none.
std::string found(const Library& library, const std::string& beside, const Environment& environment,
                  const std::string& program = fs::read_symlink("/proc/self/exe")) {
  std::string command = "cd / && env -i WICK_SYSTEM_ROOT=/nonexistent";
  for (const auto& [name, value] : environment) command += " " + name + "='" + value + "'";
  command += " '" + program + "' --find " + library.stem + " '" + beside + "'";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  for (char part[4096]; const size_t n = fread(part, 1, sizeof part, pipe);) text.append(part, n);
  EXPECT_EQ(pclose(pipe), 0) << text;
  return text;
}

struct Row {
  const Library& library;
  std::vector<std::string> files;  // the newest first
};
const std::vector<Row> kRows = {
    {kHipRuntime, {"libamdhip64.so.7", "libamdhip64.so.6"}},
    {kHiprtcLibrary, {"libhiprtc.so.7", "libhiprtc.so.6"}},
    {kRocblasLibrary, {"librocblas.so.5", "librocblas.so.4"}},
    {kHipblasltLibrary, {"libhipblaslt.so.1", "libhipblaslt.so.0"}},
    {kMiopenLibrary, {"libMIOpen.so.1"}},
    {kNvrtcLibrary, {"libnvrtc.so.13", "libnvrtc.so.12"}},
    {kCublasltLibrary, {"libcublasLt.so.13", "libcublasLt.so.12"}},
    {kCudnnLibrary, {"libcudnn.so.9"}},
    {kProbe, {}},
};

TEST(VendorLibraries, AreFoundByTheNamesOfTheirReleases) {
  for (const auto& [library, files] : kRows) {
    const Folder here;
    for (const std::string& file : files) here.add(file);
    for (const std::string& file : files) {
      EXPECT_EQ(found(library, here.path, {}), here.at(file));
      fs::remove(here.at(file));
    }
  }
}

TEST(VendorLibraries, AreTakenBesideTheRuntimeFirst) {
  const Folder here;
  here.add("runtime/libwick_probe.so.12");
  here.add("path/libwick_probe.so.13");
  here.add("cuda/lib64/libwick_probe.so.13");
  const Environment environment = {{"LD_LIBRARY_PATH", here.at("path")},
                                   {"CUDA_PATH", here.at("cuda")}};
  EXPECT_EQ(found(kProbe, here.at("runtime"), environment), here.at("runtime/libwick_probe.so.12"));
  EXPECT_EQ(found(kProbe, "", environment), here.at("path/libwick_probe.so.13"));
}

TEST(CudaLibraries, AreSearchedForInTheOrderOfTheTable) {
  const Folder here;
  const std::string program = here.at("venv/bin/python");
  fs::create_directories(here.at("venv/bin"));
  fs::create_symlink(fs::read_symlink("/proc/self/exe"), program);
  const std::string packages = "venv/lib/python3.11/site-packages/";
  const std::vector<std::string> places = {
      "path/libwick_probe.so.13",
      "path/libwick_probe.so.12",
      "path/libwick_probe.so",
      "cuda_path/lib64/libwick_probe.so.13",
      "cuda_path/lib64/libwick_probe.so",
      "root/usr/local/cuda-13.10/lib64/libwick_probe.so.13",
      "root/usr/local/cuda-13.9/lib64/libwick_probe.so.13",
      "root/usr/local/cuda-12.8/lib64/libwick_probe.so.12",
      packages + "nvidia/cuda_nvrtc/lib/libwick_probe.so.12",
      packages + "nvidia/cu13/lib/libwick_probe.so.13",
      "other_venv/lib/python3.11/site-packages/nvidia/cu13/lib/libwick_probe.so.13",
      "home/.local/lib/python3.11/site-packages/nvidia/cu13/lib/libwick_probe.so.13",
      packages + "torch/lib/libwick_probe.so.12",
  };
  for (const std::string& place : places) here.add(place);
  here.add("venv/lib/python3.12/site-packages/torch/lib/libwick_probe.so.13");  // of another Python
  here.add("rocm/lib/libwick_probe.so.13");                                     // of another vendor
  // The address sanitizer's runtime, where the program has it, comes after the preloaded library.
  const Environment environment = {
      {"LD_LIBRARY_PATH", here.at("path")},   {"CUDA_PATH", here.at("cuda_path")},
      {"ROCM_PATH", here.at("rocm")},         {"WICK_SYSTEM_ROOT", here.at("root")},
      {"VIRTUAL_ENV", here.at("other_venv")}, {"HOME", here.at("home")},
      {"LD_PRELOAD", WICK_FAKE_PYTHON},       {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
  for (const std::string& place : places) {
    EXPECT_EQ(found(kProbe, "", environment, program), here.at(place));
    fs::remove(here.at(place));
  }
  EXPECT_EQ(found(kProbe, "", environment, program),
            "libwick_probe.so.13, .12 not found; searched: the loader's path, $CUDA_PATH/lib64, "
            "/usr/local/cuda*/lib64, the running Python's nvidia/*/lib, torch/lib");
}

TEST(CudaLibraries, RelativePathsAndOpenFoldersAreNotSearched) {
  const Folder here;
  here.add("cuda/lib64/libwick_probe.so.13");
  const std::string path = here.at("cuda");
  EXPECT_EQ(found(kProbe, "", {{"CUDA_PATH", path}}), path + "/lib64/libwick_probe.so.13");
  EXPECT_NE(found(kProbe, "", {{"CUDA_PATH", path.substr(1)}}).find("not found"),
            std::string::npos);
  fs::permissions(path + "/lib64", fs::perms::others_write, fs::perm_options::add);
  EXPECT_NE(found(kProbe, "", {{"CUDA_PATH", path}}).find("every user may write its folder"),
            std::string::npos);
}

}  // namespace
}  // namespace wick::gpu

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--find") == 0) {
    for (const wick::gpu::Row& row : wick::gpu::kRows) {
      if (std::strcmp(row.library.stem, argv[2]) != 0) continue;
      const wick::gpu::OpenedLibrary opened = wick::gpu::open_library(row.library, argv[3]);
      std::fputs((opened.handle ? opened.file : opened.why_none).c_str(), stdout);
      return 0;
    }
    return 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
