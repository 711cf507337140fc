// wick_rocm through its table, over the scripted libamdhip64 of fake_hip/: what it does and says on
// machines that are not here. Each test runs in a child of this process, since the module and the
// runtime are never closed.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "fake_hip/fake_hip.h"
#include "runtime/staging.h"
#include "scalar/unary.h"
#include "wick/abi/backend.h"
#include "wick/abi/runtime_code.h"

// A process may export HIP's registration functions, as PyTorch's does: the module must not call
// these.
static int foreign_registrations = 0;
extern "C" __attribute__((visibility("default"))) void** __hipRegisterFatBinary(const void*) {
  foreign_registrations++;
  return nullptr;
}
extern "C" __attribute__((visibility("default"))) void __hipRegisterFunction(void**, const void*,
                                                                             char*, const char*,
                                                                             int, void*, void*,
                                                                             void*, void*, int*) {
  foreign_registrations++;
}
extern "C" __attribute__((visibility("default"))) void __hipUnregisterFatBinary(void**) {
  foreign_registrations++;
}

namespace wick {
namespace {

namespace fs = std::filesystem;

const std::string kFakes =
    WICK_FAKE_HIP_FOLDER;  // a folder each: 5, 6, 7, incomplete, without_graphs, renamed
const std::string kFake7 = kFakes + "/7/libamdhip64.so.7";
const std::string kModule = WICK_ROCM_MODULE;
const std::string kModuleTargets = " " WICK_ROCM_TARGETS " ";

using Environment = std::vector<std::pair<const char*, std::string>>;

/// Runs a test's body in a child with these variables, and takes over its failures.
void in_child(const Environment& environment, const std::function<void()>& body) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (const char* variable :
         {"WICK_HIP_RUNTIME", "WICK_SYSFS_ROOT", "WICK_DEV_ROOT", "ROCR_VISIBLE_DEVICES",
          "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
      unsetenv(variable);
    setenv("WICK_SYSFS_ROOT", "/nonexistent", 1);
    for (const auto& [name, value] : environment) setenv(name, value.c_str(), 1);
    body();
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "see the child's failure above; status " << status;
}

/// The usual surroundings: these cards and the fake of ROCm 7.
Environment cards(const std::string& devices) {
  return {{"WICK_HIP_RUNTIME", kFake7}, {"FAKE_HIP_DEVICES", devices}};
}
Environment with(Environment e, const char* name, const std::string& value) {
  e.emplace_back(name, value);
  return e;
}

void* open_module() {
  void* module = dlopen(kModule.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module) {
    fprintf(stderr, "%s\n", dlerror());
    _exit(2);
  }
  return module;
}
const Backend& backend() {
  static const Backend* const table =
      reinterpret_cast<BackendEntry>(dlsym(open_module(), kBackendEntryName))();
  return *table;
}

/// A function of the fake, once the module has opened it.
template <class F>
F* fake(F*, const char* name, const std::string& library = kFake7) {
  backend().device_count(nullptr);
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  return handle ? reinterpret_cast<F*>(dlsym(handle, name)) : nullptr;
}
#define FAKE(function) fake(&function, #function)

std::string log_text() { return FAKE(fake_hip_log)(); }
int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) n++;
  return n;
}
#define EXPECT_HAS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)
#define EXPECT_OK(call)                      \
  do {                                       \
    const Status status = (call);            \
    EXPECT_TRUE(status.ok()) << status.text; \
  } while (0)

View vector_view(void* data, int64 n) {
  View view{};
  view.data = data, view.dtype = DType::kF32, view.rank = 1;
  view.shape[0] = n, view.strides[0] = 1;
  return view;
}

/// Runs y = op(x), f32 and contiguous, by the first kernel that accepts it.
Status run(const Op& op, int32 device, void* stream, void* x, void* y, int64 n = 1000) {
  const DType dtypes[] = {DType::kF32, DType::kF32};
  const KernelQuery query{&op, dtypes, 1, 1};
  const Kernel* kernels = nullptr;
  const int32 num_kernels = backend().find_kernels(device, &query, &kernels);
  DeviceInfo info;
  backend().device_info(device, &info);
  const View in = vector_view(x, n), out = vector_view(y, n);
  const Call call{&in, &out, 1, 1, &op, nullptr, device, stream, nullptr, 0};
  for (int32 i = 0; i < num_kernels; i++)
    if (!kernels[i].accepts || !kernels[i].accepts(&kernels[i], &call, &info))
      return kernels[i].run(&kernels[i], &call);
  return {StatusCode::kUnsupported, "no kernel"};
}

/// Memory for x and y on a device, and a stream.
struct Fixture {
  explicit Fixture(int32 ordinal = 0) : device(ordinal) {
    EXPECT_OK(backend().alloc(device, 4000, &x));
    EXPECT_OK(backend().alloc(device, 4000, &y));
    EXPECT_OK(backend().stream_create(device, &stream));
  }
  Status neg() { return run(Neg::op, device, stream, x, y); }
  Status synchronize(ErrorRecord* record = nullptr) {
    return backend().stream_synchronize(device, stream, record);
  }
  int32 device;
  void *x = nullptr, *y = nullptr, *stream = nullptr;
};

bool module_has(const std::string& target) {
  return kModuleTargets.find(" " + target + " ") != std::string::npos;
}
#define NEEDS(target) \
  if (!module_has(target)) GTEST_SKIP() << "the module is built without " << (target)

/// A folder that goes away with the test.
struct Folder {
  Folder() {
    char name[] = "/tmp/wick_rocm_XXXXXX";
    path = mkdtemp(name);
    chmod(name, 0755);
  }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories(fs::path(path + "/" + file).parent_path());
    std::ofstream(path + "/" + file) << text;
  }
  std::string path;
};

std::string why_none(int expected) {
  const char* why = nullptr;
  EXPECT_EQ(backend().device_count(&why), expected);
  const std::string text = why ? why : "";
  EXPECT_EQ(text.find('\n'), std::string::npos);
  return text;
}

// ---- the module's file

TEST(RocmModule, FillsTheTableOfThisAbi) {
  in_child(cards(""), [] {
    EXPECT_EQ(backend().abi_version, kAbiVersion);
    EXPECT_EQ(backend().struct_size, sizeof(Backend));
    EXPECT_EQ(backend().layout_hash, kLayoutHash);
    EXPECT_STREQ(backend().name, "rocm");
  });
}

TEST(RocmModule, ShowsOneSymbolAndUsesItsOwnRegistration) {
  NEEDS("gfx1100");
  in_child(cards("gfx1100"), [] {
    void* module = open_module();
    for (const char* name : {"__hipRegisterFatBinary", "__hipRegisterFunction", "hipLaunchKernel"})
      EXPECT_EQ(dlsym(module, name), nullptr) << name;
    EXPECT_EQ(foreign_registrations, 0);
    Fixture f;
    EXPECT_OK(f.neg());
    EXPECT_OK(f.synchronize());
    EXPECT_EQ(count(log_text(), "launch "), 1);
    EXPECT_EQ(count(log_text(), "registered with the runtime"), 0);
  });
}

TEST(RocmModule, OpensNothingBeforeItIsAsked) {
  in_child(cards("gfx1100"), [] {
    EXPECT_EQ(backend().abi_version, kAbiVersion);
    EXPECT_EQ(dlopen(kFake7.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
  });
}

// ---- which runtime

/// The module's reason for having no cards, in a new process with these variables. `loaded` is a library
/// that the process loads first; `program` is the path by which it is started. The reason names the
/// runtime that was opened.
std::string said_by(const Environment& environment, const std::string& loaded = "",
                    const std::string& program = fs::read_symlink("/proc/self/exe")) {
  std::string command = "cd / && env -i FAKE_HIP_DEVICES= WICK_SYSTEM_ROOT=/nonexistent";
  for (const auto& [name, value] : environment)
    command += std::string(" ") + name + "='" + value + "'";
  command += " '" + program + "' --why-none '" + loaded + "'";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  for (char part[4096]; const size_t n = fread(part, 1, sizeof part, pipe);) text.append(part, n);
  EXPECT_EQ(pclose(pipe), 0) << text;
  return text;
}
std::string found(const std::string& file) { return "ROCm runtime found (" + file + "), "; }

bool real_runtime_is_here() {
  for (const char* name : {"libamdhip64.so.8", "libamdhip64.so.7", "libamdhip64.so.6",
                           "libamdhip64.so.5", "libamdhip64.so"})
    if (dlopen(name, RTLD_NOW)) return true;
  return false;
}
#define NEEDS_NO_REAL_RUNTIME() \
  if (real_runtime_is_here()) GTEST_SKIP() << "a real ROCm is in the loader's path"

/// Copies of the fake of ROCm 7 in folders of a temporary one.
struct Installations : Folder {
  std::string at(const std::string& file) const { return path + "/" + file; }
  void add(const std::string& file, const std::string& original = kFake7) const {
    fs::create_directories(fs::path(at(file)).parent_path());
    fs::copy_file(original, at(file));
  }
  /// Starts a Python: a link of this program's that has a library preloaded.
  std::string python(const std::string& file) const {
    fs::create_directories(fs::path(at(file)).parent_path());
    fs::create_symlink(fs::read_symlink("/proc/self/exe"), at(file));
    return at(file);
  }
};

TEST(RocmRuntime, IsSearchedForInTheOrderOfTheTable) {
  NEEDS_NO_REAL_RUNTIME();
  const Installations here;
  const std::string program = here.python("venv/bin/python");
  const std::string packages = "venv/lib/python3.11/site-packages/";
  const std::vector<std::string> places = {
      "path/libamdhip64.so.8",
      "path/libamdhip64.so.7",
      "path/libamdhip64.so.6",
      "path/libamdhip64.so.5",
      "path/libamdhip64.so",
      "rocm_path/lib/libamdhip64.so.8",
      "rocm_path/lib/libamdhip64.so.7",
      "rocm_path/lib/libamdhip64.so",
      "hip_path/lib/libamdhip64.so.7",
      "root/opt/rocm-7.10.0/lib/libamdhip64.so.7",
      "root/opt/rocm-7.9.0/lib/libamdhip64.so.7",
      "root/opt/rocm-6.4.1/lib/libamdhip64.so.6",
      "root/opt/rocm/core-7.14/lib/libamdhip64.so.7",
      "root/opt/rocm/core-7.12/lib/libamdhip64.so.7",
      packages + "_rocm_sdk_core/lib/libamdhip64.so.7",
      "venv/lib64/python3.11/site-packages/_rocm_sdk_core/lib/libamdhip64.so.7",
      "venv/lib/python3.11/dist-packages/_rocm_sdk_core/lib/libamdhip64.so.7",
      "other_venv/lib/python3.11/site-packages/_rocm_sdk_core/lib/libamdhip64.so.7",
      "home/.local/lib/python3.11/site-packages/_rocm_sdk_core/lib/libamdhip64.so.7",
      packages + "_rocm_sdk_libraries_gfx110X_all/lib/libamdhip64.so.7",
      packages + "torch/lib/libamdhip64.so",
  };
  for (const std::string& place : places) here.add(place);
  here.add("venv/lib/python3.12/site-packages/torch/lib/libamdhip64.so");  // of another Python
  const Environment environment = {{"LD_LIBRARY_PATH", here.at("path")},
                                   {"ROCM_PATH", here.at("rocm_path")},
                                   {"HIP_PATH", here.at("hip_path")},
                                   {"WICK_SYSTEM_ROOT", here.at("root")},
                                   {"VIRTUAL_ENV", here.at("other_venv")},
                                   {"HOME", here.at("home")},
                                   {"LD_PRELOAD", kFakes + "/libfake_python.so"}};
  const std::string named = kFakes + "/6/libamdhip64.so.6";
  EXPECT_HAS(said_by(with(environment, "WICK_HIP_RUNTIME", named), "", program), found(named));
  const std::string loaded = kFakes + "/renamed/libamdhip64-1a2b3c.so";
  EXPECT_HAS(said_by(environment, loaded, program), found(loaded));
  for (const std::string& place : places) {
    EXPECT_HAS(said_by(environment, "", program), found(here.at(place)));
    fs::remove(here.at(place));
  }
  EXPECT_HAS(said_by(environment, "", program),
             "no ROCm runtime: libamdhip64.so.8, .7, .6, .5 not");
}

TEST(RocmRuntime, PackagesOfPythonAreSearchedByPythonAlone) {
  NEEDS_NO_REAL_RUNTIME();
  const Installations here;
  const std::string program = here.python("venv/bin/python");
  const std::string file = "venv/lib/python3.11/site-packages/torch/lib/libamdhip64.so";
  here.add(file);
  const Environment python = {{"LD_PRELOAD", kFakes + "/libfake_python.so"}};
  EXPECT_HAS(said_by(python, "", program), found(here.at(file)));
  EXPECT_HAS(said_by({}, "", program), "no ROCm runtime: ");
  // Started by its name alone, as a shell does that finds it in its path.
  const Environment by_name = with(python, "PATH", here.at("venv/bin"));
  EXPECT_HAS(said_by(by_name, "", "python"), found(here.at(file)));
}

TEST(RocmRuntime, ALinkCountsAsTheFolderThatItLeadsTo) {
  NEEDS_NO_REAL_RUNTIME();
  const Installations here;
  here.add("root/opt/rocm-6.4.1/lib/libamdhip64.so.6");
  here.add("root/opt/rocm-7.2.0/lib/libamdhip64.so.7");
  const Environment environment = {{"WICK_SYSTEM_ROOT", here.at("root")}};
  fs::create_directory_symlink("rocm-6.4.1", here.at("root/opt/rocm"));
  EXPECT_HAS(said_by(environment), found(here.at("root/opt/rocm-7.2.0/lib/libamdhip64.so.7")));
}

TEST(RocmRuntime, PrefersOneThatTheProcessHasLoaded) {
  const std::string f = kFakes;
  const Environment environment = {{"LD_LIBRARY_PATH", f + "/6:" + f + "/7"}};
  for (const std::string& loaded :
       {f + "/5/libamdhip64.so.5", f + "/6/libamdhip64.so.6", f + "/renamed/libamdhip64-1a2b3c.so"})
    EXPECT_HAS(said_by(environment, loaded), found(loaded));
}

TEST(RocmRuntime, RelativePathsAreNotSearched) {
  NEEDS_NO_REAL_RUNTIME();
  const Installations here;
  here.add("lib/libamdhip64.so.7");
  for (const std::string& path : {here.path.substr(1), "." + here.path})  // said_by starts it in /
    EXPECT_HAS(said_by({{"ROCM_PATH", path}, {"HIP_PATH", path}}), "no ROCm runtime: ");
}

TEST(RocmRuntime, WhatEveryUserMayWriteIsPassedOver) {
  NEEDS_NO_REAL_RUNTIME();
  const Installations here;
  here.add("open/lib/libamdhip64.so.7");
  here.add("closed/lib/libamdhip64.so.7");
  const std::string open = here.at("open/lib/libamdhip64.so.7");
  for (const std::string& writable : {here.at("open/lib"), open}) {
    fs::permissions(writable, fs::perms::others_write, fs::perm_options::add);
    const std::string which = writable == open ? "it" : "its folder";
    EXPECT_HAS(said_by({{"ROCM_PATH", here.at("open")}}),
               open + ": passed over, since every user may write " + which);
    EXPECT_HAS(said_by({{"ROCM_PATH", here.at("open")}, {"HIP_PATH", here.at("closed")}}),
               found(here.at("closed/lib/libamdhip64.so.7")));
    fs::permissions(writable, fs::perms::others_write, fs::perm_options::remove);
  }
  EXPECT_HAS(said_by({{"ROCM_PATH", here.at("open")}}), found(open));
}

TEST(RocmRuntime, ItsOwnLibrariesAreFoundBesideIt) {
  NEEDS_NO_REAL_RUNTIME();
  const Installations here;
  here.add("rocm/lib/libamdhip64.so.7", kFakes + "/dependent/libamdhip64.so.7");
  here.add("other/lib/libamdhip64.so.7");
  const std::string file = here.at("rocm/lib/libamdhip64.so.7");
  const Environment environment = {{"ROCM_PATH", here.at("rocm")}};
  const std::string why = said_by(environment);
  EXPECT_HAS(why, "no ROCm runtime: it is there but cannot be loaded: ");
  EXPECT_HAS(why, "libfake_dependency.so: cannot open shared object file");
  EXPECT_HAS(said_by(with(environment, "HIP_PATH", here.at("other"))),
             found(here.at("other/lib/libamdhip64.so.7")));
  here.add("rocm/lib/libfake_dependency.so", kFakes + "/libfake_dependency.so");
  EXPECT_HAS(said_by(environment), found(file));
}

TEST(RocmRuntime, IsDescribedByItsFileAndItsVersion) {
  in_child(cards("gfx1100"),
           [] { EXPECT_STREQ(backend().describe_runtime(), (kFake7 + " (HIP 7.0)").c_str()); });
  in_child({{"WICK_HIP_RUNTIME", "/nonexistent/libamdhip64.so.7"}},
           [] { EXPECT_STREQ(backend().describe_runtime(), ""); });
}

TEST(RocmRuntime, ASecondOneInTheProcessIsALineOfItsDescription) {
  in_child(cards("gfx1100"), [] {
    ASSERT_EQ(backend().device_count(nullptr), 1);
    const std::string renamed = kFakes + "/renamed/libamdhip64-1a2b3c.so";
    ASSERT_NE(dlopen(renamed.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr);
    EXPECT_EQ(std::string(backend().describe_runtime()),
              kFake7 +
                  " (HIP 7.0)\n2 are loaded in this process and share neither memory nor "
                  "streams; wick does not use " +
                  renamed);
  });
}

TEST(RocmRuntime, SaysWhatToInstallWhereThereIsNone) {
  NEEDS_NO_REAL_RUNTIME();
  EXPECT_EQ(said_by({}),
            "no ROCm runtime: libamdhip64.so.8, .7, .6, .5 not found; searched: the loader's path, "
            "$ROCM_PATH/lib, $HIP_PATH/lib, /opt/rocm*/lib, /opt/rocm/core*/lib, the running "
            "Python's _rocm_sdk_core/lib, _rocm_sdk_libraries*/lib, torch/lib; install ROCm 6 or "
            "newer (on Debian: apt install libamdhip64-5), or set WICK_HIP_RUNTIME to its path\n");
}

TEST(RocmRuntime, SaysWhyTheNamedOneDoesNotLoad) {
  in_child({{"WICK_HIP_RUNTIME", "/nonexistent/libamdhip64.so.7"}}, [] {
    EXPECT_HAS(why_none(-1),
               "no ROCm runtime: WICK_HIP_RUNTIME is /nonexistent/libamdhip64.so.7: ");
    EXPECT_HAS(why_none(-1), "cannot open shared object file");
  });
}

TEST(RocmRuntime, NamesTheFunctionsThatAreMissing) {
  const std::string incomplete = kFakes + "/incomplete/libamdhip64.so.7";
  in_child(with(cards("gfx1100"), "WICK_HIP_RUNTIME", incomplete), [&] {
    EXPECT_EQ(why_none(-1),
              "no ROCm runtime: " + incomplete +
                  " is there but lacks hipModuleLaunchKernel; install ROCm 6 or newer");
    DeviceInfo info;
    EXPECT_EQ(backend().device_info(0, &info).code, StatusCode::kInvalidArgument);
  });
}

TEST(RocmRuntime, ReadsTheArchitectureInEachVersionsLayout) {
  for (const std::string version : {"5", "6", "7"}) {
    const std::string library = kFakes + "/" + version + "/libamdhip64.so." + version;
    in_child(with(cards("gfx942:sramecc+:xnack- gfx1201"), "WICK_HIP_RUNTIME", library), [] {
      ASSERT_EQ(backend().device_count(nullptr), 2);
      DeviceInfo info;
      backend().device_info(0, &info);
      EXPECT_STREQ(info.architecture, "gfx942:sramecc+:xnack-");
      backend().device_info(1, &info);
      EXPECT_STREQ(info.architecture, "gfx1201");
    });
  }
}

// ---- no card

TEST(RocmWithoutACard, SaysThatTheDriverIsMissing) {
  const Folder dev;
  in_child(with(cards(""), "WICK_DEV_ROOT", dev.path), [&] {
    EXPECT_HAS(why_none(0),
               "ROCm runtime found (" + kFake7 + "), no AMD GPU: " + dev.path + "/kfd is missing");
    EXPECT_HAS(why_none(0), "--device=/dev/kfd");
  });
}

TEST(RocmWithoutACard, SaysThatPermissionIsMissing) {
  const Folder dev;
  dev.write("kfd", "");
  chmod((dev.path + "/kfd").c_str(), 0);
  in_child(with(cards(""), "WICK_DEV_ROOT", dev.path), [&] {
    if (geteuid() == 0) {
      backend();  // nobody else may be allowed to read the module's folder
      ASSERT_NE(dlopen(kFake7.c_str(), RTLD_NOW), nullptr);
      ASSERT_EQ(seteuid(65534), 0);
    }
    EXPECT_HAS(why_none(0),
               dev.path + "/kfd: no permission; add the user to the groups render and video");
  });
}

TEST(RocmWithoutACard, NamesTheVariableThatMayHideIt) {
  const Folder dev;
  dev.write("kfd", "");
  in_child(with(with(cards(""), "WICK_DEV_ROOT", dev.path), "HIP_VISIBLE_DEVICES", "-1"),
           [] { EXPECT_HAS(why_none(0), "HIP_VISIBLE_DEVICES='-1' may hide it"); });
}

TEST(RocmWithoutACard, PassesOnAnotherErrorOfTheRuntime) {
  in_child(with(cards("gfx1100"), "FAKE_HIP_FAIL", "hipGetDeviceCount=719"), [] {
    EXPECT_HAS(why_none(0),
               "but hipGetDeviceCount: hipErrorLaunchFailure (unspecified launch failure)");
  });
}

// ---- cards

TEST(RocmDevices, DescribesTwo) {
  NEEDS("gfx1100");
  NEEDS("gfx942");
  in_child(cards("gfx1100 gfx942:sramecc+:xnack-"), [] {
    const char* why = "unset";
    ASSERT_EQ(backend().device_count(&why), 2);
    EXPECT_EQ(why, nullptr);
    DeviceInfo first, second;
    EXPECT_OK(backend().device_info(0, &first));
    EXPECT_OK(backend().device_info(1, &second));
    EXPECT_STREQ(first.name, "Fake Radeon 0");
    EXPECT_EQ(first.ordinal, 0);
    EXPECT_EQ(first.wave, 32);
    EXPECT_EQ(first.compute_units, 40);
    EXPECT_EQ(first.shared_memory_bytes, 65536);
    EXPECT_EQ(first.total_bytes, int64(1) << 30);
    EXPECT_EQ(first.integrated, 0);
    EXPECT_EQ(first.computes_bf16, 1);
    EXPECT_EQ(second.ordinal, 1);
    EXPECT_EQ(second.wave, 64);
    EXPECT_EQ(second.compute_units, 41);
    EXPECT_NE(first.families, second.families);
  });
}

TEST(RocmDevices, TellsAnIntegratedOneBesideADiscreteOne) {
  NEEDS("gfx11-generic");
  in_child(cards("gfx1100 gfx1103,integrated"), [] {
    ASSERT_EQ(backend().device_count(nullptr), 2);
    DeviceInfo info;
    EXPECT_OK(backend().device_info(0, &info));
    EXPECT_EQ(info.integrated, 0);
    EXPECT_OK(backend().device_info(1, &info));
    EXPECT_EQ(info.integrated, 1);
    EXPECT_STREQ(info.name, "AMD gfx1103");  // HIP has no name for it
  });
}

TEST(RocmDevices, AnUnknownArchitectureHasItsReasonAndHarmsNoOther) {
  NEEDS("gfx1100");
  in_child(cards("gfx803 gfx1100"), [] {
    DeviceInfo info;
    const Status status = backend().device_info(0, &info);
    EXPECT_EQ(status.code, StatusCode::kKernelNotFound);
    EXPECT_HAS(status.text,
               "rocm:0 (Fake Radeon 0) is gfx803, for which this module has no code: it has ");
    EXPECT_HAS(status.text, "gfx1100");
    EXPECT_STREQ(info.architecture, "gfx803");
    const DType dtypes[] = {DType::kF32, DType::kF32};
    const KernelQuery query{&Neg::op, dtypes, 1, 1};
    const Kernel* kernels = nullptr;
    EXPECT_EQ(backend().find_kernels(0, &query, &kernels), 0);
    Fixture f(1);
    EXPECT_OK(f.neg());
    EXPECT_OK(f.synchronize());
    EXPECT_HAS(log_text(), " on 1 grid ");
  });
}

TEST(RocmDevices, AnOrdinalThatIsNotThereIsNamed) {
  in_child(cards("gfx1100 gfx1100"), [] {
    void* p = nullptr;
    for (const int32 ordinal : {2, -1}) {
      const Status status = backend().alloc(ordinal, 64, &p);
      EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
      EXPECT_EQ(std::string(status.text),
                "rocm:" + std::to_string(ordinal) + ": there are 2 devices");
    }
  });
}

// ---- code objects

TEST(RocmObjects, TheCardsOwnComesBeforeItsGenericOne) {
  NEEDS("gfx1100");
  NEEDS("gfx11-generic");
  in_child(cards("gfx1100 gfx1102"), [] {
    Fixture own(0), generic(1);
    EXPECT_OK(own.neg());
    EXPECT_OK(generic.neg());
    EXPECT_EQ(count(log_text(), "load gfx1100 on 0\n"), 1);
    const std::string best = module_has("gfx1102") ? "gfx1102" : "gfx11-generic";
    EXPECT_EQ(count(log_text(), "load " + best + " on 1\n"), 1);
    EXPECT_EQ(count(log_text(), "load "), 2);
  });
}

TEST(RocmObjects, ACardWithoutItsOwnTakesTheGenericOne) {
  struct Row {
    std::string card, generic;
  };
  for (const auto& [card, generic] : {Row{"gfx1010:xnack-", "gfx10-1-generic"},
                                      {"gfx1012:xnack-", "gfx10-1-generic"},
                                      {"gfx1032", "gfx10-3-generic"},
                                      {"gfx1033", "gfx10-3-generic"},
                                      {"gfx1036", "gfx10-3-generic"},
                                      {"gfx90c:xnack-", "gfx9-generic"},
                                      {"gfx900:xnack-", "gfx9-generic"},
                                      {"gfx1102", "gfx11-generic"}}) {
    if (!module_has(generic) || module_has(card)) continue;
    in_child(cards(card), [&] {
      Fixture f;
      EXPECT_OK(f.neg());
      EXPECT_OK(f.synchronize());
      EXPECT_EQ(count(log_text(), "load " + generic + " on 0\n"), 1) << card << ": " << log_text();
    });
  }
}

TEST(RocmObjects, ACardWithNeitherIsNamedBesideTheTargetsThatThereAre) {
  for (const std::string card : {"gfx803", "gfx940", "gfx1250", "unknown"}) {
    in_child(cards(card), [&] {
      DeviceInfo info;
      const Status status = backend().device_info(0, &info);
      EXPECT_EQ(status.code, StatusCode::kKernelNotFound);
      EXPECT_HAS(status.text, " is " + card + ", for which this module has no code: it has ");
      std::istringstream targets(kModuleTargets);
      for (std::string target; targets >> target;)
        EXPECT_HAS(std::string(status.text) + " ", " " + target + " ");
    });
  }
}

TEST(RocmObjects, FeaturesOfTheArchitectureDoNotMatter) {
  NEEDS("gfx942");
  in_child(cards("gfx942:sramecc+:xnack-"), [] {
    Fixture f;
    EXPECT_OK(f.neg());
    EXPECT_EQ(count(log_text(), "load gfx942 on 0\n"), 1);
  });
}

TEST(RocmObjects, AUnitIsLoadedOnceAtItsFirstKernel) {
  NEEDS("gfx1100");
  in_child(cards("gfx1100"), [] {
    Fixture f;
    EXPECT_EQ(count(log_text(), "load "), 0);
    EXPECT_OK(f.neg());
    EXPECT_EQ(count(log_text(), "load "), 1);
    EXPECT_OK(f.neg());
    EXPECT_OK(run(Sqrt::op, 0, f.stream, f.x, f.y));
    EXPECT_OK(f.synchronize());
    EXPECT_EQ(count(log_text(), "load "), 1);
    EXPECT_EQ(count(log_text(), "launch "), 3);
  });
}

TEST(RocmObjects, ThreadsThatAskAtOnceLoadOnce) {
  NEEDS("gfx1100");
  in_child(cards("gfx1100"), [] {
    Fixture f;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
      threads.emplace_back([&] {
        for (const Op& op : {Neg::op, Sqrt::op, Silu::op})
          EXPECT_OK(run(op, 0, f.stream, f.x, f.y));
      });
    for (std::thread& t : threads) t.join();
    EXPECT_OK(f.synchronize());
    EXPECT_EQ(count(log_text(), "load "), 1);
    EXPECT_EQ(count(log_text(), "launch "), 24);
  });
}

TEST(RocmObjects, ARuntimeThatRefusesThemIsToldFromAMissingKernel) {
  NEEDS("gfx1100");
  in_child(with(cards("gfx1100"), "FAKE_HIP_FAIL", "hipModuleLoadData=200"), [] {
    Fixture f;
    const Status status = f.neg();
    EXPECT_EQ(status.code, StatusCode::kModuleNotLoaded);
    EXPECT_HAS(status.text, "neg to f32 [1000] on rocm:0: unit ");
    EXPECT_HAS(status.text,
               " for gfx1100: hipModuleLoadData on rocm:0 (gfx1100): hipErrorInvalidImage: ");
    EXPECT_HAS(status.text, "install ROCm 6");
  });
  in_child(with(cards("gfx1100"), "FAKE_HIP_FAIL", "hipModuleGetFunction=500"), [] {
    Fixture f;
    const Status status = f.neg();
    EXPECT_EQ(status.code, StatusCode::kKernelNotFound);
    EXPECT_HAS(status.text, " for gfx1100 does not hold _ZN4wick3gpu5entry");
  });
}

// ---- users' code objects

std::string code_object(const std::string& target) {
  std::ifstream in(std::string(WICK_PLAN_KERNELS) + "/plan_kernels." + target + ".hsaco",
                   std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
Status load(const std::string& image, void** module, int32 device = 0) {
  return backend().runtime_code->load(device, image.data(), int64(image.size()), module);
}

TEST(RocmCode, IsLoadedLaunchedAndUnloaded) {
  in_child(cards("gfx1100 gfx1100"), [] {
    const RuntimeCode& code = *backend().runtime_code;
    void *module = nullptr, *stream = nullptr;
    EXPECT_OK(backend().stream_create(1, &stream));
    EXPECT_OK(load(code_object("gfx1100"), &module, 1));
    KernelFacts facts{};
    EXPECT_OK(code.find(1, module, "affine_f32", &facts));
    EXPECT_EQ(std::vector<int32>(facts.argument_bytes, facts.argument_bytes + facts.num_arguments),
              (std::vector<int32>{8, 8, 8, 8, 8, 4, 4}));
    EXPECT_EQ(facts.max_threads, 256);
    const uint64 value = 0;
    const std::vector<const void*> arguments(7, &value);
    const KernelLaunch launch{"affine_f32", {2, 3, 4}, {8, 4, 2}, 0, arguments.data()};
    EXPECT_OK(code.launch(1, facts.function, &launch, stream));
    code.unload(1, module);  // waits for the launch
    EXPECT_HAS(log_text(),
               "load gfx1100 on 1\nlaunch affine_f32 on 1 grid 2 3 4 block 64\nunload\n");
  });
}

TEST(RocmCode, TakesAGenericTarget) {
  NEEDS("gfx11-generic");
  in_child(cards("gfx1102"), [] {
    void* module = nullptr;
    EXPECT_OK(load(code_object("gfx11-generic"), &module));
    const Status status = load(code_object("gfx1100"), &module);
    EXPECT_EQ(status.code, StatusCode::kKernelNotFound);
    EXPECT_HAS(status.text, "it has code for gfx1100, this GPU is gfx1102");
  });
}

TEST(RocmCode, FeaturesOfTheCardAreNamed) {
  in_child(cards("gfx942:sramecc+:xnack-"), [] {
    void* module = nullptr;
    EXPECT_OK(load(code_object("gfx942"), &module));
    const Status status = load(code_object("gfx1100"), &module);
    EXPECT_EQ(status.code, StatusCode::kKernelNotFound);
    EXPECT_HAS(status.text, "it has code for gfx1100, this GPU is gfx942:sramecc+:xnack-");
  });
}

TEST(RocmCode, ARefusalOfTheRuntimeIsPassedOn) {
  in_child(with(cards("gfx1100"), "FAKE_HIP_FAIL", "hipModuleLoadData=200"), [] {
    void* module = nullptr;
    const Status status = load(code_object("gfx1100"), &module);
    EXPECT_EQ(status.code, StatusCode::kModuleNotLoaded);
    EXPECT_HAS(status.text, "hipModuleLoadData on rocm:0 (gfx1100): hipErrorInvalidImage");
  });
  in_child(cards("gfx1100"), [] {
    void* module = nullptr;
    EXPECT_OK(load(code_object("gfx1100"), &module));
    KernelFacts facts{};
    const Status status = backend().runtime_code->find(0, module, "none", &facts);
    EXPECT_EQ(status.code, StatusCode::kKernelNotFound);
    EXPECT_HAS(status.text, "there is no kernel none, its kernels are ");
    EXPECT_HAS(status.text, "usqr_f32, ");
  });
}

TEST(RocmCode, ABrokenKernelIsNamedLater) {
  in_child(cards("gfx1100"), [] {
    const RuntimeCode& code = *backend().runtime_code;
    void* module = nullptr;
    EXPECT_OK(load(code_object("gfx1100"), &module));
    KernelFacts facts{};
    EXPECT_OK(code.find(0, module, "reverse_f32", &facts));
    FAKE(fake_hip_break_next_kernel)(719);
    const uint64 value = 0;
    const void* arguments[] = {&value, &value};
    {
      const std::string name = "reverse_f32 of a caller that forgets its name";
      const KernelLaunch launch{name.c_str(), {1, 1, 1}, {64, 1, 1}, 256, arguments};
      EXPECT_OK(code.launch(0, facts.function, &launch, nullptr));
    }
    const Status status = backend().stream_synchronize(0, nullptr, nullptr);
    EXPECT_EQ(status.code, StatusCode::kDeviceError);
    EXPECT_HAS(status.text, "last kernel launched on this stream: reverse_f32 of a caller");
  });
}

// ---- memory

TEST(RocmMemory, AFailingAllocationSaysHowMuchIsFree) {
  in_child(with(cards("gfx1100"), "FAKE_HIP_MEMORY", "1000000"), [] {
    void *first = nullptr, *second = nullptr;
    EXPECT_OK(backend().alloc(0, 600000, &first));
    const Status status = backend().alloc(0, 600000, &second);
    EXPECT_EQ(status.code, StatusCode::kOutOfMemory);
    EXPECT_STREQ(status.text,
                 "hipMalloc of 600000 bytes on rocm:0 (gfx1100): hipErrorOutOfMemory (out of "
                 "memory); 400000 of 1000000 "
                 "bytes are free");
    backend().free(0, first);
    EXPECT_OK(backend().alloc(0, 600000, &second));
    EXPECT_EQ(reinterpret_cast<uint64>(second) % 256, 0u);
    using GetLastError = int();
    EXPECT_EQ(fake(static_cast<GetLastError*>(nullptr), "hipGetLastError")(), 0)
        << "an error is left for others to find";
  });
}

TEST(RocmMemory, FreeIsTheLesserOfHipAndSysfs) {
  const Folder sys;
  const std::string card = "bus/pci/devices/0000:0a:00.0/";  // HIP says 0000:0A:00.0
  sys.write(card + "mem_info_vram_total", "1073741824\n");
  sys.write(card + "mem_info_vram_used", "1000000000\n");  // the desktop and others
  in_child(with(cards("gfx1100 gfx1100"), "WICK_SYSFS_ROOT", sys.path), [] {
    int64 free_bytes = 0, total = 0;
    EXPECT_OK(backend().memory_info(0, &free_bytes, &total));
    EXPECT_EQ(free_bytes, 73741824);
    EXPECT_EQ(total, 1073741824);
    EXPECT_OK(backend().memory_info(1, &free_bytes, &total));  // sysfs does not tell
    EXPECT_EQ(free_bytes, 1073741824);
  });
}

TEST(RocmMemory, AnIntegratedCardHasItsReservedAndItsSharedMemory) {
  const Folder sys;
  const std::string card = "bus/pci/devices/0000:0a:00.0/";
  sys.write(card + "mem_info_vram_total", "1000\n");
  sys.write(card + "mem_info_vram_used", "900\n");
  sys.write(card + "mem_info_gtt_total", "500000\n");
  sys.write(card + "mem_info_gtt_used", "100000\n");
  in_child(with(cards("gfx1103,integrated"), "WICK_SYSFS_ROOT", sys.path), [] {
    int64 free_bytes = 0, total = 0;
    EXPECT_OK(backend().memory_info(0, &free_bytes, &total));
    EXPECT_EQ(free_bytes, 100 + 400000);
    EXPECT_EQ(total, 1000 + 500000);
  });
}

TEST(RocmMemory, ACopyOfPageableMemoryIsDoneOnReturn) {
  in_child(cards("gfx1100"), [] {
    Fixture f;
    std::vector<float> sent(1000, 3.5f), received(1000, 0.f);
    EXPECT_OK(backend().copy(0, f.x, sent.data(), 4000, CopyKind::kHostToDevice, f.stream));
    sent.assign(1000, -1.f);  // the caller may, now
    EXPECT_OK(backend().copy(0, f.y, f.x, 4000, CopyKind::kOnDevice, f.stream));
    EXPECT_OK(backend().copy(0, received.data(), f.y, 4000, CopyKind::kDeviceToHost, f.stream));
    EXPECT_EQ(received, std::vector<float>(1000, 3.5f));
  });
}

TEST(RocmMemory, ACopyOfPinnedMemoryIsNotWaitedFor) {
  in_child(cards("gfx1100"), [] {
    Fixture f;
    void* pinned = nullptr;
    EXPECT_OK(backend().host_alloc(0, 4000, &pinned));
    auto* const values = static_cast<float*>(pinned);
    values[0] = values[999] = 0;
    EXPECT_OK(backend().fill(0, f.x, 0, 4000, f.stream));
    values[999] = 1;
    EXPECT_OK(backend().copy(0, values + 500, f.x, 2000, CopyKind::kDeviceToHost, f.stream));
    EXPECT_EQ(values[999], 1.f);
    EXPECT_OK(f.synchronize());
    EXPECT_EQ(values[999], 0.f);
    // Reaching beyond the pinned memory, it counts as pageable.
    backend().host_free(0, pinned);
    std::vector<float> pageable(1000, 1.f);
    EXPECT_OK(backend().copy(0, pageable.data(), f.x, 4000, CopyKind::kDeviceToHost, f.stream));
    EXPECT_EQ(pageable[999], 0.f);
  });
}

/// A file of so many bytes, mapped as a model's is.
struct MappedBytes {
  explicit MappedBytes(size_t count) : size(count) {
    FILE* const file = tmpfile();
    std::vector<uint32_t> numbers(count / 4 + 1);
    for (size_t i = 0; i < numbers.size(); i++) numbers[i] = uint32_t(i * 2654435761u);
    EXPECT_EQ(fwrite(numbers.data(), 1, count, file), count);
    fflush(file);
    data = mmap(nullptr, count, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    fclose(file);
    EXPECT_NE(data, MAP_FAILED);
  }
  ~MappedBytes() { munmap(data, size); }
  size_t size;
  void* data;
};

TEST(RocmMemory, HipSeesNoPageableMemoryAbove64KiB) {
  in_child(cards("gfx1100"), [] {
    using Copy = int(void*, const void*, size_t, int, void*);
    const size_t rest = size_t(gpu::kStagingBytes) / 2 + 123;
    const MappedBytes file(2 * size_t(gpu::kStagingBytes) + rest);
    std::vector<char> received(file.size);
    void *data = nullptr, *stream = nullptr;
    EXPECT_OK(backend().alloc(0, int64(file.size), &data));
    EXPECT_OK(backend().stream_create(0, &stream));
    // The fake refuses such a pointer, in both directions; 64 KiB it takes.
    const auto copy = fake(static_cast<Copy*>(nullptr), "hipMemcpyAsync");
    EXPECT_EQ(copy(data, file.data, 65537, 1, nullptr), 1);
    EXPECT_EQ(copy(received.data(), data, 65537, 2, nullptr), 1);
    EXPECT_EQ(copy(data, file.data, 65536, 1, nullptr), 0);
    const int before = count(log_text(), "copy of pageable ");
    for (void* on : {stream, static_cast<void*>(nullptr)}) {
      std::fill(received.begin(), received.end(), 0);
      EXPECT_OK(backend().fill(0, data, 0, int64(file.size), on));
      EXPECT_OK(backend().copy(0, data, file.data, int64(file.size), CopyKind::kHostToDevice, on));
      EXPECT_OK(
          backend().copy(0, received.data(), data, int64(file.size), CopyKind::kDeviceToHost, on));
      EXPECT_EQ(std::memcmp(received.data(), file.data, file.size), 0);
    }
    EXPECT_EQ(count(log_text(), "copy of pageable "), before);
    const auto pinned = [](size_t bytes) {
      return count(log_text(), ("copy of pinned " + std::to_string(bytes) + "\n").c_str());
    };
    EXPECT_EQ(pinned(size_t(gpu::kStagingBytes)), 2 * 2 * 2);
    EXPECT_EQ(pinned(rest), 2 * 2);
  });
}

TEST(RocmMemory, ALargePageableCopyHasReadTheMemoryWhenItReturns) {
  in_child(cards("gfx1100"), [] {
    constexpr size_t kBytes = size_t(gpu::kStagingBytes) * 5 / 2;
    std::vector<char> sent(kBytes, 7), received(kBytes, 0);
    void *data = nullptr, *stream = nullptr;
    EXPECT_OK(backend().alloc(0, int64(kBytes), &data));
    EXPECT_OK(backend().stream_create(0, &stream));
    EXPECT_OK(backend().copy(0, data, sent.data(), kBytes, CopyKind::kHostToDevice, stream));
    sent.assign(kBytes, -1);  // the caller may, now; the card has not copied all of it yet
    EXPECT_OK(backend().copy(0, received.data(), data, kBytes, CopyKind::kDeviceToHost, stream));
    EXPECT_EQ(received, std::vector<char>(kBytes, 7));
  });
}

TEST(RocmMemory, ACapturedGraphCopiesNoLargePageableMemory) {
  in_child(cards("gfx1100"), [] {
    Fixture f;
    std::vector<char> host(100000);
    void* data = nullptr;
    EXPECT_OK(backend().alloc(0, 100000, &data));
    EXPECT_OK(backend().graph_begin(0, f.stream));
    const Status status =
        backend().copy(0, data, host.data(), 100000, CopyKind::kHostToDevice, f.stream);
    EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
    EXPECT_STREQ(status.text, "copy: a graph being captured copies pinned host memory only");
  });
}

TEST(RocmMemory, CopiesBetweenCards) {
  in_child(cards("gfx1100 gfx1100"), [] {
    Fixture a(0), b(1);
    std::vector<float> sent(1000, 2.25f), received(1000);
    EXPECT_OK(backend().copy(0, a.x, sent.data(), 4000, CopyKind::kHostToDevice, a.stream));
    EXPECT_OK(backend().copy_peer(1, b.x, 0, a.x, 4000, b.stream));
    EXPECT_OK(backend().copy(1, received.data(), b.x, 4000, CopyKind::kDeviceToHost, b.stream));
    EXPECT_EQ(received, sent);
  });
}

// ---- threads and their current device

TEST(RocmThreads, TheCallersCurrentDeviceStays) {
  NEEDS("gfx1100");
  in_child(cards("gfx1100 gfx1100"), [] {
    backend().device_count(nullptr);
    using SetDevice = int(int);
    using GetDevice = int(int*);
    auto* const set_device = fake(static_cast<SetDevice*>(nullptr), "hipSetDevice");
    auto* const get_device = fake(static_cast<GetDevice*>(nullptr), "hipGetDevice");
    for (const int users : {0, 1})
      for (const int32 ours : {0, 1})
        std::thread([&] {
          int now = -1;
          set_device(users);
          Fixture f(ours);
          EXPECT_OK(f.neg());
          EXPECT_OK(f.synchronize());
          EXPECT_OK(run(Neg::op, ours, nullptr, f.x, f.y));
          EXPECT_OK(backend().stream_synchronize(ours, nullptr, nullptr));
          get_device(&now);
          EXPECT_EQ(now, users);
        }).join();
    EXPECT_EQ(count(log_text(), " on 0 grid "), 4);
    EXPECT_EQ(count(log_text(), " on 1 grid "), 4);
  });
}

// ---- failures that show later

TEST(RocmFailures, ABrokenKernelIsNamedAtTheNextSynchronizingCall) {
  NEEDS("gfx1100");
  in_child(cards("gfx1100"), [] {
    Fixture f;
    EXPECT_OK(run(Sqrt::op, 0, f.stream, f.x, f.y));
    EXPECT_OK(f.synchronize());
    FAKE(fake_hip_break_next_kernel)(719);
    EXPECT_OK(f.neg());
    const Status status = f.synchronize();
    EXPECT_EQ(status.code, StatusCode::kDeviceError);
    EXPECT_HAS(status.text,
               "hipStreamSynchronize on rocm:0 (gfx1100): hipErrorLaunchFailure (unspecified "
               "launch failure); last "
               "kernel launched on this stream: neg, out f32 [1000] (void wick::gpu::entry<");
    float value = 0;
    const Status read = backend().copy(0, &value, f.y, 4, CopyKind::kDeviceToHost, f.stream);
    EXPECT_EQ(read.code, StatusCode::kDeviceError);
    EXPECT_HAS(read.text, "last kernel launched on this stream: neg");
  });
}

TEST(RocmFailures, ARefusedLaunchNamesItsGridAndOutput) {
  NEEDS("gfx1100");
  in_child(with(cards("gfx1100"), "FAKE_HIP_FAIL", "hipModuleLaunchKernel=1"), [] {
    Fixture f;
    const Status status = f.neg();
    EXPECT_EQ(status.code, StatusCode::kDeviceError);
    EXPECT_HAS(
        status.text,
        "hipModuleLaunchKernel of neg to f32 [1000] on rocm:0 (gfx1100): hipErrorInvalidValue");
    EXPECT_HAS(status.text, "; grid ");
  });
}

TEST(RocmFailures, AStreamsErrorRecordIsHandedOutOnceAndByItsOwnStream) {
  NEEDS("gfx1100");
  in_child(cards("gfx1100"), [] {
    Fixture f, other;
    ErrorRecord record{};
    for (void* stream : {f.stream, static_cast<void*>(nullptr)}) {
      FAKE(fake_hip_record_next_kernel)(unsigned(StatusCode::kIdOutOfRange), 77);
      EXPECT_OK(run(Neg::op, 0, stream, f.x, f.y));
      EXPECT_OK(other.synchronize(&record));
      EXPECT_EQ(record.code, 0u);
      EXPECT_OK(backend().stream_synchronize(0, stream, &record));
      EXPECT_EQ(record.code, unsigned(StatusCode::kIdOutOfRange));
      EXPECT_EQ(record.position, 77);
      EXPECT_EQ(record.limit, 7);
      EXPECT_OK(backend().stream_synchronize(0, stream, &record));
      EXPECT_EQ(record.code, 0u);
    }
  });
}

// ---- events and graphs

TEST(RocmStreams, AnEventIsDoneWhenItsStreamIs) {
  in_child(cards("gfx1100"), [] {
    Fixture f;
    void* event = nullptr;
    int32 done = -1;
    EXPECT_OK(backend().event_create(0, &event));
    EXPECT_OK(backend().event_record(0, event, f.stream));
    EXPECT_OK(backend().event_query(0, event, &done));
    EXPECT_EQ(done, 0);
    EXPECT_OK(backend().stream_wait(0, nullptr, event));
    EXPECT_OK(f.synchronize());
    EXPECT_OK(backend().event_query(0, event, &done));
    EXPECT_EQ(done, 1);
    backend().event_destroy(0, event);
    backend().stream_destroy(0, f.stream);
  });
}

TEST(RocmGraphs, ReplayWhatWasCaptured) {
  NEEDS("gfx1100");
  in_child(cards("gfx1100"), [] {
    Fixture f;
    void* graph = nullptr;
    EXPECT_OK(backend().graph_begin(0, f.stream));
    EXPECT_OK(f.neg());
    EXPECT_OK(backend().graph_end(0, f.stream, &graph));
    EXPECT_OK(f.synchronize());
    EXPECT_EQ(count(log_text(), "launch "), 0);
    EXPECT_OK(backend().graph_launch(0, f.stream, graph));
    EXPECT_OK(backend().graph_launch(0, f.stream, graph));
    EXPECT_OK(f.synchronize());
    EXPECT_EQ(count(log_text(), "launch "), 2);
    backend().graph_destroy(0, graph);
  });
}

TEST(RocmGraphs, AnErrorRecordIsFoundWhereTheGraphWasLaunched) {
  NEEDS("gfx1100");
  in_child(cards("gfx1100"), [] {
    Fixture captured, launched;
    void* graph = nullptr;
    EXPECT_OK(backend().graph_begin(0, captured.stream));
    EXPECT_OK(captured.neg());
    EXPECT_OK(backend().graph_end(0, captured.stream, &graph));
    backend().stream_destroy(0, captured.stream);  // its record lives on with the graph
    FAKE(fake_hip_record_next_kernel)(unsigned(StatusCode::kIdOutOfRange), 5);
    EXPECT_OK(backend().graph_launch(0, launched.stream, graph));
    ErrorRecord record{};
    EXPECT_OK(launched.synchronize(&record));
    EXPECT_EQ(record.code, unsigned(StatusCode::kIdOutOfRange));
    EXPECT_EQ(record.position, 5);
    EXPECT_OK(launched.synchronize(&record));
    EXPECT_EQ(record.code, 0u);
    backend().graph_destroy(0, graph);
  });
}

TEST(RocmGraphs, OfTheDefaultStreamAreCapturedOnAStreamOfTheirOwn) {
  NEEDS("gfx1100");
  in_child(cards("gfx1100"), [] {
    Fixture f;
    void* graph = nullptr;
    EXPECT_OK(backend().graph_begin(0, nullptr));
    EXPECT_EQ(backend().graph_begin(0, nullptr).code, StatusCode::kInvalidArgument);
    EXPECT_OK(run(Neg::op, 0, nullptr, f.x, f.y));
    EXPECT_HAS(backend().stream_synchronize(0, nullptr, nullptr).text, "is being captured");
    EXPECT_OK(backend().graph_end(0, nullptr, &graph));
    EXPECT_EQ(backend().graph_end(0, nullptr, &graph).code, StatusCode::kInvalidArgument);
    EXPECT_EQ(count(log_text(), "launch "), 0);
    EXPECT_OK(backend().graph_launch(0, nullptr, graph));
    EXPECT_OK(backend().stream_synchronize(0, nullptr, nullptr));
    EXPECT_EQ(count(log_text(), "launch "), 1);
    EXPECT_OK(run(Neg::op, 0, nullptr, f.x, f.y));  // as ever
    EXPECT_OK(backend().stream_synchronize(0, nullptr, nullptr));
    EXPECT_EQ(count(log_text(), "launch "), 2);
    backend().graph_destroy(0, graph);
  });
}

TEST(RocmGraphs, AreRefusedInWordsWhereTheyCannotBe) {
  const std::string library = kFakes + "/without_graphs/libamdhip64.so.6";
  in_child(with(cards("gfx1100"), "WICK_HIP_RUNTIME", library), [&] {
    Fixture f;
    const Status status = backend().graph_begin(0, f.stream);
    EXPECT_EQ(status.code, StatusCode::kUnsupported);
    EXPECT_EQ(std::string(status.text),
              "graph_begin: " + library + " has no stream capture; install ROCm 6 or newer");
  });
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  // A process of its own for chosen_runtime: loads what it is told, then says what the module makes
  // of it.
  if (argc == 3 && std::string(argv[1]) == "--why-none") {
    if (*argv[2] && !dlopen(argv[2], RTLD_NOW | RTLD_LOCAL)) return puts(dlerror()), 1;
    const char* why = nullptr;
    wick::backend().device_count(&why);
    return puts(why ? why : "there are cards"), 0;
  }
  setenv("WICK_GPU_LIBS", "off", 1);  // a real rocBLAS would not work on the fake
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
