// How an op that has both a kernel and a composite (a definition in smaller ops) chooses between
// them.
#pragma once
#include "wick/base/error.h"

namespace wick {

/// kAuto: the kernel if one accepts the call, else the composite. kNever: the kernel, or an error.
/// kAlways: the composite.
enum class CompositeMode { kAuto, kNever, kAlways };

/// The mode of this thread's innermost CompositeScope; without one,
/// WICK_COMPOSITE=auto|never|always.
WICK_API CompositeMode composite_mode();

/// Forces a mode for this thread during its lifetime.
class WICK_API CompositeScope {
 public:
  explicit CompositeScope(CompositeMode mode);
  ~CompositeScope();
  CompositeScope(const CompositeScope&) = delete;
  CompositeScope& operator=(const CompositeScope&) = delete;

 private:
  int before_;
};

}  // namespace wick
