#include "load/weights.h"

#include <algorithm>
#include <cstdio>

#include "load/file_types.h"

namespace wick {
namespace {

/// The source, with `progress` called after each tensor.
TensorSource with_progress(TensorSource source,
                           const std::function<void(int64_t, int64_t)>& progress) {
  if (!progress) return source;
  int64_t total = 0;
  for (const auto& [name, info] : source.tensors) total += bytes_of(info.dtype, numel(info.shape));
  source.load = [source, progress, total, done = int64_t{0}](const std::string& name,
                                                             const Device& device) mutable {
    Tensor tensor = source.load(name, device);
    done += bytes_of(tensor.dtype(), tensor.numel());
    progress(done, total);
    return tensor;
  };
  return source;
}

/// Bytes of the weights if those that are blocks or could be had this dtype.
double bytes_with(const TensorSource& tensors, DType matrices, DType computation) {
  const DTypeFacts& facts = facts_of(matrices);
  double bytes = 0;
  for (const auto& [name, info] : tensors.tensors) {
    const double elements = double(numel(info.shape));
    const bool is_matrix = info.shape.size() >= 2 && info.shape.back() % facts.block_elements == 0;
    bytes += is_matrix ? elements * facts.block_bytes / facts.block_elements
                       : elements * double(dtype_size(computation));
  }
  return bytes;
}

/// Checks that the weights fit the device, before any are read.
void require_room(const std::string& path, const TensorSource& tensors,
                  const ParameterOptions& options) {
  double bytes = 0;
  for (const auto& [name, info] : tensors.tensors) {
    const DType kept = Parameters::kept_dtype(info, options.dtype);
    if (options.device.is_cpu() && kept == info.dtype) continue;  // stays in the file
    bytes += double(bytes_of(kept, numel(info.shape)));
  }
  const Device::Memory memory = options.device.memory();
  if (memory.total_bytes <= 0 || bytes <= double(memory.free_bytes)) return;
  // The largest type that fits any model, by the dtype of most of its tensors. Others of its
  // tensors are larger, and tokens need room as well.
  constexpr double kMargin = 1.1;
  const FileType* fitting = nullptr;
  double fitting_bytes = 0;
  for (const FileType& type : kFileTypes) {
    const double smaller = bytes_with(tensors, type.dtype, options.dtype);
    const bool fits = kMargin * smaller <= double(memory.free_bytes);
    if (!is_block(type.dtype) || type.is_ternary || !fits || smaller < fitting_bytes) continue;
    fitting = &type;  // of equal ones the last
    fitting_bytes = smaller;
  }
  const auto size_text = [](double size) {
    const bool large = size >= double(1 << 30);
    char text[32];
    std::snprintf(text, sizeof text, large ? "%.1f GiB" : "%.2f MiB",
                  size / double(large ? 1 << 30 : 1 << 20));
    return std::string(text);
  };
  fail(ErrorCode::kOutOfMemory, path, "the weights take ", size_text(bytes), " on ", options.device,
       ", which has ", size_text(double(memory.free_bytes)),
       " free: ", size_text(bytes - double(memory.free_bytes)), " are missing; ",
       fitting
           ? "wick quantize makes them about " + size_text(fitting_bytes) + " as " + fitting->name
           : "no type of wick quantize is small enough");
}

}  // namespace

void require_computation(DType dtype) {
  constexpr DType kGood[] = {DType::kF32, DType::kBf16, DType::kF16, DType::kF64};
  check(std::find(std::begin(kGood), std::end(kGood), dtype) != std::end(kGood),
        ErrorCode::kInvalidArgument, "load_model", "dtype: expected f32, bf16, f16 or f64, got ",
        dtype_name(dtype));
}

Parameters parameters_of(const std::string& path, const TensorSource& tensors,
                         const LoadOptions& options) {
  const ParameterOptions where{.dtype = options.dtype.value_or(options.device.preferred_dtype()),
                               .device = options.device};
  require_room(path, tensors, where);
  return Parameters(with_progress(tensors, options.progress), where);
}

void require_all_taken(const std::string& path, const Parameters& parameters,
                       const std::string& model_type) {
  for (const std::string& name : parameters.left())
    fail(ErrorCode::kFormat, path, "tensor \"", name, "\" is not part of a model of type ",
         model_type);
}

}  // namespace wick
