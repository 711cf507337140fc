// Finds the causes that keep a machine's GPUs from working, or slow them, and their cures.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "wick/base/settings.h"
#include "wick/core/backend.h"

namespace wick {

/// A device file of a GPU, such as /dev/kfd.
struct DeviceNode {
  std::string path;
  int error = 0;       // errno of opening it for reading and writing; 0: it can be opened
  uint32_t group = 0;  // the number of the group that owns it
};

/// All that examine() reads. Tests describe machines by it that do not exist.
struct Machine {
  std::string root = {};  // the prefix of /proc, /sys and /etc
  std::map<std::string, std::string> environment = {};
  std::vector<DeviceNode> nodes = {};
  std::vector<BackendStatus> backends = {};
  /// How asking the backends ended, if it failed: "is ended by signal 11 (Segmentation fault)".
  std::string backends_failure = {};
};

/// How this_machine asks the backends for their devices.
struct MachineOptions {
  /// A command that prints backends_line(); a vendor's runtime may crash or block it. Empty: this
  /// process asks.
  std::vector<std::string> backends_command = {};
  int64_t timeout_ms = 60000;  // of the command
};

/// This machine; WICK_SYSTEM_ROOT is its root. A command that fails is in backends_failure.
WICK_API Machine this_machine(const MachineOptions& options = {});

/// The result of backend_status() as one line of JSON, after a mark by which this_machine finds it.
WICK_API std::string backends_line();

/// A GPU as Linux describes it.
struct Card {
  std::string pci_address;        // "0000:03:00.0"
  uint32_t vendor = 0;            // 0x1002: AMD, 0x10de: NVIDIA
  uint32_t id = 0;                // PCI device
  std::string name = {};          // "" if Linux does not know it
  std::string driver = {};        // "amdgpu", "" if no driver is bound
  std::string architecture = {};  // "gfx1100"; "" if unknown
  bool integrated = false;
  int64_t memory_bytes = 0, visible_bytes = 0, shared_bytes = 0;  // VRAM, that the host sees, GTT
  int link_width = 0, max_link_width = 0;                         // PCIe lanes; 0: unknown
  std::map<std::string, std::string> firmware = {};               // "mes": "0x83"

  bool is_amd() const { return vendor == 0x1002; }
  bool is_nvidia() const { return vendor == 0x10de; }
};

enum class Severity {
  kNote,     // worth knowing
  kWarning,  // slow, wasteful, or known to fail at times
  kProblem,  // a GPU cannot be used, or its results cannot be trusted
};
/// "note", "warning", "problem".
WICK_API const char* to_string(Severity severity);

/// Something wrong with the machine, and its cure.
struct Finding {
  std::string id;  // "kfd-permission": the same in every version of wick
  Severity severity = Severity::kNote;
  std::string problem = {};               // one sentence or two
  std::string cure = {};                  // to be done by the user; "" if there is nothing to do
  std::vector<std::string> sources = {};  // addresses of pages
};

struct WICK_API Diagnosis {
  std::vector<std::pair<std::string, std::string>> system;  // "kernel": "6.12.9", in order
  std::vector<Card> cards;
  std::vector<BackendStatus> backends;
  std::vector<Finding> findings;  // the most severe first

  /// Adds a finding after those that are as severe.
  void add(Finding finding);
  /// The number of findings of a severity.
  int count(Severity severity) const;
};

/// Examines a machine. Files that are missing or that hold anything unexpected count as unknown.
WICK_API Diagnosis examine(const Machine& machine);

/// The diagnosis as lines of text: the system, its cards, the findings with their cures.
WICK_API std::string to_text(const Diagnosis& diagnosis);
/// The diagnosis as an object of JSON: system, cards, backends, findings.
WICK_API Settings to_settings(const Diagnosis& diagnosis);
/// A text without the names that say who the user is: the home folder becomes ~, the user's name
/// USER, and the machine's name HOST.
WICK_API std::string without_personal_names(std::string text, const Machine& machine);

}  // namespace wick
