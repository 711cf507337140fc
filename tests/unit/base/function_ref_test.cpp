#include "base/function_ref.h"

#include <gtest/gtest.h>

#include <memory>

namespace wick {
namespace {

TEST(FunctionRef, RefersToNothingByDefault) {
  const FunctionRef<int(int)> none;
  EXPECT_FALSE(none);
  EXPECT_FALSE(none.copy());
}

TEST(FunctionRef, CallsTheCallableItRefersTo) {
  int calls = 0;
  const auto twice = [&calls](int x) { return calls++, 2 * x; };
  const FunctionRef<int(int)> f = twice;
  EXPECT_TRUE(f);
  EXPECT_EQ(f(21), 42);
  EXPECT_EQ(calls, 1);
}

TEST(FunctionRef, DoesNotOwnTheCallableButItsCopyDoes) {
  const auto value = std::make_shared<int>(7);
  std::function<int()> copy;
  {
    const auto get = [value] { return *value; };
    const FunctionRef<int()> f = get;
    EXPECT_EQ(value.use_count(), 2);
    copy = f.copy();
    EXPECT_EQ(value.use_count(), 3);
  }
  EXPECT_EQ(value.use_count(), 2);
  EXPECT_EQ(copy(), 7);
}

TEST(FunctionRef, PassesArgumentsOn) {
  const auto take = [](std::unique_ptr<int> p, int& count) { count += *p; };
  const FunctionRef<void(std::unique_ptr<int>, int&)> f = take;
  int count = 1;
  f(std::make_unique<int>(2), count);
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace wick
