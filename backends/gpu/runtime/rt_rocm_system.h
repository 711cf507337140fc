// What Linux reports about AMD cards beside HIP: why there is none, and how much memory is really
// free.
#pragma once
#include <optional>
#include <string>

#include "wick/abi/marks.h"

namespace wick::gpu {

/// Why HIP finds no card, and what would help; one line. Tests put another root in place of /dev by
/// WICK_DEV_ROOT.
std::string why_no_card();

struct MemoryInfo {
  int64 free_bytes;
  int64 total_bytes;
};

/// The memory of the card at a PCI address ("0000:03:00.0"), as the kernel driver counts it: all
/// processes' and the desktop's use included, which HIP leaves out. An integrated card's tensors
/// live in memory that is reserved for it (VRAM) or shared with it (GTT): both count. nullopt where the
/// driver does not say. Tests put another root in place of /sys by WICK_SYSFS_ROOT.
std::optional<MemoryInfo> memory_from_sysfs(const std::string& pci_address, bool integrated);

}  // namespace wick::gpu
