// The tape: for each recorded result its op, its inputs, and the rule that propagates its gradient.
#pragma once
#include <array>
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "wick/ops/autograd.h"

namespace wick {

class TapeNode;

/// The arguments of a rule. Its tensors are on the tape, so that a rule built from ops can itself
/// be differentiated.
class RuleContext {
 public:
  RuleContext(const TapeNode& node, const Tensor& gradient, const std::vector<bool>& wanted)
      : gradient(gradient), node_(node), wanted_(wanted) {}

  const Tensor& gradient;  // gradient of the output, in the output's shape and dtype
  /// Whether the i-th input's gradient is wanted.
  bool wants(int i) const { return wanted_[size_t(i)]; }
  /// A kept input, or the kept output. Errors: kModifiedInPlace.
  Tensor input(int i) const;
  Tensor output() const;
  const Shape& input_shape(int i) const;
  DType input_dtype(int i) const;

 private:
  const TapeNode& node_;
  const std::vector<bool>& wanted_;
};

/// Writes the gradients of the wanted inputs, each in the input's shape and dtype.
using Rule = std::function<void(const RuleContext&, std::span<Tensor> gradients)>;

/// The tensors of the forward pass that a rule needs. If one is overwritten before the gradient is
/// computed, reading it throws kModifiedInPlace. The tape does not watch tensors that a rule
/// captures, so a rule must own those.
enum Keep : unsigned {
  kKeepNothing = 0,
  kKeepInput0 = 1,
  kKeepInput1 = 2,
  kKeepInput2 = 4,
  kKeepInput3 = 8,
  kKeepInput4 = 16,
  kKeepInput5 = 32,
  kKeepInput6 = 64,
  kKeepInputs = 127,  // the first seven inputs
  kKeepOutput = 128
};
inline constexpr size_t kMaxKeptInputs = 7;

/// Whether this thread records and any of these tensors is on the tape.
bool recording(std::span<const Tensor* const> inputs);
inline bool recording(std::initializer_list<const Tensor*> inputs) {
  return recording(std::span(inputs.begin(), inputs.size()));
}

/// Records on the tape that op computed y from the inputs, if this thread records. Returns y.
Tensor record(const char* op, Tensor y, std::span<const Tensor* const> inputs, unsigned keep,
              Rule rule);
inline Tensor record(const char* op, Tensor y, std::initializer_list<const Tensor*> inputs,
                     unsigned keep, Rule rule) {
  return record(op, std::move(y), std::span(inputs.begin(), inputs.size()), keep, std::move(rule));
}

/// The rule of an op defined in smaller ops: reruns those on the kept inputs and differentiates
/// them. Every input of the composite must be kept.
using Composite = std::function<Tensor(const std::vector<Tensor>& inputs)>;
void differentiate(const RuleContext& c, std::span<Tensor> gradients, const Composite& composite);

/// A new leaf, which accumulates a Var's gradient.
class Leaf;
std::shared_ptr<AutogradNode> make_leaf();
Tensor leaf_gradient(const AutogradNode& leaf);
void clear_leaf(AutogradNode& leaf);

}  // namespace wick
