// A model's parameters by name: drawn, or taken from a file's tensors.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "wick/core/named_tensors.h"
#include "wick/core/var.h"

namespace wick {

using NamedVars = std::map<std::string, Var>;

/// Tensors by name that are read when asked for.
struct TensorSource {
  std::string where;  // "model/model.safetensors": what errors begin with
  std::map<std::string, Shape> shapes;
  std::function<Tensor(const std::string& name)> load;  // on any device, of any floating dtype
};
/// The source of these tensors; where: what errors begin with.
WICK_API TensorSource source_of(const NamedTensors& tensors, const std::string& where);

/// How a parameter is drawn: normal with this mean and deviation.
struct Initial {
  double mean = 0;
  double deviation = 0;
};

struct ParameterOptions {
  DType dtype = DType::kF32;
  Device device = Device::cpu();
  bool trainable = false;  // backward collects gradients
};

/// Layers take their parameters from here as they are built.
class WICK_API Parameters {
 public:
  /// Parameters that are drawn on the device, under its seed.
  explicit Parameters(const ParameterOptions& options) : options_(options) {}
  /// Parameters that are loaded, and converted to the dtype.
  Parameters(TensorSource source, const ParameterOptions& options)
      : options_(options), source_(std::move(source)) {}

  const ParameterOptions& options() const { return options_; }
  /// The parameter of this name, which becomes one of all(). Errors, of those from a source:
  /// kFormat if it has none of this name, or of another shape or an integer dtype.
  Var take(const std::string& name, const Shape& shape, const Initial& initial);
  const NamedVars& all() const { return all_; }
  /// Names in the source that nobody has taken.
  std::vector<std::string> left() const;

 private:
  Tensor load(const std::string& name, const Shape& shape) const;

  ParameterOptions options_;
  TensorSource source_;
  NamedVars all_;
};

}  // namespace wick
