#include "libraries/rocblas.h"

#include <mutex>

#include "libraries/symbols.h"
#include "libraries/tensile_files.h"
#include "runtime/find_library.h"
#include "runtime/rt_rocm_hip.h"

namespace wick::gpu {
namespace {

using namespace rocblas;  // numbers and functions

int data_type(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 150;
    case DType::kBf16:
      return 168;
    case DType::kF64:
      return 152;
    default:
      return 151;
  }
}

class Rocblas final : public VendorLibrary {
 public:
  Rocblas(const Api& api, void* handle, std::string description)
      : api_(api), handle_(handle), description_(std::move(description)) {}

  std::string describe() const override { return description_; }

  /// rocBLAS has memory of its own.
  int64 workspace_bytes(const BlasProduct&) override { return 0; }

  Failure run(const BlasProduct& p, const LibraryPlace& place) override {
    const std::lock_guard lock(mutex_);  // the handle has one stream
    if (const int status = api_.set_stream(handle_, place.stream))
      return failure_of("rocblas_set_stream", status);
    const float one = 1, zero = 0;
    const double one_f64 = 1, zero_f64 = 0;
    const bool is_f64 = p.dtype == DType::kF64;
    const int type = data_type(p.dtype);
    const auto operation = [](const BlasMatrix& m) {
      return m.transposed ? kOperationTranspose : kOperationNone;
    };
    return failure_of(
        "rocblas_gemm_strided_batched_ex",
        api_.gemm(handle_, operation(p.a), operation(p.b), int(p.rows), int(p.columns),
                  int(p.inner), is_f64 ? static_cast<const void*>(&one_f64) : &one, p.a.data, type,
                  int(p.a.leading), p.a.batch_step, p.b.data, type, int(p.b.leading),
                  p.b.batch_step, is_f64 ? static_cast<const void*>(&zero_f64) : &zero, p.c.data,
                  type, int(p.c.leading), p.c.batch_step, const_cast<void*>(p.c.data), type,
                  int(p.c.leading), p.c.batch_step, int(p.batches),
                  data_type(is_f64 ? DType::kF64 : DType::kF32), 0, 0, 0));
  }

 private:
  Failure failure_of(const char* function, int status) const {
    if (status == kSuccess) return {};
    return {status == kNotImplemented ? StatusCode::kUnsupported : StatusCode::kDeviceError,
            std::string(function) + ": " + api_.status_to_string(status)};
  }

  const Api api_;
  void* const handle_;  // never destroyed: the device may be gone before
  const std::string description_;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<VendorLibrary> open_rocblas(const DeviceInfo& info, Failure* failure) {
  const OpenedLibrary opened = open_library(kRocblasLibrary, folder_of(hip::runtime().name));
  if (!opened.handle) {
    *failure = {StatusCode::kUnsupported, opened.why_none};
    return nullptr;
  }
  if (const std::string missing =
          missing_tensile_files(kRocblasFiles, opened.file, info.architecture);
      !missing.empty()) {
    *failure = {StatusCode::kUnsupported, missing};
    return nullptr;
  }
  Api api{};
  Symbols symbols(opened.handle, "rocblas_");
  symbols.take(api.create_handle, "create_handle");
  symbols.take(api.set_stream, "set_stream");
  symbols.take(api.set_atomics_mode, "set_atomics_mode");
  symbols.take(api.status_to_string, "status_to_string");
  symbols.take(api.get_version_string, "get_version_string");
  symbols.take(api.gemm, "gemm_strided_batched_ex");
  if (!symbols.missing().empty()) {
    *failure = {StatusCode::kUnsupported, opened.file + " lacks " + symbols.missing()};
    return nullptr;
  }
  void* handle = nullptr;
  int status = api.create_handle(&handle);
  // With atomics the order of a sum would vary.
  if (status == kSuccess) status = api.set_atomics_mode(handle, kAtomicsNotAllowed);
  if (status != kSuccess) {
    *failure = {StatusCode::kDeviceError,
                opened.file + ": rocblas_create_handle: " + api.status_to_string(status)};
    return nullptr;
  }
  char version[64] = "";
  api.get_version_string(version, sizeof version);
  return std::make_unique<Rocblas>(api, handle,
                                   std::string("rocBLAS ") + version + " (" + opened.file + ")");
}

}  // namespace wick::gpu
