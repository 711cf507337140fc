// wick's modules, and the runtimes of the vendors that they open.
#include <algorithm>
#include <iterator>

#include "doctor/checks.h"

namespace wick::doctor {
namespace {

struct Vendor {
  const char* backend;  // "rocm"
  const char* driver;   // of its cards
  const char* title;    // "AMD"
  bool (Card::*matches)() const;
};
constexpr Vendor kVendors[] = {{"rocm", "amdgpu", "AMD", &Card::is_amd},
                               {"cuda", "nvidia", "NVIDIA", &Card::is_nvidia}};

/// The package that holds AMD's runtime. Source: docs/how-to/run-on-amd.md.
std::string amd_runtime_package(const Subject& subject) {
  struct Package {
    const char *distribution, *command;
  };
  constexpr Package kPackages[] = {
      {"debian",
       "sudo apt install libamdhip64-5 (newer releases: libamdhip64-6 or -7), or AMD's "
       "hip-runtime-amd, which newer GPUs need"},
      {"ubuntu", "sudo apt install libamdhip64-5, or AMD's hip-runtime-amd, which newer GPUs need"},
      {"fedora", "sudo dnf install rocm-hip"},
      {"arch", "sudo pacman -S hip-runtime-amd"},
      {"suse", "install hip-runtime-amd from AMD's repository"},
      {"rhel", "install hip-runtime-amd from AMD's repository"},
  };
  const std::string names = subject.distribution + " " + subject.distribution_like;
  for (const std::string& name : words_of(names))
    for (const Package& package : kPackages)
      if (name == package.distribution) return package.command;
  return "install HIP's runtime, libamdhip64.so of ROCm 6 or 7";
}

std::string runtime_cure(const Subject& subject, const Vendor& vendor) {
  if (vendor.backend == std::string("cuda"))
    return subject.container == Container::kNo ? "install NVIDIA's driver, which brings "
                                                 "libcuda.so.1, in a version that the line asks for"
                                               : "start the container with --gpus all, which "
                                                 "brings the host's libcuda.so.1; if it is too "
                                                 "old, update the host's driver";
  return amd_runtime_package(subject) +
         "; or set WICK_HIP_RUNTIME to its file. docs/how-to/run-on-amd.md lists the packages";
}

/// A module that is absent is a matter of the build; one that fails to load is broken.
void check_module(const BackendStatus& status, const Vendor& vendor, Findings* findings) {
  const bool absent = status.module.empty();
  findings->push_back(
      {.id = std::string(vendor.backend) + (absent ? "-module-missing" : "-module-broken"),
       .severity = Severity::kProblem,
       .problem = std::string("there is an ") + vendor.title +
                  " GPU, and wick cannot use it: " + status.why_none,
       .cure = absent ? std::string("install a wick that was built with its module for ") +
                            vendor.title + " GPUs, or build it (docs/how-to/run-on-amd.md)"
                      : "install the module and libwick of one build"});
}

void check_no_devices(const Subject& subject, const BackendStatus& status, const Vendor& vendor,
                      bool is_reachable, Findings* findings) {
  if (status.no_runtime) {
    findings->push_back({.id = std::string(vendor.backend) + "-runtime-missing",
                         .severity = Severity::kProblem,
                         .problem = status.why_none,
                         .cure = runtime_cure(subject, vendor)});
  } else if (is_reachable) {  // else the driver's finding is the cause
    findings->push_back(
        {.id = std::string(vendor.backend) + "-no-device",
         .severity = Severity::kProblem,
         .problem = std::string("the driver lists ") + vendor.title +
                    " GPUs, and the runtime finds none that it may use: " + status.why_none,
         .cure = vendor.backend == std::string("rocm")
                     ? "see the findings on variables; if there are none, the runtime is older "
                       "than the "
                       "GPU: rocminfo shows which GPUs it knows"
                     : "see the findings on variables; nvidia-smi shows the GPUs and their state"});
  }
}

/// Lines of a runtime that report trouble.
void check_runtime_lines(const BackendStatus& status, Findings* findings) {
  for (const std::string& line : status.runtime) {
    if (line.find(" are loaded in this process") != std::string::npos)
      findings->push_back(
          {.id = "two-runtimes",
           .severity = Severity::kProblem,
           .problem =
               status.name + ": " + line +
               ". A GPU's driver serves one runtime of a process; memory and streams of the other "
               "fail",
           .cure =
               "let all parts of the program load one runtime: set WICK_HIP_RUNTIME to the file "
               "that the other part uses (PyTorch: torch/lib), or import that part before wick"});
    else if (line.find(" is not used: ") != std::string::npos)
      findings->push_back(
          {.id = "library-not-used",
           .severity = Severity::kNote,
           .problem = status.name + ": " + line + "; wick's own kernels serve its calls",
           .cure = "install a version of the library for this GPU if its speed is wanted"});
    else if (line.find("WICK_GPU_LIBS is ") != std::string::npos)
      findings->push_back({.id = "gpu-libs-value",
                           .severity = Severity::kWarning,
                           .problem = line,
                           .cure = "correct or unset WICK_GPU_LIBS"});
  }
}

/// Whether the device files that the vendor's runtime opens are there and open.
bool is_reachable(const Subject& subject, const Vendor& vendor) {
  const bool is_amd = vendor.backend == std::string("rocm");
  const DeviceNode* const control = subject.node(is_amd ? "/dev/kfd" : "/dev/nvidiactl");
  if (!control || control->error != 0) return false;
  // A GPU that the compute driver skips has no architecture.
  if (is_amd && subject.container == Container::kNo &&
      std::none_of(subject.cards.begin(), subject.cards.end(),
                   [](const Card& card) { return card.is_amd() && !card.architecture.empty(); }))
    return false;
  return std::any_of(subject.machine.nodes.begin(), subject.machine.nodes.end(),
                     [&](const DeviceNode& node) {
                       const char* start = is_amd ? "/dev/dri/renderD" : "/dev/nvidia-uvm";
                       return node.error == 0 && node.path.starts_with(start);
                     });
}

void check_vendor(const Subject& subject, const Vendor& vendor, Findings* findings) {
  const BackendStatus* const status = subject.backend(vendor.backend);
  if (!status) return;
  check_runtime_lines(*status, findings);
  for (const std::string& why : status->unusable)
    findings->push_back(
        {.id = std::string(vendor.backend) + "-unusable",
         .severity = Severity::kProblem,
         .problem = why,
         .cure = "the line names the cause; wick devices lists the GPUs that work"});
  int driven = 0;
  for (const Card& card : subject.cards)
    driven += (card.*vendor.matches)() && card.driver == vendor.driver;
  if (driven == 0 || !status->devices.empty() || !status->unusable.empty()) return;
  // A backend without a table: absent or broken.
  if (!status->no_runtime &&
      (status->module.empty() || status->why_none.find(status->module) != std::string::npos)) {
    check_module(*status, vendor, findings);
    return;
  }
  check_no_devices(subject, *status, vendor, is_reachable(subject, vendor), findings);
}

/// Installations of ROCm side by side are fine as long as one process meets one of them.
void check_installations(const Subject& subject, Findings* findings) {
  std::vector<std::string> versions;
  for (const std::string& name : subject.files.names("/opt"))
    if (name.starts_with("rocm-")) versions.push_back("/opt/" + name);
  const std::string path = subject.variable("LD_LIBRARY_PATH");
  std::string used;  // the file of the runtime in use
  if (const BackendStatus* status = subject.backend("rocm"); status && !status->runtime.empty())
    used = status->runtime[0];
  for (const std::string& version : versions) {
    const bool on_path = (path + "/").find(version + "/") != std::string::npos;
    const bool is_other = used.starts_with("/opt/rocm-") && !used.starts_with(version + "/");
    if (on_path && is_other)
      findings->push_back(
          {.id = "library-path-mixes",
           .severity = Severity::kWarning,
           .problem = "LD_LIBRARY_PATH names " + version + ", and the runtime in use is " + used +
                      ": libraries of two releases of ROCm may meet in one process",
           .cure = "remove " + version + " from LD_LIBRARY_PATH, or set ROCM_PATH to it"});
  }
  if (versions.size() > 1)
    findings->push_back({.id = "several-rocm",
                         .severity = Severity::kNote,
                         .problem = "several releases of ROCm are installed: " + joined(versions),
                         .cure = "wick takes the newest; ROCM_PATH selects another"});
}

/// An integrated GPU beside a discrete one: programs other than wick may pick it.
void check_integrated_beside(const Subject& subject, Findings* findings) {
  const Card *integrated = nullptr, *discrete = nullptr;
  for (const Card& card : subject.cards) {
    if (!card.is_amd() || card.driver != "amdgpu" || card.architecture.empty()) continue;
    (card.integrated ? integrated : discrete) = &card;
  }
  if (!integrated || !discrete) return;
  if (!subject.variable("HIP_VISIBLE_DEVICES").empty() ||
      !subject.variable("ROCR_VISIBLE_DEVICES").empty())
    return;
  std::string ordinal = "N";
  if (const BackendStatus* status = subject.backend("rocm"))
    for (const DeviceInfo& info : status->devices)
      if (std::string(info.architecture).starts_with(discrete->architecture))
        ordinal = std::to_string(info.ordinal);
  findings->push_back({.id = "integrated-beside-discrete",
                       .severity = Severity::kNote,
                       .problem = "beside " + describe(*discrete) +
                                  " there is an integrated GPU, " + describe(*integrated) +
                                  ". wick picks the discrete one; some libraries fail on the other",
                       .cure = "ROCR_VISIBLE_DEVICES=" + ordinal +
                               " hides the integrated GPU (wick devices shows the numbers), or "
                               "switch it off in the BIOS",
                       .sources = {"https://github.com/oobabooga/textgen/issues/7319",
                                   "https://github.com/ROCm/TheRock/issues/3392"}});
}

}  // namespace

void check_runtimes(const Subject& subject, Findings* findings) {
  if (!subject.machine.backends_failure.empty())
    findings->push_back(
        {.id = "runtime-fails",
         .severity = Severity::kProblem,
         .problem =
             "asking the runtimes of the GPUs for their devices failed: the process that asked " +
             subject.machine.backends_failure,
         .cure = "--device cpu, or WICK_DEVICE=cpu, works meanwhile. Reinstall the runtime (ROCm "
                 "or NVIDIA's driver); "
                 "sudo dmesg shows whether a GPU is hung, which a restart cures"});
  for (size_t i = 0; i < std::size(kVendors); i++) {
    Findings found;
    check_vendor(subject, kVendors[i], &found);
    append_findings(subject, kVendors[1 - i].backend, found, findings);
  }
  check_installations(subject, findings);
  check_integrated_beside(subject, findings);
}

}  // namespace wick::doctor
