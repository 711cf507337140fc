#include "runtime/rt_rocm_objects.h"

#include <zstd.h>

#include <atomic>
#include <cstring>
#include <unordered_map>

#include "runtime/rt_rocm_targets.h"

namespace wick::gpu {
namespace {

// Filled by static constructors in any order, so it makes itself; only read once the module is
// loaded.
std::unordered_map<const void*, RegisteredKernel>& registered() {
  static auto* const kernels = new std::unordered_map<const void*, RegisteredKernel>;
  return *kernels;
}

bool module_has(std::string_view target) {
  for (int i = 0; i < kNumObjects; i++)
    if (target == kObjects[i].target) return true;
  return false;
}

// What hipModuleLoadData's refusals mean to the user.
const char* advice(hip::Error error) {
  switch (error) {
    case hip::kErrorInvalidImage:
    case hip::kErrorNoBinaryForGpu:
    case hip::kErrorInvalidValue:
      return ": this ROCm runtime does not take the object's format; install ROCm 6.3 or newer";
    default:
      return "";
  }
}

}  // namespace

const RegisteredKernel* find_registered(const void* stub) {
  const auto found = registered().find(stub);
  return found == registered().end() ? nullptr : &found->second;
}

const char* target_for(std::string_view architecture) {
  const Target* target = find_target(architecture);
  if (!target) return nullptr;
  if (module_has(target->name)) return target->name;
  return module_has(target->generic) ? target->generic : nullptr;
}

std::string list_targets() {
  std::string list;
  for (const Target& target : kTargets)
    if (module_has(target.name)) list += std::string(list.empty() ? "" : " ") + target.name;
  return list;
}

struct LoadedObjects::Unit {
  const char* name;
  std::vector<char> image;  // kept: HIP may read it later, for a kernel's first launch
  hip::Module module = nullptr;
};

struct LoadedObjects::Functions {
  explicit Functions(size_t n) : of(n) {}
  std::vector<std::atomic<hip::Function>>
      of;  // by RegisteredKernel::index; nullptr: not asked for yet
};

LoadedObjects::LoadedObjects(int32 device, std::string architecture)
    : device_(device),
      architecture_(std::move(architecture)),
      target_(target_for(architecture_)),
      functions_(std::make_unique<Functions>(registered().size())) {}
LoadedObjects::~LoadedObjects() = default;

hip::Function LoadedObjects::function(const hip::Api& api, const void* stub, Failure& failure) {
  const RegisteredKernel* kernel = find_registered(stub);
  if (!kernel) {
    failure = {StatusCode::kKernelNotFound, "its stub is not registered with this module"};
    return nullptr;
  }
  std::atomic<hip::Function>& slot = functions_->of[kernel->index];
  if (hip::Function known = slot.load(std::memory_order_acquire)) return known;

  const std::lock_guard lock(mutex_);
  if (hip::Function known = slot.load(std::memory_order_acquire)) return known;
  const hip::Module loaded = module(api, kernel->unit, failure);
  if (!loaded) return nullptr;
  hip::Function function = nullptr;
  if (const hip::Error e = api.hipModuleGetFunction(&function, loaded, kernel->symbol)) {
    api.hipGetLastError();
    failure = {StatusCode::kKernelNotFound, std::string("unit ") + kernel->unit + " for " +
                                                target_ + " does not hold " + kernel->symbol +
                                                " (" + api.hipGetErrorName(e) + ")"};
    return nullptr;
  }
  slot.store(function, std::memory_order_release);
  return function;
}

hip::Module LoadedObjects::module(const hip::Api& api, const char* unit, Failure& failure) {
  for (const auto& known : units_)
    if (std::strcmp(known->name, unit) == 0) return known->module;
  const Object* object = nullptr;
  for (int i = 0; target_ && i < kNumObjects; i++)
    if (std::strcmp(kObjects[i].unit, unit) == 0 && std::strcmp(kObjects[i].target, target_) == 0)
      object = &kObjects[i];
  if (!object) {
    failure = {StatusCode::kKernelNotFound,
               "no code for " + architecture_ + ": this module has " + list_targets()};
    return nullptr;
  }

  const size_t packed = object->end - object->begin;
  const std::string what = std::string("unit ") + unit + " for " + target_;
  const unsigned long long size = ZSTD_getFrameContentSize(object->begin, packed);
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    failure = {StatusCode::kModuleNotLoaded, what + ": the module's file is damaged"};
    return nullptr;
  }
  auto loaded = std::make_unique<Unit>();
  loaded->name = object->unit;
  loaded->image.resize(size);
  if (ZSTD_decompress(loaded->image.data(), size, object->begin, packed) != size) {
    failure = {StatusCode::kModuleNotLoaded, what + ": the module's file is damaged"};
    return nullptr;
  }
  if (const hip::Error e = api.hipModuleLoadData(&loaded->module, loaded->image.data())) {
    api.hipGetLastError();
    failure = {StatusCode::kModuleNotLoaded,
               what + ": hipModuleLoadData on rocm:" + std::to_string(device_) + " (" +
                   architecture_ + "): " + api.hipGetErrorName(e) + advice(e)};
    return nullptr;
  }
  units_.push_back(std::move(loaded));
  return units_.back()->module;
}

}  // namespace wick::gpu

// What clang's host pass calls from static constructors, one fat binary a unit. In its place the
// build gives clang a file with the unit's name. These only take notes; they are hidden, so that
// neither this module nor a libamdhip64 in the process ever meets the other's.
extern "C" {

struct FatBinaryWrapper {
  unsigned magic, version;
  const void* binary;
  void* unused;
};

void** __hipRegisterFatBinary(const FatBinaryWrapper* wrapper) {
  return static_cast<void**>(const_cast<void*>(wrapper->binary));
}
void __hipRegisterFunction(void** unit, const void* stub, char*, const char* symbol, int, void*,
                           void*, void*, void*, int*) {
  auto& kernels = wick::gpu::registered();
  kernels.try_emplace(stub, wick::gpu::RegisteredKernel{
                                int(kernels.size()), reinterpret_cast<const char*>(unit), symbol});
}
void __hipRegisterVar(void**, void*, char*, char*, int, size_t, int, int) {}
void __hipUnregisterFatBinary(void**) {}

// The stubs' bodies name these. Nothing runs those bodies: launches go by hipModuleLaunchKernel.
int hipLaunchKernel() { __builtin_trap(); }
unsigned __hipPopCallConfiguration() { __builtin_trap(); }
}
