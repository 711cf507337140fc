// Information on AMD cards that Linux has and HIP lacks: why no card is usable, and how much memory
// is free.
#pragma once
#include <optional>
#include <string>

#include "wick/abi/marks.h"

namespace wick::gpu {

/// Why HIP finds no card, and the remedy, in one line. WICK_DEV_ROOT replaces /dev in tests.
std::string why_no_card();

struct MemoryInfo {
  int64 free_bytes;
  int64 total_bytes;
};

/// The memory of the card at a PCI address ("0000:03:00.0"), as the kernel driver counts it: it
/// includes the use by other processes and the desktop, which HIP leaves out. For an integrated card it
/// adds reserved memory (VRAM) and shared memory (GTT). nullopt if the driver does not report it.
/// WICK_SYSFS_ROOT replaces /sys in tests.
std::optional<MemoryInfo> memory_from_sysfs(const std::string& pci_address, bool integrated);

}  // namespace wick::gpu
