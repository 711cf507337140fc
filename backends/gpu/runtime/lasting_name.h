// Names of kernels that outlive the modules that users unload.
#pragma once
#include <mutex>
#include <set>
#include <string>

namespace wick::gpu {

/// The same text with static lifetime, for the note of a stream's last kernel.
inline const char* lasting_name(const char* name) {
  static std::mutex& mutex = *new std::mutex;
  static auto& names = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

}  // namespace wick::gpu
