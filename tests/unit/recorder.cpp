#include "recorder.h"

#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "core/device_state.h"
#include "wick/abi/backend.h"
#include "wick/core/backend.h"

namespace wick::test {
namespace {

std::vector<std::string> lines;

/// The backend that a recorder wraps; a recorder's table has its functions but for those
/// below, which find it by the device's ordinal.
struct Behind {
  const Backend* backend;
  Backend table;
  std::string name;
  std::deque<std::vector<Kernel>> lists;
};
std::map<int32, Behind*> behind_of;  // by ordinal: 0 of the CPU, 32 and 64 of the emulator
std::mutex mutex;

std::string hex(const void* data, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; i++) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<const unsigned char*>(data)[i]);
    text += digits;
  }
  return text;
}
std::string address(const void* data) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", data);
  return text;
}

std::string view_text(const View& view) {
  std::string text = " " + address(view.data) + " " + dtype_name(view.dtype) + "[";
  for (int d = 0; d < view.rank; d++)
    text += std::to_string(view.shape[d]) + "/" + std::to_string(view.strides[d]) + " ";
  return text + "]";
}

const Kernel* inner(const Kernel* kernel) { return static_cast<const Kernel*>(kernel->data); }

const char* accepts(const Kernel* kernel, const Call* call, const DeviceInfo* info) {
  return inner(kernel)->accepts ? inner(kernel)->accepts(inner(kernel), call, info) : nullptr;
}
int64 scratch_bytes(const Kernel* kernel, const Call* call, const DeviceInfo* info) {
  return inner(kernel)->scratch_bytes ? inner(kernel)->scratch_bytes(inner(kernel), call, info) : 0;
}
Status run(const Kernel* kernel, const Call* call) {
  std::string line = std::string(call->op->name) + " by " + kernel->name;
  for (int i = 0; i < call->num_in; i++) line += " in" + view_text(call->in[i]);
  for (int i = 0; i < call->num_out; i++) line += " out" + view_text(call->out[i]);
  if (call->attributes) line += " attributes " + hex(call->attributes, call->op->attributes.size);
  line += " scratch " + address(call->scratch) + "+" + std::to_string(call->scratch_bytes);
  lines.push_back(line + " stream " + address(call->stream));
  return inner(kernel)->run(inner(kernel), call);
}

int32 find_kernels(int32 device, const KernelQuery* query, const Kernel** kernels) {
  const std::lock_guard lock(mutex);
  Behind& behind = *behind_of.at(device);
  const Kernel* found = nullptr;
  const int32 count = behind.backend->find_kernels(device, query, &found);
  std::vector<Kernel> list;
  for (int32 i = 0; i < count; i++)
    list.push_back({found[i].name, accepts, scratch_bytes, run, &found[i], found[i].flags});
  behind.lists.push_back(std::move(list));
  *kernels = behind.lists.back().data();
  return count;
}

Status copy(int32 device, void* to, const void* from, int64 bytes, CopyKind kind, void* stream) {
  lines.push_back("copy " + std::to_string(int(kind)) + " " + address(to) + " " + address(from) +
                  " " + std::to_string(bytes));
  return behind_of.at(device)->backend->copy(device, to, from, bytes, kind, stream);
}
Status fill(int32 device, void* data, uint8 value, int64 bytes, void* stream) {
  lines.push_back("fill " + address(data) + " " + std::to_string(bytes));
  return behind_of.at(device)->backend->fill(device, data, value, bytes, stream);
}

}  // namespace

Device recorder_of(const Device& device) {
  static std::map<std::string, DeviceKind> kinds;  // by the name of the wrapped backend
  const Backend& backend = device.state().backend;
  const std::string name = std::string("recorded_") + backend.name;
  if (!kinds.count(name)) {
    Behind* behind = new Behind{&backend, backend, name, {}};  // lives as long as the process
    behind->table.name = behind->name.c_str();
    behind->table.find_kernels = find_kernels;
    behind->table.copy = copy;
    behind->table.fill = fill;
    const char* why = nullptr;
    for (int32 i = 0; i < backend.device_count(&why); i++) {
      DeviceInfo info{};
      if (backend.device_info(i, &info).ok()) behind_of[info.ordinal] = behind;
    }
    kinds[name] = register_backend(&behind->table);
  }
  return Device::at({kinds[name], device.ordinal()});
}

void clear_records() { lines.clear(); }
const std::vector<std::string>& records() { return lines; }

}  // namespace wick::test
