// Which device has which of a model's layers.
#pragma once
#include <string>
#include <vector>

#include "wick/core/tensor_source.h"
#include "wick/load/load_model.h"
#include "wick/models/registry.h"

namespace wick {

/// The devices of a model's parts.
struct Placement {
  Device first, last;               // of the embedding, and of the final norm and the output layer
  std::vector<Device> layers = {};  // of each layer; empty: all are on `first`
  int64_t cpu_experts = 0;          // so many first layers have their experts on the CPU

  /// The device of a tensor with a Decoder's name.
  const Device& device_of(const std::string& name) const;
  /// The names of the tensors on a device. An output layer that shares the embedding's weight has
  /// it on its own device too.
  std::vector<std::string> tensors_on(const Device& device, const TensorSource& tensors) const;
  /// Each device once, in order.
  std::vector<Device> devices() const;
};

/// All on the device.
Placement placed_on(const Device& device);

/// The dtype of the computation: as asked for, else the one that the cards prefer.
DType dtype_of(const LoadOptions& options);

/// The placement that the options ask for. tensors: as the model takes them. Errors: as load_model.
Placement placement_of(const std::string& path, const ModelConfig& config,
                       const TensorSource& tensors, const LoadOptions& options);

/// The bytes that a placement's weights take on the device, and no tensor that stays in its file on
/// the CPU. dtype: of the computation.
int64_t weight_bytes(const Placement& placement, const TensorSource& tensors, DType dtype,
                     const Device& device);

/// LanguageModel::split.
std::string text_of(const Placement& placement, const TensorSource& tensors,
                    const CausalModel& model, const SplitOptions& options);

/// "1.5 GiB" or "20.00 MiB".
std::string size_text(double bytes);

}  // namespace wick
