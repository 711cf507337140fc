#include "gradient.h"

#include <algorithm>
#include <numeric>

#include "ops/tape/node.h"
#include "pairwise.h"
#include "wick/core/var.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/reduce.h"

namespace wick::conformance {
namespace {

constexpr int64_t kMaxElements = 64;
// f(x ± h), f(x ± 2h) and f(x ± 3h) give f' up to h^6 f^(7) / 140, and lose about 2^-53 f / h to
// rounding: with values of f up to 10 and h = 2^-10 that is 1e-12.
constexpr Real kStep = 0x1p-10;
constexpr Real kAllowed = 1e-9;  // of the largest element of the gradient, or of 1

/// Adds what is between y and the Vars that it came of.
void note_rules(const Tensor& y, Rules* rules) {
  std::vector<const TapeNode*> open;
  std::set<const TapeNode*> seen;
  const auto visit = [&](const TapeNode* node) {
    if (node && seen.insert(node).second) open.push_back(node);
  };
  visit(node_of(y).get());
  while (!open.empty()) {
    const TapeNode& node = *open.back();
    open.pop_back();
    for (std::size_t i = 0; i < node.inputs.size(); i++) {
      if (node.inputs[i].node) rules->insert({node.op, i});
      visit(node.inputs[i].node.get());
    }
  }
}

/// The buffers of the differentiable operands, in the order of row.differentiable.
using Buffers = std::vector<Array>;

class Check {
 public:
  Check(const Row& row, const Case& c, const Device& device, const Options& options, Rules* met)
      : row_(row),
        case_(c),
        device_(device),
        differences_(options.differences),
        met_(met),
        operands_(operands_of(with_grad_domains(row), c, options.seed)),
        random_(mix_seed(options.seed, "weights of " + row.op)) {
    for (const std::size_t i : row.differentiable) buffers_.push_back(operands_[i].buffer);
  }

  /// The gradients come from the device, their differences from the CPU: the function is the same,
  /// and emulated cards are slow.
  Outcome run() {
    const Tensor y = output(variables(buffers_, device_), true, device_);
    if (met_) note_rules(y, met_);
    weights_ = random_like(y);
    const std::vector<Array> first = gradients(buffers_, device_, nullptr);
    for (const Array& g : first) directions_.push_back(random_weights(g.shape));
    compared_ = drawn_elements();
    std::string wrong = compare(first, [&](const Buffers& at) {
      return dot(download(output(variables(at, cpu_), false, cpu_)), weights_);
    });
    if (!wrong.empty()) return failed("gradient: " + wrong);
    std::vector<Array> second;
    gradients(buffers_, device_, &second);
    wrong = compare(second, [&](const Buffers& at) {
      const std::vector<Array> g = gradients(at, cpu_, nullptr);
      Real total = 0;
      for (std::size_t k = 0; k < g.size(); k++) total += dot(g[k], directions_[k]);
      return total;
    });
    if (!wrong.empty()) return failed("second derivative: " + wrong);
    return passed();
  }

 private:
  static Row with_grad_domains(const Row& row) {
    Row moved = row;
    if (row.grad_domains.empty()) return moved;
    moved.make = [&row](std::size_t operand, const Case& c, Random& random) {
      const DType dtype = c.dtypes[std::min(operand, c.dtypes.size() - 1)];
      const HostShape& shape = c.geometry.operands[operand];
      if (std::find(row.differentiable.begin(), row.differentiable.end(), operand) ==
          row.differentiable.end())
        return row.make ? row.make(operand, c, random)
                        : random_array(dtype, shape, row.domain, random);
      const std::size_t k = std::min(operand, row.grad_domains.size() - 1);
      return array_within(row.grad_domains[k], dtype, shape, random);
    };
    return moved;
  }

  static std::vector<Var> variables(const Buffers& buffers, const Device& device) {
    std::vector<Var> vars;
    for (const Array& buffer : buffers) vars.push_back(Var(upload(buffer, device)));
    return vars;
  }

  Tensor output(const std::vector<Var>& vars, bool recorded, const Device& device) const {
    std::vector<Tensor> views;
    for (const Placement& p : operands_) views.push_back(p.view(upload_buffer(p, device)));
    for (std::size_t k = 0; k < vars.size(); k++) {
      const std::size_t i = row_.differentiable[k];
      views[i] = operands_[i].view(recorded ? vars[k].tensor() : vars[k].tensor().detach());
    }
    return row_.run(views, case_);
  }

  /// The gradients of sum(w y); and, if asked for, those of sum(u g), g being the former.
  std::vector<Array> gradients(const Buffers& at, const Device& device,
                               std::vector<Array>* second) const {
    const std::vector<Var> vars = variables(at, device);
    std::vector<Tensor> inputs;
    for (const Var& v : vars) inputs.push_back(v.tensor());
    const Tensor y = output(vars, true, device);
    const std::vector<Tensor> g =
        grad(y, inputs, {.seed = upload(weights_, device), .create_graph = second != nullptr});
    if (second) {
      Tensor total;
      for (std::size_t k = 0; k < g.size(); k++) {
        if (!g[k] || !g[k].requires_grad()) continue;  // a constant
        const Tensor part = sum(g[k] * upload(directions_[k], device));
        total = total ? total + part : part;
      }
      if (total && met_) note_rules(total, met_);
      const std::vector<Tensor> h =
          total ? grad(total, inputs) : std::vector<Tensor>(inputs.size());
      *second = to_host(h, at);
    }
    return to_host(g, at);
  }

  /// An input that the result does not depend on has no gradient: zeros.
  static std::vector<Array> to_host(const std::vector<Tensor>& gradients, const Buffers& at) {
    std::vector<Array> result;
    for (std::size_t k = 0; k < gradients.size(); k++) {
      if (gradients[k])
        result.push_back(download(gradients[k]));
      else
        result.push_back({at[k].dtype, at[k].shape, std::vector<Real>(at[k].values.size(), 0)});
    }
    return result;
  }

  /// The elements of each buffer that are compared.
  std::vector<std::vector<std::size_t>> drawn_elements() {
    std::vector<std::vector<std::size_t>> result;
    for (const Array& buffer : buffers_) {
      std::vector<std::size_t> all(buffer.values.size());
      std::iota(all.begin(), all.end(), 0);
      if (differences_ == 0 || int64_t(all.size()) <= differences_) {
        result.push_back(all);
        continue;
      }
      for (int64_t i = 0; i < differences_; i++)
        std::swap(all[i], all[i + random_.below(int64_t(all.size()) - i)]);
      all.resize(differences_);
      result.push_back(all);
    }
    return result;
  }

  /// Compares with the central differences of f. What stands around an operand (NaN) must have no
  /// gradient.
  template <class F>
  std::string compare(const std::vector<Array>& analytic, const F& f) const {
    for (std::size_t k = 0; k < buffers_.size(); k++) {
      const Array& buffer = buffers_[k];
      if (analytic[k].shape != buffer.shape)
        return "has another shape than operand " + std::to_string(row_.differentiable[k]);
      Real largest = 1;
      for (const Real g : analytic[k].values) largest = std::max(largest, std::fabs(g));
      for (const std::size_t i : compared_[k]) {
        Real expected = 0;
        if (!std::isnan(buffer.values[i])) {
          const auto at = [&](Real steps) {
            Buffers moved = buffers_;
            moved[k].values[i] += steps * kStep;
            return f(moved);
          };
          expected =
              (45 * (at(1) - at(-1)) - 9 * (at(2) - at(-2)) + (at(3) - at(-3))) / (60 * kStep);
        }
        const Real got = analytic[k].values[i];
        if (!(std::fabs(got - expected) <= kAllowed * largest)) {
          return "of operand " + std::to_string(row_.differentiable[k]) + " at element " +
                 std::to_string(i) + " of its buffer: expected " + number(expected) +
                 " by differences, got " + number(got);
        }
      }
    }
    return "";
  }

  Array random_like(const Tensor& y) {
    return random_weights({y.shape().begin(), y.shape().end()});
  }
  /// Of few bits: a gradient that passes through f32 loses nothing of them.
  Array random_weights(const HostShape& shape) {
    Array w = random_array(DType::kF16, shape, {-1, 1}, random_);
    w.dtype = DType::kF64;
    return w;
  }

  static Real dot(const Array& a, const Array& b) {
    Real total = 0;
    for (std::size_t i = 0; i < a.values.size(); i++) total += a.values[i] * b.values[i];
    return total;
  }

  const Row& row_;
  const Case& case_;
  const Device& device_;
  const int64_t differences_;
  Rules* met_;
  const Device cpu_ = Device::cpu();
  std::vector<Placement> operands_;
  Random random_;
  Buffers buffers_;
  Array weights_;
  std::vector<Array> directions_;
  std::vector<std::vector<std::size_t>> compared_;
};

}  // namespace

Row gradient_row(const Row& row) {
  if (row.differentiable.empty() || row.geometries.empty()) return row;
  Row small = row;
  small.special = false;
  small.long_geometries.clear();
  std::erase_if(small.geometries, [](const Geometry& g) { return elements_of(g) > kMaxElements; });
  small.dtypes = {row.dtypes.front()};
  small.dtypes.front().resize(row.geometries.front().operands.size(), row.dtypes.front().back());
  for (const std::size_t i : row.differentiable) small.dtypes.front()[i] = DType::kF64;
  return small;
}

std::vector<Case> gradient_cases(const Row& row, const Options& options) {
  const Row small = gradient_row(row);
  if (row.differentiable.empty() || small.geometries.empty()) return {};
  Options selection = options;
  selection.dtypes.clear();
  return cases_of(small, selection, false);
}

Outcome check_gradient(const Row& row, const Case& c, const Device& device, const Options& options,
                       Rules* met) try {
  const CompositeScope scope(c.composite);
  return Check(row, c, device, options, met).run();
} catch (const Error& error) {
  return failed(error.what());
} catch (const std::exception& error) {
  return failed(error.what());
}

Rules noted_rules(const Row& row, uint64_t seed) {
  Rules rules;
  const auto floats = [](const std::vector<DType>& dtypes) {
    return std::count_if(dtypes.begin(), dtypes.end(), is_floating);
  };
  const auto dtypes =
      std::max_element(row.dtypes.begin(), row.dtypes.end(),
                       [&](const auto& a, const auto& b) { return floats(a) < floats(b); });
  if (dtypes == row.dtypes.end() || floats(*dtypes) == 0) return rules;
  for (const Geometry& geometry : row.geometries) {
    if (elements_of(geometry) > kMaxElements) continue;
    const Case c{*dtypes, geometry, std::vector(geometry.operands.size(), OperandLayout::kWhole)};
    std::vector<Tensor> operands;
    for (const Placement& p : operands_of(row, c, seed)) {
      const Tensor x = upload_buffer(p, Device::cpu());
      operands.push_back(is_floating(x.dtype()) ? Var(x).tensor() : x);
    }
    note_rules(row.run(operands, c), &rules);
  }
  return rules;
}

Outcome check_rules(const std::vector<Row>& rows, const Rules& met, uint64_t seed) try {
  Rules unmet;
  for (const Row& row : rows) {
    for (const auto& rule : noted_rules(row, seed))
      if (!met.contains(rule)) unmet.insert(rule);
  }
  if (unmet.empty()) return passed();
  std::string text = "no row compares the gradient";
  for (const auto& [op, input] : unmet) text += ", of " + op + " by input " + std::to_string(input);
  return failed(text);
} catch (const std::exception& error) {
  return failed(error.what());
}

}  // namespace wick::conformance
