#include "libs/openblas_library.h"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <string>
#include <vector>

#include "libs/room.h"

namespace wick::cpu {
namespace {

constexpr size_t kBufferBytes = size_t{128} << 20;  // OpenBLAS's BUFFER_SIZE on x86-64

/// Lets the calling thread run on one core alone while it lives. OpenBLAS starts a thread for each core
/// that the thread which loads it may use, up to OPENBLAS_NUM_THREADS, which is read in the same moment
/// but cannot be set without harm to other threads that read the environment.
class OneCore {
 public:
  OneCore() {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    int core = 0;
    while (core < CPU_SETSIZE - 1 && !CPU_ISSET(core, &before_)) core++;
    CPU_SET(core, &one);
    changed_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~OneCore() {
    if (changed_) sched_setaffinity(0, sizeof before_, &before_);
  }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_;
  bool changed_ = false;
};

/// wick_openblas.so beside this code is empty and needs OpenBLAS: in a wheel, the copy that the wheel
/// brings. Elsewhere the system's.
void* load() {
  const OneCore one_core;
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&load), &here) && here.dli_fname) {
    const std::string file = here.dli_fname;
    const std::string beside = file.substr(0, file.rfind('/') + 1) + "wick_openblas.so";
    if (void* const handle = dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
}

template <class F>
void find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
}

}  // namespace

OpenBlas* OpenBlas::get() {
  static OpenBlas* const only = []() -> OpenBlas* {
    void* const handle = load();
    if (!handle) return nullptr;
    auto* const library = new OpenBlas;  // never destroyed, nor is the library closed
    void (*set_num_threads)(int) = nullptr;
    find(handle, "cblas_dgemm", library->dgemm);
    find(handle, "blas_memory_alloc", library->alloc_);
    find(handle, "blas_memory_free", library->free_);
    find(handle, "openblas_set_num_threads", set_num_threads);
    if (!library->dgemm || !library->alloc_ || !library->free_ || !set_num_threads) return nullptr;
    set_num_threads(1);  // if the program had loaded it before
    return library;
  }();
  return only;
}

void OpenBlas::make(int wanted) {
  if (made_ - taken_ >= wanted) return;
  // Those that are there must be in use, or OpenBLAS would give them again.
  std::vector<void*> held;
  for (int i = taken_; i < made_; i++) held.push_back(alloc_(0));
  for (; made_ - taken_ < wanted && has_room(kBufferBytes); made_++) held.push_back(alloc_(0));
  for (void* const buffer : held) free_(buffer);
}

bool OpenBlas::has_buffer() {
  const std::lock_guard lock(mutex_);
  if (made_ == 0) make(1);
  return made_ > 0;
}

OpenBlas::Buffers::Buffers(OpenBlas& library, int most) : library_(library) {
  std::unique_lock lock(library.mutex_);
  library.make(most);
  if (library.made_ == 0) return;
  library.given_back_.wait(lock, [&] { return library.made_ > library.taken_; });
  count_ = std::min(most, library.made_ - library.taken_);
  library.taken_ += count_;
}

OpenBlas::Buffers::~Buffers() {
  {
    const std::lock_guard lock(library_.mutex_);
    library_.taken_ -= count_;
  }
  library_.given_back_.notify_all();
}

}  // namespace wick::cpu
