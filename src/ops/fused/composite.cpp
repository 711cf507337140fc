#include "wick/ops/composite.h"

#include "base/environment.h"

namespace wick {
namespace {
constexpr int kFromEnvironment = -1;
thread_local int forced = kFromEnvironment;
}  // namespace

CompositeMode composite_mode() {
  if (forced != kFromEnvironment) return CompositeMode(forced);
  static const CompositeMode mode =
      CompositeMode(environment_choice("WICK_COMPOSITE", {"auto", "never", "always"}).value_or(0));
  return mode;
}

CompositeScope::CompositeScope(CompositeMode mode) : before_(forced) { forced = int(mode); }
CompositeScope::~CompositeScope() { forced = before_; }

}  // namespace wick
