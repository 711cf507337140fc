#include "base/memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace wick {
namespace {

/// The number in a file; nullopt if the file is missing or holds "max".
std::optional<int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

/// The number after `word` at the start of a line.
std::optional<int64_t> number_beside(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  std::string found, line;
  int64_t value = 0;
  for (; file >> found; std::getline(file, line))
    if (found == word && file >> value) return value;
  return std::nullopt;
}

/// File names for the same values in cgroup versions 1 and 2.
struct CgroupFiles {
  const char *root, *limit, *used, *reclaimable[2];
};
constexpr CgroupFiles kVersion1 = {"/sys/fs/cgroup/memory",
                                   "memory.limit_in_bytes",
                                   "memory.usage_in_bytes",
                                   {"total_inactive_file", "total_active_file"}};
constexpr CgroupFiles kVersion2 = {
    "/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file", "active_file"}};

constexpr int64_t kNoLimit = int64_t{1} << 60;  // version 1 reports no limit as a number near 2^63

/// Applies the limits of a cgroup and all of its ancestors. A container may see only the root,
/// which is then its own cgroup.
void limit_by(const CgroupFiles& files, const std::string& below, std::string group,
              HostMemory* memory) {
  for (;;) {
    const std::string folder = below + files.root + group + "/";
    const auto limit = number_in(folder + files.limit), used = number_in(folder + files.used);
    if (limit && used && *limit < kNoLimit) {
      // File pages are reclaimed before anything is killed.
      int64_t pages = 0;
      for (const char* kind : files.reclaimable)
        pages += number_beside(folder + "memory.stat", kind).value_or(0);
      const int64_t left = std::clamp<int64_t>(*limit - *used + pages, 0, *limit);
      memory->total = std::min(memory->total, *limit);
      memory->available = std::min(memory->available, left);
    }
    if (group.empty()) return;
    group.resize(group.find_last_of('/'));
  }
}

}  // namespace

HostMemory host_memory_below(const std::string& root) {
  constexpr int64_t kKibibyte = 1024;
  const std::string facts = root + "/proc/meminfo";
  const auto bytes = [&](const char* word) {
    const auto found = number_beside(facts, word);
    return found ? std::optional(*found * kKibibyte) : std::nullopt;
  };
  const int64_t physical = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  HostMemory memory;
  memory.total = bytes("MemTotal:").value_or(physical);
  memory.available = bytes("MemAvailable:").value_or(memory.total) + bytes("SwapFree:").value_or(0);
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:/path
    std::istringstream parts(line);
    std::string number, controllers, group;
    std::getline(std::getline(parts, number, ':'), controllers, ':');
    std::getline(parts, group);
    if (group.empty() || group[0] != '/') continue;
    if (group == "/") group.clear();
    if (controllers.empty()) limit_by(kVersion2, root, group, &memory);
    if (("," + controllers + ",").find(",memory,") != std::string::npos)
      limit_by(kVersion1, root, group, &memory);
  }
  return memory;
}

HostMemory host_memory() { return host_memory_below(""); }

}  // namespace wick
