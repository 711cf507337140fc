// A model's named parameters, initialized at random or loaded from a file's tensors.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "wick/core/named_tensors.h"
#include "wick/core/var.h"

namespace wick {

using NamedVars = std::map<std::string, Var>;

/// Named tensors that are loaded on demand.
struct TensorSource {
  std::string where;  // "model/model.safetensors": prefix of error texts
  std::map<std::string, Shape> shapes;
  std::function<Tensor(const std::string& name)> load;  // any device, any floating dtype
};
/// Makes a source from tensors. where: prefix of error texts.
WICK_API TensorSource source_of(const NamedTensors& tensors, const std::string& where);

/// Initial distribution of a parameter: normal with this mean and standard deviation.
struct Initial {
  double mean = 0;
  double deviation = 0;
};

struct ParameterOptions {
  DType dtype = DType::kF32;
  Device device = Device::cpu();
  bool trainable = false;  // whether backward collects gradients
};

/// The parameters of a model; layers take theirs from here when constructed.
class WICK_API Parameters {
 public:
  /// Initializes parameters at random on the device, under its seed.
  explicit Parameters(const ParameterOptions& options) : options_(options) {}
  /// Loads parameters and converts them to the dtype.
  Parameters(TensorSource source, const ParameterOptions& options)
      : options_(options), source_(std::move(source)) {}

  const ParameterOptions& options() const { return options_; }
  /// Creates the parameter with this name and adds it to all(). Errors when loading from a source:
  /// kFormat if the parameter is missing, or has another shape or a dtype that is not floating.
  Var take(const std::string& name, const Shape& shape, const Initial& initial);
  const NamedVars& all() const { return all_; }
  /// Names in the source that have not been taken.
  std::vector<std::string> left() const;

 private:
  Tensor load(const std::string& name, const Shape& shape) const;

  ParameterOptions options_;
  TensorSource source_;
  NamedVars all_;
};

}  // namespace wick
