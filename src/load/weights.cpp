#include "load/weights.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

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
    done = std::min(total, done + bytes_of(tensor.dtype(), tensor.numel()));  // some twice
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

/// The largest tensors of a device, with their sizes.
std::string largest_tensors(const TensorSource& tensors, const Placement& placement, DType dtype,
                            const Device& device) {
  constexpr size_t kListed = 3;
  std::vector<std::pair<int64_t, std::string>> sizes;
  for (const std::string& name : placement.tensors_on(device, tensors)) {
    const TensorInfo& info = tensors.tensors.at(name);
    sizes.emplace_back(bytes_of(Parameters::kept_dtype(info, dtype), numel(info.shape)), name);
  }
  const size_t count = std::min(kListed, sizes.size());
  std::partial_sort(sizes.begin(), sizes.begin() + ptrdiff_t(count), sizes.end(), std::greater<>());
  std::string text;
  for (size_t i = 0; i < count; i++)
    text += (i > 0 ? ", " : "") + sizes[i].second + " (" + size_text(double(sizes[i].first)) + ")";
  return text;
}

/// Checks that the weights, or a rank's share, fit a device, before any are read.
void require_room(const std::string& path, const TensorSource& tensors, const Placement& placement,
                  DType dtype, const Device& device, int ranks) {
  const double bytes = double(weight_bytes(placement, tensors, dtype, device)) / ranks;
  const Device::Memory memory = device.memory();
  if (memory.total_bytes <= 0 || bytes <= double(memory.free_bytes)) return;
  // The largest type that fits any model, by the dtype of most of its tensors. Others of its
  // tensors are larger, and tokens need room as well.
  constexpr double kMargin = 1.1;
  const FileType* fitting = nullptr;
  double fitting_bytes = 0;
  for (const FileType& type : kFileTypes) {
    const double smaller = bytes_with(tensors, type.dtype, dtype) / ranks;
    const bool fits = kMargin * smaller <= double(memory.free_bytes);
    if (!is_block(type.dtype) || type.is_ternary || !fits || smaller < fitting_bytes) continue;
    fitting = &type;  // of equal ones the last
    fitting_bytes = smaller;
  }
  fail(ErrorCode::kOutOfMemory, path, "the weights take ", size_text(bytes), " on ", device,
       ", which has ", size_text(double(memory.free_bytes)),
       " free: ", size_text(bytes - double(memory.free_bytes)), " are missing; ",
       fitting
           ? "wick quantize makes them about " + size_text(fitting_bytes) + " as " + fitting->name
           : "no type of wick quantize is small enough",
       "; the largest tensors: ", largest_tensors(tensors, placement, dtype, device));
}

}  // namespace

void require_computation(DType dtype) {
  constexpr DType kGood[] = {DType::kF32, DType::kBf16, DType::kF16, DType::kF64};
  check(std::find(std::begin(kGood), std::end(kGood), dtype) != std::end(kGood),
        ErrorCode::kInvalidArgument, "load_model", "dtype: expected f32, bf16, f16 or f64, got ",
        dtype_name(dtype));
}

Parameters parameters_of(const std::string& path, const TensorSource& tensors,
                         const LoadOptions& options, const Placement& placement,
                         const std::shared_ptr<const Ranks>& ranks) {
  const ParameterOptions where{.dtype = dtype_of(options),
                               .device = placement.first,
                               .layer_devices = placement.layers,
                               .cpu_experts = placement.cpu_experts,
                               .ranks = ranks};
  for (const Device& device : placement.devices())
    require_room(path, tensors, placement, where.dtype, device, ranks ? ranks->count() : 1);
  return Parameters(with_progress(tensors, options.progress), where);
}

void require_all_taken(const std::string& path, const Parameters& parameters,
                       const std::string& model_type) {
  for (const std::string& name : parameters.left())
    fail(ErrorCode::kFormat, path, "tensor \"", name, "\" is not part of a model of type ",
         model_type);
}

}  // namespace wick
