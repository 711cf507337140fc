// How ops that have a kernel and a definition in smaller ops choose between them.
#pragma once
#include "wick/base/error.h"

namespace wick {

/// kAuto: the kernel if one takes the call, else the composite. kNever: the kernel or an error.
/// kAlways: the composite.
enum class CompositeMode { kAuto, kNever, kAlways };

/// WICK_COMPOSITE=auto|never|always, or what a CompositeScope of this thread says.
WICK_API CompositeMode composite_mode();

/// Forces a mode for this thread while it lives.
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
