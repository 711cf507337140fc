// Machines that do not exist: a small tree of files, an environment, device files and backends.
#pragma once
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "../temporary_folder.h"
#include "wick/doctor/doctor.h"

namespace wick::test {

constexpr int64_t kGib = int64_t{1} << 30;

/// A GPU of AMD as Linux shows it.
struct MadeUpCard {
  std::string address = "0000:03:00.0";
  const char* id = "744C";
  int64_t gfx_version = 110000;  // gfx1100; 0: the compute driver leaves it out
  int64_t memory = 24 * kGib, visible = 24 * kGib, shared = 32 * kGib;
  const char* driver = "amdgpu";
  const char* mes = "0x0000006f";
};

/// Begins as a bare machine of Debian 13 without GPUs, whose user is 1000 in the groups render (104) and
/// video (44).
class MadeUp {
 public:
  MadeUp() {
    file("/proc/sys/kernel/osrelease", "6.12.48-amd64\n");
    file("/proc/sys/kernel/hostname", "annsbox\n");
    file("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet\n");
    file("/proc/meminfo", "MemTotal:       65536000 kB\nMemFree:  1 kB\n");
    file("/proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD Ryzen 9 7950X\n");
    file("/proc/self/status", "Name:\twick\nUid:\t1000\t1000\t1000\t1000\nGroups:\t44 104 1000\n");
    file("/proc/1/cgroup", "0::/init.scope\n");
    file("/etc/os-release",
         "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nID=debian\nVERSION_ID=\"13\"\n");
    file("/etc/passwd", "root:x:0:0::/root:/bin/bash\nann:x:1000:1000::/people/ann:/bin/bash\n");
    file("/etc/group", "root:x:0:\nvideo:x:44:ann\nrender:x:104:ann\n");
    machine.root = folder_.path();
    machine.environment = {{"HOME", "/people/ann"}, {"USER", "ann"}};
    for (const char* name : {"cpu", "rocm", "cuda", "metal", "emu"}) {
      machine.backends.emplace_back();
      machine.backends.back().name = name;
    }
    device("cpu", "AMD Ryzen 9 7950X", "x86-64-v4", 62 * kGib);
    backend("rocm").why_none = "the module wick_rocm.so is not in /usr/lib";
    backend("cuda").why_none = "the module wick_cuda.so is not in /usr/lib";
  }
  MadeUp(const MadeUp&) = delete;
  MadeUp& operator=(const MadeUp&) = delete;

  void file(const std::string& path, const std::string& text) {
    const std::string name = folder_.path() + path;
    std::filesystem::create_directories(std::filesystem::path(name).parent_path());
    std::ofstream(name, std::ios::binary) << text;
  }
  void remove(const std::string& path) { std::filesystem::remove_all(folder_.path() + path); }

  void node(const std::string& path, int error = 0, uint32_t group = 104) {
    std::erase_if(machine.nodes, [&](const DeviceNode& n) { return n.path == path; });
    machine.nodes.push_back({path, error, group});
  }
  void no_node(const std::string& path) {
    std::erase_if(machine.nodes, [&](const DeviceNode& n) { return n.path == path; });
  }

  BackendStatus& backend(const std::string& name) {
    for (BackendStatus& status : machine.backends)
      if (status.name == name) return status;
    throw std::runtime_error("no backend " + name);
  }
  void device(const std::string& backend_name, const std::string& name,
              const std::string& architecture, int64_t bytes, bool integrated = false) {
    DeviceInfo info{};
    std::snprintf(info.name, sizeof info.name, "%s", name.c_str());
    std::snprintf(info.architecture, sizeof info.architecture, "%s", architecture.c_str());
    BackendStatus& status = backend(backend_name);
    info.ordinal = int32(status.devices.size());
    info.total_bytes = bytes;
    info.integrated = integrated;
    status.devices.push_back(info);
    status.why_none = "";
  }

  /// Adds the card's files to /sys and its device files to /dev.
  void card(const MadeUpCard& c = {}) {
    const std::string folder = "/sys/bus/pci/devices/" + c.address;
    std::string uevent =
        "PCI_CLASS=30000\nPCI_ID=1002:" + std::string(c.id) + "\nPCI_SLOT_NAME=" + c.address + "\n";
    if (*c.driver) uevent = "DRIVER=" + std::string(c.driver) + "\n" + uevent;
    file(folder + "/uevent", uevent);
    if (c.driver != std::string("amdgpu")) return;
    file(folder + "/mem_info_vram_total", std::to_string(c.memory) + "\n");
    file(folder + "/mem_info_vis_vram_total", std::to_string(c.visible) + "\n");
    file(folder + "/mem_info_gtt_total", std::to_string(c.shared) + "\n");
    file(folder + "/fw_version/mes_fw_version", std::string(c.mes) + "\n");
    file(folder + "/fw_version/uvd_fw_version", "0x00000000\n");
    file(folder + "/iommu_group/type", "identity\n");
    const std::string nodes = "/sys/class/kfd/kfd/topology/nodes/";
    file(nodes + "0/properties", "cpu_cores_count 32\nsimd_count 0\ngfx_target_version 0\n");
    const int number = ++cards_;
    if (c.gfx_version != 0) {
      unsigned domain = 0, bus = 0, slot = 0, function = 0;
      std::sscanf(c.address.c_str(), "%x:%x:%x.%x", &domain, &bus, &slot, &function);
      file(nodes + std::to_string(number) + "/properties",
           "cpu_cores_count 0\nsimd_count 192\ngfx_target_version " +
               std::to_string(c.gfx_version) + "\nvendor_id 4098\nlocation_id " +
               std::to_string(bus << 8 | slot << 3 | function) + "\ndomain " +
               std::to_string(domain) + "\n");
    }
    node("/dev/kfd");
    node("/dev/dri/renderD" + std::to_string(127 + number));
  }
  /// The runtime of ROCm is there and has a device of this architecture.
  void rocm(const std::string& architecture, int64_t bytes = 24 * kGib,
            const std::string& version = "7.2", bool integrated = false) {
    BackendStatus& status = backend("rocm");
    status.module = "/usr/lib/wick_rocm.so";
    status.runtime = {"/opt/rocm-" + version + ".0/lib/libamdhip64.so.7 (HIP " + version + ")"};
    device("rocm", "AMD Radeon", architecture, bytes, integrated);
  }
  void nvidia(const std::string& version = "580.95.05", const char* driver = "nvidia") {
    const std::string address = "0000:17:00.0";
    file("/sys/bus/pci/devices/" + address + "/uevent",
         (*driver ? "DRIVER=" + std::string(driver) + "\n" : "") +
             "PCI_CLASS=30200\nPCI_ID=10DE:2335\n");
    if (driver != std::string("nvidia")) return;
    file("/sys/module/nvidia/version", version + "\n");
    file("/proc/driver/nvidia/gpus/" + address + "/information",
         "Model: \t\t NVIDIA H200\nIRQ:   \t\t 5\nGPU UUID: \t GPU-1\n");
    for (const char* path : {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"}) node(path);
  }

  Machine machine;

 private:
  TemporaryFolder folder_;
  int cards_ = 0;
};

/// The finding of an id; nullptr if there is none.
inline const Finding* find(const Diagnosis& diagnosis, const std::string& id) {
  for (const Finding& finding : diagnosis.findings)
    if (finding.id == id) return &finding;
  return nullptr;
}
/// The ids of all findings, joined by spaces: "kfd-permission several-rocm".
inline std::string ids(const Diagnosis& diagnosis) {
  std::string all;
  for (const Finding& finding : diagnosis.findings) all += (all.empty() ? "" : " ") + finding.id;
  return all;
}

/// Expects the machine to have this one problem, whose texts hold these parts.
inline void expect_problem(const MadeUp& made_up, const std::string& id, const std::string& problem,
                           const std::string& cure) {
  const Diagnosis diagnosis = examine(made_up.machine);
  const Finding* const finding = find(diagnosis, id);
  ASSERT_TRUE(finding) << "no " << id << " among: " << ids(diagnosis);
  EXPECT_EQ(finding->severity, Severity::kProblem);
  EXPECT_EQ(diagnosis.count(Severity::kProblem), 1) << ids(diagnosis);
  EXPECT_NE(finding->problem.find(problem), std::string::npos) << finding->problem;
  EXPECT_NE(finding->cure.find(cure), std::string::npos) << finding->cure;
}
/// Expects a finding of this severity, and no problem beside it.
inline void expect_finding(const MadeUp& made_up, const std::string& id, Severity severity,
                           const std::string& problem, const std::string& cure) {
  const Diagnosis diagnosis = examine(made_up.machine);
  const Finding* const finding = find(diagnosis, id);
  ASSERT_TRUE(finding) << "no " << id << " among: " << ids(diagnosis);
  EXPECT_EQ(finding->severity, severity);
  EXPECT_EQ(diagnosis.count(Severity::kProblem), severity == Severity::kProblem ? 1 : 0)
      << ids(diagnosis);
  EXPECT_NE(finding->problem.find(problem), std::string::npos) << finding->problem;
  EXPECT_NE(finding->cure.find(cure), std::string::npos) << finding->cure;
}

}  // namespace wick::test
