// Rows of the device surface.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "wick/wick.h"

namespace wick::test {

using Run = std::function<std::vector<double>(const Device&)>;

struct SurfaceRow {
  std::string name;      // candle's, or the op's
  std::string ops = "";  // that it calls, as docs/reference/ops.json names them; between spaces
  Run run = nullptr;     // what the device gives
  std::vector<double> expected = {};
  bool basic = false;  // creation, allocation, copies, queries
};

std::vector<SurfaceRow> basic_rows();
std::vector<SurfaceRow> op_rows();
std::vector<SurfaceRow> elementwise_rows();
std::vector<SurfaceRow> array_rows();

/// A row of one op.
inline SurfaceRow row_of(const char* op, Run run, std::vector<double> expected) {
  return {op, op, std::move(run), std::move(expected)};
}

/// Elements in row-major order.
inline std::vector<double> values(const Tensor& x) {
  return x.to(Device::cpu()).to(DType::kF64).to_vector<double>();
}
inline Tensor floats(const Device& device, const std::vector<float>& x, const Shape& shape) {
  return Tensor::from(x, shape, device);
}
inline Tensor floats(const Device& device, const std::vector<float>& x) {
  return Tensor::from(x, device);
}
inline Tensor ids_of(const Device& d, const std::vector<int64>& ids, const Shape& shape) {
  return Tensor::from(ids, shape, d);
}
/// 0, 1, ... 5 as [2, 3].
inline Tensor six(const Device& d) { return floats(d, {0, 1, 2, 3, 4, 5}, {2, 3}); }

/// Runs f of x = -1.5, 0, 0.5, 2.
inline Run of_one(std::function<Tensor(const Tensor&)> f) {
  return [f](const Device& d) { return values(f(floats(d, {-1.5f, 0, 0.5f, 2}))); };
}
/// Runs f of a = 5, -5, 2.5 and b = 3, 3, 2.5.
inline Run of_two(std::function<Tensor(const Tensor&, const Tensor&)> f) {
  return [f](const Device& d) {
    return values(f(floats(d, {5, -5, 2.5f}), floats(d, {3, 3, 2.5f})));
  };
}
/// Runs f of integers 12, 10 and 10, 3.
inline Run of_integers(std::function<Tensor(const Tensor&, const Tensor&)> f) {
  return [f](const Device& d) {
    return values(
        f(Tensor::from(std::vector<int32>{12, 10}, d), Tensor::from(std::vector<int32>{10, 3}, d)));
  };
}

}  // namespace wick::test
