#include "libraries/libraries.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <vector>

namespace wick::gpu {
namespace {

// ---- the setting

struct Setting {
  bool automatic = true;
  uint32 named = 0;  // a bit for each of kLibraries
  std::string error;
};

// Of every vendor, so that one value of the variable serves a machine with cards of two.
constexpr std::string_view kNames[] = {"cublaslt", "cudnn", "rocblas", "hipblaslt", "miopen"};

Setting read_setting() {
  Setting setting;
  const char* value = std::getenv("WICK_GPU_LIBS");
  const std::string_view text = value ? value : "";
  if (text.empty() || text == "auto") return setting;
  setting.automatic = false;
  if (text == "off") return setting;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    begin = end + 1;
    if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) {
      setting.error = "WICK_GPU_LIBS is \"" + std::string(text) +
                      "\", expected auto, off, or some of cublaslt, cudnn, rocblas, hipblaslt, "
                      "miopen, separated by commas";
      return setting;
    }
    for (int i = 0; i < kNumLibraries; i++)
      if (name == kLibraries[i].name) setting.named |= 1u << i;
  }
  return setting;
}

/// Read once. Never destroyed.
const Setting& setting() {
  static const Setting& read = *new Setting(read_setting());
  return read;
}

bool permitted(int library) {
  const Setting& s = setting();
  return s.automatic ? !kLibraries[library].only_if_named : (s.named >> library & 1) != 0;
}

// ---- a library on a device

enum : int { kUnknown, kReady, kFailed };

struct State {
  std::mutex mutex;  // guards opening and checking
  std::atomic<int> opened{kUnknown};
  std::atomic<int> checked[kLibraryWorks][kNumDTypes][2] = {};  // the last index: tf32
  std::unique_ptr<VendorLibrary> library;
  std::string failure;  // constant once opened is kFailed
};

constexpr int kMaxDevices = 64, kMaxLibraries = 4;

/// Never destroyed: reasons and libraries must outlive the last call.
State& state_of(int library, int device) {
  static State* const states = new State[kMaxLibraries * kMaxDevices];
  return states[library * kMaxDevices + device];
}

/// The caller holds the mutex.
void fail(State& state, int library, const std::string& why) {
  if (state.opened.load() == kFailed) return;
  state.failure = std::string(kLibraries[library].title) + " is not used: " + why;
  state.opened.store(kFailed, std::memory_order_release);
}

/// The caller holds the mutex.
void open(State& state, int library, const DeviceInfo& info) {
  Failure failure;
  state.library = kLibraries[library].open(info, &failure);
  if (state.library)
    state.opened.store(kReady, std::memory_order_release);
  else
    fail(state, library, failure.text);
}

bool meets(const LibraryRule& rule, const LibraryKernel& kernel, const DeviceInfo& info,
           const LibrarySizes& sizes) {
  const LibraryWork work =
      kernel.work == LibraryWork::kLinearProduct ? LibraryWork::kProduct : kernel.work;
  return rule.work == work && rule.dtype == kernel.dtype &&
         std::string_view(rule.library) == kLibraries[kernel.library].name &&
         std::string_view(info.architecture)
                 .substr(0, std::string_view(rule.architecture).size()) == rule.architecture &&
         std::min(sizes.rows, sizes.columns) >= rule.least_side &&
         sizes.inner >= rule.least_inner &&
         double(sizes.rows) * double(sizes.columns) * double(sizes.inner) * double(sizes.batches) >=
             double(rule.least_terms);
}

}  // namespace

bool serves(const LibraryKind& kind, LibraryWork work) {
  if (work == LibraryWork::kLinearProduct) return kind.adds_bias;
  return is_product(work) ? kind.serves_products : kind.serves_convolutions;
}

const char* library_declines(const LibraryKernel& kernel, const DeviceInfo& info,
                             const LibrarySizes& sizes) {
  if (!setting().error.empty()) return nullptr;  // running says what is wrong
  if (!permitted(kernel.library)) return "WICK_GPU_LIBS leaves the library out";
  if (info.ordinal >= kMaxDevices) return "libraries serve the first 64 devices";
  if (setting().automatic &&
      std::none_of(std::begin(kLibraryRules), std::end(kLibraryRules),
                   [&](const LibraryRule& rule) { return meets(rule, kernel, info, sizes); }))
    return "wick's kernels are as fast as the library for this size, or it was not measured";
  const State& state = state_of(kernel.library, info.ordinal);
  if (state.opened.load(std::memory_order_acquire) == kFailed) return state.failure.c_str();
  return nullptr;
}

VendorLibrary* opened_library(const LibraryKernel& kernel, int device) {
  State& state = state_of(kernel.library, device);
  if (state.opened.load(std::memory_order_acquire) != kReady ||
      state.checked[int(kernel.work)][int(kernel.dtype)][kernel.tf32].load(
          std::memory_order_acquire) != kReady)
    return nullptr;
  return state.library.get();
}

VendorLibrary* ready_library(const LibraryKernel& kernel, const DeviceInfo& info) {
  if (VendorLibrary* library = opened_library(kernel, info.ordinal)) return library;
  State& state = state_of(kernel.library, info.ordinal);
  const std::lock_guard lock(state.mutex);
  if (state.opened.load() == kUnknown) open(state, kernel.library, info);
  if (state.opened.load() != kReady) return nullptr;
  auto& checked = state.checked[int(kernel.work)][int(kernel.dtype)][kernel.tf32];
  if (checked.load() == kUnknown) {
    const std::string wrong = check_library(*state.library, kernel, info);
    checked.store(wrong.empty() ? kReady : kFailed, std::memory_order_release);
    if (!wrong.empty()) fail(state, kernel.library, state.library->describe() + ": " + wrong);
  }
  return checked.load() == kReady ? state.library.get() : nullptr;
}

void give_up_library(const LibraryKernel& kernel, int device, const std::string& why) {
  State& state = state_of(kernel.library, device);
  const std::lock_guard lock(state.mutex);
  fail(state, kernel.library, state.library->describe() + ": " + why);
}

const std::string& library_setting_error() { return setting().error; }

void open_libraries(const DeviceInfo& info) {
  if (!setting().error.empty() || info.ordinal >= kMaxDevices) return;
  for (int library = 0; library < kNumLibraries; library++)
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBf16})
      for (int work = 0; work < kLibraryWorks; work++)
        if (permitted(library) && serves(kLibraries[library], LibraryWork(work)))
          ready_library({library, LibraryWork(work), dtype, false}, info);
}

std::string describe_libraries(const DeviceInfo* devices, int count) {
  if (!setting().error.empty()) return "\n" + setting().error;
  std::string text;
  for (int library = 0; library < kNumLibraries; library++) {
    std::vector<std::pair<std::string, std::string>>
        lines;  // a text, and the devices that it is of
    for (int d = 0; d < count && devices[d].ordinal < kMaxDevices; d++) {
      const State& state = state_of(library, devices[d].ordinal);
      const int opened = state.opened.load(std::memory_order_acquire);
      if (opened == kUnknown) continue;
      const std::string says = opened == kReady
                                   ? state.library->describe() + ", agrees with wick's kernels"
                                   : state.failure;
      const auto same = std::find_if(lines.begin(), lines.end(),
                                     [&](const auto& line) { return line.first == says; });
      const std::string name = std::to_string(devices[d].ordinal);
      if (same == lines.end())
        lines.emplace_back(says, name);
      else
        same->second += ", " + name;
    }
    for (const auto& [says, of] : lines)
      text += "\n" + says + (lines.size() > 1 ? " (device " + of + ")" : "");
  }
  return text;
}

}  // namespace wick::gpu
