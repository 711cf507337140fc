// Modules as files: each case in a process of its own, which finds what it finds.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "../expect.h"
#include "wick/core/backend.h"
#include "wick/core/device.h"
#include "wick/core/tensor.h"

namespace wick {
namespace {

/// A folder for one test.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/wick-loader-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// What f says where modules are looked for in `path`.
template <class F>
std::string with_path(const std::string& path, const F& f) {
  return test::in_child([&] {
    setenv("WICK_BACKEND_PATH", path.c_str(), 1);
    return f();
  });
}
std::string open_rocm() { return to_string(Device::rocm(0)); }

TEST(Loader, AMissingModuleSaysWhereItWasLookedForAndWhatHelps) {
  const Folder folder;
  const std::string text = with_path(folder.path(), open_rocm);
  EXPECT_EQ(text.find("module missing: rocm:0: the module wick_rocm.so is not in " + folder.path() +
                      ", "),
            0u)
      << text;
  EXPECT_NE(text.find("build wick with -DWICK_ROCM=ON or set WICK_BACKEND_PATH to its folder"),
            std::string::npos)
      << text;
}

TEST(Loader, TheFoldersOfThePathAreSearchedInOrder) {
  const Folder first, second;
  const std::string text = with_path(first.path() + ":" + second.path() + "::", open_rocm);
  EXPECT_NE(text.find("is not in " + first.path() + ", " + second.path() + ", "), std::string::npos)
      << text;
}

TEST(Loader, TheCurrentFolderIsNotSearched) {
  const std::string text = test::in_child([] {
    unsetenv("WICK_BACKEND_PATH");
    std::filesystem::current_path(WICK_TEST_MODULES "/scripted");
    return open_rocm();
  });
  EXPECT_EQ(text.find("module missing: "), 0u) << text;
}

TEST(Loader, AFileThatIsNoLibraryIsNamedWithTheLinkersReason) {
  const Folder folder;
  const std::string file = folder.path() + "/wick_rocm.so";
  std::ofstream(file) << "not a library\n";
  const std::string text = with_path(folder.path(), open_rocm);
  EXPECT_EQ(text.find("module missing: rocm:0: " + file + " cannot be loaded: "), 0u) << text;
}

TEST(Loader, ALibraryWithoutTheEntryIsRefused) {
  EXPECT_EQ(with_path(WICK_TEST_MODULES "/no_entry", open_rocm),
            "module missing: rocm:0: " WICK_TEST_MODULES
            "/no_entry/wick_rocm.so cannot be used: its table is missing");
}

TEST(Loader, AModuleOfAnotherAbiIsRefused) {
  const std::string abi = std::to_string(kAbiVersion);
  EXPECT_EQ(with_path(WICK_TEST_MODULES "/other_abi", open_rocm),
            "module missing: rocm:0: " WICK_TEST_MODULES
            "/other_abi/wick_rocm.so cannot be used: it was built for another version of "
            "wick (ABI " +
                std::to_string(kAbiVersion + 1) + ", this is " + abi + ")");
}

TEST(Loader, AModuleWithoutItsRuntimeOrCardSaysWhich) {
  const auto with_devices = [](const char* devices, const char* why) {
    return with_path(WICK_TEST_MODULES "/scripted", [&] {
      setenv("TEST_DEVICES", devices, 1);
      setenv("TEST_WHY_NONE", why, 1);
      return open_rocm();
    });
  };
  EXPECT_EQ(with_devices("-1", "libscript is not installed"),
            "runtime missing: rocm:0: libscript is not installed");
  EXPECT_EQ(with_devices("0", "the script has no card"),
            "device missing: rocm:0: the script has no card");
}

TEST(Loader, AModuleThatLoadsGivesItsDevices) {
  EXPECT_EQ(with_path(WICK_TEST_MODULES "/scripted", open_rocm), "rocm:0");
  EXPECT_EQ(with_path(WICK_TEST_MODULES "/scripted", [] { return to_string(Device::rocm(1)); }),
            "device missing: rocm:1: no such device; there is rocm:0");
  EXPECT_EQ(with_path(WICK_TEST_MODULES "/scripted",
                      [] {
                        setenv("TEST_DEVICES", "2", 1);
                        return to_string(Device::rocm(7));
                      }),
            "device missing: rocm:7: no such device; there are rocm:0, rocm:1");
}

TEST(Loader, TheStatusNamesTheModuleAndItsDevices) {
  EXPECT_EQ(with_path(WICK_TEST_MODULES "/scripted",
                      [] {
                        for (const BackendStatus& status : backend_status())
                          if (status.name == "rocm")
                            return status.module + ", " + status.devices.at(0).name +
                                   ", why: " + status.why_none;
                        return std::string("no rocm");
                      }),
            WICK_TEST_MODULES "/scripted/wick_rocm.so, Scripted 0, why: ");
}

TEST(Loader, TheStatusHasALineForEachFactAboutTheRuntime) {
  const auto runtime_of = [](const char* text) {
    return with_path(WICK_TEST_MODULES "/scripted", [&] {
      if (text) setenv("TEST_RUNTIME", text, 1);
      std::string lines;
      for (const BackendStatus& status : backend_status())
        for (const std::string& line : status.runtime) lines += status.name + ": " + line + ";";
      return lines;
    });
  };
  EXPECT_EQ(runtime_of("/lib/libscript.so\ntwo are loaded"),
            "rocm: /lib/libscript.so;rocm: two are loaded;");
  EXPECT_EQ(runtime_of(""), "");
  EXPECT_EQ(runtime_of(nullptr), "");
}

/// f of a tensor i32[3, 4] on the scripted card, in a child.
template <class F>
std::string with_tensor_on_card(const F& f) {
  return with_path(WICK_TEST_MODULES "/scripted", [&] {
    return f(Tensor::from(std::vector<int32>(12), {3, 4}, Device::rocm(0)));
  });
}
/// Bytes from the start of x's storage to the address, and bytes from there.
std::string text_of(const Tensor& x, const RocmStorage& memory) {
  const auto from_start =
      static_cast<char*>(memory.hip_memory()) - static_cast<char*>(x.storage()->data());
  return std::to_string(from_start) + ", " + std::to_string(memory.bytes());
}

TEST(Loader, ATensorOnACardGivesItsMemory) {
  EXPECT_EQ(with_tensor_on_card([](const Tensor& x) { return text_of(x, x.as_rocm()); }), "0, 48");
}

TEST(Loader, TheMemoryOfAViewBeginsAtItsFirstElement) {
  // Rows 1 and 2, columns 2 and 3: the first element is 1 * 4 + 2.
  EXPECT_EQ(with_tensor_on_card([](const Tensor& x) {
              return text_of(x, x.view({{2, 2}, {4, 1}, 6}).as_rocm());
            }),
            "24, 24");
  EXPECT_EQ(with_tensor_on_card([](const Tensor& x) {
              return text_of(x, x.view({{4, 3}, {1, 4}, 0}).as_rocm());
            }),
            "0, 48");
}

TEST(Loader, ATensorWithoutElementsHasNoMemory) {
  const auto text = [](const RocmStorage& memory) {
    return std::string(memory.hip_memory() ? "an address" : "nullptr") + ", " +
           std::to_string(memory.bytes());
  };
  EXPECT_EQ(with_tensor_on_card([&](const Tensor& x) {
              return text(Tensor::empty({0, 4}, {.device = x.device()}).as_rocm());
            }),
            "nullptr, 0");
  EXPECT_EQ(with_tensor_on_card([&](const Tensor& x) {
              return text(x.view({{0, 4}, {4, 1}, 13}).as_rocm());
            }),
            "nullptr, 0");
}

TEST(Loader, MemoryOfAnotherKindNamesBothDevices) {
  EXPECT_EQ(with_tensor_on_card([](const Tensor& x) { return x.as_cuda(), std::string("none"); }),
            "device mismatch: as_cuda: expected a tensor on a cuda device, got one on rocm:0");
}

TEST(Loader, IfAvailableIsTheCpuWhereAnythingIsMissing) {
  const Folder empty;
  const auto choose = [] { return to_string(Device::rocm_if_available(0)); };
  EXPECT_EQ(with_path(empty.path(), choose), "cpu");
  EXPECT_EQ(with_path(WICK_TEST_MODULES "/other_abi", choose), "cpu");
  EXPECT_EQ(with_path(WICK_TEST_MODULES "/scripted", choose), "rocm:0");
}

TEST(Loader, BestIsACardWhereThereIsOne) {
  EXPECT_EQ(with_path(WICK_TEST_MODULES "/scripted", [] { return to_string(Device::best()); }),
            "rocm:0");
}

}  // namespace
}  // namespace wick
