// WICK_COMPOSITE, which a process reads once: each case in a process of its own.
#include <cstdlib>

#include "../expect.h"
#include "wick/ops/composite.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

/// Who computes silu under this mode: the kernel writes over an operand that is handed over, the
/// composite does not.
std::string served_by(const char* mode) {
  return test::in_child([mode] {
    setenv("WICK_COMPOSITE", mode, 1);
    Tensor x = Tensor::from(std::vector<float>{1, 2, 3});
    const void* memory = x.data();
    return std::string(silu(std::move(x)).data() == memory ? "kernel" : "composite");
  });
}

TEST(CompositeEnvironment, ForcesEitherWay) {
  EXPECT_EQ(served_by("always"), "composite");
  EXPECT_EQ(served_by("never"), "kernel");
  EXPECT_EQ(served_by("auto"), "kernel");
  EXPECT_EQ(served_by(""), "kernel");
}

TEST(CompositeEnvironment, AnotherWordIsAnError) {
  EXPECT_EQ(
      served_by("perhaps"),
      "invalid argument: WICK_COMPOSITE: expected one of auto, never, always, got \"perhaps\"");
}

TEST(CompositeEnvironment, AScopeIsStrongerThanTheEnvironment) {
  const std::string result = test::in_child([] {
    setenv("WICK_COMPOSITE", "never", 1);
    const CompositeScope always(CompositeMode::kAlways);
    return std::string(composite_mode() == CompositeMode::kAlways ? "always" : "never");
  });
  EXPECT_EQ(result, "always");
}

}  // namespace
}  // namespace wick
