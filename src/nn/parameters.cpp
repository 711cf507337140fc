#include "wick/nn/parameters.h"

#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/where.h"

namespace wick {

TensorSource source_of(const NamedTensors& tensors, const std::string& where) {
  TensorSource source{where, {}, [tensors](const std::string& name) { return tensors.at(name); }};
  for (const auto& [name, tensor] : tensors) source.shapes[name] = tensor.shape();
  return source;
}

Tensor Parameters::load(const std::string& name, const Shape& shape) const {
  const auto found = source_.shapes.find(name);
  check(found != source_.shapes.end(), ErrorCode::kFormat, source_.where, "no tensor is named \"",
        name, "\"");
  check(found->second == shape, ErrorCode::kFormat, source_.where, "tensor \"", name,
        "\": expected shape ", shape, ", got ", found->second);
  const Tensor tensor = source_.load(name);
  check(is_floating(tensor.dtype()), ErrorCode::kFormat, source_.where, "tensor \"", name,
        "\": expected a floating dtype, got ", dtype_name(tensor.dtype()));
  return cast(tensor.to(options_.device), options_.dtype);
}

Var Parameters::take(const std::string& name, const Shape& shape, const Initial& initial) {
  check(all_.count(name) == 0, ErrorCode::kInvalidArgument, "Parameters", "\"", name,
        "\" is taken twice");
  const TensorOptions where{.dtype = options_.dtype, .device = options_.device};
  const Tensor value = source_.load ? load(name, shape)
                       : initial.deviation == 0
                           ? full(shape, initial.mean, where)
                           : randn(shape, where, initial.mean, initial.deviation);
  return all_.emplace(name, Var(value, options_.trainable)).first->second;
}

std::vector<std::string> Parameters::left() const {
  std::vector<std::string> names;
  for (const auto& [name, shape] : source_.shapes)
    if (all_.count(name) == 0) names.push_back(name);
  return names;
}

}  // namespace wick
