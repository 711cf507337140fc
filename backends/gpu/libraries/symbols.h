// Looks up a library's functions, and names those that it lacks.
#pragma once
#include <dlfcn.h>

#include <string>

namespace wick::gpu {

class Symbols {
 public:
  /// prefix: what the names given to take lack: "cublasLt".
  Symbols(void* handle, std::string prefix) : handle_(handle), prefix_(std::move(prefix)) {}

  template <class F>
  void take(F*& function, const std::string& name) {
    const std::string symbol = prefix_ + name;
    function = reinterpret_cast<F*>(dlsym(handle_, symbol.c_str()));
    if (!function) missing_ += (missing_.empty() ? "" : ", ") + symbol;
  }
  /// The names that the library lacks, "" if none.
  const std::string& missing() const { return missing_; }

 private:
  void* const handle_;
  const std::string prefix_;
  std::string missing_;
};

}  // namespace wick::gpu
