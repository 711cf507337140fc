// See README.md and fake_hip.h. FAKE_HIP_VERSION is 5, 6 or 7; FAKE_HIP_INCOMPLETE leaves out some
// functions.
#include "fake_hip.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "wick/abi/call.h"

namespace {

enum Error {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kNoBinaryForGpu = 209,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kLaunchFailure = 719,
  kCaptureUnsupported = 900,
};
struct ErrorText {
  int error;
  const char *name, *text;
};
constexpr ErrorText kErrorTexts[] = {
    {kSuccess, "hipSuccess", "no error"},
    {kInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {kOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {kNoDevice, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {kInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {kInvalidImage, "hipErrorInvalidImage", "device kernel image is invalid"},
    {kNoBinaryForGpu, "hipErrorNoBinaryForGpu",
     "no kernel image is available for execution on the device"},
    {kInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {kIllegalState, "hipErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {kNotFound, "hipErrorNotFound", "named symbol not found"},
    {kNotReady, "hipErrorNotReady", "device not ready"},
    {kLaunchFailure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {kCaptureUnsupported, "hipErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
};

struct Card {
  std::string architecture;
  bool integrated = false;
  size_t used = 0;
};
using Work = std::function<void()>;
struct Graph {
  std::vector<Work> work;
};
struct Stream {
  int device;
  std::vector<Work> pending;
  int broken = 0;
  std::unique_ptr<Graph> capture;
};
struct Event {
  bool done = true;
  Stream* stream = nullptr;  // where it was recorded last
};
struct Module {
  int device;
  std::string_view image;
};
struct Function {
  int device;
  std::string symbol;
};
struct Allocation {
  size_t bytes;
  int device;  // -1: pinned host memory
};

struct State {
  std::recursive_mutex mutex;
  std::vector<Card> cards;
  size_t memory = size_t(1) << 30;
  std::map<std::string, int> failing;
  std::map<void*, Allocation> allocations;
  std::map<int, Stream> null_streams;
  std::set<Stream*> streams;
  std::string log, log_copy;
  int break_next = 0;
  wick::ErrorRecord record_next{};

  State() {
    const auto words = [](const char* variable) {
      const char* text = std::getenv(variable);
      std::istringstream in(text ? text : "");
      std::vector<std::string> list;
      for (std::string word; in >> word;) list.push_back(word);
      return list;
    };
    for (const std::string& word : words("FAKE_HIP_DEVICES")) {
      const size_t comma = word.find(',');
      cards.push_back({word.substr(0, comma),
                       comma != std::string::npos && word.substr(comma + 1) == "integrated"});
    }
    if (const char* bytes = std::getenv("FAKE_HIP_MEMORY"))
      memory = std::strtoull(bytes, nullptr, 10);
    for (const std::string& word : words("FAKE_HIP_FAIL")) {
      const size_t equals = word.find('=');
      failing[word.substr(0, equals)] = std::atoi(word.c_str() + equals + 1);
    }
  }
};
State& state() {
  static State* const s = new State;
  return *s;
}
thread_local int current = 0;
thread_local int last_error = 0;

int give(int error) {
  if (error) last_error = error;
  return error;
}

/// Locks the state, and fails the functions that the test wants to fail.
struct Entry {
  explicit Entry(const char* function) : lock(state().mutex) {
    const auto found = state().failing.find(function);
    if (found != state().failing.end())
      error = found->second;
    else if (state().cards.empty())
      error = kNoDevice;
  }
  std::unique_lock<std::recursive_mutex> lock;
  int error = 0;
};

Stream& stream_of(void* handle) {
  if (handle) return *static_cast<Stream*>(handle);
  Stream& s = state().null_streams[current];
  s.device = current;
  return s;
}
void enqueue(Stream& s, Work work) {
  (s.capture ? s.capture->work : s.pending).push_back(std::move(work));
}
int run_pending(Stream& s) {
  if (s.capture) return kCaptureUnsupported;
  std::vector<Work> pending;
  pending.swap(s.pending);
  for (const Work& work : pending)
    if (!s.broken) work();
  return s.broken;
}
bool is_card(int device) { return device >= 0 && device < int(state().cards.size()); }

std::string_view base(std::string_view architecture) {
  return architecture.substr(0, architecture.find(':'));
}
// An independent statement of LLVM's table of generic processors, as far as tests come by.
std::string generic_of(std::string_view a) {
  if (a == "gfx942" || a == "gfx950") return "gfx9-4-generic";
  if (a == "gfx900" || a == "gfx906" || a == "gfx90c") return "gfx9-generic";
  if (a.starts_with("gfx101")) return "gfx10-1-generic";
  if (a.starts_with("gfx103")) return "gfx10-3-generic";
  if (a.starts_with("gfx11")) return "gfx11-generic";
  if (a.starts_with("gfx12")) return "gfx12-generic";
  return "none";
}
/// The ELF file at p, as far as its section table: nobody tells its size.
std::string_view elf_at(const void* p) {
  const char* bytes = static_cast<const char*>(p);
  if (std::memcmp(bytes, "\177ELF", 4) != 0) return {};
  uint64_t sections;
  uint16_t size, count;
  std::memcpy(&sections, bytes + 40, sizeof sections);
  std::memcpy(&size, bytes + 58, sizeof size);
  std::memcpy(&count, bytes + 60, sizeof count);
  return {bytes, size_t(sections + uint64_t(size) * count)};
}
/// "gfx11-generic" of the target that its metadata names.
std::string target_of(std::string_view elf) {
  constexpr std::string_view kPrefix = "amdgcn-amd-amdhsa--";
  const size_t at = elf.find(kPrefix);
  if (at == std::string_view::npos) return "";
  size_t end = at + kPrefix.size();
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  while (end < elf.size() && in_name(elf[end])) end++;
  return std::string(elf.substr(at + kPrefix.size(), end - at - kPrefix.size()));
}

// hipDeviceProp_t is bytes here too: real headers may differ, the offsets of gcnArchName do not.
int write_properties(void* properties, size_t size, size_t arch_offset, int device) {
  if (!is_card(device)) return kInvalidDevice;
  std::memset(properties, 0x5a, size);
  std::snprintf(static_cast<char*>(properties) + arch_offset, 256, "%s",
                state().cards[device].architecture.c_str());
  return kSuccess;
}

int allocate(void** p, size_t bytes, int device) {
  State& s = state();
  if (device >= 0 && s.cards[device].used + bytes > s.memory) return kOutOfMemory;
  *p = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  std::memset(*p, 0xa5, bytes);
  s.allocations[*p] = {bytes, device};
  if (device >= 0) s.cards[device].used += bytes;
  return kSuccess;
}
bool is_pinned(const void* p, size_t bytes) {
  const auto& all = state().allocations;
  auto after = all.upper_bound(const_cast<void*>(p));
  if (after == all.begin()) return false;
  const auto& [begin, allocation] = *std::prev(after);
  return allocation.device < 0 &&
         static_cast<const char*>(p) + bytes <= static_cast<const char*>(begin) + allocation.bytes;
}
int release(void* p, bool pinned) {
  State& s = state();
  if (!p) return kSuccess;
  const auto found = s.allocations.find(p);
  if (found == s.allocations.end() || (found->second.device < 0) != pinned) return kInvalidValue;
  for (auto& [device, stream] : s.null_streams) run_pending(stream);
  if (!pinned) s.cards[found->second.device].used -= found->second.bytes;
  s.allocations.erase(found);
  std::free(p);
  return kSuccess;
}

}  // namespace

#define API extern "C" __attribute__((visibility("default")))

API const char* fake_hip_log() {
  const std::lock_guard lock(state().mutex);
  return (state().log_copy = state().log).c_str();
}
API void fake_hip_fail(const char* function, int error) {
  const std::lock_guard lock(state().mutex);
  if (error)
    state().failing[function] = error;
  else
    state().failing.erase(function);
}
API void fake_hip_break_next_kernel(int error) { state().break_next = error; }
API void fake_hip_record_next_kernel(unsigned code, long long position) {
  wick::ErrorRecord record{};
  record.code = code, record.position = position, record.value = -1, record.limit = 7;
  state().record_next = record;
}

API int hipGetDeviceCount(int* count) {
  const Entry e("hipGetDeviceCount");
  *count = int(state().cards.size());
  return give(e.error);
}
API int hipGetDevice(int* device) { return *device = current, kSuccess; }
API int hipSetDevice(int device) {
  const Entry e("hipSetDevice");
  if (e.error || !is_card(device)) return give(e.error ? e.error : kInvalidDevice);
  return current = device, kSuccess;
}
API int hipDeviceGetName(char* name, int size, int device) {
  const Entry e("hipDeviceGetName");
  // An integrated card has no name, as some have not.
  std::snprintf(name, size, state().cards[device].integrated ? "" : "Fake Radeon %d", device);
  return give(e.error);
}
API int hipDeviceGetAttribute(int* value, int attribute, int device) {
  const Entry e("hipDeviceGetAttribute");
  switch (attribute) {
    case 16:
      *value = state().cards[device].integrated;
      break;
    case 63:
      *value = 40 + device;
      break;
    case 74:
      *value = 65536;
      break;
    default:
      return give(kInvalidValue);
  }
  return give(e.error);
}
API int hipDeviceTotalMem(size_t* bytes, int) {
  const Entry e("hipDeviceTotalMem");
  *bytes = state().memory;
  return give(e.error);
}
API int hipMemGetInfo(size_t* free_bytes, size_t* total) {
  const Entry e("hipMemGetInfo");
  if (!e.error) *total = state().memory, *free_bytes = state().memory - state().cards[current].used;
  return give(e.error);
}
API int hipRuntimeGetVersion(int* version) {
  return *version = FAKE_HIP_VERSION * 10000000, kSuccess;
}
API int hipDeviceGetPCIBusId(char* text, int size, int device) {
  const Entry e("hipDeviceGetPCIBusId");
  std::snprintf(text, size, "0000:%02X:00.0", 10 + device);  // in capitals, as HIP writes it
  return give(e.error);
}
#if FAKE_HIP_VERSION >= 6
API int hipGetDevicePropertiesR0600(void* properties, int device) {
  const Entry e("hipGetDevicePropertiesR0600");
  return give(e.error ? e.error : write_properties(properties, 1472, 1160, device));
}
#endif
API int hipGetDeviceProperties(void* properties, int device) {
  const Entry e("hipGetDeviceProperties");
  return give(e.error ? e.error : write_properties(properties, 792, 396, device));
}

API int hipMalloc(void** p, size_t bytes) {
  const Entry e("hipMalloc");
  return give(e.error ? e.error : allocate(p, bytes, current));
}
API int hipFree(void* p) {
  const Entry e("hipFree");
  return give(e.error ? e.error : release(p, false));
}
API int hipHostMalloc(void** p, size_t bytes, unsigned) {
  const Entry e("hipHostMalloc");
  return give(e.error ? e.error : allocate(p, bytes, -1));
}
API int hipHostFree(void* p) {
  const Entry e("hipHostFree");
  return give(e.error ? e.error : release(p, true));
}
API int hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream) {
  const Entry e("hipMemcpyAsync");
  if (e.error || kind < 1 || kind > 3) return give(e.error ? e.error : kInvalidValue);
  if (kind != 3) {
    // Real runtimes copy pageable memory slowly, and have hung on that of a mapped file.
    const bool pinned = is_pinned(kind == 1 ? from : to, bytes);
    if (!pinned && bytes > 65536) return give(kInvalidValue);
    state().log += pinned ? "copy of pinned " : "copy of pageable ";
    state().log += std::to_string(bytes) + "\n";
  }
  enqueue(stream_of(stream), [=] { std::memcpy(to, from, bytes); });
  return kSuccess;
}
API int hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                           void* stream) {
  const Entry e("hipMemcpyPeerAsync");
  if (e.error || !is_card(to_device) || !is_card(from_device))
    return give(e.error ? e.error : kInvalidDevice);
  enqueue(stream_of(stream), [=] { std::memcpy(to, from, bytes); });
  return kSuccess;
}
API int hipMemsetAsync(void* p, int value, size_t bytes, void* stream) {
  const Entry e("hipMemsetAsync");
  if (e.error) return give(e.error);
  enqueue(stream_of(stream), [=] { std::memset(p, value, bytes); });
  return kSuccess;
}

API int hipStreamCreateWithFlags(void** stream, unsigned) {
  const Entry e("hipStreamCreateWithFlags");
  if (e.error) return give(e.error);
  auto* const created = new Stream{current, {}, 0, nullptr};
  state().streams.insert(created);
  *stream = created;
  return kSuccess;
}
API int hipStreamDestroy(void* stream) {
  const Entry e("hipStreamDestroy");
  state().streams.erase(static_cast<Stream*>(stream));
  delete static_cast<Stream*>(stream);
  return give(e.error);
}
API int hipStreamSynchronize(void* stream) {
  const Entry e("hipStreamSynchronize");
  return give(e.error ? e.error : run_pending(stream_of(stream)));
}
API int hipDeviceSynchronize() {
  const Entry e("hipDeviceSynchronize");
  if (e.error) return give(e.error);
  int error = run_pending(stream_of(nullptr));
  for (Stream* stream : state().streams)
    if (stream->device == current && !error) error = run_pending(*stream);
  return give(error);
}
API int hipStreamWaitEvent(void* stream, void*, unsigned) {
  const Entry e("hipStreamWaitEvent");
  (void)stream_of(stream);
  return give(e.error);
}
API int hipEventCreateWithFlags(void** event, unsigned) {
  const Entry e("hipEventCreateWithFlags");
  if (!e.error) *event = new Event;
  return give(e.error);
}
API int hipEventDestroy(void* event) { return delete static_cast<Event*>(event), kSuccess; }
API int hipEventRecord(void* event, void* stream) {
  const Entry e("hipEventRecord");
  if (e.error) return give(e.error);
  auto* const recorded = static_cast<Event*>(event);
  recorded->done = false;
  recorded->stream = &stream_of(stream);
  enqueue(stream_of(stream), [=] { recorded->done = true; });
  return kSuccess;
}
API int hipEventQuery(void* event) {
  const Entry e("hipEventQuery");
  return give(e.error ? e.error : static_cast<Event*>(event)->done ? kSuccess : kNotReady);
}

API int hipEventSynchronize(void* event) {
  const Entry e("hipEventSynchronize");
  const auto* const recorded = static_cast<Event*>(event);
  if (e.error || recorded->done) return give(e.error);
  return give(run_pending(*recorded->stream));
}

API int hipModuleLoadData(void** module, const void* image) {
  const Entry e("hipModuleLoadData");
  if (e.error) return give(e.error);
  const std::string_view elf = elf_at(image);
  const std::string target = target_of(elf);
  if (target.empty()) return give(kInvalidImage);
  const std::string_view own = base(state().cards[current].architecture);
  if (target != own && target != generic_of(own)) return give(kNoBinaryForGpu);
  state().log += "load " + target + " on " + std::to_string(current) + "\n";
  *module = new Module{current, elf};
  return kSuccess;
}
API int hipModuleUnload(void* module) {
  const Entry e("hipModuleUnload");
  if (e.error) return give(e.error);
  state().log += "unload\n";
  delete static_cast<Module*>(module);
  return kSuccess;
}
API int hipModuleGetFunction(void** function, void* module, const char* name) {
  const Entry e("hipModuleGetFunction");
  if (e.error) return give(e.error);
  const auto* m = static_cast<Module*>(module);
  if (m->image.find(std::string(name) + ".kd") == std::string_view::npos) return give(kNotFound);
  *function = new Function{m->device, name};
  return kSuccess;
}
#if !defined(FAKE_HIP_INCOMPLETE)
API int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                              unsigned by, unsigned bz, unsigned, void* handle, void** args,
                              void**) {
  const Entry e("hipModuleLaunchKernel");
  if (e.error) return give(e.error);
  const auto* f = static_cast<Function*>(function);
  Stream& stream = stream_of(handle);
  if (stream.device != f->device) return give(kInvalidHandle);
  std::ostringstream line;
  line << "launch " << f->symbol << " on " << f->device << " grid " << gx << " " << gy << " " << gz
       << " block " << bx * by * bz << "\n";
  // The last argument of every kernel of wick is its stream's record. A user's kernel has none.
  const bool of_wick = f->symbol.starts_with("_ZN4wick");
  auto* const record = of_wick ? *static_cast<wick::ErrorRecord**>(args[1]) : nullptr;
  const auto* allocated = &state().allocations;
  if (of_wick && (!allocated->count(record) || allocated->at(record).device != f->device))
    return give(kInvalidValue);
  enqueue(stream, [text = line.str(), record, device = f->device, handle] {
    State& s = state();
    s.log += text;
    if (record && s.record_next.code && record->code == 0) *record = s.record_next;
    if (record) s.record_next = {};
    if (s.break_next)
      (handle ? *static_cast<Stream*>(handle) : s.null_streams[device]).broken = s.break_next;
    s.break_next = 0;
  });
  return kSuccess;
}
#endif

#if !defined(FAKE_HIP_WITHOUT_GRAPHS)
API int hipStreamBeginCapture(void* stream, int) {
  const Entry e("hipStreamBeginCapture");
  if (e.error || !stream) return give(e.error ? e.error : kCaptureUnsupported);
  stream_of(stream).capture = std::make_unique<Graph>();
  return kSuccess;
}
API int hipStreamEndCapture(void* stream, void** graph) {
  const Entry e("hipStreamEndCapture");
  if (e.error || !stream_of(stream).capture) return give(e.error ? e.error : kIllegalState);
  *graph = stream_of(stream).capture.release();
  return kSuccess;
}
API int hipStreamIsCapturing(void* stream, int* status) {
  const Entry e("hipStreamIsCapturing");
  *status = stream && stream_of(stream).capture ? 1 : 0;
  return give(e.error);
}
API int hipGraphInstantiate(void** exec, void* graph, void**, char*, size_t) {
  const Entry e("hipGraphInstantiate");
  if (!e.error) *exec = new Graph(*static_cast<Graph*>(graph));
  return give(e.error);
}
API int hipGraphLaunch(void* exec, void* stream) {
  const Entry e("hipGraphLaunch");
  if (e.error) return give(e.error);
  for (const Work& work : static_cast<Graph*>(exec)->work) enqueue(stream_of(stream), work);
  return kSuccess;
}
API int hipGraphDestroy(void* graph) { return delete static_cast<Graph*>(graph), kSuccess; }
API int hipGraphExecDestroy(void* exec) { return delete static_cast<Graph*>(exec), kSuccess; }
#endif

API const char* hipGetErrorName(int error) {
  for (const ErrorText& t : kErrorTexts)
    if (t.error == error) return t.name;
  return "hipErrorUnknown";
}
API const char* hipGetErrorString(int error) {
  for (const ErrorText& t : kErrorTexts)
    if (t.error == error) return t.text;
  return "unknown error";
}
API int hipGetLastError() {
  const int error = last_error;
  last_error = 0;
  return error;
}

// A real runtime exports these as well; wick_rocm must not fall for them.
API void** __hipRegisterFatBinary(const void*) {
  state().log += "registered with the runtime\n";
  return nullptr;
}
API void __hipRegisterFunction(void**, const void*, char*, const char*, int, void*, void*, void*,
                               void*, int*) {
  state().log += "registered with the runtime\n";
}
API void __hipRegisterVar(void**, void*, char*, char*, int, size_t, int, int) {}
API void __hipUnregisterFatBinary(void**) {}
