#include "ops/tape/tape.h"

#include <algorithm>
#include <atomic>

#include "ops/tape/node.h"

namespace wick {
namespace {

thread_local bool records = true;

std::atomic<int64_t> next_number{0};

/// The parts of a node being destroyed, each of which may hold the last reference to further nodes.
struct Remains {
  std::vector<TapeNode::Input> inputs;
  Rule rule;
};
/// They are released one by one, because a chain of nodes may be longer than the stack is deep.
thread_local std::vector<Remains>* dying = nullptr;

void check_version(const char* op, const char* what, const Tensor& kept, int64_t version) {
  check(kept.storage()->version() == version, ErrorCode::kModifiedInPlace, op, what, " (",
        describe(kept), ") is needed for the gradient, but has been overwritten since");
}

}  // namespace

TapeNode::TapeNode(const char* op)
    : number(next_number.fetch_add(1, std::memory_order_relaxed)), op(op) {}

TapeNode::~TapeNode() {
  if (dying) {
    dying->push_back({std::move(inputs), std::move(rule)});
    return;
  }
  std::vector<Remains> all;
  all.push_back({std::move(inputs), std::move(rule)});
  dying = &all;
  while (!all.empty()) {
    const Remains last = std::move(all.back());
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
  // The node outlives the call of its rule. This pointer only makes it the record of y.
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
    if (const size_t i = node->inputs.size(); i < kMaxKeptInputs && (keep & (1u << i)) != 0) {
      in.kept = *x;
      in.version = x->storage()->version();
    }
    node->inputs.push_back(std::move(in));
  }
  // y may be a handle that someone else holds (a view equal to the tensor itself), so the result is
  // a new handle.
  Tensor result(y.storage(), y.layout(), y.dtype());
  if (keep & kKeepOutput) {
    node->output = Tensor(y.storage(), y.layout(), y.dtype());
    node->output_version = y.storage()->version();
  }
  node->rule = std::move(rule);
  result.set_node(std::move(node));
  return result;
}

std::shared_ptr<AutogradNode> make_leaf() { return std::make_shared<Leaf>(); }
Tensor leaf_gradient(const AutogradNode& leaf) { return static_cast<const Leaf&>(leaf).gradient(); }
void clear_leaf(AutogradNode& leaf) { static_cast<Leaf&>(leaf).clear(); }

NoGrad::NoGrad() : before_(records) { records = false; }
NoGrad::~NoGrad() { records = before_; }
bool grad_enabled() { return records; }
RecordScope::RecordScope(bool record) : before_(records) { records = record; }
RecordScope::~RecordScope() { records = before_; }

}  // namespace wick
