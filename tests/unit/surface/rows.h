// Rows of the device surface.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "wick/wick.h"

namespace wick::test {

struct SurfaceRow {
  std::string name;  // the ROCm plan's
  /// What the device gives; none: wick has no such function yet.
  std::function<std::vector<double>(const Device&)> run = nullptr;
  std::vector<double> expected = {};
  bool basic = false;  // creation, allocation, copies, queries
};

std::vector<SurfaceRow> basic_rows();
std::vector<SurfaceRow> op_rows();

/// Elements in row-major order.
inline std::vector<double> values(const Tensor& x) {
  return x.to(Device::cpu()).to(DType::kF64).to_vector<double>();
}
inline Tensor floats(const Device& device, const std::vector<float>& x, const Shape& shape) {
  return Tensor::from(x, shape, device);
}

}  // namespace wick::test
