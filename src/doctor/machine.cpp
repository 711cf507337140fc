#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/environment.h"
#include "base/subprocess.h"
#include "doctor/files.h"
#include "wick/doctor/doctor.h"
#include "wick/io/json.h"

namespace wick {
namespace {

// Stands before the JSON, since runtimes write lines of their own.
constexpr std::string_view kMark = "wick-backends: ";

// ---- the backends, as JSON

Setting::List list_of(const std::vector<std::string>& texts) {
  return Setting::List(texts.begin(), texts.end());
}

Settings settings_of(const DeviceInfo& info) {
  Settings device("device");
  device.set("name", std::string(info.name));
  device.set("architecture", std::string(info.architecture));
  device.set("ordinal", int64_t(info.ordinal));
  device.set("wave", int64_t(info.wave));
  device.set("compute_units", int64_t(info.compute_units));
  device.set("integrated", info.integrated != 0);
  device.set("total_bytes", int64_t(info.total_bytes));
  return device;
}

template <size_t N>
void copy_text(char (&to)[N], const std::string& text) {
  std::strncpy(to, text.c_str(), N - 1);
  to[N - 1] = '\0';
}

DeviceInfo device_of(const Settings& device) {
  DeviceInfo info{};
  copy_text(info.name, device.text("name"));
  copy_text(info.architecture, device.text("architecture"));
  info.ordinal = int32(device.integer("ordinal"));
  info.wave = int32(device.integer("wave"));
  info.compute_units = int32(device.integer("compute_units"));
  info.integrated = device.flag_or("integrated", false);
  info.total_bytes = device.integer("total_bytes");
  return info;
}

std::vector<BackendStatus> backends_of(const std::string& json) {
  const Settings all = parse_json(json, "backends");
  std::vector<BackendStatus> backends;
  for (const auto& [name, value] : all.entries()) {
    const Settings& from = std::get<Settings>(value.value);
    BackendStatus status;
    status.name = name;
    status.module = from.text("module");
    status.why_none = from.text("why_none");
    status.no_runtime = from.flag_or("no_runtime", false);
    status.unusable = from.texts("unusable");
    status.runtime = from.texts("runtime");
    for (const Setting& device : std::get<Setting::List>(from.find("devices")->value))
      status.devices.push_back(device_of(std::get<Settings>(device.value)));
    backends.push_back(std::move(status));
  }
  return backends;
}

void ask_backends(const MachineOptions& options, Machine* machine) {
  try {
    if (options.backends_command.empty()) {
      machine->backends = backend_status();
      return;
    }
    const Finished finished =
        run_program(options.backends_command, std::chrono::milliseconds(options.timeout_ms));
    const size_t mark = finished.output.rfind(kMark);
    if (finished.status != 0 || mark == std::string::npos) {
      machine->backends_failure = ending_of(finished);
      // A runtime may have said why.
      std::string line = finished.output;
      while (line.ends_with("\n")) line.pop_back();
      line = line.substr(line.rfind('\n') + 1);
      if (!line.empty()) machine->backends_failure += ": " + line;
      return;
    }
    const size_t start = mark + kMark.size();
    machine->backends =
        backends_of(finished.output.substr(start, finished.output.find('\n', start) - start));
  } catch (const Error& error) {
    machine->backends_failure = error.what();
  }
}

// ---- device files

bool is_gpu_node(const std::string& name) {
  return name == "kfd" || name == "dxg" || name.starts_with("nvidia");
}

void add_nodes(const std::string& root, const std::string& folder,
               bool (*wanted)(const std::string&), std::vector<DeviceNode>* nodes) {
  for (const std::string& name : doctor::Files(root).names(folder)) {
    struct stat facts;
    const std::string path = folder + "/" + name;
    if (!wanted(name) || stat((root + path).c_str(), &facts) != 0 || S_ISDIR(facts.st_mode))
      continue;
    DeviceNode node{.path = path, .group = facts.st_gid};
    const int file = open((root + path).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
      node.error = errno;
    else
      close(file);
    nodes->push_back(node);
  }
}

}  // namespace

std::string backends_line() {
  Settings all("backends");
  for (const BackendStatus& status : backend_status()) {
    Settings backend("backend");
    backend.set("module", status.module);
    backend.set("why_none", status.why_none);
    backend.set("no_runtime", status.no_runtime);
    Setting::List devices;
    for (const DeviceInfo& info : status.devices) devices.push_back(settings_of(info));
    backend.set("devices", devices);
    backend.set("unusable", list_of(status.unusable));
    backend.set("runtime", list_of(status.runtime));
    all.set(status.name, backend);
  }
  return std::string(kMark) + to_json(all, -1);
}

Machine this_machine(const MachineOptions& options) {
  Machine machine;
  machine.root = environment("WICK_SYSTEM_ROOT").value_or("");
  while (machine.root.ends_with("/")) machine.root.pop_back();
  for (char** variable = environ; variable && *variable; variable++) {
    const std::string text = *variable;
    const size_t equals = text.find('=');
    if (equals != std::string::npos)
      machine.environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  add_nodes(machine.root, "/dev", is_gpu_node, &machine.nodes);
  add_nodes(
      machine.root, "/dev/dri", [](const std::string& name) { return name.starts_with("renderD"); },
      &machine.nodes);
  ask_backends(options, &machine);
  return machine;
}

}  // namespace wick
