// Ops on streams that a thread makes current, eagerly and in a graph of several streams: on both emulators and on
// the cards that are here.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "../expect.h"
#include "devices/absent.h"
#include "wick/wick.h"

namespace wick {
namespace {

class Streams : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why;
    const auto found = test::find_device(GetParam(), &why);
    if (!found) GTEST_SKIP() << why;
    if (found->info().plain_allocation) GTEST_SKIP() << "check mode captures no graph";
    device = *found;
  }
  Tensor tensor(const std::vector<float>& values) const { return Tensor::from(values, device); }
  Var var(const std::vector<float>& values) const { return Var(tensor(values), false); }
  /// From here on the side stream's work comes after that of the current stream.
  void fork(const Stream& side) const { side.wait(Event(Stream::of(device))); }
  void join(const Stream& side) const { Stream::of(device).wait(Event(side)); }

  const NoGrad off;
  Device device = Device::cpu();
};

std::vector<float> values(const Tensor& x) { return x.to_vector<float>(); }

TEST_P(Streams, RunTheOpsOfAScope) {
  const Stream side(device);
  const Tensor x = tensor({1, 2, 3});
  Tensor y;
  fork(side);
  {
    const StreamScope scope(side);
    y = exp(x) + 1;
    EXPECT_EQ(values(y - y), std::vector<float>(3));  // reads on the side stream
  }
  join(side);
  EXPECT_EQ(values(y), values(exp(x) + 1));
}

TEST_P(Streams, NestAndReportTheErrorsOfTheirOwnKernels) {
  const Tensor rows = tensor({1, 2, 3});
  const Tensor bad = Tensor::from(std::vector<int64_t>{0, 7}, device);
  const Stream outer(device), inner(device);
  for (const Stream& stream : {outer, inner}) fork(stream);
  {
    const StreamScope scope(outer);
    {
      const StreamScope within(inner);
      (void)index_select(rows, 0, bad);
    }
    Stream::of(device).synchronize();  // the outer one, which has no error
    EXPECT_ERROR((inner.synchronize(), 0), kOutOfRange, "id 7 at position 1 is outside [0, 3)");
    (void)index_select(rows, 0, bad);
  }
  Stream::of(device).synchronize();
  EXPECT_ERROR((device.synchronize(), 0), kOutOfRange, "id 7 at position 1 is outside [0, 3)");
  device.synchronize();  // the error was reported once
}

TEST_P(Streams, MayGoBeforeTheTensorsThatTheyMade) {
  Tensor y;
  {
    const Stream side(device);
    const StreamScope scope(side);
    y = full({1000}, 3, {.device = device}) * 2;
    for (int i = 0; i < 10; i++) (void)(y + 1);
  }
  EXPECT_EQ(values(y), std::vector<float>(1000, 6));
  for (int i = 0; i < 10; i++) EXPECT_EQ(values(y + 1), std::vector<float>(1000, 7));
}

TEST_P(Streams, MemoryIsNotReusedWhileAnotherStreamReadsIt) {
  constexpr int kSize = 1 << 16;
  const Stream side(device);
  std::vector<Tensor> sums;
  for (int round = 0; round < 8; round++) {
    Tensor x = full({kSize}, float(round), {.device = device});
    fork(side);
    {
      const StreamScope scope(side);
      Tensor y = x;
      for (int i = 0; i < 4; i++) y = y + x;
      sums.push_back(amax(y) + amin(y));
    }
    x = Tensor();  // the side stream may still read it
    (void)full({kSize}, -1, {.device = device});
  }
  join(side);
  for (int round = 0; round < 8; round++)
    EXPECT_EQ(values(sums[size_t(round)]), std::vector<float>{float(10 * round)});
}

TEST_P(Streams, AreBranchesOfAGraph) {
  const Stream side(device);
  Var x = var({1, 2, 3, 4}), a = var({0, 0, 0, 0}), b = var({0, 0, 0, 0});
  const auto work = [&](Var& to, float factor) {
    for (int i = 0; i < 4; i++) copy_(to, neg(exp(Tensor(x) * 0.25) * factor) + Tensor(to));
  };
  const auto both = [&] {
    fork(side);
    work(a, 1);
    {
      const StreamScope scope(side);
      work(b, 2);
    }
    join(side);
    add_(x, Tensor(a) + Tensor(b));
  };
  both();  // kernels are compiled
  const auto expected = [&] { return std::vector{values(x), values(a), values(b)}; };
  const auto reset = [&] {
    copy_(x, tensor({1, 2, 3, 4}));
    for (Var* v : {&a, &b}) copy_(*v, tensor({0, 0, 0, 0}));
  };
  reset();
  for (int i = 0; i < 3; i++) both();
  const auto eager = expected();
  reset();
  const Graph graph = Graph::capture(device, both);
  for (int i = 0; i < 3; i++) graph.launch();
  EXPECT_EQ(expected(), eager);
  // The streams work as ever after the capture, and a graph runs on whatever stream is current.
  reset();
  fork(side);
  {
    const StreamScope scope(side);
    for (int i = 0; i < 3; i++) graph.launch();
  }
  join(side);
  EXPECT_EQ(expected(), eager);
}

TEST_P(Streams, ThatBeginAGraphRecordIt) {
  const Stream side(device);
  Var x = var({1, 2});
  (void)(Tensor(x) * 2);
  fork(side);
  std::optional<Graph> graph;
  {
    const StreamScope scope(side);
    graph = Graph::capture(device, [&] { copy_(x, Tensor(x) * 2); });
  }
  join(side);
  graph->launch();
  EXPECT_EQ(values(x), (std::vector<float>{2, 4}));
}

TEST_P(Streams, OfAGraphMustBeJoined) {
  const Stream side(device);
  const Tensor x = tensor({1, 2});
  (void)exp(x);
  const auto forks = [&] {
    fork(side);
    const StreamScope scope(side);
    (void)exp(x);
  };
  EXPECT_THROW(Graph::capture(device, forks), Error);
  if (device.kind() == DeviceKind::kEmulated)
    EXPECT_ERROR(Graph::capture(device, forks), kInvalidArgument, "waits for no event of");
  const auto leaves = [&] {
    const Stream gone(device);
    fork(gone);
    {
      const StreamScope scope(gone);
      (void)exp(x);
    }
    join(gone);
  };
  if (device.kind() == DeviceKind::kEmulated)
    EXPECT_ERROR(Graph::capture(device, leaves), kInvalidArgument, "destroyed before its end");
  forks();  // both streams work as ever
  join(side);
  EXPECT_EQ(values(x + 1), (std::vector<float>{2, 3}));
}

TEST_P(Streams, OfAGraphReportErrorsWhereItIsLaunched) {
  const Tensor rows = tensor({1, 2, 3});
  Var at(Tensor::from(std::vector<int64_t>{0, 2}, device), false), y = var({0, 0});
  std::optional<Graph> graph;
  {
    const Stream side(device);
    graph = Graph::capture(device, [&] {
      fork(side);
      {
        const StreamScope scope(side);
        copy_(y, index_select(rows, 0, at));
      }
      join(side);
    });
  }  // the graph outlives the stream
  graph->launch();
  EXPECT_EQ(values(y), (std::vector<float>{1, 3}));
  copy_(at, Tensor::from(std::vector<int64_t>{1, 5}, device));
  graph->launch();
  EXPECT_ERROR((device.synchronize(), 0), kOutOfRange, "id 5 at position 1 is outside [0, 3)");
  device.synchronize();
}

TEST_P(Streams, OfAGraphRunInAnOrderThatShowsAMissingEvent) {
  if (device.kind() != DeviceKind::kEmulated) GTEST_SKIP() << "a card has an order of its own";
  const Stream side(device);
  Var x = var({1}), y = var({0});
  const Graph graph = Graph::capture(device, [&] {
    fork(side);
    copy_(x, Tensor(x) * 0 + 5);  // the side stream does not wait for it
    {
      const StreamScope scope(side);
      copy_(y, Tensor(x) + 0);
    }
    join(side);
  });
  graph.launch();
  EXPECT_EQ(values(y), std::vector<float>{1});
  EXPECT_EQ(values(x), std::vector<float>{5});
}

INSTANTIATE_TEST_SUITE_P(Devices, Streams, testing::Values("emu:32", "emu:64", "rocm:0", "cuda:0"),
                         [](const auto& info) {
                           std::string name = info.param;
                           name[name.find(':')] = '_';
                           return name;
                         });

}  // namespace
}  // namespace wick
