#include "wick/ops/custom_op.h"

#include <cmath>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

/// x^3 by any strides, and its gradient in ops.
class Cube : public CustomOp {
 public:
  const char* name() const override { return "cube"; }
  Tensor cpu(std::span<const HostView> in) const override {
    const HostView& x = in[0];
    const Tensor y = Tensor::empty(x.shape(), {.dtype = x.dtype()});
    const auto out = HostTarget(y).values<double>();
    const auto* data = x.data<double>();
    for (int64_t i = 0; i < x.numel(); i++) {
      int64_t rest = i, at = 0;
      for (int d = x.shape().size(); d-- > 0; rest /= x.shape()[d])
        at += rest % x.shape()[d] * x.strides()[d];
      out[size_t(i)] = data[at] * data[at] * data[at];
    }
    return y;
  }
  std::vector<Tensor> backward(std::span<const Tensor> in, const Tensor&,
                               const Tensor& gradient) const override {
    return {gradient * square(in[0]) * 3};
  }
};

Tensor vec(std::vector<double> values) { return Tensor::from(values); }

TEST(CustomOp, RunsOnAnyLayout) {
  const Tensor x = Tensor::from(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(apply(Cube(), x).to_vector<double>(), (std::vector<double>{1, 8, 27, 64, 125, 216}));
  EXPECT_EQ(apply(Cube(), transpose(x)).to_vector<double>(),
            (std::vector<double>{1, 64, 8, 125, 27, 216}));
  EXPECT_EQ(apply(Cube(), narrow(x, 1, 1, 2)).to_vector<double>(),
            (std::vector<double>{8, 27, 125, 216}));
  EXPECT_EQ(
      apply(Cube(), broadcast_to(full({}, 2, {.dtype = DType::kF64}), {3})).to_vector<double>(),
      (std::vector<double>{8, 8, 8}));
  EXPECT_EQ(apply(Cube(), zeros({0}, {.dtype = DType::kF64})).numel(), 0);
}

TEST(CustomOp, IsDifferentiatedTwice) {
  const Var x(vec({2, -3}));
  const Tensor y = sum(apply(Cube(), x.tensor()));
  const Tensor first = grad(y, {x.tensor()}, {.create_graph = true})[0];
  EXPECT_EQ(first.to_vector<double>(), (std::vector<double>{12, 27}));
  EXPECT_EQ(grad(sum(first), {x.tensor()})[0].to_vector<double>(), (std::vector<double>{12, -18}));
}

TEST(CustomOp, TheTapeKeepsTheOp) {
  const Var x(vec({3}));
  Tensor y;
  {
    const auto op = custom_op(
        std::string("a name that is made ") + "at run time",
        {.cpu = [](std::span<const HostView> in) { return in[0].tensor(); },
         .backward = [k = vec({5})](auto, const Tensor&,
                                    const Tensor& g) { return std::vector<Tensor>{g * k}; }});
    y = apply(op, x.tensor());
  }
  backward(y);
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{5}));
}

TEST(WithGradient, RecordsAnyNumberOfInputs) {
  std::vector<Var> vars;
  std::vector<Tensor> inputs;
  for (int i = 0; i < 6; i++) {
    vars.emplace_back(vec({double(i)}));
    inputs.push_back(vars.back().tensor());
  }
  const auto backward_of = [&](const Tensor& output, const Tensor& g) {
    EXPECT_FALSE(output);
    std::vector<Tensor> gradients;
    for (int i = 0; i < 6; i++) gradients.push_back(i == 2 ? Tensor() : g * i);
    return gradients;
  };
  const Tensor y = with_gradient("weighted", vec({55}), inputs, backward_of);
  EXPECT_EQ(y.item<double>(), 55);
  backward(y);
  for (int i = 0; i < 6; i++) {
    ASSERT_EQ(bool(vars[size_t(i)].grad()), i != 2);
    if (i != 2) {
      EXPECT_EQ(vars[size_t(i)].grad().item<double>(), i);
    }
  }
  const NoGrad off;
  EXPECT_FALSE(with_gradient("weighted", vec({55}), inputs, backward_of).requires_grad());
}

TEST(WithGradient, ItsOutputIsOnTheTapeForSecondDerivatives) {
  const Var x(vec({0.5}));
  const Tensor y = with_gradient(
      "exponential", exp(x.tensor().detach()), {x.tensor()},
      [](const Tensor& output, const Tensor& g) { return std::vector<Tensor>{g * output}; }, true);
  const Tensor first = grad(y, {x.tensor()}, {.create_graph = true})[0];
  const Tensor second = grad(first, {x.tensor()})[0];
  EXPECT_EQ(first.item<double>(), y.item<double>());
  EXPECT_EQ(second.item<double>(), y.item<double>());
}

TEST(WithGradient, ChecksOperandsAndGradients) {
  const Var x(vec({1, 2}));
  const auto of = [&](std::vector<Tensor> g) {
    return with_gradient("odd", vec({1}), {x.tensor()},
                         [g](const Tensor&, const Tensor&) { return g; });
  };
  EXPECT_ERROR(backward(of({vec({1})})), kShapeMismatch,
               "odd: backward: the gradient of input 0 has shape [1], expected [2]");
  EXPECT_ERROR(backward(of({})), kInvalidArgument, "odd: backward: expected 1 gradients, got 0");
  EXPECT_ERROR(with_gradient("odd", Tensor(), {x.tensor()}, {}), kInvalidArgument, "odd");
  EXPECT_ERROR(with_gradient("odd", vec({1}), {Tensor()}, {}), kInvalidArgument, "odd");
}

TEST(WithGradient, ALongChainThatItsRulesKeepIsFreed) {
  const Var x(vec({1}));
  Tensor y = x.tensor();
  for (int i = 0; i < 200000; i++)
    y = with_gradient("link", y.detach(), {y}, [kept = y](const Tensor&, const Tensor& g) {
      return std::vector<Tensor>{g + kept * 0};
    });
  y = {};  // the stack would overflow if each node freed the next
}

TEST(CustomOp, OfFunctionsWithTwoAndThreeInputs) {
  const auto product = custom_op(
      "product", {.num_inputs = 2,
                  .cpu =
                      [](std::span<const HostView> in) {
                        const Tensor y = Tensor::empty(in[0].shape(), {.dtype = DType::kF64});
                        const HostView a = in[0].contiguous(), b = in[1].contiguous();
                        for (size_t i = 0; i < size_t(y.numel()); i++)
                          HostTarget(y).values<double>()[i] =
                              a.values<double>()[i] * b.values<double>()[i];
                        return y;
                      },
                  .backward =
                      [](std::span<const Tensor> in, const Tensor&, const Tensor& g) {
                        return std::vector<Tensor>{g * in[1], Tensor()};  // none for the second
                      }});
  const Var a(vec({2, 3})), b(vec({5, 7}));
  const Tensor y = apply(product, a.tensor(), b.tensor());
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{10, 21}));
  backward(sum(y));
  EXPECT_EQ(a.grad().to_vector<double>(), (std::vector<double>{5, 7}));
  EXPECT_FALSE(bool(b.grad()));

  const auto third = custom_op("third", {.num_inputs = 3, .cpu = [](std::span<const HostView> in) {
                                           return in[2].tensor();
                                         }});
  EXPECT_EQ(apply(third, vec({1}), vec({2}), vec({3})).item<double>(), 3);
}

TEST(CustomOp, WithoutBackwardItRunsAndNamesItselfWhenDifferentiated) {
  const auto op = custom_op(
      "one_way", {.cpu = [](std::span<const HostView> in) { return in[0].tensor() * 2; }});
  const Var x(vec({1}));
  const Tensor y = apply(op, x.tensor());
  EXPECT_EQ(y.item<double>(), 2);
  EXPECT_ERROR(backward(y), kNoGradient, "the custom op one_way has no backward");
  EXPECT_FALSE(apply(op, vec({1})).requires_grad());
}

TEST(CustomOp, WhatADeviceLacksIsAnError) {
  const auto nothing = custom_op("nothing", {});
  EXPECT_ERROR(apply(nothing, vec({1})), kUnsupported, "no cpu implementation for nothing");
  // The others are the same function under another name; no device is needed to ask.
  const Tensor x = vec({1});
  EXPECT_ERROR(nothing->rocm({&x, 1}), kUnsupported, "no rocm implementation for nothing");
  EXPECT_ERROR(nothing->cuda({&x, 1}), kUnsupported, "no cuda implementation for nothing");
  EXPECT_ERROR(nothing->emulated({&x, 1}), kUnsupported, "no emulated implementation for nothing");
  EXPECT_ERROR(nothing->metal({&x, 1}), kUnsupported, "no metal implementation for nothing");
}

TEST(CustomOp, ChecksWhatItIsGivenAndWhatComesBack) {
  EXPECT_ERROR(apply(Cube(), vec({1}), vec({2})), kInvalidArgument,
               "cube: expected 1 inputs, got 2");
  EXPECT_ERROR(apply(Cube(), Tensor()), kInvalidArgument, "cube");
  EXPECT_ERROR(apply(Cube(), ones({2})), kDTypeMismatch,
               "expected the operand's dtype f32, got f64");
  EXPECT_ERROR(apply(CustomOpRef(), vec({1})), kInvalidArgument, "got an empty CustomOpRef");
  EXPECT_ERROR(custom_op("four", {.num_inputs = 4}), kInvalidArgument, "expected 1 to 3 inputs");
  const auto empty = custom_op("empty", {.cpu = [](auto) { return Tensor(); }});
  EXPECT_ERROR(apply(empty, vec({1})), kInvalidArgument,
               "empty: the op returned an empty Tensor()");
  const auto strict = custom_op("strict", {.cpu = [](std::span<const HostView> in) {
                                  (void)in[0].values<double>();
                                  return in[0].tensor();
                                }});
  EXPECT_ERROR(apply(strict, transpose(ones({2, 3}, {.dtype = DType::kF64}))), kInvalidArgument,
               "expected contiguous elements, got strides [1, 3] of shape [3, 2]");

  const Var x(vec({1, 2}));
  const auto with_gradient = [&](std::vector<Tensor> g) {
    return apply(
        custom_op("odd", {.cpu = [](std::span<const HostView> in) { return in[0].tensor(); },
                          .backward = [g](auto, const Tensor&, const Tensor&) { return g; }}),
        x.tensor());
  };
  EXPECT_ERROR(backward(sum(with_gradient({vec({1})}))), kShapeMismatch,
               "odd: backward: the gradient of input 0 has shape [1], expected [2]");
  EXPECT_ERROR(backward(sum(with_gradient({ones({2})}))), kDTypeMismatch, "is f32, expected f64");
  EXPECT_ERROR(backward(sum(with_gradient({}))), kInvalidArgument, "expected 1 gradients, got 0");
}

TEST(CustomOp, WhatItsGradientNeedsMayNotBeWrittenOver) {
  Var x(vec({2}));
  const Tensor y = apply(Cube(), x.tensor());
  fill_(x, 1);
  EXPECT_ERROR(backward(y), kModifiedInPlace, "cube");
}

/// target = target * a + b.
class MultiplyAdd : public InplaceOp {
 public:
  explicit MultiplyAdd(int inputs) : inputs_(inputs) {}
  const char* name() const override { return "multiply_add"; }
  int num_inputs() const override { return inputs_; }
  void cpu(HostTarget target, std::span<const HostView> others) const override {
    const auto out = target.values<double>();
    for (size_t i = 0; i < out.size(); i++) {
      out[i] *= others.empty() ? 2 : others[0].values<double>()[i];
      if (others.size() == 2) out[i] += others[1].values<double>()[i];
    }
  }

 private:
  int inputs_;
};

TEST(InplaceOp, WritesTheVar) {
  Var x(vec({1, 2}));
  const void* memory = x.tensor().data();
  apply_(MultiplyAdd(1), x);
  EXPECT_EQ(x.tensor().to_vector<double>(), (std::vector<double>{2, 4}));
  apply_(MultiplyAdd(2), x, vec({3, 0.5}));
  EXPECT_EQ(x.tensor().to_vector<double>(), (std::vector<double>{6, 2}));
  apply_(MultiplyAdd(3), x, vec({1, 2}), vec({-1, 1}));
  EXPECT_EQ(x.tensor().to_vector<double>(), (std::vector<double>{5, 5}));
  EXPECT_EQ(x.tensor().data(), memory);
  apply_(MultiplyAdd(2), x, x.tensor());  // itself
  EXPECT_EQ(x.tensor().to_vector<double>(), (std::vector<double>{25, 25}));
}

TEST(InplaceOp, IsSeenByGradientsThatNeedTheOldValue) {
  Var x(vec({1, 2}));
  const Tensor y = sum(x.tensor() * x.tensor());
  apply_(MultiplyAdd(1), x);
  EXPECT_ERROR(backward(y), kModifiedInPlace, "has been overwritten since");
}

TEST(InplaceOp, ChecksItsOperands) {
  class Nothing : public InplaceOp {
    const char* name() const override { return "nothing"; }
  };
  Var x(vec({1})), none;
  EXPECT_ERROR(apply_(Nothing(), x), kUnsupported, "no cpu implementation for nothing");
  EXPECT_ERROR(apply_(MultiplyAdd(1), none), kInvalidArgument, "multiply_add");
  EXPECT_ERROR(apply_(MultiplyAdd(2), x), kInvalidArgument, "expected 2 inputs, got 1");
  EXPECT_ERROR(apply_(MultiplyAdd(2), x, Tensor()), kInvalidArgument, "multiply_add");
  const Tensor target = vec({1});
  const Nothing nothing;
  const InplaceOp& op = nothing;
  EXPECT_ERROR(op.rocm(target, {}), kUnsupported, "no rocm implementation for nothing");
  EXPECT_ERROR(op.cuda(target, {}), kUnsupported, "no cuda implementation for nothing");
  EXPECT_ERROR(op.emulated(target, {}), kUnsupported, "no emulated implementation for nothing");
  EXPECT_ERROR(op.metal(target, {}), kUnsupported, "no metal implementation for nothing");
}

}  // namespace
}  // namespace wick
