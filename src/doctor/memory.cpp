// The memory of integrated GPUs, the part of a card's memory that the host sees, IOMMU, PCIe.
#include <algorithm>

#include "doctor/checks.h"

namespace wick::doctor {
namespace {

constexpr int64_t kPageBytes = 4096;  // of the pages that ttm counts
constexpr const char* kApuPage =
    "https://rocm.docs.amd.com/en/docs-7.14.0/reference/system-optimization/rdna3-5.html";

/// The module that holds the limit: AMD's packaged driver has its own.
std::string limit_module(const Files& files) {
  return files.has("/sys/module/amdttm") ? "amdttm" : "ttm";
}

/// Linux lets an integrated GPU map half of the memory, which a parameter raises.
void check_limit(const Subject& subject, const Card& card, Findings* findings) {
  if (subject.memory_bytes <= 0 || card.shared_bytes <= 0) return;
  const std::string module = limit_module(subject.files);
  if (subject.kernel_argument("amdgpu.gttsize") && subject.kernel_argument(module + ".pages_limit"))
    findings->push_back(
        {.id = "apu-two-limits",
         .severity = Severity::kWarning,
         .problem =
             "amdgpu.gttsize and " + module +
             ".pages_limit are both on the kernel's command line; they may contradict each other",
         .cure = "remove amdgpu.gttsize, which newer kernels ignore",
         .sources = {"https://github.com/ROCm/legacy-rocm-build/issues/5595"}});
  // Half of the memory, give or take the rounding of the kernel.
  if (double(card.shared_bytes) > 0.55 * double(subject.memory_bytes)) return;
  const int64_t wanted = subject.memory_bytes / 4 * 3 / (int64_t(1) << 30);  // GiB
  const int64_t pages = wanted * ((int64_t(1) << 30) / kPageBytes);
  // Models of this size are the reason to buy a machine with much memory.
  const bool is_large = subject.memory_bytes > int64_t(24) << 30;
  findings->push_back(
      {.id = "apu-memory-limit",
       .severity = is_large ? Severity::kWarning : Severity::kNote,
       .problem = describe(card) + " may use " + gibibytes(card.memory_bytes) + " of its own and " +
                  gibibytes(card.shared_bytes) + " of the machine's " +
                  gibibytes(subject.memory_bytes) + ": Linux lends it half",
       .cure = "for " + std::to_string(wanted) + " GiB add " + module + ".pages_limit=" +
               std::to_string(pages) + " " + module + ".page_pool_size=" + std::to_string(pages) +
               " to the kernel's command line, then restart (or amd-ttm --set " +
               std::to_string(wanted) + "); give the GPU little memory of its own in the BIOS",
       .sources = {kApuPage, "https://github.com/noamsto/nix-amd-ai/issues/42"}});
}

/// Memory that the BIOS took from the machine for good.
void check_carve_out(const Subject& subject, const Card& card, Findings* findings) {
  if (subject.memory_bytes <= 0 || card.memory_bytes < int64_t(8) << 30) return;
  if (card.memory_bytes < subject.memory_bytes) return;
  findings->push_back({.id = "apu-carve-out",
                       .severity = Severity::kNote,
                       .problem = "the BIOS gives " + describe(card) + " " +
                                  gibibytes(card.memory_bytes) + " for itself, which leaves " +
                                  gibibytes(subject.memory_bytes) +
                                  " for programs and for loading models",
                       .cure = "set the UMA frame buffer to its minimum in the BIOS and raise "
                               "ttm.pages_limit: then both "
                               "share all memory",
                       .sources = {kApuPage}});
}

/// The runtime may report less than the driver has.
void check_hidden(const Subject& subject, const Card& card, Findings* findings) {
  const BackendStatus* const status = subject.backend("rocm");
  if (!status) return;
  for (const DeviceInfo& info : status->devices) {
    if (!std::string(info.architecture).starts_with(card.architecture)) continue;
    const int64_t most = std::max(card.memory_bytes, card.shared_bytes);
    if (double(info.total_bytes) >= 0.75 * double(most)) continue;
    findings->push_back({.id = "apu-memory-hidden",
                         .severity = Severity::kWarning,
                         .problem = "the runtime reports " + gibibytes(info.total_bytes) +
                                    " of memory for " + describe(card) + ", the driver has " +
                                    gibibytes(most),
                         .cure = "update the kernel to 6.16.9 or newer and ROCm to 7.2 or newer",
                         .sources = {"https://github.com/ROCm/legacy-rocm-build/issues/5444",
                                     "https://github.com/ROCm/hip/issues/3892"}});
  }
}

void check_bar(const Card& card, Findings* findings) {
  if (card.integrated || card.memory_bytes <= 0 || card.visible_bytes <= 0) return;
  if (card.visible_bytes >= card.memory_bytes) return;
  findings->push_back(
      {.id = "small-bar",
       .severity = Severity::kWarning,
       .problem =
           "the host sees " + gibibytes(card.visible_bytes) + " of the " +
           gibibytes(card.memory_bytes) + " of " + describe(card) +
           ": Resizable BAR is off, which slows copies and forbids other cards to read its memory",
       .cure =
           "switch on Above 4G Decoding and Resizable BAR (Smart Access Memory) in the BIOS; in a "
           "virtual machine, give it a large enough MMIO window"});
}

void check_link(const Card& card, Findings* findings) {
  if (card.integrated || card.link_width <= 0 || card.link_width >= card.max_link_width) return;
  findings->push_back({.id = "narrow-link",
                       .severity = Severity::kNote,
                       .problem = describe(card) + " uses " + std::to_string(card.link_width) +
                                  " PCIe lanes of " + std::to_string(card.max_link_width) +
                                  ": models load slower, the rest is as fast",
                       .cure = "put it into a slot with all lanes, if there is one"});
}

/// Several cards reach each other's memory by PCIe; an IOMMU that translates their addresses hangs
/// or corrupts such copies on some machines.
void check_iommu(const Subject& subject, Findings* findings) {
  std::vector<std::string> translated;
  int cards = 0;
  for (const Card& card : subject.cards) {
    if (card.integrated || (card.driver != "amdgpu" && card.driver != "nvidia")) continue;
    cards++;
    const std::string type =
        subject.files.text("/sys/bus/pci/devices/" + card.pci_address + "/iommu_group/type");
    if (type.starts_with("DMA")) translated.push_back(card.pci_address);
  }
  if (cards < 2 || translated.empty()) return;
  findings->push_back({.id = "iommu-translates",
                       .severity = Severity::kWarning,
                       .problem = "the IOMMU translates the addresses of several GPUs (" +
                                  joined(translated) + "): copies between them may hang",
                       .cure = "add iommu=pt to the kernel's command line, then restart",
                       .sources = {"https://github.com/ROCm/vllm/issues/390",
                                   "https://github.com/ROCm/legacy-rocm-build/issues/597"}});
}

}  // namespace

void check_memory(const Subject& subject, Findings* findings) {
  for (const Card& card : subject.cards) {
    if (card.driver != "amdgpu" && card.driver != "nvidia") continue;
    if (card.integrated) {
      check_limit(subject, card, findings);
      check_carve_out(subject, card, findings);
      check_hidden(subject, card, findings);
    }
    check_bar(card, findings);
    check_link(card, findings);
  }
  check_iommu(subject, findings);
}

}  // namespace wick::doctor
