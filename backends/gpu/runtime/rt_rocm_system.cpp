#include "runtime/rt_rocm_system.h"

#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace wick::gpu {
namespace {

std::string root(const char* variable, const char* usual) {
  const char* value = std::getenv(variable);
  return value && *value ? value : usual;
}

std::optional<int64> read_number(const std::string& path) {
  std::ifstream file(path);
  int64 value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

// Reads the sizes of one kind of memory, "vram" or "gtt".
std::optional<MemoryInfo> read_memory(const std::string& folder, const std::string& kind) {
  const auto total = read_number(folder + "/mem_info_" + kind + "_total");
  const auto used = read_number(folder + "/mem_info_" + kind + "_used");
  if (!total || !used) return std::nullopt;
  return MemoryInfo{*total > *used ? *total - *used : 0, *total};
}

}  // namespace

std::string why_no_card() {
  const std::string kfd = root("WICK_DEV_ROOT", "/dev") + "/kfd";
  const int file = open(kfd.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    if (errno == EACCES || errno == EPERM)
      return kfd +
             ": no permission; add the user to the groups render and video, then log in again";
    return kfd + " is missing (" + std::strerror(errno) +
           "); the amdgpu kernel driver is not loaded, or the container lacks --device=/dev/kfd "
           "--device=/dev/dri";
  }
  close(file);
  for (const char* variable :
       {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
    if (const char* value = std::getenv(variable))
      return std::string(variable) + "='" + value +
             "' may hide it; /dev/dri needs the groups render and video";
  return kfd +
         " can be opened, but the runtime finds no card; /dev/dri needs the groups render and "
         "video";
}

std::optional<MemoryInfo> memory_from_sysfs(const std::string& pci_address, bool integrated) {
  std::string address = pci_address;  // HIP may write it in capitals, sysfs never does
  for (char& c : address) c = char(std::tolower(static_cast<unsigned char>(c)));
  const std::string folder = root("WICK_SYSFS_ROOT", "/sys") + "/bus/pci/devices/" + address;
  std::optional<MemoryInfo> memory = read_memory(folder, "vram");
  if (!memory || !integrated) return memory;
  if (const auto gtt = read_memory(folder, "gtt")) {
    memory->free_bytes += gtt->free_bytes;
    memory->total_bytes += gtt->total_bytes;
  }
  return memory;
}

}  // namespace wick::gpu
