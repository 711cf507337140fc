// What the tape is made of: record (tape.cpp) adds nodes, backward walks them (backward.cpp).
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "ops/tape/tape.h"

namespace wick {

class TapeNode : public AutogradNode {
 public:
  struct Input {
    std::shared_ptr<TapeNode> node;  // none: off the tape
    Shape shape;
    DType dtype;
    Tensor kept;  // if the rule needs it
    int64_t version = 0;
  };

  explicit TapeNode(const char* op);
  ~TapeNode() override;

  /// Larger than those of the nodes that the inputs came from: the order of numbers is an order in
  /// which gradients can be passed on.
  const int64_t number;
  const char* const op;
  std::vector<Input> inputs;
  Rule rule;
  Tensor output;  // off the tape, since it would own this node; if the rule needs it
  int64_t output_version = 0;
};

/// The node of a Var: where its gradient is collected, by any number of threads.
class Leaf : public TapeNode {
 public:
  Leaf() : TapeNode("Var") {}
  Tensor gradient() const {
    const std::lock_guard lock(mutex_);
    return gradient_;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    gradient_ = {};
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

/// While it lives the thread records, or does not.
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
