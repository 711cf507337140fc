// How much memory the machine has for this process.
#pragma once
#include <cstdint>
#include <string>

namespace wick {

struct HostMemory {
  int64_t available = 0;  // bytes that may still be taken without anything being killed for them
  int64_t total = 0;      // of the machine, or of the cgroup that the process runs in
};

/// What /proc/meminfo says, and the limits of the process's cgroups and of those above them, of
/// either version. A machine's free swap is available too; within a limited cgroup it is not
/// counted. Where there is no /proc, all physical memory is available.
HostMemory host_memory();
/// The same, read of the files below another root: for tests.
HostMemory host_memory_below(const std::string& root);

}  // namespace wick
