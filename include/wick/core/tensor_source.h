// Named tensors that are read on demand, from a file for example.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "wick/core/named_tensors.h"

namespace wick {

struct TensorInfo {
  DType dtype;
  Shape shape;
};

/// Readers of files return a TensorSource; models take one. Holds no tensor itself, so that a
/// tensor is read once, straight to its device.
struct TensorSource {
  std::string where;  // the file or folder; error texts begin with it
  std::map<std::string, TensorInfo> tensors;
  /// Reads one of `tensors` to a device.
  std::function<Tensor(const std::string& name, const Device& device)> load;
};

/// A source that hands out these tensors. where: prefix of error texts.
WICK_API TensorSource source_of(const NamedTensors& tensors, const std::string& where);
/// The tensors whose names start with the prefix, with the prefix removed.
WICK_API TensorSource without_prefix(const TensorSource& source, const std::string& prefix);

}  // namespace wick
