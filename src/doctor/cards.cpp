// The GPUs as Linux describes them: /sys/bus/pci, and the topology of AMD's compute driver (kfd).
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "doctor/checks.h"

namespace wick::doctor {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices/";
constexpr const char* kNodes = "/sys/class/kfd/kfd/topology/nodes/";

// GPUs within a processor. Source: LLVM, "User Guide for AMDGPU Backend", processors of type APU.
constexpr const char* kIntegrated[] = {"gfx902",  "gfx909",  "gfx90c",  "gfx1013",
                                       "gfx1033", "gfx1035", "gfx1036", "gfx1103",
                                       "gfx1150", "gfx1151", "gfx1152", "gfx1153"};

/// The compute driver's name of an architecture: 110001 is gfx1101, 90010 gfx90a.
std::string architecture_of(int64_t version) {
  if (version <= 0) return "";
  char text[32];
  std::snprintf(text, sizeof text, "gfx%d%x%x", int(version / 10000), unsigned(version / 100 % 100),
                unsigned(version % 100));
  return text;
}

/// PCI address -> architecture, of AMD's GPUs that the compute driver serves.
std::map<std::string, std::string> architectures(const Files& files) {
  std::map<std::string, std::string> found;
  for (const std::string& node : files.names("/sys/class/kfd/kfd/topology/nodes")) {
    std::map<std::string, int64_t> facts;
    for (const std::string& line : files.lines(kNodes + node + "/properties")) {
      const std::vector<std::string> words = words_of(line);
      if (words.size() != 2) continue;
      if (const auto number = parse_number(words[1])) facts[words[0]] = *number;
    }
    if (facts["simd_count"] <= 0) continue;  // a CPU
    const unsigned location = unsigned(facts["location_id"]);
    char address[32];
    std::snprintf(address, sizeof address, "%04x:%02x:%02x.%x", unsigned(facts["domain"]),
                  location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
    found[address] = architecture_of(facts["gfx_target_version"]);
  }
  return found;
}

/// "NVIDIA H200" of /proc/driver/nvidia/gpus/ADDRESS/information.
std::string nvidia_name(const Files& files, const std::string& address) {
  for (const std::string& line :
       files.lines("/proc/driver/nvidia/gpus/" + address + "/information"))
    if (line.starts_with("Model:")) return line.substr(line.find_first_not_of(" \t", 6));
  return "";
}

void read_firmware(const Files& files, const std::string& folder, Card* card) {
  constexpr std::string_view kEnd = "_fw_version";
  for (const std::string& name : files.names(folder + "/fw_version")) {
    if (!name.ends_with(kEnd)) continue;
    const std::string version = files.text(folder + "/fw_version/" + name);
    if (parse_number(version, 16).value_or(0) != 0)
      card->firmware[name.substr(0, name.size() - kEnd.size())] = version;
  }
}

}  // namespace

std::vector<Card> find_cards(const Files& files) {
  const std::map<std::string, std::string> architecture = architectures(files);
  std::vector<Card> cards;
  for (const std::string& address : files.names("/sys/bus/pci/devices")) {
    const std::string folder = kDevices + address, uevent = folder + "/uevent";
    // A display (03xxxx) or a processing accelerator (1200xx).
    const auto kind = parse_number(files.value(uevent, "PCI_CLASS"), 16);
    if (!kind || (*kind >> 16 != 0x03 && *kind >> 8 != 0x1200)) continue;
    const std::string ids = files.value(uevent, "PCI_ID");
    const size_t colon = ids.find(':');
    if (colon == std::string::npos) continue;
    Card card{.pci_address = address};
    card.vendor = uint32_t(parse_number(ids.substr(0, colon), 16).value_or(0));
    card.id = uint32_t(parse_number(ids.substr(colon + 1), 16).value_or(0));
    if (!card.is_amd() && !card.is_nvidia()) continue;
    card.driver = files.value(uevent, "DRIVER");
    card.name =
        card.is_nvidia() ? nvidia_name(files, address) : files.text(folder + "/product_name");
    if (const auto found = architecture.find(address); found != architecture.end())
      card.architecture = found->second;
    card.integrated = std::find(std::begin(kIntegrated), std::end(kIntegrated),
                                card.architecture) != std::end(kIntegrated);
    card.memory_bytes = files.number(folder + "/mem_info_vram_total").value_or(0);
    card.visible_bytes = files.number(folder + "/mem_info_vis_vram_total").value_or(0);
    card.shared_bytes = files.number(folder + "/mem_info_gtt_total").value_or(0);
    card.link_width = int(files.number(folder + "/current_link_width").value_or(0));
    card.max_link_width = int(files.number(folder + "/max_link_width").value_or(0));
    read_firmware(files, folder, &card);
    cards.push_back(std::move(card));
  }
  return cards;
}

std::string describe(const Card& card) {
  char ids[32];
  std::snprintf(ids, sizeof ids, "%04x:%04x", card.vendor, card.id);
  return card.pci_address + " (" +
         (card.name.empty() ? std::string(card.is_amd() ? "AMD " : "NVIDIA ") + ids : card.name) +
         (card.architecture.empty() ? "" : ", " + card.architecture) + ")";
}

std::string gibibytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", double(bytes) / double(int64_t(1) << 30));
  return text;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

}  // namespace wick::doctor
