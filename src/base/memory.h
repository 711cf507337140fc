// Memory available to this process.
#pragma once
#include <cstdint>
#include <string>

namespace wick {

struct HostMemory {
  int64_t available = 0;  // bytes that can be allocated before the OOM killer acts
  int64_t total = 0;      // of the machine, or of the process's cgroup
};

/// Reads /proc/meminfo and the limits of the process's cgroups and their ancestors, of either
/// version. Free swap counts as available, except within a limited cgroup. Without /proc, all
/// physical memory counts as available.
HostMemory host_memory();
/// The same, reading files below another root, for tests.
HostMemory host_memory_below(const std::string& root);

}  // namespace wick
