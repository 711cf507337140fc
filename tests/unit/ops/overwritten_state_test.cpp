// Ops that write the state after a token into the memory of the state before.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/create.h"
#include "wick/ops/delta_rule.h"
#include "wick/ops/random.h"
#include "wick/ops/recurrence.h"
#include "wick/ops/shape.h"
#include "wick/ops/ssd.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

/// An op with a state: its state's shape and dtype, and a call for `tokens` tokens of two rows.
struct Stateful {
  const char* name;
  Shape shape;
  std::function<TensorAndState(const Tensor& state, bool overwrites, int64_t tokens)> call;
};

constexpr int64_t kRows = 2;

std::vector<Stateful> ops_of(const Device& device) {
  device.set_seed(5);
  const auto drawn = [device](const Shape& shape) { return rand(shape, {.device = device}) - 0.5; };
  const Tensor x = drawn({kRows, 3, 6}), weight = drawn({6, 4}), heads = drawn({kRows, 3, 2, 5}),
               keys = drawn({kRows, 3, 2, 4}), steps = drawn({kRows, 3, 2}), of_heads = drawn({2}),
               lengths = Tensor::from(std::vector<int64_t>{1, 0}, device);
  const auto first = [](const Tensor& all, int64_t tokens) { return narrow(all, 1, 0, tokens); };
  return {
      {"causal_conv1d",
       {kRows, 3, 6},
       [=](const Tensor& state, bool overwrites, int64_t t) {
         return causal_conv1d(
             first(x, t), weight,
             {.state = state, .lengths = lengths, .silu = true, .overwrites_state = overwrites});
       }},
      {"linear_scan",
       {kRows, 6},
       [=](const Tensor& state, bool overwrites, int64_t t) {
         return linear_scan(first(x, t), first(x, t),
                            {.state = state, .lengths = lengths, .overwrites_state = overwrites});
       }},
      {"ssd",
       {kRows, 2, 5, 4},
       [=](const Tensor& state, bool overwrites, int64_t t) {
         return ssd(first(heads, t), first(steps, t), of_heads, first(keys, t), first(keys, t),
                    {.state = state, .lengths = lengths, .overwrites_state = overwrites});
       }},
      {"gated_delta_rule",
       {kRows, 2, 4, 5},
       [=](const Tensor& state, bool overwrites, int64_t t) {
         return gated_delta_rule(
             first(keys, t), first(keys, t), first(heads, t), -abs(first(steps, t)),
             first(steps, t), {.state = state, .lengths = lengths, .overwrites_state = overwrites});
       }},
  };
}

class OverwrittenState : public testing::TestWithParam<const char*> {
 protected:
  const Device device = Device::parse(GetParam());
  const NoGrad off;
  Tensor state(const Stateful& op) const { return rand(op.shape, {.device = device}); }
};

std::vector<float> values(const Tensor& x) { return x.to_vector<float>(); }

TEST_P(OverwrittenState, IsTheStateThatACallMakes) {
  for (const Stateful& op : ops_of(device)) {
    SCOPED_TRACE(op.name);
    const Tensor before = state(op), copy = before + 0.f;
    const TensorAndState expected = op.call(copy, false, 1), got = op.call(before, true, 1);
    EXPECT_EQ(got.state.data(), before.data());
    EXPECT_EQ(values(got.state), values(expected.state));
    EXPECT_EQ(values(got.y), values(expected.y));
    EXPECT_NE(values(before), values(copy));  // a row without tokens keeps its state, the other not
  }
}

TEST_P(OverwrittenState, IsNotThatOfSeveralTokens) {
  for (const Stateful& op : ops_of(device)) {
    SCOPED_TRACE(op.name);
    const Tensor before = state(op);
    const std::vector<float> kept = values(before);
    EXPECT_NE(op.call(before, true, 3).state.data(), before.data());
    EXPECT_EQ(values(before), kept);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, OverwrittenState, testing::Values("cpu", "emu:32", "emu:64"),
                         [](const auto& given) {
                           std::string name = given.param;
                           std::erase(name, ':');
                           return name;
                         });

}  // namespace
}  // namespace wick
