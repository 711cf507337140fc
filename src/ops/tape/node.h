// The nodes of the tape: record (tape.cpp) adds them, backward (backward.cpp) walks them.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "ops/tape/tape.h"

namespace wick {

class TapeNode : public AutogradNode {
 public:
  struct Input {
    std::shared_ptr<TapeNode> node;  // nullptr: off the tape
    Shape shape;
    DType dtype;
    Tensor kept;  // set if the rule needs the input
    int64_t version = 0;
  };

  explicit TapeNode(const char* op);
  ~TapeNode() override;

  /// Larger than the numbers of the nodes that produced the inputs, so descending order is a valid
  /// order for propagating gradients.
  const int64_t number;
  const char* const op;
  std::vector<Input> inputs;
  Rule rule;
  Tensor output;  // set if the rule needs the output; off the tape, since it would otherwise own
                  // this node
  int64_t output_version = 0;
};

/// The node of a Var, which accumulates its gradient. Any number of threads may add to it.
class Leaf : public TapeNode {
 public:
  Leaf() : TapeNode("Var") {}
  Tensor gradient() const {
    const std::lock_guard lock(mutex_);
    return gradient_;
  }
  void clear() {
    Tensor old;  // freed without the lock, since a user's gradient rule may go with it
    const std::lock_guard lock(mutex_);
    std::swap(old, gradient_);
  }
  /// Adds one more walk's gradient.
  void add(const Tensor& more);

 private:
  mutable std::mutex mutex_;
  Tensor gradient_;
};

inline std::shared_ptr<TapeNode> node_of(const Tensor& x) {
  return std::static_pointer_cast<TapeNode>(x.node());
}

/// Turns recording by this thread on or off during its lifetime.
class RecordScope {
 public:
  explicit RecordScope(bool record);
  ~RecordScope();
  RecordScope(const RecordScope&) = delete;
  RecordScope& operator=(const RecordScope&) = delete;

 private:
  bool before_;
};

}  // namespace wick
