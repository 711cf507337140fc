// Drivers, device files and the right to open them, containers, WSL.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "doctor/checks.h"

namespace wick::doctor {
namespace {

constexpr const char* kDockerPage =
    "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html";
constexpr const char* kInstallPage =
    "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html";
constexpr const char* kNvidiaContainerPage =
    "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html";
constexpr const char* kWslPage =
    "https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/install/installrad/wsl/"
    "install-radeon.html";

// ---- /etc/group

struct Group {
  std::string name;
  uint32_t number = 0;
  std::vector<std::string> members;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::vector<Group> groups_of(const Files& files) {
  std::vector<Group> groups;
  for (const std::string& line : files.lines("/etc/group")) {
    const std::vector<std::string> fields = split(line, ':');
    const auto number = fields.size() >= 3 ? parse_number(fields[2]) : std::nullopt;
    if (!number) continue;
    groups.push_back({fields[0], uint32_t(*number), {}});
    if (fields.size() > 3) groups.back().members = split(fields[3], ',');
  }
  return groups;
}

/// The name that /etc/passwd has for the process's user; "" without one.
std::string user_name(const Files& files) {
  std::string number;
  for (const std::string& line : files.lines("/proc/self/status"))
    if (line.starts_with("Uid:")) number = words_of(line).at(1);
  for (const std::string& line : files.lines("/etc/passwd")) {
    const std::vector<std::string> fields = split(line, ':');
    if (fields.size() >= 3 && fields[2] == number) return fields[0];
  }
  return "";
}

// ---- device files

std::string container_cure(Container container) {
  switch (container) {
    case Container::kPodman:
      return "start the container with --device /dev/kfd --device /dev/dri --group-add keep-groups";
    case Container::kKubernetes:
      return "request the GPU for the pod (resources: limits: amd.com/gpu: 1); the cluster needs "
             "AMD's "
             "device plugin";
    case Container::kOther:
      return "pass /dev/kfd and /dev/dri into the container";
    default:
      return "start the container with --device /dev/kfd --device /dev/dri --group-add video "
             "--group-add render";
  }
}

/// The cure for a device file that the process may not open.
std::string permission_cure(const Subject& subject, const DeviceNode& node) {
  const std::vector<Group> groups = groups_of(subject.files);
  const auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const Group& g) { return g.number == node.group; });
  if (subject.container == Container::kPodman)
    return container_cure(subject.container) +
           "; the user who starts it must be in the groups "
           "render and video";
  if (subject.container != Container::kNo && subject.container != Container::kKubernetes)
    return "the file belongs to group " + std::to_string(node.group) +
           " of the host; start the container with --group-add " + std::to_string(node.group);
  if (group == groups.end() || group->number == 0)
    return "no group owns the file; a rule of udev gives it to one: write KERNEL==\"kfd\", "
           "GROUP=\"render\", MODE=\"0660\" to /etc/udev/rules.d/70-kfd.rules, then restart";
  const std::string user = user_name(subject.files);
  const bool is_member =
      std::find(group->members.begin(), group->members.end(), user) != group->members.end();
  if (!user.empty() && is_member)
    return "the user is in the group " + group->name +
           ", but this session began before: log out and in again, or restart the service";
  return "sudo usermod -aG " +
         std::string(group->name == "render" || group->name == "video" ? "render,video"
                                                                       : group->name) +
         " $USER, then log in again";
}

void check_node(const Subject& subject, const DeviceNode& node, const char* id, const char* page,
                Findings* findings) {
  if (node.error == 0) return;
  const bool denied = node.error == EACCES || node.error == EPERM;
  Finding finding{.id = id, .severity = Severity::kProblem, .sources = {page}};
  finding.problem = node.path + " cannot be opened: " + std::strerror(node.error);
  // The control group of a container forbids by EPERM devices that are not passed.
  if (node.error == EPERM && subject.container != Container::kNo)
    finding.cure = container_cure(subject.container);
  else if (denied)
    finding.cure = permission_cure(subject, node);
  else
    finding.cure = "sudo dmesg | grep -iE 'amdgpu|kfd|nvidia' says what the driver reports";
  findings->push_back(finding);
}

// ---- AMD

/// Why no driver is bound to an AMD GPU: words of the kernel's command line or of modprobe.d.
std::string no_driver_cure(const Subject& subject) {
  for (const std::string& word : subject.kernel_arguments)
    if (word == "nomodeset" || word == "amdgpu.modeset=0")
      return "remove " + word + " from the kernel's command line (/etc/default/grub), then restart";
  for (const char* name : {"modprobe.blacklist", "module_blacklist", "rd.driver.blacklist"}) {
    const std::string value = subject.kernel_argument(name).value_or("");
    if (("," + value + ",").find(",amdgpu,") != std::string::npos)
      return std::string("remove amdgpu from ") + name + " on the kernel's command line";
  }
  for (const char* folder : {"/etc/modprobe.d", "/usr/lib/modprobe.d"})
    for (const std::string& name : subject.files.names(folder)) {
      const std::string file = std::string(folder) + "/" + name;
      for (const std::string& line : subject.files.lines(file))
        if (words_of(line) == std::vector<std::string>{"blacklist", "amdgpu"})
          return "remove the line \"blacklist amdgpu\" from " + file + ", then restart";
    }
  return "sudo modprobe amdgpu; if the GPU is newer than the kernel, install a newer kernel (or "
         "AMD's "
         "amdgpu-dkms) and a newer linux-firmware; sudo dmesg | grep amdgpu says why it failed";
}

/// Returns whether the card can be reached by its driver.
bool check_amd_driver(const Subject& subject, const Card& card, Findings* findings) {
  if (card.driver == "amdgpu") return true;
  if (card.driver == "vfio-pci") {
    findings->push_back({.id = "amd-vfio",
                         .severity = Severity::kNote,
                         .problem = describe(card) + " is reserved for virtual machines (vfio-pci)",
                         .cure = "bind amdgpu to it if this machine is to use it"});
  } else if (card.driver == "radeon") {
    findings->push_back({.id = "amd-radeon",
                         .severity = Severity::kNote,
                         .problem = describe(card) +
                                    " has the driver radeon, which cannot compute; wick supports "
                                    "GPUs from gfx906 on",
                         .cure = ""});
  } else {
    findings->push_back({.id = "amd-no-driver",
                         .severity = Severity::kProblem,
                         .problem = describe(card) + " has no driver",
                         .cure = no_driver_cure(subject),
                         .sources = {kInstallPage}});
  }
  return false;
}

void check_kfd(const Subject& subject, Findings* findings) {
  if (const DeviceNode* kfd = subject.node("/dev/kfd")) {
    check_node(subject, *kfd, "kfd-permission", kInstallPage, findings);
    return;
  }
  if (subject.container != Container::kNo) {
    findings->push_back({.id = "container-without-devices",
                         .severity = Severity::kProblem,
                         .problem = "the machine has an AMD GPU, and this container lacks /dev/kfd",
                         .cure = container_cure(subject.container),
                         .sources = {kDockerPage}});
    return;
  }
  findings->push_back(
      {.id = "kfd-missing",
       .severity = Severity::kProblem,
       .problem =
           "amdgpu is loaded, and /dev/kfd is missing: its part for computing (amdkfd) is not "
           "there or did not start",
       .cure = "use a kernel that is built with CONFIG_HSA_AMD (those of distributions are); sudo "
               "dmesg | grep kfd says why it did not start",
       .sources = {kInstallPage}});
}

void check_render_nodes(const Subject& subject, const std::vector<Card>& cards,
                        Findings* findings) {
  int found = 0;
  const DeviceNode* closed = nullptr;
  for (const DeviceNode& node : subject.machine.nodes) {
    if (!node.path.starts_with("/dev/dri/renderD")) continue;
    found++;
    if (node.error != 0 && !closed) closed = &node;
  }
  const bool is_container = subject.container != Container::kNo;  // which may have some of the GPUs
  if (closed) {
    check_node(subject, *closed, "render-permission", kInstallPage, findings);
  } else if (found < (is_container ? 1 : int(cards.size()))) {
    findings->push_back(
        {.id = "render-missing",
         .severity = Severity::kProblem,
         .problem = "there are " + std::to_string(cards.size()) + " AMD GPUs with a driver, and " +
                    std::to_string(found) + " files /dev/dri/renderD*",
         .cure = is_container ? container_cure(subject.container)
                              : "sudo dmesg | grep amdgpu says which GPU did not start",
         .sources = {kDockerPage}});
  }
}

/// The compute driver leaves out GPUs that it does not support.
void check_topology(const Subject& subject, const std::vector<Card>& cards, Findings* findings) {
  // A container sees the topology of the GPUs that it was given.
  if (subject.container != Container::kNo) return;
  if (subject.files.names("/sys/class/kfd/kfd/topology/nodes").empty()) return;
  const BackendStatus* const status = subject.backend("rocm");
  const bool another_works = status && !status->devices.empty();
  for (const Card& card : cards) {
    if (!card.architecture.empty()) continue;
    findings->push_back(
        {.id = "kfd-skips-card",
         .severity = another_works ? Severity::kNote : Severity::kProblem,
         .problem = "the compute driver (amdkfd) does not list " + describe(card),
         .cure =
             "sudo dmesg | grep kfd says why. \"PCI rejects atomics\": put the card into a slot "
             "that the processor serves, not the chipset, and in a virtual machine let the host "
             "pass atomics. \"not supported\": the GPU is older than gfx900",
         .sources = {"https://github.com/ROCm/legacy-rocm-build/issues/46"}});
  }
}

void check_amd(const Subject& subject, Findings* findings) {
  std::vector<Card> driven;
  for (const Card& card : subject.cards)
    if (card.is_amd() && check_amd_driver(subject, card, findings)) driven.push_back(card);
  if (driven.empty()) return;
  check_kfd(subject, findings);
  if (!subject.node("/dev/kfd")) return;
  check_render_nodes(subject, driven, findings);
  check_topology(subject, driven, findings);
}

// ---- NVIDIA

void check_nvidia(const Subject& subject, Findings* findings) {
  bool driven = false;
  for (const Card& card : subject.cards) {
    if (!card.is_nvidia()) continue;
    if (card.driver == "nvidia") {
      driven = true;
    } else if (card.driver == "vfio-pci") {
      findings->push_back(
          {.id = "nvidia-vfio",
           .severity = Severity::kNote,
           .problem = describe(card) + " is reserved for virtual machines (vfio-pci)",
           .cure = "bind nvidia to it if this machine is to use it"});
    } else {
      findings->push_back(
          {.id = "nvidia-no-driver",
           .severity = Severity::kProblem,
           .problem = describe(card) + (card.driver.empty() ? " has no driver"
                                                            : " has the driver " + card.driver +
                                                                  ", which cannot "
                                                                  "compute"),
           .cure = "install NVIDIA's driver (Debian: nvidia-driver; Ubuntu: sudo ubuntu-drivers "
                   "install), then restart; with Secure Boot its modules must be signed"});
    }
  }
  if (!driven) return;
  const DeviceNode* const control = subject.node("/dev/nvidiactl");
  if (!control && subject.container != Container::kNo) {
    findings->push_back(
        {.id = "container-without-devices",
         .severity = Severity::kProblem,
         .problem = "the machine has an NVIDIA GPU, and this container lacks /dev/nvidiactl",
         .cure = "start the container with --gpus all; the host needs NVIDIA's container toolkit",
         .sources = {kNvidiaContainerPage}});
    return;
  }
  if (!control || !subject.node("/dev/nvidia-uvm")) {
    findings->push_back(
        {.id = "nvidia-files-missing",
         .severity = Severity::kProblem,
         .problem = std::string("the driver is loaded, and ") +
                    (control ? "/dev/nvidia-uvm" : "/dev/nvidiactl") + " is missing",
         .cure = subject.container == Container::kNo
                     ? "sudo nvidia-modprobe -u -c 0"
                     : "run sudo nvidia-modprobe -u -c 0 on the host, then start the "
                       "container again"});
    return;
  }
  for (const DeviceNode& node : subject.machine.nodes)
    if (node.path == "/dev/nvidiactl" || node.path == "/dev/nvidia-uvm")
      check_node(subject, node, "nvidia-permission", kNvidiaContainerPage, findings);
}

// ---- WSL, and machines without a GPU

void check_wsl(const Subject& subject, Findings* findings) {
  if (!subject.is_wsl) return;
  if (!subject.node("/dev/dxg")) {
    findings->push_back(
        {.id = "wsl-without-gpu",
         .severity = Severity::kProblem,
         .problem = "this is WSL, and /dev/dxg, by which it reaches the GPU, is missing",
         .cure = "wsl --update in Windows, and WSL 2 for this distribution: wsl "
                 "--set-version NAME 2",
         .sources = {kWslPage}});
    return;
  }
  for (const char* name : {"rocm", "cuda"})
    if (const BackendStatus* status = subject.backend(name); status && !status->devices.empty())
      return;
  findings->push_back(
      {.id = "wsl",
       .severity = Severity::kWarning,
       .problem =
           "this is WSL, which has /dev/dxg in place of /dev/kfd, and no runtime here uses it",
       .cure = "AMD: in Windows the Adrenalin driver, here AMD's ROCm for WSL, for the GPUs of its "
               "list. "
               "NVIDIA: in Windows NVIDIA's driver, and no driver here",
       .sources = {kWslPage}});
}

}  // namespace

void append_findings(const Subject& subject, const std::string& other, const Findings& found,
                     Findings* findings) {
  const BackendStatus* const status = subject.backend(other);
  for (Finding finding : found) {
    if (finding.severity == Severity::kProblem && status && !status->devices.empty())
      finding.severity = Severity::kWarning;
    findings->push_back(std::move(finding));
  }
}

void check_drivers(const Subject& subject, Findings* findings) {
  check_wsl(subject, findings);
  if (subject.cards.empty() && !subject.is_wsl) {
    findings->push_back(
        {.id = "no-gpu",
         .severity = Severity::kNote,
         .problem = "PCI lists no GPU of AMD or NVIDIA; wick computes on the CPU",
         .cure = subject.container == Container::kNo
                     ? "in a virtual machine, pass a GPU through from its host; otherwise there is "
                       "nothing to do"
                     : "this is a container; if its host has a GPU, " +
                           container_cure(subject.container) + " (NVIDIA: --gpus all)"});
    return;
  }
  Findings amd, nvidia;
  check_amd(subject, &amd);
  check_nvidia(subject, &nvidia);
  append_findings(subject, "cuda", amd, findings);
  append_findings(subject, "rocm", nvidia, findings);
}

}  // namespace wick::doctor
