#include "wick/core/tensor_source.h"

namespace wick {

TensorSource source_of(const NamedTensors& tensors, const std::string& where) {
  TensorSource source{where, {}, [tensors](const std::string& name, const Device& device) {
                        return tensors.at(name).to(device);
                      }};
  for (const auto& [name, tensor] : tensors)
    source.tensors[name] = {tensor.dtype(), tensor.shape()};
  return source;
}

TensorSource without_prefix(const TensorSource& source, const std::string& prefix) {
  TensorSource result{source.where,
                      {},
                      [load = source.load, prefix](const std::string& name, const Device& device) {
                        return load(prefix + name, device);
                      }};
  for (const auto& [name, info] : source.tensors)
    if (name.starts_with(prefix)) result.tensors[name.substr(prefix.size())] = info;
  return result;
}

}  // namespace wick
