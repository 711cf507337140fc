#include "runtime/rt_cuda_image.h"

#include <elf.h>

#include <cstring>

namespace wick::gpu {
namespace {

constexpr int kMachineCuda = 190;
constexpr uint32 kFatbinMagic = 0xba55ed50;

struct FatbinHeader {
  uint32 magic;
  uint16 version, header_bytes;
  uint64 bytes;  // of the entries that follow
};
struct FatbinEntry {
  uint16 kind, version;
  uint32 header_bytes;
  uint64 bytes;  // of the code that follows
  uint32 unused[3];
  uint32 architecture;
};
constexpr uint16 kEntryPtx = 1, kEntryElf = 2;

Failure damaged(const std::string& reason) { return {StatusCode::kInvalidArgument, reason}; }
Failure other_architecture(const std::string& has, int architecture) {
  return {StatusCode::kKernelNotFound,
          "it has code for " + has + ", this GPU is sm_" + std::to_string(architecture)};
}

/// Machine code runs on cards of its major version and of its minor version or a later one.
bool runs(int code, int card) { return code / 10 == card / 10 && code % 10 <= card % 10; }

template <class T>
bool read(std::string_view bytes, uint64 at, T& value) {
  if (at > bytes.size() || bytes.size() - at < sizeof value) return false;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return true;
}

Failure check_cubin(std::string_view bytes, int card) {
  Elf64_Ehdr header;
  if (!read(bytes, 0, header))
    return damaged("the cubin is cut off: it has " + std::to_string(bytes.size()) + " bytes");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachineCuda)
    return damaged("expected an ELF file with code for NVIDIA GPUs, got one for machine " +
                   std::to_string(header.e_machine));
  const auto inside = [&](uint64 at, uint64 size) {
    return at <= bytes.size() && size <= bytes.size() - at;
  };
  bool whole = header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shnum > 0 &&
               inside(header.e_shoff, uint64(header.e_shnum) * sizeof(Elf64_Shdr)) &&
               inside(header.e_phoff, uint64(header.e_phnum) * sizeof(Elf64_Phdr));
  for (int i = 0; whole && i < header.e_shnum; i++) {
    Elf64_Shdr section;
    whole = read(bytes, header.e_shoff + uint64(i) * sizeof section, section) &&
            (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL ||
             inside(section.sh_offset, section.sh_size));
  }
  if (!whole)
    return damaged("the cubin is cut off or damaged: a table or section ends beyond its " +
                   std::to_string(bytes.size()) + " bytes");
  // The flags hold the architecture: in the second byte since CUDA 13 (ABI 8), before in the first.
  const int code =
      int(header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 & 0xff : header.e_flags & 0xff);
  return runs(code, card) ? Failure{} : other_architecture("sm_" + std::to_string(code), card);
}

Failure check_fatbin(std::string_view bytes, int card) {
  FatbinHeader header{};
  const bool begins = read(bytes, 0, header);
  if (!begins || header.header_bytes < sizeof header || header.header_bytes > bytes.size() ||
      header.bytes > bytes.size() - header.header_bytes)
    return damaged("the fatbin is cut off or damaged: it says " + std::to_string(header.bytes) +
                   " bytes, the file has " + std::to_string(bytes.size()));
  const std::string_view entries = bytes.substr(header.header_bytes, header.bytes);
  std::string has;
  bool serves = false;
  for (uint64 at = 0; at < entries.size();) {
    FatbinEntry entry;
    if (!read(entries, at, entry) || entry.header_bytes < sizeof entry ||
        entry.header_bytes > entries.size() - at ||
        entry.bytes > entries.size() - at - entry.header_bytes)
      return damaged("the fatbin is damaged: the entry at byte " + std::to_string(at) +
                     " ends beyond its entries");
    const int code = int(entry.architecture);
    if (entry.kind == kEntryElf || entry.kind == kEntryPtx) {
      has += (has.empty() ? "" : ", ") + std::string(entry.kind == kEntryElf ? "sm_" : "compute_") +
             std::to_string(code);
      serves = serves || (entry.kind == kEntryElf ? runs(code, card) : code <= card);
    }
    at += entry.header_bytes + entry.bytes;
  }
  return serves ? Failure{} : other_architecture(has.empty() ? "no GPU" : has, card);
}

}  // namespace

Failure read_cuda_image(std::string_view bytes, int architecture, std::string& image) {
  uint32 magic = 0;
  read(bytes, 0, magic);
  Failure failure;
  if (bytes.starts_with(ELFMAG))
    failure = check_cubin(bytes, architecture);
  else if (magic == kFatbinMagic)
    failure = check_fatbin(bytes, architecture);
  else if (bytes.find('\0') != std::string_view::npos ||
           bytes.find(".target") == std::string_view::npos)
    failure = damaged("expected a cubin (ELF), a fatbin or PTX");
  // As text it must end in a 0, which std::string has.
  if (failure.ok()) image = bytes;
  return failure;
}

}  // namespace wick::gpu
