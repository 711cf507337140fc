#include <algorithm>

#include "doctor/checks.h"

namespace wick::doctor {
namespace {

Container find_container(const Machine& machine, const Files& files) {
  if (machine.environment.count("KUBERNETES_SERVICE_HOST")) return Container::kKubernetes;
  if (files.has("/run/.containerenv")) return Container::kPodman;
  if (files.has("/.dockerenv")) return Container::kDocker;
  const std::string groups = files.text("/proc/1/cgroup");
  const auto has = [&](const char* word) { return groups.find(word) != std::string::npos; };
  if (has("kubepods")) return Container::kKubernetes;
  if (has("docker")) return Container::kDocker;
  if (has("libpod")) return Container::kPodman;
  if (has("lxc") || machine.environment.count("container")) return Container::kOther;
  return Container::kNo;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

Subject::Subject(const Machine& machine) : machine(machine), files(machine.root) {
  cards = find_cards(files);
  kernel = files.text("/proc/sys/kernel/osrelease");
  kernel_arguments = words_of(files.text("/proc/cmdline"));
  distribution = files.value("/etc/os-release", "ID");
  distribution_like = files.value("/etc/os-release", "ID_LIKE");
  container = find_container(machine, files);
  is_wsl = contains(kernel, "icrosoft") || node("/dev/dxg") != nullptr;
  for (const std::string& line : files.lines("/proc/meminfo")) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 2 && words[0] == "MemTotal:")
      memory_bytes = parse_number(words[1]).value_or(0) << 10;
  }
  // Without the compute driver's topology, a container's for instance, the runtime may know: a sole
  // card is its sole device.
  const BackendStatus* const rocm_status = backend("rocm");
  const auto is_amd = [](const Card& card) { return card.is_amd(); };
  if (rocm_status && rocm_status->devices.size() == 1 &&
      std::count_if(cards.begin(), cards.end(), is_amd) == 1) {
    Card& card = *std::find_if(cards.begin(), cards.end(), is_amd);
    const DeviceInfo& info = rocm_status->devices[0];
    if (card.architecture.empty()) {
      const std::string full = info.architecture;
      card.architecture = full.substr(0, full.find(':'));
    }
    if (card.name.empty()) card.name = info.name;
    card.integrated = card.integrated || info.integrated != 0;
  }
}

std::string Subject::variable(const std::string& name) const {
  const auto found = machine.environment.find(name);
  return found == machine.environment.end() ? "" : found->second;
}

std::optional<std::string> Subject::kernel_argument(const std::string& name) const {
  std::optional<std::string> value;
  for (const std::string& word : kernel_arguments)
    if (word.starts_with(name + "=")) value = word.substr(name.size() + 1);  // the last one counts
  return value;
}

const BackendStatus* Subject::backend(const std::string& name) const {
  for (const BackendStatus& status : machine.backends)
    if (status.name == name) return &status;
  return nullptr;
}

const DeviceNode* Subject::node(const std::string& path) const {
  for (const DeviceNode& node : machine.nodes)
    if (node.path == path) return &node;
  return nullptr;
}

std::string Subject::runtime_version(const std::string& backend_name,
                                     const std::string& word) const {
  const BackendStatus* const status = backend(backend_name);
  if (!status) return "";
  for (const std::string& line : status->runtime) {
    const std::string before = "(" + word + " ";
    const size_t start = line.find(before), end = line.find(')', start);
    if (start != std::string::npos && end != std::string::npos)
      return line.substr(start + before.size(), end - start - before.size());
  }
  return "";
}

}  // namespace wick::doctor
