#include "loading.h"

#include "values.h"

namespace wick::python {
namespace {

/// The dtype, its name or None, so that another name gets load_model's error.
std::optional<DType> computation_dtype(const nb::object& given) {
  DType dtype{};
  if (given.is_none()) return {};
  check(nb::try_cast(given, dtype), ErrorCode::kInvalidArgument, "load",
        "dtype: expected f32, bf16, f16 or f64, got ", described(given));
  return dtype;
}

}  // namespace

LoadOptions load_options(const std::optional<DeviceArgument>& device, const nb::object& dtype,
                         const nb::object& progress) {
  LoadOptions options{.dtype = computation_dtype(dtype)};
  if (device) options.device = *device;
  options.progress = [progress = progress.ptr()](int64_t done, int64_t total) {
    const nb::gil_scoped_acquire python;
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();  // Ctrl-C
    const nb::handle call(progress);
    if (!call.is_none()) call(done, total);
  };
  return options;
}

}  // namespace wick::python
