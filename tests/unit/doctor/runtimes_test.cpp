// Machines whose runtimes, versions, variables or memory are wrong.
#include "made_up.h"

namespace wick::test {
namespace {

/// A Ryzen AI Max with this much memory for programs, as it comes.
MadeUpCard strix_halo() {
  return {.address = "0000:c3:00.0",
          .id = "1586",
          .gfx_version = 110501,
          .memory = kGib / 2,
          .visible = kGib / 2,
          .shared = 62 * kGib + kGib / 2,
          .mes = "0x00000080"};
}
void make_strix_halo(MadeUp& m, const MadeUpCard& card = strix_halo()) {
  m.file("/proc/meminfo", "MemTotal:       131072000 kB\n");  // 125 GiB
  m.file("/proc/sys/kernel/osrelease", "6.17.7-arch1-1\n");
  m.card(card);
  m.rocm("gfx1151", 62 * kGib, "7.2", true);
}

// ---- runtimes

TEST(Doctor, AWickWithoutTheModule) {
  MadeUp m;
  m.card();
  expect_problem(m, "rocm-module-missing", "wick_rocm.so is not in", "install a wick");
}

TEST(Doctor, AModuleOfAnotherBuild) {
  MadeUp m;
  m.card();
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  m.backend("rocm").why_none =
      "/usr/lib/wick_rocm.so cannot be used: it was built for another version of wick";
  expect_problem(m, "rocm-module-broken", "another version", "of one build");
}

TEST(Doctor, TheRuntimesPackageDependsOnTheDistribution) {
  const struct {
    const char *release, *command;
  } rows[] = {{"ID=debian\n", "apt install libamdhip64-5"},
              {"ID=ubuntu\nID_LIKE=debian\n", "sudo apt install"},
              {"ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "apt install"},
              {"ID=fedora\n", "dnf install rocm-hip"},
              {"ID=nobara\nID_LIKE=\"rhel centos fedora\"\n", "hip-runtime-amd"},
              {"ID=arch\n", "pacman -S hip-runtime-amd"},
              {"ID=cachyos\nID_LIKE=arch\n", "pacman -S hip-runtime-amd"},
              {"ID=gentoo\n", "libamdhip64.so"}};
  for (const auto& row : rows) {
    MadeUp m;
    m.card();
    m.file("/etc/os-release", row.release);
    m.backend("rocm").module = "/usr/lib/wick_rocm.so";
    m.backend("rocm").no_runtime = true;
    m.backend("rocm").why_none = "libamdhip64.so.8, .7, .6, .5 not found";
    expect_problem(m, "rocm-runtime-missing", "libamdhip64.so.8", row.command);
  }
}

TEST(Doctor, ARuntimeThatFindsNoDevice) {
  MadeUp m;
  m.card();
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  m.backend("rocm").why_none = "ROCm runtime found (libamdhip64.so.7), no AMD GPU";
  expect_problem(m, "rocm-no-device", "no AMD GPU", "rocminfo");
}

TEST(Doctor, ACardWithoutCode) {
  MadeUp m;
  m.card({.gfx_version = 90000});
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  m.backend("rocm").runtime = {"/opt/rocm-7.2.0/lib/libamdhip64.so.7 (HIP 7.2)"};
  m.backend("rocm").unusable = {"rocm:0: no code for gfx900"};
  expect_problem(m, "rocm-unusable", "no code for gfx900", "wick devices");
}

TEST(Doctor, ARuntimeThatCrashes) {
  MadeUp m;
  m.card();
  m.machine.backends.clear();
  m.machine.backends_failure = "is ended by signal 11 (Segmentation fault)";
  expect_problem(m, "runtime-fails", "signal 11", "Reinstall the runtime");
}

TEST(Doctor, TwoRuntimesInOneProcess) {
  MadeUp m;
  m.card();
  m.rocm("gfx1100");
  m.backend("rocm").runtime.push_back(
      "2 are loaded in this process and share neither memory nor streams; wick does not use "
      "/people/ann/venv/lib/python3.12/site-packages/torch/lib/libamdhip64.so");
  expect_problem(m, "two-runtimes", "2 are loaded", "WICK_HIP_RUNTIME");
}

TEST(Doctor, ALibraryWithoutFilesForTheCardIsANote) {
  MadeUp m;
  m.card({.gfx_version = 110003});
  m.rocm("gfx1103", 8 * kGib);
  m.backend("rocm").runtime.push_back("rocBLAS is not used: it has no files for gfx1103");
  expect_finding(m, "library-not-used", Severity::kNote, "no files for gfx1103", "version");
}

TEST(Doctor, ReleasesOfRocmSideBySide) {
  MadeUp m;
  m.card();
  m.rocm("gfx1100");
  m.file("/opt/rocm-6.4.1/.info/version", "6.4.1\n");
  m.file("/opt/rocm-7.2.0/.info/version", "7.2.0\n");
  m.machine.environment["LD_LIBRARY_PATH"] = "/opt/rocm-6.4.1/lib";
  expect_finding(m, "library-path-mixes", Severity::kWarning, "/opt/rocm-6.4.1", "ROCM_PATH");
  EXPECT_TRUE(find(examine(m.machine), "several-rocm"));
}

TEST(Doctor, AnIntegratedGpuBesideADiscreteOne) {
  MadeUp m;
  m.card();
  m.card({.address = "0000:0f:00.0",
          .id = "164E",
          .gfx_version = 100306,
          .memory = kGib / 2,
          .visible = kGib / 2});
  m.rocm("gfx1036", kGib, "7.2", true);
  m.device("rocm", "AMD Radeon RX 7900 XTX", "gfx1100", 24 * kGib);
  expect_finding(m, "integrated-beside-discrete", Severity::kNote, "gfx1036",
                 "ROCR_VISIBLE_DEVICES=1 hides");
}

// ---- versions

TEST(Doctor, FirmwareThatHangsStrixHalo) {
  MadeUp m;
  MadeUpCard card = strix_halo();
  card.mes = "0x00000083";
  make_strix_halo(m, card);
  expect_problem(m, "mes-0x83", "mes firmware 0x00000083", "linux-firmware");
  const Diagnosis diagnosis = examine(m.machine);
  EXPECT_EQ(find(diagnosis, "mes-0x83")->sources[0],
            "https://github.com/ROCm/legacy-rocm-build/issues/5724");
}

TEST(Doctor, TheSameFirmwareOnAnotherGpuIsFine) {
  MadeUp m;
  m.card({.mes = "0x00000083"});
  m.rocm("gfx1100");
  EXPECT_EQ(ids(examine(m.machine)), "");
}

TEST(Doctor, AKernelWithARegression) {
  for (const char* kernel : {"6.18.0-rc1", "6.18.3-arch1-1", "7.0.0-28-generic"}) {
    MadeUp m;
    m.file("/proc/sys/kernel/osrelease", kernel);
    m.card();
    m.rocm("gfx1100");
    expect_finding(m, "linux-6.18-rdna3", Severity::kWarning, kernel, "6.12");
  }
  for (const char* kernel : {"6.17.13-arch1-1", "6.12.48", "7.1.0"}) {
    MadeUp m;
    m.file("/proc/sys/kernel/osrelease", kernel);
    m.card();
    m.rocm("gfx1100");
    EXPECT_EQ(ids(examine(m.machine)), "") << kernel;
  }
}

TEST(Doctor, AKernelThatBreaksCopiesOfStrixPoint) {
  MadeUp m;
  m.file("/proc/sys/kernel/osrelease", "6.17.0-20-generic");
  m.card({.id = "150E",
          .gfx_version = 110500,
          .memory = 16 * kGib,
          .visible = 16 * kGib,
          .shared = 48 * kGib});
  m.rocm("gfx1150", 48 * kGib, "7.1", true);
  expect_problem(m, "linux-6.17-gfx1150", "copies to the GPU fault", "6.14");
}

TEST(Doctor, ARuntimeThatIsTooOldForTheCard) {
  MadeUp m;
  m.card({.id = "7550", .gfx_version = 120001});
  m.rocm("gfx1201", 16 * kGib, "6.3");
  expect_problem(m, "hip-rdna4", "HIP 6.3 with 0000:03:00.0", "ROCm 6.4");
}

TEST(Doctor, ARuntimeThatCrashesStrixHalo) {
  MadeUp m;
  make_strix_halo(m);
  m.backend("rocm").runtime = {"/usr/lib64/libamdhip64.so.6 (HIP 6.4)"};
  expect_problem(m, "hip-gfx1151", "registers", "ROCm 7.2");
}

TEST(Doctor, ARuntimeThatCannotLoadTheFamilysCode) {
  MadeUp m;
  m.card({.id = "7480", .gfx_version = 110002});
  m.rocm("gfx1102", 8 * kGib, "6.2");
  expect_problem(m, "hip-generic-code", "gfx11-generic", "scripts/build-rocm");
}

TEST(Doctor, ALibraryThatComputesWronglyIfItIsAskedFor) {
  MadeUp m;
  m.card({.id = "7550", .gfx_version = 120001});
  m.rocm("gfx1201", 16 * kGib, "7.2");
  EXPECT_FALSE(find(examine(m.machine), "hipblaslt-gfx1201"));
  m.machine.environment["WICK_GPU_LIBS"] = "rocblas,hipblaslt";
  expect_problem(m, "hipblaslt-gfx1201", "wrongly", "remove hipblaslt");
}

TEST(Doctor, SeveralCardsAreCountedForWhatNeedsThem) {
  MadeUp m;
  const auto r9700 = [](const char* address) {
    return MadeUpCard{.address = address, .id = "7551", .gfx_version = 120001};
  };
  m.card(r9700("0000:03:00.0"));
  m.rocm("gfx1201", 32 * kGib, "7.3");
  EXPECT_FALSE(find(examine(m.machine), "peer-copies-gfx1201"));
  m.card(r9700("0000:43:00.0"));
  m.device("rocm", "AMD Radeon AI PRO R9700", "gfx1201", 32 * kGib);
  expect_finding(m, "peer-copies-gfx1201", Severity::kNote, "0000:43:00.0", "NCCL_P2P_DISABLE");
}

TEST(Doctor, AnNvidiaDriverThatIsTooOld) {
  MadeUp m;
  m.nvidia("470.256.02");
  m.backend("cuda").module = "/usr/lib/wick_cuda.so";
  m.device("cuda", "NVIDIA H200", "sm_90", 140 * kGib);
  expect_problem(m, "nvidia-old-driver", "470.256.02", "newer driver");
}

// ---- variables

TEST(Doctor, AnOverrideOfTheArchitecture) {
  MadeUp m;
  m.card();
  m.rocm("gfx1100");
  m.machine.environment["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0";
  expect_finding(m, "variable-HSA_OVERRIDE_GFX_VERSION", Severity::kWarning,
                 "HSA_OVERRIDE_GFX_VERSION=10.3.0", "unset it");
}

TEST(Doctor, VariablesOfAVendorMatterOnlyWithItsCard) {
  MadeUp m;
  m.machine.environment["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0";
  m.machine.environment["CUDA_LAUNCH_BLOCKING"] = "1";
  EXPECT_EQ(ids(examine(m.machine)), "no-gpu");
}

TEST(Doctor, ValuesThatAreHarmlessAreNotReported) {
  MadeUp m;
  m.card();
  m.rocm("gfx1100");
  m.machine.environment["HSA_XNACK"] = "0";
  m.machine.environment["HSA_ENABLE_SDMA"] = "1";
  m.machine.environment["WICK_COMPOSITE"] = "auto";
  EXPECT_EQ(ids(examine(m.machine)), "");
}

TEST(Doctor, AVariableThatHidesEveryCard) {
  MadeUp m;
  m.card();
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  m.backend("rocm").why_none =
      "ROCm runtime found, no AMD GPU: HIP_VISIBLE_DEVICES='-1' may hide it";
  m.machine.environment["HIP_VISIBLE_DEVICES"] = "-1";
  const Diagnosis diagnosis = examine(m.machine);
  ASSERT_TRUE(find(diagnosis, "hidden-cards")) << ids(diagnosis);
  EXPECT_EQ(find(diagnosis, "hidden-cards")->severity, Severity::kWarning);
  EXPECT_EQ(find(diagnosis, "hidden-cards")->cure, "unset HIP_VISIBLE_DEVICES to see all GPUs");
}

TEST(Doctor, DebuggingVariablesSlowWick) {
  MadeUp m;
  m.machine.environment["WICK_ALLOC"] = "plain";
  expect_finding(m, "variable-WICK_ALLOC", Severity::kWarning, "WICK_ALLOC=plain", "unset it");
}

// ---- memory

TEST(Doctor, AnIntegratedGpuThatMayUseHalfOfTheMemory) {
  MadeUp m;
  make_strix_halo(m);
  expect_finding(m, "apu-memory-limit", Severity::kWarning, "62.5 GiB of the machine's 125.0 GiB",
                 "ttm.pages_limit=24379392 ttm.page_pool_size=24379392");
}

TEST(Doctor, TheLimitOfAmdsPackagedDriverHasAnotherName) {
  MadeUp m;
  make_strix_halo(m);
  m.file("/sys/module/amdttm/parameters/pages_limit", "16384000\n");
  expect_finding(m, "apu-memory-limit", Severity::kWarning, "62.5 GiB", "amdttm.pages_limit=");
}

TEST(Doctor, AnIntegratedGpuWithARaisedLimitIsFine) {
  MadeUp m;
  MadeUpCard card = strix_halo();
  card.shared = 96 * kGib;
  make_strix_halo(m, card);
  m.backend("rocm").devices[0].total_bytes = 96 * kGib;
  EXPECT_EQ(examine(m.machine).count(Severity::kWarning), 0) << ids(examine(m.machine));
}

TEST(Doctor, TwoParametersForOneLimit) {
  MadeUp m;
  MadeUpCard card = strix_halo();
  card.shared = 96 * kGib;
  make_strix_halo(m, card);
  m.backend("rocm").devices[0].total_bytes = 96 * kGib;
  m.file("/proc/cmdline", "quiet amdgpu.gttsize=98304 ttm.pages_limit=25165824\n");
  expect_finding(m, "apu-two-limits", Severity::kWarning, "amdgpu.gttsize",
                 "remove amdgpu.gttsize");
}

TEST(Doctor, MemoryThatTheBiosSetsApart) {
  MadeUp m;
  MadeUpCard card = strix_halo();
  card.memory = card.visible = 96 * kGib;
  card.shared = 31 * kGib;
  m.card(card);
  m.file("/proc/meminfo", "MemTotal:       32505856 kB\n");  // 31 GiB
  m.file("/proc/sys/kernel/osrelease", "6.17.7-arch1-1\n");
  m.rocm("gfx1151", 96 * kGib, "7.2", true);
  expect_finding(m, "apu-carve-out", Severity::kNote, "leaves 31.0 GiB", "UMA frame buffer");
}

TEST(Doctor, ARuntimeThatReportsTooLittleMemory) {
  MadeUp m;
  MadeUpCard card = strix_halo();
  card.shared = 96 * kGib;
  make_strix_halo(m, card);
  m.backend("rocm").devices[0].total_bytes = 15 * kGib + kGib / 2;
  expect_finding(m, "apu-memory-hidden", Severity::kWarning, "15.5 GiB", "6.16.9");
}

TEST(Doctor, ACardWithoutResizableBar) {
  MadeUp m;
  m.card({.visible = kGib / 4});
  m.rocm("gfx1100");
  expect_finding(m, "small-bar", Severity::kWarning, "0.2 GiB of the 24.0 GiB",
                 "Above 4G Decoding");
}

TEST(Doctor, ACardInANarrowSlot) {
  MadeUp m;
  m.card();
  m.rocm("gfx1100");
  m.file("/sys/bus/pci/devices/0000:03:00.0/current_link_width", "4\n");
  m.file("/sys/bus/pci/devices/0000:03:00.0/max_link_width", "16\n");
  expect_finding(m, "narrow-link", Severity::kNote, "4 PCIe lanes of 16", "slot");
}

TEST(Doctor, AnIommuThatTranslatesForSeveralCards) {
  MadeUp m;
  m.card();
  m.rocm("gfx1100");
  m.file("/sys/bus/pci/devices/0000:03:00.0/iommu_group/type", "DMA-FQ\n");
  EXPECT_EQ(ids(examine(m.machine)), "");  // of one card nobody reads the memory
  m.card({.address = "0000:43:00.0"});
  m.device("rocm", "AMD Radeon", "gfx1100", 24 * kGib);
  expect_finding(m, "iommu-translates", Severity::kWarning, "(0000:03:00.0)", "iommu=pt");
}

}  // namespace
}  // namespace wick::test
