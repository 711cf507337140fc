// The code objects that the module carries: one a unit (kernels/*.cpp) and target, compressed, and
// the way from a kernel's stub to its function on a card.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/rt_rocm_hip.h"
#include "wick/abi/call.h"

namespace wick::gpu {

struct Object {
  const char* unit;            // "elementwise"
  const char* target;          // "gfx1100", "gfx11-generic"
  const unsigned char* begin;  // zstd
  const unsigned char* end;
};

// Made by the build (cmake/AmdObjects.cmake).
extern const Object kObjects[];
extern const int kNumObjects;

/// A kernel as clang's host pass registered it; the index is dense, from 0.
struct RegisteredKernel {
  int index;
  const char* unit;
  const char* symbol;  // mangled
};

/// nullptr if the stub is not of this module.
const RegisteredKernel* find_registered(const void* stub);

/// Which of the module's targets a card takes: its own, else its generic one; nullptr if neither is
/// here.
const char* target_for(std::string_view architecture);

/// "gfx906 gfx90a ...": the targets that the module has code for.
std::string list_targets();

/// A failure, as a code and one line.
struct Failure {
  StatusCode code = StatusCode::kOk;
  std::string text;
};

/// The functions of one card, found when they are first asked for. Its unit's object is unpacked
/// and loaded then, and no other. Any thread may ask.
class LoadedObjects {
 public:
  LoadedObjects(int32 device, std::string architecture);
  ~LoadedObjects();

  /// The caller has made the device current. nullptr: failure says why.
  hip::Function function(const hip::Api&, const void* stub, Failure& failure);

 private:
  struct Unit;
  hip::Module module(const hip::Api&, const char* unit, Failure& failure);

  const int32 device_;
  const std::string architecture_;  // in full
  const char* const target_;
  std::mutex mutex_;  // held while anything is loaded
  std::vector<std::unique_ptr<Unit>> units_;
  struct Functions;
  std::unique_ptr<Functions> functions_;
};

}  // namespace wick::gpu
