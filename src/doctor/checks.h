// The checks of a machine. Each appends its findings.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doctor/files.h"
#include "wick/doctor/doctor.h"

namespace wick::doctor {

enum class Container { kNo, kDocker, kPodman, kKubernetes, kOther };

/// A machine, and facts about it that several checks need.
struct Subject {
  explicit Subject(const Machine& machine);

  const Machine& machine;
  Files files;
  std::vector<Card> cards;
  std::string kernel;                         // "6.17.0-14-generic"
  std::vector<std::string> kernel_arguments;  // the words of /proc/cmdline
  std::string distribution,
      distribution_like;  // "ubuntu" and "debian": ID and ID_LIKE of os-release
  Container container = Container::kNo;
  bool is_wsl = false;
  int64_t memory_bytes = 0;  // of the host; 0: unknown

  /// The value of a variable, "" if it is unset.
  std::string variable(const std::string& name) const;
  /// The value of "NAME=value" on the kernel's command line; nullopt if it is not there.
  std::optional<std::string> kernel_argument(const std::string& name) const;
  /// nullptr if the backends could not be asked, or lack it.
  const BackendStatus* backend(const std::string& name) const;
  /// nullptr if there is no such device file.
  const DeviceNode* node(const std::string& path) const;
  /// The version in a line of a backend's runtime: "7.2" of "... (HIP 7.2)"; "" if unknown.
  std::string runtime_version(const std::string& backend, const std::string& word) const;
};

using Findings = std::vector<Finding>;

/// Appends the findings about one vendor's GPUs. If the other vendor's backend has devices,
/// problems become warnings: the machine computes on those, and the GPU may be for the display.
void append_findings(const Subject& subject, const std::string& other, const Findings& found,
                     Findings* findings);

/// Drivers, device files and the right to open them, containers, WSL.
void check_drivers(const Subject& subject, Findings* findings);
/// wick's modules, and the runtimes that they open.
void check_runtimes(const Subject& subject, Findings* findings);
/// The memory of integrated GPUs, the part of a card's memory that the host sees, IOMMU, PCIe.
void check_memory(const Subject& subject, Findings* findings);
/// Versions that are known to fail: "versions" of known_bad.json.
void check_versions(const Subject& subject, Findings* findings);
/// Environment variables that break or slow things: "variables" of known_bad.json.
void check_variables(const Subject& subject, Findings* findings);

/// The GPUs that PCI lists, in the order of their addresses.
std::vector<Card> find_cards(const Files& files);
/// "0000:03:00.0 (AMD 1002:744c, gfx1100)".
std::string describe(const Card& card);
/// "23.9 GiB".
std::string gibibytes(int64_t bytes);
/// Joins texts by ", ".
std::string joined(const std::vector<std::string>& texts);

}  // namespace wick::doctor
