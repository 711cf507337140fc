#include "ops/tape.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "base/assert.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

thread_local bool records = true;

// Numbers grow with every node, and an op's node is younger than those of its inputs: so the order
// of numbers is an order in which gradients can be passed on.
std::atomic<int64_t> next_number{0};

}  // namespace

class TapeNode : public AutogradNode {
 public:
  struct Input {
    std::shared_ptr<TapeNode> node;  // none: off the tape
    Shape shape;
    DType dtype;
    Tensor kept;  // if the rule needs it
    int64_t version = 0;
  };

  explicit TapeNode(const char* op)
      : number(next_number.fetch_add(1, std::memory_order_relaxed)), op(op) {}
  ~TapeNode() override;

  const int64_t number;
  const char* const op;
  std::vector<Input> inputs;
  Rule rule;
  Tensor output;  // off the tape, since it would own this node; if the rule needs it
  int64_t output_version = 0;
};

class Leaf : public TapeNode {
 public:
  Leaf() : TapeNode("Var") {}
  Tensor gradient;
};

namespace {

/// Inputs of dead nodes, which may own the last of further nodes: let go one after the other, since
/// a chain of them may be longer than the stack is deep.
thread_local std::vector<std::vector<TapeNode::Input>>* dying = nullptr;

void check_version(const char* op, const char* what, const Tensor& kept, int64_t version) {
  check(kept.storage()->version() == version, ErrorCode::kModifiedInPlace, op, what, " (",
        describe(kept), ") is needed for the gradient, but has been written over since");
}

std::shared_ptr<TapeNode> node_of(const Tensor& x) {
  return std::static_pointer_cast<TapeNode>(x.node());
}

}  // namespace

TapeNode::~TapeNode() {
  if (dying) {
    dying->push_back(std::move(inputs));
    return;
  }
  std::vector<std::vector<Input>> all;
  all.push_back(std::move(inputs));
  dying = &all;
  while (!all.empty()) {
    const std::vector<Input> last = std::move(all.back());
    all.pop_back();
  }
  dying = nullptr;
}

Tensor RuleContext::input(int i) const {
  const TapeNode::Input& in = node_.inputs[size_t(i)];
  check_version(node_.op, "an input", in.kept, in.version);
  return in.kept;
}
Tensor RuleContext::output() const {
  check_version(node_.op, "the output", node_.output, node_.output_version);
  Tensor y(node_.output.storage(), node_.output.layout(), node_.output.dtype());
  // The node is alive as long as its rule runs; the pointer only lends it to this tensor's own
  // record.
  y.set_node(std::const_pointer_cast<TapeNode>(
      std::static_pointer_cast<const TapeNode>(node_.shared_from_this())));
  return y;
}
const Shape& RuleContext::input_shape(int i) const { return node_.inputs[size_t(i)].shape; }
DType RuleContext::input_dtype(int i) const { return node_.inputs[size_t(i)].dtype; }

bool recording(std::span<const Tensor* const> inputs) {
  return records && std::any_of(inputs.begin(), inputs.end(),
                                [](const Tensor* x) { return *x && x->requires_grad(); });
}

Tensor record(const char* op, Tensor y, std::span<const Tensor* const> inputs, unsigned keep,
              Rule rule) {
  if (!recording(inputs)) return y;
  auto node = std::make_shared<TapeNode>(op);
  node->inputs.reserve(inputs.size());
  for (const Tensor* x : inputs) {
    TapeNode::Input in{node_of(*x), x->shape(), x->dtype(), {}, 0};
    if (const size_t i = node->inputs.size(); i < 4 && (keep & (1u << i)) != 0) {
      in.kept = *x;
      in.version = x->storage()->version();
    }
    node->inputs.push_back(std::move(in));
  }
  // y itself may be a tensor that somebody else holds (a view of nothing new): it gets a handle of
  // its own.
  Tensor result(y.storage(), y.layout(), y.dtype());
  if (keep & kKeepOutput) {
    node->output = Tensor(y.storage(), y.layout(), y.dtype());
    node->output_version = y.storage()->version();
  }
  node->rule = std::move(rule);
  result.set_node(std::move(node));
  return result;
}

Tensor sum_to(const Tensor& gradient, const Shape& shape) {
  if (gradient.shape() == shape) return gradient;
  const int lead = gradient.rank() - shape.size();
  Dims dims;
  for (int d = 0; d < gradient.rank(); d++)
    if (d < lead || (shape[d - lead] == 1 && gradient.shape()[d] != 1)) dims.push_back(d);
  const Tensor total = dims.empty() ? gradient : sum(gradient, {.dims = dims, .keepdim = true});
  return reshape(total, shape);
}

std::shared_ptr<AutogradNode> make_leaf() { return std::make_shared<Leaf>(); }
Tensor leaf_gradient(const AutogradNode& leaf) { return static_cast<const Leaf&>(leaf).gradient; }
void clear_leaf(AutogradNode& leaf) { static_cast<Leaf&>(leaf).gradient = {}; }

NoGrad::NoGrad() : before_(records) { records = false; }
NoGrad::~NoGrad() { records = before_; }
bool grad_enabled() { return records; }

namespace {

class RecordScope {
 public:
  explicit RecordScope(bool record) : before_(records) { records = record; }
  ~RecordScope() { records = before_; }
  RecordScope(const RecordScope&) = delete;
  RecordScope& operator=(const RecordScope&) = delete;

 private:
  bool before_;
};

/// Every node that y came from, the oldest first.
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

/// Passes y's gradient back to every node for which is_target holds, and calls arrive(node,
/// gradient) there.
template <class IsTarget, class Arrive>
void walk(const char* who, const Tensor& y, const BackwardOptions& options, IsTarget is_target,
          Arrive arrive) {
  check(bool(y) && y.requires_grad(), ErrorCode::kNoGradient, who,
        "the output did not come from a Var, or was not recorded");
  check(bool(options.seed) || y.numel() == 1, ErrorCode::kShapeMismatch, who,
        "expected a scalar or a seed gradient, got shape ", y.shape());
  check(!options.seed || options.seed.shape() == y.shape(), ErrorCode::kShapeMismatch, who,
        "expected a seed of shape ", y.shape());
  const std::shared_ptr<TapeNode> root = node_of(y);
  const std::vector<TapeNode*> nodes = history(root.get());
  struct Progress {
    bool needed = false;
    Tensor gradient;
  };
  std::unordered_map<TapeNode*, Progress> progress;
  for (TapeNode* node : nodes) {
    bool needed = is_target(node);
    for (const TapeNode::Input& in : node->inputs)
      needed = needed || (in.node && progress[in.node.get()].needed);
    progress[node].needed = needed;
  }
  const RecordScope scope(options.create_graph);
  progress[root.get()].gradient =
      options.seed ? options.seed : full(y.shape(), 1, {.dtype = y.dtype(), .device = y.device()});
  std::vector<Tensor> gradients;
  std::vector<bool> wanted;
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    TapeNode* node = *it;
    Progress& here = progress[node];
    if (!here.needed || !here.gradient) continue;
    const Tensor gradient = std::move(here.gradient);
    if (is_target(node)) arrive(node, gradient);
    if (!node->rule) continue;
    const size_t count = node->inputs.size();
    gradients.assign(count, {});
    wanted.assign(count, false);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
      wanted[i] = node->inputs[i].node && progress[node->inputs[i].node.get()].needed;
      any = any || wanted[i];
    }
    if (!any) continue;
    node->rule(RuleContext(*node, gradient, wanted), gradients);
    for (size_t i = 0; i < count; i++) {
      if (!wanted[i] || !gradients[i]) continue;
      WICK_ASSERT(gradients[i].shape() == node->inputs[i].shape);
      Tensor& sum = progress[node->inputs[i].node.get()].gradient;
      sum = accumulate(std::move(sum), gradients[i]);
    }
  }
}

}  // namespace

void backward(const Tensor& y, const BackwardOptions& options) {
  const auto is_leaf = [](TapeNode* node) { return !node->rule; };
  walk("backward", y, options, is_leaf, [](TapeNode* node, const Tensor& gradient) {
    Leaf* leaf = static_cast<Leaf*>(node);
    leaf->gradient = accumulate(std::move(leaf->gradient), gradient);
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
  const bool create_graph = records;
  // The composite's own record ends at stand-ins for the inputs: what lies behind those is the
  // caller's walk.
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
