// Ops and their gradients beside PyTorch's: tests/golden/gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "golden_ops.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/ops/autograd.h"

namespace wick {
namespace {

/// How far two implementations in a dtype may be apart, relative to the largest element.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-11;
    case DType::kF32:
      return 1e-5;
    case DType::kF16:
      return 4e-3;
    default:
      return 3e-2;  // bf16
  }
}

/// "" or what differs. allowed: relative to the largest element.
std::string difference(const Tensor& got, const Tensor& expected, double relative) {
  if (!got) return "there is none";
  if (got.shape() != expected.shape())
    return "expected shape " + to_string(expected.shape()) + ", got " + to_string(got.shape());
  if (got.dtype() != expected.dtype())
    return std::string("expected ") + dtype_name(expected.dtype()) + ", got " +
           dtype_name(got.dtype());
  const auto a = cast(got, DType::kF64).to_vector<double>();
  const auto b = cast(expected, DType::kF64).to_vector<double>();
  double largest = 1;
  for (const double x : b)
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  const double allowed = is_floating(expected.dtype()) ? relative * largest : 0;
  for (size_t i = 0; i < a.size(); i++) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (same || std::fabs(a[i] - b[i]) <= allowed) continue;
    return "element " + std::to_string(i) + ": expected " + std::to_string(b[i]) + ", got " +
           std::to_string(a[i]);
  }
  return "";
}

class Golden : public ::testing::Test {
 protected:
  const std::string folder_ = WICK_GOLDEN "/gradients";
  const Settings settings_ = read_json(folder_ + "/cases.json");
  const SafetensorsReader tensors_{folder_ + "/cases.safetensors"};
  const Setting::List& cases_ = std::get<Setting::List>(settings_.find("cases")->value);

  void run(const Settings& c, const std::string& name) {
    const std::string op = c.text("op");
    const auto function = test::golden_ops().find(op);
    ASSERT_NE(function, test::golden_ops().end()) << op << " is no op that golden_ops.py can call";
    const std::vector<int64_t> gradients = c.integers("gradients");
    const bool has_seed = tensors_.tensors().count(name + ".seed") != 0;
    std::vector<Tensor> x;
    for (int64_t i = 0; i < c.integer("inputs"); i++) {
      const Tensor value = tensors_.load(name + ".x" + std::to_string(i));
      const bool wanted = std::count(gradients.begin(), gradients.end(), i) != 0;
      x.push_back(wanted ? Var(value).tensor() : value);
    }
    std::vector<Tensor> operands = x;
    if (c.flag_or("transposed", false)) operands[0] = transpose(x[0]);
    const Settings none;
    const Settings& options = c.has("options") ? *c.group("options") : none;
    const Tensor y = function->second(operands, options);
    // What the op computed in, or the rival.
    const double allowed = std::max(tolerance(y.dtype()), c.real_or("tolerance", 0));
    EXPECT_EQ(difference(y, tensors_.load(name + ".y"), allowed), "") << op << ", case " << name;
    if (!has_seed || gradients.empty()) return;
    std::vector<Tensor> leaves;
    for (const int64_t i : gradients) leaves.push_back(x[size_t(i)]);
    const std::vector<Tensor> g = grad(y, leaves, {.seed = tensors_.load(name + ".seed")});
    for (size_t k = 0; k < g.size(); k++) {
      const std::string which = name + ".g" + std::to_string(gradients[k]);
      const double here = std::max(allowed, g[k] ? tolerance(g[k].dtype()) : 0);
      EXPECT_EQ(difference(g[k], tensors_.load(which), here), "")
          << op << ", gradient of input " << gradients[k] << " of case " << name;
    }
  }
};

TEST_F(Golden, EveryCaseIsAsPyTorchHasIt) {
  ASSERT_GE(cases_.size(), 300u);
  for (size_t i = 0; i < cases_.size(); i++) {
    std::string name = std::to_string(i);
    name.insert(0, 3 - name.size(), '0');
    SCOPED_TRACE(name);
    ASSERT_NO_THROW(run(std::get<Settings>(cases_[i].value), name));
  }
}

}  // namespace
}  // namespace wick
