// What the fakes share: elements of any dtype in host memory, faults, a log.
#pragma once
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace fake {

enum Type { kF16, kF32, kF64, kBf16 };

inline double load(const void* data, int64_t i, int type) {
  switch (type) {
    case kF64:
      return static_cast<const double*>(data)[i];
    case kF32:
      return double(static_cast<const float*>(data)[i]);
    case kF16: {
      _Float16 x;
      std::memcpy(&x, static_cast<const char*>(data) + 2 * i, 2);
      return double(x);
    }
    default: {
      uint16_t half;
      std::memcpy(&half, static_cast<const char*>(data) + 2 * i, 2);
      const uint32_t bits = uint32_t(half) << 16;
      float x;
      std::memcpy(&x, &bits, 4);
      return double(x);
    }
  }
}

inline void store(void* data, int64_t i, int type, double value) {
  switch (type) {
    case kF64:
      static_cast<double*>(data)[i] = value;
      return;
    case kF32:
      static_cast<float*>(data)[i] = float(value);
      return;
    case kF16: {
      const _Float16 x = _Float16(value);
      std::memcpy(static_cast<char*>(data) + 2 * i, &x, 2);
      return;
    }
    default: {
      const float x = float(value);
      uint32_t bits;
      std::memcpy(&bits, &x, 4);
      const uint16_t half = uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
      std::memcpy(static_cast<char*>(data) + 2 * i, &half, 2);
    }
  }
}

/// Whether the variable FAKE_LIBRARY chooses this fault.
inline bool fault(const char* name) {
  const char* chosen = std::getenv("FAKE_LIBRARY");
  return chosen && std::string(chosen) == name;
}

/// Adds a line to the file that FAKE_LIBRARY_LOG names.
inline void log(const std::string& line) {
  const char* file = std::getenv("FAKE_LIBRARY_LOG");
  if (!file) return;
  if (FILE* out = std::fopen(file, "a")) {
    std::fprintf(out, "%s\n", line.c_str());
    std::fclose(out);
  }
}

/// Waits for the work that a stream of HIP was given before.
inline void wait_for(void* stream) {
  using Wait = int (*)(void*);
  void* const hip = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
  reinterpret_cast<Wait>(dlsym(hip, "hipStreamSynchronize"))(stream);
}

}  // namespace fake
