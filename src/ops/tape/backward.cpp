#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
#include "core/work_gate.h"
#include "ops/tape/node.h"
#include "wick/ops/binary.h"
#include "wick/ops/create.h"

namespace wick {
namespace {

/// The function of this thread's innermost GradientWatch.
thread_local const GradientWatch::Function* watch = nullptr;

/// All nodes that y depends on, oldest first.
std::vector<TapeNode*> history(TapeNode* y) {
  std::vector<TapeNode*> nodes, stack{y};
  std::unordered_map<TapeNode*, bool> seen{{y, true}};
  while (!stack.empty()) {
    TapeNode* node = stack.back();
    stack.pop_back();
    nodes.push_back(node);
    for (const TapeNode::Input& in : node->inputs)
      if (in.node && seen.emplace(in.node.get(), true).second) stack.push_back(in.node.get());
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const TapeNode* a, const TapeNode* b) { return a->number < b->number; });
  return nodes;
}

Tensor accumulate(Tensor sum, const Tensor& more) { return sum ? add(std::move(sum), more) : more; }

/// Propagates y's gradient to every node for which is_target holds, and calls arrive(node,
/// gradient) there.
template <class IsTarget, class Arrive>
void walk(const char* who, const Tensor& y, const BackwardOptions& options, IsTarget is_target,
          Arrive arrive) {
  check(bool(y) && y.requires_grad(), ErrorCode::kNoGradient, who,
        "the output does not depend on a Var, or was not recorded");
  check(bool(options.seed) || y.numel() == 1, ErrorCode::kShapeMismatch, who,
        "expected a scalar or a seed gradient, got shape ", y.shape());
  if (const Tensor& seed = options.seed) {
    check(seed.shape() == y.shape(), ErrorCode::kShapeMismatch, who, "expected a seed of shape ",
          y.shape(), ", got ", seed.shape());
    check(seed.dtype() == y.dtype(), ErrorCode::kDTypeMismatch, who, "expected a seed of ",
          dtype_name(y.dtype()), ", the output's dtype, got ", dtype_name(seed.dtype()));
    check(seed.device() == y.device(), ErrorCode::kDeviceMismatch, who, "expected a seed on ",
          y.device(), ", the output's device, got one on ", seed.device());
  }
  const std::shared_ptr<TapeNode> root = node_of(y);
  const std::vector<TapeNode*> nodes = history(root.get());
  struct Progress {
    bool needed = false;
    int64_t uses = 0;  // as inputs of nodes whose rule has not run
    Tensor gradient;
  };
  std::unordered_map<TapeNode*, Progress> progress;
  for (TapeNode* node : nodes) {
    bool needed = is_target(node);
    for (const TapeNode::Input& in : node->inputs)
      needed = needed || (in.node && progress[in.node.get()].needed);
    progress[node].needed = needed;
    for (const TapeNode::Input& in : node->inputs)
      if (in.node) progress[in.node.get()].uses++;
  }
  // A Var is older than all that depends on it, but need not wait for the others' turn.
  const auto release_inputs = [&](const TapeNode* node) {
    for (const TapeNode::Input& in : node->inputs) {
      if (!in.node) continue;
      Progress& input = progress[in.node.get()];
      if (--input.uses > 0 || in.node->rule || !input.gradient || !is_target(in.node.get()))
        continue;
      arrive(in.node.get(), input.gradient);
      input.gradient = {};
    }
  };
  const RecordScope scope(options.create_graph);
  progress[root.get()].gradient =
      options.seed ? options.seed : full(y.shape(), 1, {.dtype = y.dtype(), .device = y.device()});
  std::vector<Tensor> gradients;
  std::vector<bool> wanted;
  const auto propagate = [&](TapeNode* node) {
    Progress& here = progress[node];
    if (!here.needed || !here.gradient) return;
    const Tensor gradient = std::move(here.gradient);
    here.gradient = {};
    if (is_target(node)) arrive(node, gradient);
    if (!node->rule) return;
    const size_t count = node->inputs.size();
    gradients.assign(count, {});
    wanted.assign(count, false);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
      wanted[i] = node->inputs[i].node && progress[node->inputs[i].node.get()].needed;
      any = any || wanted[i];
    }
    if (!any) return;
    node->rule(RuleContext(*node, gradient, wanted), gradients);
    for (size_t i = 0; i < count; i++) {
      if (!wanted[i] || !gradients[i]) continue;
      WICK_ASSERT(gradients[i].shape() == node->inputs[i].shape);
      WICK_ASSERT(gradients[i].dtype() == node->inputs[i].dtype);
      Tensor& sum = progress[node->inputs[i].node.get()].gradient;
      sum = accumulate(std::move(sum), gradients[i]);
    }
    gradients.clear();  // else a Var's gradient has two owners
  };
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    propagate(*it);
    release_inputs(*it);
  }
}

}  // namespace

void Leaf::add(const Tensor& more) {
  const QueueScope queueing(more.device().state());  // accumulate queues work under the lock
  const std::lock_guard lock(mutex_);
  gradient_ = accumulate(std::move(gradient_), more);
}

GradientWatch::GradientWatch(Function function)
    : function_(std::move(function)), before_(std::exchange(watch, &function_)) {}
GradientWatch::~GradientWatch() { watch = before_; }

void backward(const Tensor& y, const BackwardOptions& options) {
  const auto is_leaf = [](TapeNode* node) { return !node->rule; };
  walk("backward", y, options, is_leaf, [&](TapeNode* node, const Tensor& gradient) {
    static_cast<Leaf*>(node)->add(gradient);
    if (watch && *watch) (*watch)(*node);
  });
}

std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& inputs,
                         const BackwardOptions& options) {
  std::unordered_map<TapeNode*, Tensor> found;
  for (const Tensor& x : inputs) {
    check(bool(x) && x.requires_grad(), ErrorCode::kNoGradient, "grad",
          "an input is not on the tape");
    found[node_of(x).get()] = {};
  }
  walk(
      "grad", y, options, [&](TapeNode* node) { return found.count(node) != 0; },
      [&](TapeNode* node, const Tensor& gradient) { found[node] = gradient; });
  std::vector<Tensor> result;
  for (const Tensor& x : inputs) result.push_back(found[node_of(x).get()]);
  return result;
}

void differentiate(const RuleContext& c, std::span<Tensor> gradients, const Composite& composite) {
  const bool create_graph = grad_enabled();
  // The composite is recorded up to stand-ins for the inputs; the caller's walk continues beyond
  // them.
  std::vector<Tensor> stand_ins, wanted;
  Tensor y;
  {
    const RecordScope on(true);
    for (size_t i = 0; i < gradients.size(); i++) {
      Tensor x = c.input(int(i));
      if (c.wants(int(i))) {
        if (create_graph) {
          x = record("stand-in", x, {&x}, kKeepNothing,
                     [](const RuleContext& inner, std::span<Tensor> g) { g[0] = inner.gradient; });
        } else {
          x = Tensor(x.storage(), x.layout(), x.dtype());
          x.set_node(make_leaf());
        }
        wanted.push_back(x);
      }
      stand_ins.push_back(x);
    }
    y = composite(stand_ins);
  }
  const std::vector<Tensor> found =
      grad(y, wanted, {.seed = c.gradient, .create_graph = create_graph});
  size_t next = 0;
  for (size_t i = 0; i < gradients.size(); i++)
    if (c.wants(int(i))) gradients[i] = found[next++];
}

}  // namespace wick
