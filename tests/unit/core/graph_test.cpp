#include "wick/core/graph.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "../expect.h"
#include "core/graph.h"
#include "wick/abi/backend.h"
#include "wick/core/var.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/inplace.h"
#include "wick/ops/reduce.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

class Graphs : public testing::TestWithParam<int> {
 protected:
  const Device device = Device::emulated(GetParam());
  const NoGrad off;

  void SetUp() override {
    if (device.info().plain_allocation) GTEST_SKIP() << "check mode captures no graph";
  }
  Var var(const std::vector<float>& values) const {
    return Var(Tensor::from(values, device), false);
  }
};

std::vector<float> values(const Tensor& x) { return x.to_vector<float>(); }

TEST_P(Graphs, RunWhatWasCapturedAtEachLaunchAndNotBefore) {
  Var x = var({1, 2, 3});
  const Tensor step = Tensor::from(std::vector<float>{1, 10, 100}, device);
  const Graph graph = Graph::capture(device, [&] { add_(x, step); });
  EXPECT_EQ(values(x), (std::vector<float>{1, 2, 3}));
  graph.launch();
  graph.launch();
  EXPECT_EQ(values(x), (std::vector<float>{3, 22, 203}));
  copy_(x, zeros({3}, {.device = device}));  // outside of the graph, which reads it
  graph.launch();
  EXPECT_EQ(values(x), (std::vector<float>{1, 10, 100}));
}

TEST_P(Graphs, KeepTheirTemporaryMemoryFromOtherTensors) {
  Var y = var({0, 0, 0, 0});
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4}, device);
  const Graph graph = Graph::capture(device, [&] { copy_(y, neg(exp(x) * 2) + x); });
  std::vector<Tensor> others;  // would lie where the temporaries were
  for (int i = 0; i < 8; i++) others.push_back(full({4}, 7, {.device = device}));
  device.empty_cache();  // gives back no memory of the graph
  graph.launch();
  EXPECT_EQ(values(y), values(neg(exp(x) * 2) + x));
  for (const Tensor& other : others) EXPECT_EQ(values(other), std::vector<float>(4, 7));
}

TEST_P(Graphs, GiveTheirResultsInTheTensorsThatTheyMade) {
  Var x = var({1, 2});
  Tensor y;
  {
    const Graph graph = Graph::capture(device, [&] { y = x * 3; });
    graph.launch();
    EXPECT_EQ(values(y), (std::vector<float>{3, 6}));
    copy_(x, Tensor::from(std::vector<float>{5, 6}, device));
    graph.launch();
  }
  for (int i = 0; i < 4; i++) (void)full({2}, 9, {.device = device});
  EXPECT_EQ(values(y), (std::vector<float>{15, 18}));  // outlives the graph
}

TEST_P(Graphs, ReportTheErrorsOfTheirKernels) {
  const Tensor rows = Tensor::from(std::vector<float>{1, 2, 3}, device);
  Var at(Tensor::from(std::vector<int64_t>{0, 2}, device), false), y = var({0, 0});
  const Graph graph = Graph::capture(device, [&] { copy_(y, index_select(rows, 0, at)); });
  graph.launch();
  EXPECT_EQ(values(y), (std::vector<float>{1, 3}));
  copy_(at, Tensor::from(std::vector<int64_t>{1, 5}, device));
  graph.launch();
  EXPECT_ERROR((device.synchronize(), 0), kOutOfRange, "id 5 at position 1 is outside [0, 3)");
}

TEST_P(Graphs, RefuseWhatReadsTheDeviceAndLeaveItAsItWas) {
  Var x = var({1, 2});
  const auto reads = [&] { (void)values(x * 2); };
  EXPECT_ERROR(Graph::capture(device, reads), kInvalidArgument, "graph being captured");
  EXPECT_ERROR(Graph::capture(device, [&] { device.synchronize(); }), kInvalidArgument,
               "is being captured");
  EXPECT_ERROR(Graph::capture(device, [&] { (void)Graph::capture(device, [] {}); }),
               kInvalidArgument, "recording a graph already");
  EXPECT_EQ(values(x * 2), (std::vector<float>{2, 4}));
}

TEST_P(Graphs, RecordNoWorkOfOtherThreads) {
  Var x = var({1, 2, 3});
  std::atomic<bool> ends = false, fails = false;
  std::atomic<int> rounds = 0;
  std::vector<std::thread> others;
  for (int t = 0; t < 3; t++) {
    others.emplace_back([&] {
      const Tensor y = Tensor::from(std::vector<float>{1, 2}, device);
      for (; !ends; rounds++) fails = fails || values(exp(neg(y)) * 0 + y) != values(y);
    });
  }
  while (rounds < 3) std::this_thread::yield();
  constexpr int kGraphs = 100;
  for (int i = 0; i < kGraphs; i++)
    Graph::capture(device, [&] { add_(x, Tensor(x) * 0 + 1); }).launch();
  ends = true;
  for (std::thread& other : others) other.join();
  EXPECT_FALSE(fails);
  EXPECT_EQ(values(x), (std::vector<float>{1 + kGraphs, 2 + kGraphs, 3 + kGraphs}));
}

TEST_P(Graphs, OfThreadsThatShareGradientsAndPositionsDoNotWaitForEachOther) {
  Var shared(Tensor::from(std::vector<float>{1, 2}, device));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; i++) {
        const Graph graph = Graph::capture(device, [&] { backward(sum(shared * 2)); });
        graph.launch();
        backward(sum(shared * 3));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  device.synchronize();
}

TEST_P(Graphs, TellTheirListenersOfEachLaunch) {
  struct Listener : LaunchListener {
    explicit Listener(std::vector<std::string>& log) : log(log) {}
    ~Listener() override { log.push_back("released"); }
    void before_launch() override {
      log.push_back("before");
      if (log.size() > 2) fail(ErrorCode::kIo, "launch", "no more");
    }
    void after_launch() override { log.push_back("after"); }
    std::vector<std::string>& log;
  };
  Var x = var({1});
  std::vector<std::string> log;
  {
    const Graph graph = [&] {
      const auto listener = std::make_shared<Listener>(log);
      return Graph::capture(device, [&] {
        listen_to_launches(listener);
        listen_to_launches(listener);
        add_(x, 1);
      });
    }();
    graph.launch();
    EXPECT_EQ(log, (std::vector<std::string>{"before", "after"}));
    EXPECT_ERROR(graph.launch(), kIo, "launch: no more");
    EXPECT_EQ(values(x), (std::vector<float>{2}));
  }
  EXPECT_EQ(log.back(), "released");
}

INSTANTIATE_TEST_SUITE_P(Waves, Graphs, testing::Values(32, 64));

TEST(Graph, OfTheCpuIsAnError) {
  EXPECT_ERROR(Graph::capture(Device::cpu(), [] {}), kUnsupported, "cpu has no graphs");
}

}  // namespace
}  // namespace wick
