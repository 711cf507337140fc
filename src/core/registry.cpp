#include "core/registry.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

#include "base/environment.h"
#include "base/log.h"
#include "core/device_state.h"
#include "wick/core/backend.h"

namespace wick {

namespace cpu {
const Backend* cpu_backend();  // backends/cpu, always linked
}

namespace {

struct Loaded {
  const Backend* backend = nullptr;
  std::string module;  // path
  std::string why;     // reason, if there is no backend
};

struct Registry {
  std::recursive_mutex mutex;
  std::map<DeviceKind, Loaded> loaded;
  std::vector<std::string> registered;  // names from kFirstRegistered on
  std::map<std::pair<DeviceKind, int>, DeviceState*> devices;
};

// Never destroyed: static tensors may be destroyed in any order.
Registry& registry() {
  static Registry* r = new Registry;
  return *r;
}

struct KindName {
  DeviceKind kind;
  const char* name;
};
constexpr KindName kKindNames[] = {{DeviceKind::kCpu, "cpu"},
                                   {DeviceKind::kRocm, "rocm"},
                                   {DeviceKind::kCuda, "cuda"},
                                   {DeviceKind::kMetal, "metal"},
                                   {DeviceKind::kEmulated, "emu"}};

/// The reason that a table is unusable; "" if it is usable.
std::string table_complaint(const Backend* b) {
  if (!b) return "its table is missing";
  if (b->abi_version != kAbiVersion || b->struct_size != sizeof(Backend) ||
      b->layout_hash != kLayoutHash)
    return "it was built for another version of wick (ABI " + std::to_string(b->abi_version) +
           ", this is " + std::to_string(kAbiVersion) + ")";
  const bool complete = b->name && b->device_count && b->device_info && b->memory_info &&
                        b->alloc && b->free && b->copy && b->fill && b->stream_create &&
                        b->stream_destroy && b->stream_synchronize && b->event_create &&
                        b->event_destroy && b->event_record && b->event_query && b->stream_wait &&
                        b->find_kernels && b->list_ops;
  return complete ? "" : "its table lacks a required function";
}

Loaded load_module(DeviceKind kind) {
  const std::string name = kind_name(kind), file = "wick_" + name + ".so";
  std::string searched;
  for (const std::string& folder : module_folders()) {
    searched += (searched.empty() ? "" : ", ") + folder;
    const std::string path = folder + "/" + file;
    if (access(path.c_str(), F_OK) != 0) continue;
    void* handle = dlopen(
        path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: kernels and static state live in it
    if (!handle) return {nullptr, path, path + " cannot be loaded: " + dlerror()};
    const auto entry = reinterpret_cast<BackendEntry>(dlsym(handle, kBackendEntryName));
    const Backend* backend = entry ? entry() : nullptr;
    if (const std::string complaint = table_complaint(backend); !complaint.empty())
      return {nullptr, path, path + " cannot be used: " + complaint};
    return {backend, path, ""};
  }
  std::string option = name;
  for (char& c : option) c = char(std::toupper(static_cast<unsigned char>(c)));
  return {nullptr, "",
          "the module " + file + " is not in " + searched + "; build wick with -DWICK_" + option +
              "=ON or set WICK_BACKEND_PATH to its folder"};
}

/// The backend's usable devices, as text.
std::string list_devices(DeviceKind kind, const Backend& backend, int count) {
  std::string list;
  for (int i = 0; i < count; i++) {
    DeviceInfo info{};
    if (!backend.device_info(i, &info).ok()) continue;
    list += (list.empty() ? "" : ", ") + to_string(DeviceLocation{kind, info.ordinal});
  }
  return list;
}

}  // namespace

std::vector<std::string> module_folders() {
  std::vector<std::string> folders;
  const std::string path = environment("WICK_BACKEND_PATH").value_or("");
  for (size_t from = 0; from < path.size();) {
    const size_t to = std::min(path.find(':', from), path.size());
    if (to > from) folders.push_back(path.substr(from, to - from));
    from = to + 1;
  }
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&find_backend), &here) && here.dli_fname) {
    const std::string file = here.dli_fname;
    if (const size_t slash = file.rfind('/'); slash != std::string::npos)
      folders.push_back(file.substr(0, slash));
  }
  return folders;
}

std::string kind_name(DeviceKind kind) {
  for (const KindName& k : kKindNames)
    if (k.kind == kind) return k.name;
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const size_t index = size_t(kind) - size_t(DeviceKind::kFirstRegistered);
  return index < r.registered.size() ? r.registered[index] : "?";
}

bool find_kind(std::string_view name, DeviceKind* kind) {
  for (const KindName& k : kKindNames)
    if (name == k.name) return *kind = k.kind, true;
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (size_t i = 0; i < r.registered.size(); i++)
    if (name == r.registered[i])
      return *kind = DeviceKind(size_t(DeviceKind::kFirstRegistered) + i), true;
  return false;
}

const Backend* find_backend(DeviceKind kind, std::string* why) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  auto found = r.loaded.find(kind);
  if (found == r.loaded.end()) {
    Loaded loaded;
    if (kind == DeviceKind::kCpu)
      loaded.backend = cpu::cpu_backend();
    else if (kind == DeviceKind::kMetal)
      loaded.why =
          "there is no Metal backend; a port would provide the table of wick/abi/backend.h";
    else
      loaded = load_module(kind);
    note(kind_name(kind), ": ",
         !loaded.backend         ? loaded.why
         : loaded.module.empty() ? "within libwick"
                                 : loaded.module);
    found = r.loaded.emplace(kind, loaded).first;
  }
  if (!found->second.backend && why) *why = found->second.why;
  return found->second.backend;
}

DeviceState& device_state(DeviceLocation location) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  if (const auto found = r.devices.find({location.kind, location.ordinal});
      found != r.devices.end())
    return *found->second;
  std::string why;
  const Backend* backend = find_backend(location.kind, &why);
  check(backend,
        location.kind == DeviceKind::kMetal ? ErrorCode::kUnsupported : ErrorCode::kModuleMissing,
        to_string(location), why);
  const char* why_none = nullptr;
  const int count = backend->device_count(&why_none);
  check(count > 0, count < 0 ? ErrorCode::kRuntimeMissing : ErrorCode::kDeviceMissing,
        to_string(location), why_none ? why_none : "the backend has no devices");
  for (int i = 0; i < count; i++) {
    DeviceInfo info{};
    info.ordinal = i;  // in case device_info fails before setting it
    const Status status = backend->device_info(i, &info);
    if (info.ordinal != location.ordinal) continue;
    if (!status.ok()) throw_status(location, status, "device_info");
    return *(r.devices[{location.kind, location.ordinal}] =
                 new DeviceState(location, *backend, info));
  }
  const std::string usable = list_devices(location.kind, *backend, count);
  fail(ErrorCode::kDeviceMissing, to_string(location), "no such device; there ",
       usable.find(',') == std::string::npos ? "is " : "are ", usable.empty() ? "none" : usable);
}

DeviceKind register_backend(const Backend* backend) {
  const std::string complaint = table_complaint(backend);
  check(complaint.empty(), ErrorCode::kInvalidArgument, "register_backend", complaint);
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const std::string name = backend->name;
  DeviceKind kind;
  const bool taken = find_kind(name, &kind);
  check(!taken && !name.empty() && name.find(':') == std::string::npos && name != "auto",
        ErrorCode::kInvalidArgument, "register_backend", "expected a free name, got \"", name,
        "\"");
  kind = DeviceKind(size_t(DeviceKind::kFirstRegistered) + r.registered.size());
  r.registered.push_back(name);
  r.loaded[kind] = {backend, "", ""};
  return kind;
}

std::vector<BackendStatus> backend_status() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  std::vector<DeviceKind> kinds;
  for (const KindName& k : kKindNames) kinds.push_back(k.kind);
  for (size_t i = 0; i < r.registered.size(); i++)
    kinds.push_back(DeviceKind(size_t(DeviceKind::kFirstRegistered) + i));
  std::vector<BackendStatus> result;
  for (const DeviceKind kind : kinds) {
    BackendStatus status;
    status.name = kind_name(kind);
    const Backend* backend = find_backend(kind, &status.why_none);
    status.module = r.loaded[kind].module;
    if (backend) {
      const char* why = nullptr;
      const int count = backend->device_count(&why);
      for (int i = 0; i < count; i++) {
        DeviceInfo info{};
        if (const Status got = backend->device_info(i, &info); got.ok())
          status.devices.push_back(info);
        else
          status.unusable.push_back(got.text ? got.text : "no reason given");
      }
      if (count <= 0) status.why_none = why ? why : "the backend has no devices";
      status.no_runtime = count < 0;
      std::istringstream lines(backend->describe_runtime ? backend->describe_runtime() : "");
      for (std::string line; std::getline(lines, line);) status.runtime.push_back(line);
    }
    result.push_back(std::move(status));
  }
  return result;
}

std::vector<KernelSummary> kernels_of(const Device& device, const Op& op, DType dtype, DType any) {
  const OperandDTypes dtypes = operand_dtypes(op, dtype, any);
  std::vector<KernelSummary> result;
  for (const Kernel& kernel :
       device.state().kernels({&op, dtypes.all, dtypes.num_in, dtypes.num_out}))
    result.push_back({kernel.name, (kernel.flags & kKernelLibrary) != 0});
  return result;
}

std::vector<KernelSummary> kernels_of(const Device& device, const Op& op, DType dtype) {
  return kernels_of(device, op, dtype, dtype);
}

std::vector<const Op*> ops_of(const Device& device) {
  const Op* const* ops = nullptr;
  const int count = device.state().backend.list_ops(&ops);
  std::vector<const Op*> result(ops, ops + count);
  std::sort(result.begin(), result.end(), [](const Op* a, const Op* b) {
    return std::string_view(a->name) < std::string_view(b->name);
  });
  return result;
}

}  // namespace wick
