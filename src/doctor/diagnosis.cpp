// The checks in order.
#include <algorithm>
#include <cstdio>

#include "doctor/checks.h"
#include "wick/doctor/doctor.h"

namespace wick {
namespace {

using doctor::Container;
using doctor::Subject;

const char* name_of(Container container) {
  switch (container) {
    case Container::kDocker:
      return "Docker";
    case Container::kPodman:
      return "Podman";
    case Container::kKubernetes:
      return "Kubernetes";
    case Container::kOther:
      return "yes";
    default:
      return "no";
  }
}

std::string processor(const Subject& subject) {
  for (const std::string& line : subject.files.lines("/proc/cpuinfo"))
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "";
}

std::vector<std::pair<std::string, std::string>> system_of(const Subject& subject) {
  std::vector<std::pair<std::string, std::string>> system;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) system.emplace_back(name, value);
  };
  add("distribution", subject.files.value("/etc/os-release", "PRETTY_NAME"));
  add("kernel", subject.kernel);
  add("processor", processor(subject));
  if (subject.memory_bytes > 0) add("memory", doctor::gibibytes(subject.memory_bytes));
  if (subject.container != Container::kNo) add("container", name_of(subject.container));
  if (subject.is_wsl) add("wsl", "yes");
  add("amdgpu", subject.files.text("/sys/module/amdgpu/version"));
  add("nvidia", subject.files.text("/sys/module/nvidia/version"));
  add("hip", subject.runtime_version("rocm", "HIP"));
  add("cuda", subject.runtime_version("cuda", "CUDA"));
  return system;
}

}  // namespace

void Diagnosis::add(Finding finding) {
  const auto at = std::find_if(findings.begin(), findings.end(), [&](const Finding& other) {
    return other.severity < finding.severity;
  });
  findings.insert(at, std::move(finding));
}

int Diagnosis::count(Severity severity) const {
  return int(std::count_if(findings.begin(), findings.end(),
                           [&](const Finding& f) { return f.severity == severity; }));
}

Diagnosis examine(const Machine& machine) {
  const Subject subject(machine);
  Diagnosis diagnosis;
  diagnosis.system = system_of(subject);
  diagnosis.cards = subject.cards;
  diagnosis.backends = machine.backends;
  doctor::check_drivers(subject, &diagnosis.findings);
  doctor::check_runtimes(subject, &diagnosis.findings);
  doctor::check_versions(subject, &diagnosis.findings);
  doctor::check_variables(subject, &diagnosis.findings);
  doctor::check_memory(subject, &diagnosis.findings);
  std::stable_sort(diagnosis.findings.begin(), diagnosis.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return diagnosis;
}

}  // namespace wick
