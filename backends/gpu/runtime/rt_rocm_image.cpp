#include "runtime/rt_rocm_image.h"

#include <elf.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/rt_rocm_targets.h"
#include "scalar/round_up.h"

namespace wick::gpu {
namespace {

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr std::string_view kElfMagic = ELFMAG;
constexpr int kMachineAmdGpu = 224, kOsAbiHsa = 64, kNoteMetadata = 32;
constexpr std::string_view kIsaPrefix = "amdgcn-amd-amdhsa--";

Failure damaged(const std::string& reason) { return {StatusCode::kInvalidArgument, reason}; }

/// Bounds-checked reads. A read that fails leaves the value as it is and clears `good`.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T at(size_t offset) {
    T value{};
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T))
      good = false;
    else
      std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  std::string_view part(size_t offset, size_t size) {
    if (offset > bytes_.size() || bytes_.size() - offset < size) {
      good = false;
      return {};
    }
    return bytes_.substr(offset, size);
  }
  bool good = true;

 private:
  std::string_view bytes_;
};

// ---- MessagePack, in which the metadata is written (its specification: msgpack.org)

/// Walks one value after the other. Damage clears `good` and ends every loop.
class MessagePack {
 public:
  explicit MessagePack(std::string_view bytes) : reader_(bytes) {}
  bool good() const { return reader_.good; }

  /// Calls visit(key) for each entry of a map with text keys; visit must consume the value.
  template <class Visit>
  void map(Visit visit) {
    const uint8 type = take<uint8>();
    uint64 count = 0;
    if ((type & 0xf0) == 0x80)
      count = type & 0xf;
    else if (type == 0xde)
      count = big<uint16>();
    else if (type == 0xdf)
      count = big<uint32>();
    else
      reader_.good = false;
    for (uint64 i = 0; i < count && good(); i++) visit(text());
  }
  /// Calls visit() for each element of an array; visit must consume it.
  template <class Visit>
  void array(Visit visit) {
    const uint8 type = take<uint8>();
    uint64 count = 0;
    if ((type & 0xf0) == 0x90)
      count = type & 0xf;
    else if (type == 0xdc)
      count = big<uint16>();
    else if (type == 0xdd)
      count = big<uint32>();
    else
      reader_.good = false;
    for (uint64 i = 0; i < count && good(); i++) visit();
  }
  std::string_view text() {
    const uint8 type = take<uint8>();
    size_t size = 0;
    if ((type & 0xe0) == 0xa0)
      size = type & 0x1f;
    else if (type == 0xd9)
      size = take<uint8>();
    else if (type == 0xda)
      size = big<uint16>();
    else if (type == 0xdb)
      size = big<uint32>();
    else
      reader_.good = false;
    return take_part(size);
  }
  /// An unsigned number below 2^31.
  int32 number() {
    const uint8 type = take<uint8>();
    uint64 value = 0;
    if (type < 0x80)
      value = type;
    else if (type == 0xcc)
      value = take<uint8>();
    else if (type == 0xcd)
      value = big<uint16>();
    else if (type == 0xce)
      value = big<uint32>();
    else if (type == 0xcf)
      value = big<uint64>();
    else
      reader_.good = false;
    if (value > INT32_MAX) reader_.good = false;
    return good() ? int32(value) : 0;
  }
  void skip(int depth = 0) {
    if (depth > 16) reader_.good = false;
    if (!good()) return;
    const uint8 type = reader_.at<uint8>(at_);
    if ((type & 0xf0) == 0x80 || type == 0xde || type == 0xdf)
      return map([&](std::string_view) { skip(depth + 1); });
    if ((type & 0xf0) == 0x90 || type == 0xdc || type == 0xdd)
      return array([&] { skip(depth + 1); });
    if ((type & 0xe0) == 0xa0 || (0xd9 <= type && type <= 0xdb)) return (void)text();
    at_++;
    if (type < 0x80 || type >= 0xe0 || type == 0xc0 || type == 0xc2 || type == 0xc3) return;
    switch (type) {
      case 0xcc:
      case 0xd0:
        return (void)take_part(1);
      case 0xcd:
      case 0xd1:
        return (void)take_part(2);
      case 0xca:
      case 0xce:
      case 0xd2:
        return (void)take_part(4);
      case 0xcb:
      case 0xcf:
      case 0xd3:
        return (void)take_part(8);
      default:  // binary and extension types, which the metadata does not have
        reader_.good = false;
    }
  }

 private:
  template <class T>
  T take() {
    const T value = reader_.at<T>(at_);
    at_ += sizeof(T);
    return value;
  }
  template <class T>
  T big() {  // numbers are big-endian
    T value = 0;
    for (size_t i = 0; i < sizeof(T); i++) value = T(value << 8 | take<uint8>());
    return value;
  }
  std::string_view take_part(size_t size) {
    const std::string_view part = reader_.part(at_, size);
    at_ += size;
    return part;
  }

  Reader reader_;
  size_t at_ = 0;
};

ImageKernel read_kernel(MessagePack& metadata) {
  ImageKernel kernel;
  metadata.map([&](std::string_view key) {
    if (key == ".name") {
      kernel.name = metadata.text();
    } else if (key == ".max_flat_workgroup_size") {
      kernel.max_threads = metadata.number();
    } else if (key == ".group_segment_fixed_size") {
      kernel.static_shared_bytes = metadata.number();
    } else if (key == ".args") {
      metadata.array([&] {
        int32 bytes = 0;
        bool hidden = false;
        metadata.map([&](std::string_view fact) {
          if (fact == ".size")
            bytes = metadata.number();
          else if (fact == ".value_kind")
            hidden = metadata.text().starts_with("hidden_");
          else
            metadata.skip();
        });
        if (!hidden) kernel.argument_bytes.push_back(bytes);
      });
    } else {
      metadata.skip();
    }
  });
  return kernel;
}

bool read_metadata(std::string_view bytes, Image& image) {
  MessagePack metadata(bytes);
  metadata.map([&](std::string_view key) {
    if (key == "amdhsa.target") {
      image.target = metadata.text();
    } else if (key == "amdhsa.kernels") {
      metadata.array([&] { image.kernels.push_back(read_kernel(metadata)); });
    } else {
      metadata.skip();
    }
  });
  return metadata.good();
}

// ---- code objects

/// The metadata among the notes of a segment or section.
std::optional<std::string_view> find_metadata(std::string_view notes) {
  Reader reader(notes);
  for (size_t at = 0; at < notes.size();) {
    const auto header = reader.at<Elf64_Nhdr>(at);
    const size_t padded_name = round_up(size_t(header.n_namesz), 4u);
    const std::string_view name = reader.part(at + sizeof header, header.n_namesz);
    const std::string_view text = reader.part(at + sizeof header + padded_name, header.n_descsz);
    if (!reader.good) return std::nullopt;
    if (header.n_type == kNoteMetadata && name == std::string_view("AMDGPU\0", 7)) return text;
    at += sizeof header + padded_name + round_up(size_t(header.n_descsz), 4u);
  }
  return std::nullopt;
}

Failure read_code_object(std::string_view bytes, Image& image) {
  Reader reader(bytes);
  const auto header = reader.at<Elf64_Ehdr>(0);
  if (!reader.good)
    return damaged("the code object is cut off: it has " + std::to_string(bytes.size()) +
                   " bytes, an ELF header has " + std::to_string(sizeof header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachineAmdGpu || header.e_ident[EI_OSABI] != kOsAbiHsa)
    return damaged("expected an ELF file with code for AMD GPUs, got one for machine " +
                   std::to_string(header.e_machine));
  if (header.e_type != ET_DYN)
    return damaged("expected a linked code object, got an ELF file of type " +
                   std::to_string(header.e_type));
  const auto cut_off = [&](const char* part, uint64 end) {
    return damaged(std::string("the code object is cut off or damaged: ") + part +
                   " ends at byte " + std::to_string(end) + ", there are " +
                   std::to_string(bytes.size()));
  };
  const uint64 sections_end = header.e_shoff + uint64(header.e_shnum) * sizeof(Elf64_Shdr);
  if (header.e_shnum > 0 && (header.e_shentsize != sizeof(Elf64_Shdr) ||
                             header.e_shoff > bytes.size() || sections_end > bytes.size()))
    return cut_off("its section table", sections_end);
  for (size_t i = 0; i < header.e_shnum; i++) {
    const auto section = reader.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) continue;
    reader.part(section.sh_offset, section.sh_size);
    if (!reader.good) return cut_off("a section", section.sh_offset + section.sh_size);
  }
  const uint64 segments_end = header.e_phoff + uint64(header.e_phnum) * sizeof(Elf64_Phdr);
  if (header.e_phnum == 0 || header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_phoff > bytes.size() || segments_end > bytes.size())
    return cut_off("its segment table", segments_end);
  std::optional<std::string_view> metadata;
  for (size_t i = 0; i < header.e_phnum; i++) {
    const auto segment = reader.at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    const std::string_view part = reader.part(segment.p_offset, segment.p_filesz);
    if (!reader.good) return cut_off("a segment", segment.p_offset + segment.p_filesz);
    if (segment.p_type == PT_NOTE && !metadata) metadata = find_metadata(part);
  }
  if (!metadata)
    return damaged("the code object has no metadata of its kernels; it may be of before ROCm 4");
  image.code = bytes;
  if (!read_metadata(*metadata, image)) return damaged("the code object's metadata is damaged");
  if (!image.target.starts_with(kIsaPrefix))
    return damaged("expected a code object for " + std::string(kIsaPrefix) + "gfx..., got \"" +
                   image.target + "\"");
  image.target.erase(0, kIsaPrefix.size());
  return {};
}

// ---- which code runs where

/// How well code for a target ("gfx942:xnack-", "gfx11-generic") serves an architecture
/// ("gfx942:sramecc+:xnack-"): 0 if it does not run there; else more for the card's own target than
/// for a generic one, and more for each feature that it is compiled for. A feature that a target
/// leaves open fits either setting.
int fitness(std::string_view target, std::string_view architecture) {
  const Target* card = find_target(architecture);
  int fit = 0;
  if (base_architecture(target) == base_architecture(architecture))
    fit = 10;
  else if (card && card->generic[0] && base_architecture(target) == card->generic)
    fit = 1;
  else
    return 0;
  for (size_t at = target.find(':'); at != std::string_view::npos; fit++) {
    const size_t end = target.find(':', at + 1);
    const std::string_view feature = target.substr(at, end - at);  // ":xnack-"
    const size_t found = architecture.find(feature);
    if (found == std::string_view::npos) return 0;
    const size_t after = found + feature.size();
    if (after < architecture.size() && architecture[after] != ':') return 0;
    at = end;
  }
  return fit;
}

Failure other_target(const std::string& has, std::string_view architecture) {
  return {StatusCode::kKernelNotFound,
          "it has code for " + has + ", this GPU is " + std::string(architecture)};
}

// ---- bundles

/// Picks the code object for the architecture.
Failure unbundle(std::string_view bytes, std::string_view architecture, std::string_view& code) {
  Reader reader(bytes);
  size_t at = kBundleMagic.size();
  const auto count = reader.at<uint64>(at);
  at += sizeof count;
  std::string has;
  int best = 0;
  for (uint64 i = 0; i < count && reader.good; i++) {
    const auto offset = reader.at<uint64>(at), size = reader.at<uint64>(at + 8),
               id_size = reader.at<uint64>(at + 16);
    const std::string_view id = reader.part(at + 24, id_size);
    const std::string_view part = reader.part(offset, size);
    if (!reader.good) break;
    at += 24 + id_size;
    // "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-"; with "host-..." the entry is the host's and empty.
    const size_t begin = id.find(kIsaPrefix);
    if (begin == std::string_view::npos) continue;
    const std::string_view target = id.substr(begin + kIsaPrefix.size());
    has += (has.empty() ? "" : ", ") + std::string(target);
    if (const int fit = fitness(target, architecture); fit > best) best = fit, code = part;
  }
  if (!reader.good)
    return damaged("the bundle is cut off or damaged: an entry ends beyond its " +
                   std::to_string(bytes.size()) + " bytes");
  if (best == 0) return other_target(has.empty() ? "no GPU" : has, architecture);
  return {};
}

/// Header: magic, u16 version, u16 method (1 is zstd), the file's bytes (version 2: u32, 3: u64; 1
/// has none), the unpacked bytes (u32; 3: u64), u64 hash.
Failure decompress(std::string_view bytes, std::string& unpacked) {
  Reader reader(bytes);
  const auto version = reader.at<uint16>(4), method = reader.at<uint16>(6);
  uint64 file_bytes = bytes.size(), size = 0;
  size_t header = 0;
  if (version == 1) {
    size = reader.at<uint32>(8), header = 20;
  } else if (version == 2) {
    file_bytes = reader.at<uint32>(8), size = reader.at<uint32>(12), header = 24;
  } else if (version == 3) {
    file_bytes = reader.at<uint64>(8), size = reader.at<uint64>(16), header = 32;
  } else {
    return damaged("the compressed bundle is of version " + std::to_string(version) +
                   ", expected 1 to 3");
  }
  if (!reader.good || file_bytes > bytes.size() || file_bytes < header)
    return damaged("the compressed bundle is cut off: expected " + std::to_string(file_bytes) +
                   " bytes, got " + std::to_string(bytes.size()));
  if (method != 1)
    return damaged(
        "the bundle is compressed by zlib, expected zstd; compile it with "
        "-no-offload-compress");
  const std::string_view packed = bytes.substr(header, file_bytes - header);
  // What it says is believed up to a factor that real bundles stay below: they are mostly code.
  constexpr uint64 kMaxFactor = 1000;
  if (size > packed.size() * kMaxFactor ||
      ZSTD_getFrameContentSize(packed.data(), packed.size()) != size)
    return damaged("the compressed bundle is damaged: " + std::to_string(packed.size()) +
                   " bytes for " + std::to_string(size));
  unpacked.resize(size);
  if (ZSTD_decompress(unpacked.data(), size, packed.data(), packed.size()) != size)
    return damaged("the compressed bundle is damaged: zstd cannot unpack it");
  return {};
}

}  // namespace

Failure read_image(std::string_view bytes, std::string_view architecture, Image& image) {
  std::string unpacked;
  if (bytes.starts_with(kCompressedMagic)) {
    if (Failure f = decompress(bytes, unpacked); !f.ok()) return f;
    bytes = unpacked;
  }
  if (bytes.starts_with(kBundleMagic)) {
    std::string_view code;
    if (Failure f = unbundle(bytes, architecture, code); !f.ok()) return f;
    bytes = code;
  }
  if (!bytes.starts_with(kElfMagic))
    return damaged("expected a code object (ELF) or a bundle of code objects");
  if (Failure f = read_code_object(bytes, image); !f.ok()) return f;
  if (fitness(image.target, architecture) == 0) return other_target(image.target, architecture);
  return {};
}

}  // namespace wick::gpu
