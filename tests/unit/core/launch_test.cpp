#include "core/launch.h"

#include "../expect.h"
#include "scripted_backend.h"
#include "wick/core/backend.h"
#include "wick/core/numerics.h"

namespace wick {
namespace {

constexpr Op kScripted{"scripted", "TT:T"};

/// What a kernel answers, and the calls that it was run with.
struct Answers {
  const char* rejects = nullptr;
  Status status = {};
  int64_t scratch_bytes = 0;
  std::vector<int64_t> runs = {};  // the bytes of scratch of each
  std::vector<View> first_input = {};
};
Answers answers[3];
char memory[1024];  // of the operands

const char* accepts(const Kernel* kernel, const Call*, const DeviceInfo*) {
  return static_cast<Answers*>(const_cast<void*>(kernel->data))->rejects;
}
int64_t scratch_bytes(const Kernel* kernel, const Call*, const DeviceInfo*) {
  return static_cast<const Answers*>(kernel->data)->scratch_bytes;
}
Status run(const Kernel* kernel, const Call* call) {
  Answers& own = *static_cast<Answers*>(const_cast<void*>(kernel->data));
  EXPECT_EQ(call->scratch != nullptr, call->scratch_bytes > 0);
  own.runs.push_back(call->scratch_bytes);
  own.first_input.push_back(call->in[0]);
  return own.status;
}
const Kernel kKernels[] = {
    {"first", accepts, scratch_bytes, run, &answers[0]},
    {"second", accepts, scratch_bytes, run, &answers[1], kKernelUnordered},
    {"third", accepts, scratch_bytes, run, &answers[2]},
};

int32 find_kernels(int32, const KernelQuery* query, const Kernel** kernels) {
  *kernels = kKernels;
  return *query->op == kScripted ? 3 : 0;
}

class Launches : public testing::Test {
 protected:
  Launches() {
    for (Answers& a : answers) a = {};
  }
  ~Launches() override { set_deterministic(false); }

  static const Device& device() {
    static const Backend table = [] {
      Backend b = test::scripted::table("launches");
      b.find_kernels = find_kernels;
      return b;
    }();
    static const Device device = [] {
      test::script = {};
      register_backend(&table);
      return Device::parse("launches");
    }();
    return device;
  }
  static void launch_it() {
    const View one = make_view(memory, DType::kF32, {4}, {1}), in[] = {one, one};
    launch(device(), kScripted, in, {&one, 1});
  }
  /// How often each kernel ran.
  static std::vector<size_t> runs() {
    return {answers[0].runs.size(), answers[1].runs.size(), answers[2].runs.size()};
  }
  /// Launches on operands with these strides, and returns the first operand as each launch saw it.
  static std::vector<View> elementwise_on(const Shape& shape, const std::vector<Dims>& strides) {
    const Operand a{memory, DType::kF32, strides[0]}, b{memory, DType::kF32, strides[1]},
        y{memory, DType::kF32, contiguous_strides(shape)}, in[] = {a, b};
    elementwise(device(), kScripted, shape, in, {&y, 1});
    return answers[0].first_input;
  }
  static std::vector<int64_t> shape_of(const View& view) {
    return {view.shape, view.shape + view.rank};
  }
};

TEST_F(Launches, TheFirstKernelThatAcceptsServesTheCall) {
  answers[0].rejects = "it rejects";
  launch_it();
  EXPECT_EQ(runs(), (std::vector<size_t>{0, 1, 0}));
}

TEST_F(Launches, TheNextKernelServesWhatOneDeclines) {
  answers[0].status = {StatusCode::kDeclined, "an operand is infinite"};
  answers[0].scratch_bytes = 4096;
  launch_it();
  EXPECT_EQ(runs(), (std::vector<size_t>{1, 1, 0}));
  EXPECT_EQ(answers[0].runs[0], 4096);
  EXPECT_EQ(answers[1].runs[0], 0) << "scratch that the second kernel did not ask for";
}

TEST_F(Launches, WhatOneDeclinesMayBeForbiddenToTheNext) {
  set_deterministic(true);
  answers[0].status = {StatusCode::kDeclined, "an operand is infinite"};
  launch_it();
  EXPECT_EQ(runs(), (std::vector<size_t>{1, 0, 1}));
}

TEST_F(Launches, WithoutAKernelLeftTheErrorHasTheLastReason) {
  answers[0].status = {StatusCode::kDeclined, "an operand is infinite"};
  answers[1].status = {StatusCode::kDeclined, nullptr};
  answers[2].status = {StatusCode::kDeclined, "a library failed"};
  EXPECT_ERROR(launch_it(), kUnsupported,
               "scripted: no f32 kernel on launches:0 accepts the call: a library failed; no "
               "composite");
  answers[2].rejects = "a dim is odd";
  EXPECT_ERROR(launch_it(), kUnsupported, "accepts the call: a dim is odd; no composite");
  EXPECT_EQ(runs(), (std::vector<size_t>{2, 2, 1}));
}

TEST_F(Launches, AnyOtherFailureIsAnError) {
  answers[0].status = {StatusCode::kInvalidArgument, "the scratch is too small"};
  EXPECT_ERROR(launch_it(), kInvalidArgument, "scripted: the scratch is too small on launches:0");
  EXPECT_EQ(runs(), (std::vector<size_t>{1, 0, 0}));
}

TEST_F(Launches, ElementwiseDimsArriveCollapsed) {
  // Both operands walk the last two dims as one; the first two merge in neither.
  const auto views = elementwise_on({5, 1, 2, 3, 4}, {{24, 9, 0, 4, 1}, {0, 7, 12, 4, 1}});
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(shape_of(views[0]), (std::vector<int64_t>{5, 2, 12}));
  EXPECT_EQ(views[0].strides[1], 0);
}

TEST_F(Launches, ScalarsArriveWithoutDims) {
  EXPECT_EQ(elementwise_on({1, 1}, {{3, 1}, {1, 1}}).at(0).rank, 0);
}

TEST_F(Launches, DimsBeyondTheMostOfAViewAreLoopedOver) {
  const Shape shape(10, 2);
  Dims first, second;
  for (int d = 0; d < 10; d++) first.push_back(d % 2 ? 0 : 8), second.push_back(d % 2 ? 8 : 0);
  const auto views = elementwise_on(shape, {first, second});
  ASSERT_EQ(views.size(), 4u);
  for (const View& view : views) EXPECT_EQ(shape_of(view), std::vector<int64_t>(8, 2));
}

}  // namespace
}  // namespace wick
