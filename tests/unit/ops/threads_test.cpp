// Tensors may be shared between threads: run under the thread sanitizer too.
#include <algorithm>
#include <atomic>
#include <thread>

#include "../expect.h"
#include "../threads_scope.h"
#include "wick/wick.h"

namespace wick {
namespace {

constexpr int kThreads = 64;

/// Calls f(i) on 64 threads, which begin together; an Error of one is the test's failure.
template <class F>
void on_all_threads(const F& f) {
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++)
    threads.emplace_back([&, i] {
      waiting--;
      while (waiting > 0) std::this_thread::yield();
      try {
        f(i);
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST(Threads, ReadAndComputeWithSharedTensors) {
  const Tensor x = reshape(arange(60), {6, 10}).to(DType::kF32), y = transpose(x),
               ids = Tensor::from(std::vector<int64>{5, 0});
  const std::vector<float> product = matmul(x, y).to_vector<float>();
  const std::string text = to_string(x);
  on_all_threads([&](int i) {
    const Tensor copy = x;  // a handle of the thread's own on the same memory
    EXPECT_EQ(matmul(copy, y).to_vector<float>(), product);
    EXPECT_EQ(sum(x * 2 + transpose(y) + i).item<float>(), 3 * 1770 + 60 * float(i));
    EXPECT_EQ(to_string(x), text);
    EXPECT_EQ(narrow(narrow(x, 0, 2, 1), 1, 3, 1).item<float>(), 23);
    EXPECT_EQ(index_select(x, 0, ids).to_vector<float>()[0], 50);
    EXPECT_EQ(softmax(copy).shape(), x.shape());
  });
}

TEST(Threads, DifferentiateWithSharedInputs) {
  const Var w(ones({3}));
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3});
  on_all_threads([&](int i) {
    const Tensor y = sum(w.tensor() * x * float(i));
    const Tensor g = grad(y, {w.tensor()})[0];  // adds to no Var
    EXPECT_EQ(g.to_vector<float>(),
              (std::vector<float>{float(i), 2.0f * float(i), 3.0f * float(i)}));
  });
}

TEST(Threads, AddTheirGradientsToOneVar) {
  const Var w(ones({1000}));
  const Tensor x = full({1000}, 0.5);
  for (int round = 1; round <= 20; round++) {
    on_all_threads([&](int) { backward(sum(w.tensor() * x)); });
    const std::vector<float> g = w.grad().to_vector<float>();
    ASSERT_EQ(g, std::vector<float>(1000, 0.5f * kThreads * float(round)));
  }
}

TEST(Threads, AreAsManyAsTheProgramSaysWithoutChangingABit) {
  const test::ThreadsScope scope(3);
  const Tensor x = sin(arange(200'001).to(DType::kF32));
  std::vector<std::vector<float>> found;
  for (const int n : {1, 3}) {
    set_num_threads(n);
    EXPECT_EQ(num_threads(), n);
    found.push_back(
        cat({cumsum(x, 0), sort(x, 0).values, reshape(sum(x), {1})}, 0).to_vector<float>());
  }
  EXPECT_ERROR(set_num_threads(0), kInvalidArgument,
               "set_num_threads: threads: expected 1 to 4096, got 0");
  EXPECT_EQ(num_threads(), 3);
  EXPECT_EQ(found[0], found[1]);
}

TEST(Threads, DrawDifferentNumbers) {
  Device::cpu().set_seed(1);
  std::vector<std::vector<float>> drawn(kThreads);
  on_all_threads([&](int i) { drawn[size_t(i)] = rand({4}).to_vector<float>(); });
  std::sort(drawn.begin(), drawn.end());
  EXPECT_EQ(std::unique(drawn.begin(), drawn.end()), drawn.end());
}

TEST(Threads, ApplyOneCustomOp) {
  const auto op =
      custom_op("twice", {.cpu = [](std::span<const HostView> in) { return in[0].tensor() * 2; },
                          .backward = [](auto, const Tensor&,
                                         const Tensor& g) { return std::vector<Tensor>{g * 2}; }});
  const Var w(ones({2}));
  on_all_threads([&](int) {
    const Tensor y = apply(op, w.tensor());
    EXPECT_EQ(grad(sum(y), {w.tensor()})[0].to_vector<float>(), (std::vector<float>{2, 2}));
  });
}

}  // namespace
}  // namespace wick
