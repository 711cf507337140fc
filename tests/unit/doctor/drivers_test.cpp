// Machines whose drivers, device files or rights keep a GPU from working.
#include <cerrno>

#include "made_up.h"

namespace wick::test {
namespace {

TEST(Doctor, AMachineWithoutAGpuHasANoteAndNoProblem) {
  MadeUp m;
  EXPECT_EQ(ids(examine(m.machine)), "no-gpu");
  expect_finding(m, "no-gpu", Severity::kNote, "no GPU of AMD or NVIDIA", "pass a GPU through");
}

TEST(Doctor, AMachineThatIsWellHasNoFinding) {
  MadeUp m;
  m.card();
  m.rocm("gfx1100");
  const Diagnosis diagnosis = examine(m.machine);
  EXPECT_EQ(ids(diagnosis), "");
  ASSERT_EQ(diagnosis.cards.size(), 1u);
  EXPECT_EQ(diagnosis.cards[0].architecture, "gfx1100");
  EXPECT_EQ(diagnosis.cards[0].firmware.at("mes"), "0x0000006f");
  EXPECT_EQ(diagnosis.cards[0].firmware.count("uvd"), 0u);  // the card has no such engine
  EXPECT_FALSE(diagnosis.cards[0].integrated);
}

TEST(Doctor, AnInstinctIsAProcessingAccelerator) {
  MadeUp m;
  m.card({.id = "74A1", .gfx_version = 90402, .memory = 192 * kGib, .visible = 192 * kGib});
  m.file("/sys/bus/pci/devices/0000:03:00.0/uevent",
         "DRIVER=amdgpu\nPCI_CLASS=120000\nPCI_ID=1002:74A1\n");
  m.rocm("gfx942:sramecc+:xnack-", 192 * kGib);
  const Diagnosis diagnosis = examine(m.machine);
  EXPECT_EQ(ids(diagnosis), "");
  ASSERT_EQ(diagnosis.cards.size(), 1u);
  EXPECT_EQ(diagnosis.cards[0].architecture, "gfx942");
}

TEST(Doctor, AUserOutsideOfTheGroupsIsAddedToThem) {
  MadeUp m;
  m.card();
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  m.backend("rocm").why_none = "ROCm runtime found, no AMD GPU: /dev/kfd: no permission";
  m.file("/etc/group", "root:x:0:\nvideo:x:44:\nrender:x:104:\n");
  m.node("/dev/kfd", EACCES);
  expect_problem(m, "kfd-permission", "/dev/kfd cannot be opened: Permission denied",
                 "sudo usermod -aG render,video $USER, then log in again");
}

TEST(Doctor, AUserWhoWasAddedToTheGroupsLogsInAgain) {
  MadeUp m;
  m.card();
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  m.node("/dev/kfd", EACCES);
  expect_problem(m, "kfd-permission", "/dev/kfd", "log out and in again");
}

TEST(Doctor, ADeviceFileOfRootAloneNeedsARuleOfUdev) {
  MadeUp m;
  m.card();
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  m.node("/dev/kfd", EACCES, 0);
  expect_problem(m, "kfd-permission", "/dev/kfd", "/etc/udev/rules.d/70-kfd.rules");
}

TEST(Doctor, ARenderFileThatIsClosed) {
  MadeUp m;
  m.card();
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  m.file("/etc/group", "root:x:0:\nvideo:x:44:\nrender:x:104:\n");
  m.node("/dev/dri/renderD128", EACCES);
  expect_problem(m, "render-permission", "/dev/dri/renderD128", "render,video");
}

TEST(Doctor, ADriverThatIsBlacklisted) {
  MadeUp m;
  m.card({.driver = ""});
  m.file("/etc/modprobe.d/local.conf", "# gaming\nblacklist amdgpu\n");
  expect_problem(m, "amd-no-driver", "0000:03:00.0 (AMD 1002:744c) has no driver",
                 "\"blacklist amdgpu\" from /etc/modprobe.d/local.conf");
}

TEST(Doctor, AKernelThatStartsWithoutModesetting) {
  MadeUp m;
  m.card({.driver = ""});
  m.file("/proc/cmdline", "root=/dev/sda1 nomodeset quiet\n");
  expect_problem(m, "amd-no-driver", "has no driver", "remove nomodeset");
}

TEST(Doctor, ADriverThatIsBlacklistedOnTheCommandLine) {
  MadeUp m;
  m.card({.driver = ""});
  m.file("/proc/cmdline", "modprobe.blacklist=nouveau,amdgpu\n");
  expect_problem(m, "amd-no-driver", "has no driver", "remove amdgpu from modprobe.blacklist");
}

TEST(Doctor, AGpuThatIsNewerThanTheKernel) {
  MadeUp m;
  m.card({.id = "7590", .driver = ""});
  expect_problem(m, "amd-no-driver", "has no driver", "newer linux-firmware");
}

TEST(Doctor, AGpuForVirtualMachinesIsANote) {
  MadeUp m;
  m.card({.driver = "vfio-pci"});
  expect_finding(m, "amd-vfio", Severity::kNote, "virtual machines", "bind amdgpu");
}

TEST(Doctor, AKernelWithoutTheComputeDriver) {
  MadeUp m;
  m.card();
  m.no_node("/dev/kfd");
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  expect_problem(m, "kfd-missing", "/dev/kfd is missing", "CONFIG_HSA_AMD");
}

TEST(Doctor, ACardThatTheComputeDriverSkips) {
  MadeUp m;
  m.card({.gfx_version = 0});
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  expect_problem(m, "kfd-skips-card", "does not list 0000:03:00.0", "PCI rejects atomics");
}

TEST(Doctor, AnAmdGpuForTheDisplayBesideAnNvidiaOneIsNoProblem) {
  MadeUp m;
  m.nvidia();
  m.backend("cuda").module = "/usr/lib/wick_cuda.so";
  m.device("cuda", "NVIDIA GeForce RTX 4090", "sm_89", 24 * kGib);
  m.card({.address = "0000:0f:00.0",
          .id = "164E",
          .gfx_version = 100306,
          .memory = kGib / 2,
          .visible = kGib / 2});
  m.node("/dev/kfd", EACCES);
  const Diagnosis diagnosis = examine(m.machine);
  EXPECT_EQ(diagnosis.count(Severity::kProblem), 0) << ids(diagnosis);
  ASSERT_TRUE(find(diagnosis, "kfd-permission"));
  EXPECT_EQ(find(diagnosis, "kfd-permission")->severity, Severity::kWarning);
}

TEST(Doctor, AnOldCardBesideOneThatWorksIsANote) {
  MadeUp m;
  m.card();
  m.card({.address = "0000:43:00.0", .id = "683F", .gfx_version = 0});
  m.rocm("gfx1100");
  expect_finding(m, "kfd-skips-card", Severity::kNote, "0000:43:00.0", "older than gfx900");
}

// ---- containers

TEST(Doctor, AContainerThatWasGivenOneOfTwoCardsIsFine) {
  MadeUp m;
  m.card();
  m.card(
      {.address = "0000:43:00.0", .gfx_version = 0});  // whose topology the container may not read
  m.no_node("/dev/dri/renderD129");
  m.file("/.dockerenv", "");
  m.rocm("gfx1100");
  EXPECT_EQ(examine(m.machine).count(Severity::kProblem), 0) << ids(examine(m.machine));
}

TEST(Doctor, ADockerContainerWithoutDevices) {
  MadeUp m;
  m.card();
  m.machine.nodes.clear();
  m.file("/.dockerenv", "");
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  expect_problem(m, "container-without-devices", "this container lacks /dev/kfd",
                 "--device /dev/kfd --device /dev/dri --group-add video");
}

TEST(Doctor, APodWithoutDevices) {
  MadeUp m;
  m.card();
  m.machine.nodes.clear();
  m.machine.environment["KUBERNETES_SERVICE_HOST"] = "cluster";
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  expect_problem(m, "container-without-devices", "lacks /dev/kfd", "amd.com/gpu");
}

TEST(Doctor, AContainerWhoseUserLacksTheHostsGroup) {
  MadeUp m;
  m.card();
  m.file("/.dockerenv", "");
  m.node("/dev/kfd", EACCES, 992);  // a number that this /etc/group does not have
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  expect_problem(m, "kfd-permission", "/dev/kfd", "--group-add 992");
}

TEST(Doctor, ARootlessPodmanContainerKeepsTheGroups) {
  MadeUp m;
  m.card();
  m.file("/run/.containerenv", "");
  m.node("/dev/kfd", EACCES, 65534);
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  expect_problem(m, "kfd-permission", "/dev/kfd", "keep-groups");
}

TEST(Doctor, AContainerWhoseControlGroupForbidsTheDevice) {
  MadeUp m;
  m.card();
  m.file("/.dockerenv", "");
  m.node("/dev/kfd", EPERM);
  m.backend("rocm").module = "/usr/lib/wick_rocm.so";
  expect_problem(m, "kfd-permission", "Operation not permitted", "--device /dev/kfd");
}

// ---- WSL

TEST(Doctor, WslHasAnotherDeviceFile) {
  MadeUp m;
  m.file("/proc/sys/kernel/osrelease", "6.6.87.2-microsoft-standard-WSL2\n");
  m.node("/dev/dxg");
  expect_finding(m, "wsl", Severity::kWarning, "/dev/dxg in place of /dev/kfd", "Adrenalin");
}

TEST(Doctor, WslWithoutAGpu) {
  MadeUp m;
  m.file("/proc/sys/kernel/osrelease", "5.15.90.1-microsoft-standard-WSL2\n");
  expect_problem(m, "wsl-without-gpu", "/dev/dxg", "wsl --update");
}

// ---- NVIDIA

TEST(Doctor, AnNvidiaMachineThatIsWell) {
  MadeUp m;
  m.nvidia();
  m.backend("cuda").module = "/usr/lib/wick_cuda.so";
  m.backend("cuda").runtime = {"/usr/lib/x86_64-linux-gnu/libcuda.so.1 (CUDA 13.0)"};
  m.device("cuda", "NVIDIA H200", "sm_90", 140 * kGib);
  const Diagnosis diagnosis = examine(m.machine);
  EXPECT_EQ(ids(diagnosis), "");
  ASSERT_EQ(diagnosis.cards.size(), 1u);
  EXPECT_EQ(diagnosis.cards[0].name, "NVIDIA H200");
}

TEST(Doctor, AnNvidiaGpuWithNouveau) {
  MadeUp m;
  m.nvidia("", "nouveau");
  expect_problem(m, "nvidia-no-driver", "has the driver nouveau", "NVIDIA's driver");
}

TEST(Doctor, AnNvidiaContainerWithoutDevices) {
  MadeUp m;
  m.nvidia();
  m.machine.nodes.clear();
  m.file("/.dockerenv", "");
  m.backend("cuda").module = "/usr/lib/wick_cuda.so";
  expect_problem(m, "container-without-devices", "/dev/nvidiactl", "--gpus all");
}

TEST(Doctor, AnNvidiaDriverWithoutUnifiedMemory) {
  MadeUp m;
  m.nvidia();
  m.no_node("/dev/nvidia-uvm");
  m.backend("cuda").module = "/usr/lib/wick_cuda.so";
  expect_problem(m, "nvidia-files-missing", "/dev/nvidia-uvm is missing", "nvidia-modprobe");
}

}  // namespace
}  // namespace wick::test
