#include "wick/nn/parameters.h"

#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

Shape shape_of(Shape whole, const ParameterPart& part) {
  if (!part.is_whole()) whole[part.dim] = part.count;
  return whole;
}

Tensor part_of(const Tensor& whole, const ParameterPart& part) {
  if (part.is_whole()) return whole;
  return narrow(whole, part.dim, part.begin, part.count).contiguous();
}

}  // namespace

// What is kept takes less room as it lies than in the computation's dtype, with the same values.
DType Parameters::kept_dtype(const TensorInfo& in_file, DType computation) {
  const bool is_half = in_file.dtype == DType::kF16 || in_file.dtype == DType::kBf16;
  const bool is_compact = is_block(in_file.dtype) || (is_half && computation == DType::kF32);
  return in_file.shape.size() >= 2 && is_compact ? in_file.dtype : computation;
}

Parameters Parameters::of_shapes(DType dtype) {
  Parameters parameters({.dtype = dtype});
  parameters.shapes_only_ = true;
  return parameters;
}

Tensor Parameters::load(const std::string& name, const Shape& shape,
                        const ParameterPart& part) const {
  const auto found = source_.tensors.find(name);
  check(found != source_.tensors.end(), ErrorCode::kFormat, source_.where, "no tensor is named \"",
        name, "\"");
  const TensorInfo& info = found->second;
  check(info.shape == shape, ErrorCode::kFormat, source_.where, "tensor \"", name,
        "\": expected shape ", shape, ", got ", info.shape);
  check(is_floating(info.dtype) || is_block(info.dtype), ErrorCode::kFormat, source_.where,
        "tensor \"", name, "\": expected a floating dtype, got ", dtype_name(info.dtype));
  if (part.is_whole()) return source_.load(name, options_.device);
  const int64_t unit = part.dim + 1 == int(shape.size()) ? column_unit(name) : 1;
  check(part.begin % unit == 0 && part.count % unit == 0, ErrorCode::kInvalidArgument,
        source_.where, "tensor \"", name, "\": a part of ", part.count, " columns from ",
        part.begin, " on cuts blocks of ", unit, " elements");
  // On the CPU a mapped file's tensor is a view: the other parts are never read.
  return part_of(source_.load(name, Device::cpu()), part).to(options_.device);
}

int64_t Parameters::column_unit(const std::string& name) const {
  const auto found = source_.tensors.find(name);
  if (found == source_.tensors.end() || !is_block(found->second.dtype)) return 1;
  return facts_of(found->second.dtype).block_elements;
}

Parameter Parameters::take(const std::string& name, const Shape& shape, const Initial& initial,
                           const ParameterPart& part) {
  return take(name, shape, initial, part, false);
}
Parameter Parameters::take_matrix(const std::string& name, const Shape& shape,
                                  const Initial& initial, const ParameterPart& part) {
  return take(name, shape, initial, part, !options_.trainable);
}

Parameters& Parameters::on(const Device& device) {
  options_.device = device;
  return *this;
}

Parameter Parameters::again(const std::string& name, const Parameter& taken) const {
  if (shapes_only_ || taken.tensor().device() == options_.device) return taken;
  if (draws()) return Parameter(taken.tensor().to(options_.device));
  return Parameter(cast(load(name, taken.shape()), taken.tensor().dtype()));
}

void Parameters::require_untaken(const std::string& name) const {
  check(taken_.count(name) == 0, ErrorCode::kInvalidArgument, "Parameters", "\"", name,
        "\" is taken twice");
}

Parameter Parameters::take_constant(const std::string& name, const Shape& shape) {
  require_untaken(name);
  const DType dtype = options_.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  taken_[name] = {dtype, shape};
  if (shapes_only_) return Parameter();
  return Parameter(draws() ? zeros(shape, {.dtype = dtype, .device = options_.device})
                           : cast(load(name, shape), dtype));
}

Parameter Parameters::take(const std::string& name, const Shape& shape, const Initial& initial,
                           const ParameterPart& part, bool keeps_dtype) {
  require_untaken(name);
  const Shape own = shape_of(shape, part);
  if (shapes_only_) {
    taken_[name] = {options_.dtype, own};
    return Parameter();
  }
  const TensorOptions where{.dtype = options_.dtype, .device = options_.device};
  const auto loaded = [&] {
    const Tensor of_file = load(name, shape, part);
    const TensorInfo info{of_file.dtype(), own};
    return cast(of_file, keeps_dtype ? kept_dtype(info, options_.dtype) : options_.dtype);
  };
  const auto drawn = [&] { return randn(shape, where, initial.mean, initial.deviation); };
  Tensor value = !draws()                 ? loaded()
                 : initial.deviation == 0 ? full(own, initial.mean, where)
                                          : part_of(drawn(), part);
  taken_[name] = {value.dtype(), own};
  if (!options_.trainable) return Parameter(std::move(value));
  return Parameter(vars_.emplace(name, Var(std::move(value))).first->second);
}

std::vector<std::string> Parameters::left() const {
  std::vector<std::string> names;
  for (const auto& [name, info] : source_.tensors)
    if (taken_.count(name) == 0 && left_to_others_.count(name) == 0) names.push_back(name);
  return names;
}

}  // namespace wick
