// The tape: which op made a tensor of which inputs, and the rule by which a gradient goes back.
#pragma once
#include <array>
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "wick/ops/autograd.h"

namespace wick {

class TapeNode;

/// What a rule is given. Tensors here are on the tape, so that a rule made of ops can itself be
/// differentiated.
class RuleContext {
 public:
  RuleContext(const TapeNode& node, const Tensor& gradient, const std::vector<bool>& wanted)
      : gradient(gradient), node_(node), wanted_(wanted) {}

  const Tensor& gradient;  // of the output: its shape and dtype
  /// Whether the i-th input's gradient is asked for.
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

/// Writes the gradients of the inputs that are wanted. The shape and dtype of each are the input's.
using Rule = std::function<void(const RuleContext&, std::span<Tensor> gradients)>;

/// What a rule needs of the forward pass. Whoever writes over it before the gradient is taken is
/// told so; what a rule captures by itself is not watched, and must be its own.
enum Keep : unsigned {
  kKeepNothing = 0,
  kKeepInput0 = 1,
  kKeepInput1 = 2,
  kKeepInput2 = 4,
  kKeepInput3 = 8,
  kKeepInputs = 15,  // the first four
  kKeepOutput = 16
};

/// Whether any of these is on the tape, and the thread records.
bool recording(std::span<const Tensor* const> inputs);
inline bool recording(std::initializer_list<const Tensor*> inputs) {
  return recording(std::span(inputs.begin(), inputs.size()));
}

/// Notes that y came of the inputs, if recording. Returns y.
Tensor record(const char* op, Tensor y, std::span<const Tensor* const> inputs, unsigned keep,
              Rule rule);
inline Tensor record(const char* op, Tensor y, std::initializer_list<const Tensor*> inputs,
                     unsigned keep, Rule rule) {
  return record(op, std::move(y), std::span(inputs.begin(), inputs.size()), keep, std::move(rule));
}

/// A rule for an op that is written in smaller ops: runs those on the kept inputs once more and
/// differentiates them. All inputs that the composite takes must be kept.
using Composite = std::function<Tensor(const std::vector<Tensor>& inputs)>;
void differentiate(const RuleContext& c, std::span<Tensor> gradients, const Composite& composite);

/// A new leaf: where a Var's gradient is collected.
class Leaf;
std::shared_ptr<AutogradNode> make_leaf();
Tensor leaf_gradient(const AutogradNode& leaf);
void clear_leaf(AutogradNode& leaf);

}  // namespace wick
