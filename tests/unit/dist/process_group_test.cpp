#include "wick/dist/process_group.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "../expect.h"
#include "ranks.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/random.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

using test::expect_ranks;
using test::has;
using test::run_ranks;

constexpr DType kComputed[] = {DType::kBool, DType::kU8,     DType::kI8,     DType::kU16,
                               DType::kI16,  DType::kU32,    DType::kI32,    DType::kU64,
                               DType::kI64,  DType::kF8E4M3, DType::kF8E5M2, DType::kBf16,
                               DType::kF16,  DType::kF32,    DType::kF64};
// Below and above the sizes at which the collectives change their exchanges.
constexpr int64_t kSizes[] = {0, 1, 7, 5000, 40'001};

std::vector<uint8_t> bytes_in(const Tensor& x) {
  std::vector<uint8_t> bytes(size_t(bytes_of(x.dtype(), x.numel())));
  x.read(bytes.data());
  return bytes;
}

/// Small whole numbers, other ones for each rank, which every computed dtype holds.
Tensor values_of(int rank, int64_t count, DType dtype) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; i++) values.push_back(float((i * 7 + rank * 3) % 5));
  return cast(Tensor::from(values), dtype);
}

TEST(ProcessGroup, OfOneProcessReturnsItsTensors) {
  const ProcessGroup group;
  const Tensor x = Tensor::from({1.f, 2.f});
  EXPECT_EQ(group.rank(), 0);
  EXPECT_EQ(group.world_size(), 1);
  EXPECT_EQ(group.all_reduce(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(group.all_gather(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(group.reduce_scatter(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(group.all_to_all(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(group.broadcast(x).to_vector<float>(), x.to_vector<float>());
  group.barrier();
  EXPECT_ERROR(group.send(x, 0), kInvalidArgument, "send: expected another rank than this one, 0");
  EXPECT_ERROR(group.recv({2}, {}, 1), kOutOfRange, "recv: expected a rank in [0, 1), got 1");
}

TEST(ProcessGroup, AllReduceAddsEveryDType) {
  for (const int count : {2, 3, 4})
    expect_ranks(count, [&](ProcessGroup& group) {
      for (const DType dtype : kComputed)
        for (const int64_t size : kSizes) {
          Tensor sum, highest, lowest;
          for (int rank = 0; rank < count; rank++) {
            const Tensor one = values_of(rank, size, dtype);
            sum = sum ? sum + one : one;
            highest = highest ? maximum(highest, one) : one;
            lowest = lowest ? minimum(lowest, one) : one;
          }
          const Tensor x = values_of(group.rank(), size, dtype);
          EXPECT_EQ(bytes_in(group.all_reduce(x, ReduceOp::kMax)), bytes_in(highest));
          EXPECT_EQ(bytes_in(group.all_reduce(x, ReduceOp::kMin)), bytes_in(lowest));
          if (dtype == DType::kBool) continue;
          EXPECT_EQ(bytes_in(group.all_reduce(x)), bytes_in(sum)) << dtype_name(dtype) << size;
          if (!is_floating(dtype)) continue;
          EXPECT_EQ(bytes_in(group.all_reduce(x, ReduceOp::kMean)),
                    bytes_in(cast(cast(sum, DType::kF64) / double(count), dtype)))
              << dtype_name(dtype) << size;
        }
    });
}

TEST(ProcessGroup, SumsAreInTheOrderOfTheRanksAndRoundedOnce) {
  for (const int64_t size : {100, 100'000})
    expect_ranks(4, [&](ProcessGroup& group) {
      // In this order 1e8 + 1 - 1e8 + 1 is 1 in f32; in others it is 0 or 2.
      const float terms[] = {1e8f, 1, -1e8f, 1};
      const Tensor x = full({size}, terms[group.rank()]);
      EXPECT_EQ(bytes_in(group.all_reduce(x)), bytes_in(full({size}, 1.f)));
      // 256 + 1 + 1 + 1 in bf16 is 256 if each sum is rounded, and 260 once.
      const Tensor narrow = full({size}, group.rank() == 0 ? 256 : 1, {.dtype = DType::kBf16});
      EXPECT_EQ(bytes_in(group.all_reduce(narrow)),
                bytes_in(full({size}, 260, {.dtype = DType::kBf16})));
    });
}

TEST(ProcessGroup, AllReducePassesNaNAndInfinity) {
  expect_ranks(3, [&](ProcessGroup& group) {
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Tensor x = Tensor::from({group.rank() == 1 ? nan : 0, group.rank() == 2 ? inf : 1});
    for (const ReduceOp reduction : {ReduceOp::kSum, ReduceOp::kMax}) {
      const std::vector<float> y = group.all_reduce(x, reduction).to_vector<float>();
      EXPECT_TRUE(std::isnan(y[0]));
      EXPECT_EQ(y[1], inf);
    }
  });
}

TEST(ProcessGroup, CollectivesMoveViewsAlongAnyDim) {
  for (const int count : {2, 3, 4})
    expect_ranks(count, [&](ProcessGroup& group) {
      const auto of_rank = [&](int rank) {  // [2, 3, 12], a view
        const Tensor x = cast(arange(0, 72) + double(100 * rank), DType::kF32);
        return transpose(reshape(x, {12, 3, 2}), 0, 2);
      };
      const Tensor x = of_rank(group.rank());
      std::vector<Tensor> all;
      Tensor sum;
      for (int rank = 0; rank < count; rank++) {
        all.push_back(of_rank(rank));
        sum = sum ? sum + all.back() : all.back();
      }
      for (const int64_t dim : {0, 1, 2, -1}) {
        const Tensor whole = group.all_gather(x, dim);
        EXPECT_EQ(whole.shape(), cat(all, dim).shape());
        EXPECT_EQ(bytes_in(whole), bytes_in(cat(all, dim)));
      }
      const int64_t part = 12 / count;
      EXPECT_EQ(bytes_in(group.reduce_scatter(x, -1)),
                bytes_in(narrow(sum, 2, group.rank() * part, part)));
      std::vector<Tensor> received;
      for (int rank = 0; rank < count; rank++)
        received.push_back(narrow(of_rank(rank), 2, group.rank() * part, part));
      for (const int64_t dim : {0, 1, 2})
        EXPECT_EQ(bytes_in(group.all_to_all(x, 2, dim)), bytes_in(cat(received, dim)));
    });
}

TEST(ProcessGroup, MovesDTypesThatOpsDoNotComputeWith) {
  expect_ranks(3, [&](ProcessGroup& group) {
    for (const int64_t count : {64, 256 * 1000}) {
      const auto of_rank = [&](int rank, DType dtype) {
        std::vector<uint8_t> bytes(size_t(bytes_of(dtype, count)));
        for (size_t i = 0; i < bytes.size(); i++) bytes[i] = uint8_t((i + size_t(rank)) % 16);
        return Tensor::from_bytes(bytes.data(), dtype, {count});
      };
      for (const DType dtype : {DType::kF4, DType::kF8E8M0, DType::kQ8_0}) {
        const Tensor x = of_rank(group.rank(), dtype);
        EXPECT_EQ(bytes_in(group.broadcast(x, 1)), bytes_in(of_rank(1, dtype)));
        EXPECT_ERROR(group.all_reduce(x), kDTypeMismatch,
                     std::string("all_reduce: no sum of ") + dtype_name(dtype));
        if (!is_block(dtype)) {
          const std::vector<Tensor> all = {of_rank(0, dtype), of_rank(1, dtype), of_rank(2, dtype)};
          EXPECT_EQ(bytes_in(group.all_gather(x)), bytes_in(cat(all, 0)));
        }
      }
    }
  });
}

TEST(ProcessGroup, BroadcastGivesTheTensorOfTheRoot) {
  for (const int count : {2, 3, 4})
    expect_ranks(count, [&](ProcessGroup& group) {
      for (int root = 0; root < count; root++)
        for (const int64_t size : {0, 1, 30'000, 100'003})
          EXPECT_EQ(bytes_in(group.broadcast(values_of(group.rank(), size, DType::kF32), root)),
                    bytes_in(values_of(root, size, DType::kF32)));
    });
}

TEST(ProcessGroup, SendsInARing) {
  for (const int64_t size : {1, 3'000'000})
    expect_ranks(3, [&](ProcessGroup& group) {
      const int next = (group.rank() + 1) % 3, before = (group.rank() + 2) % 3;
      // All send before they receive, more than the system's buffers hold.
      group.send(values_of(group.rank(), size, DType::kF32), next);
      EXPECT_EQ(bytes_in(group.recv({size}, {}, before)),
                bytes_in(values_of(before, size, DType::kF32)));
    });
}

TEST(ProcessGroup, MessagesOfLaterCallsWait) {
  expect_ranks(3, [&](ProcessGroup& group) {
    // Ranks 0 and 2 are done with their messages to rank 1 long before it takes them.
    if (group.rank() != 1) group.send(full({3}, group.rank()), 1);
    if (group.rank() == 1) {
      EXPECT_EQ(group.recv({3}, {}, 2).to_vector<float>()[0], 2);
      EXPECT_EQ(group.recv({3}, {}, 0).to_vector<float>()[0], 0);
    }
    EXPECT_EQ(group.all_reduce(full({2}, 1)).to_vector<float>()[1], 3);
  });
}

#ifdef WICK_TEST_EMU
TEST(ProcessGroup, TensorsOfOtherDevicesGoThroughTheHost) {
  const Device device = Device::parse("emu:32");
  expect_ranks(2, [&](ProcessGroup& group) {
    const Tensor x = values_of(group.rank(), 6, DType::kF32).to(device);
    const Tensor sum = group.all_reduce(x);
    EXPECT_EQ(sum.device(), device);
    EXPECT_EQ(bytes_in(sum), bytes_in(values_of(0, 6, DType::kF32) + values_of(1, 6, DType::kF32)));
    EXPECT_EQ(group.all_gather(x).device(), device);
    EXPECT_EQ(group.reduce_scatter(x).device(), device);
    EXPECT_EQ(group.all_to_all(x).device(), device);
    EXPECT_EQ(group.broadcast(x).device(), device);
    if (group.rank() == 0)
      group.send(x, 1);
    else
      EXPECT_EQ(group.recv({6}, {.device = device}, 0).device(), device);
  });
}
#endif

// ---- gradients

/// The tensor that each rank multiplies its result with, so that gradients differ.
Tensor weights_of(int rank, const Shape& shape) {
  return reshape(cast(arange(1, numel(shape) + 1) + double(rank), DType::kF64), shape);
}

TEST(ProcessGroup, GradientsAreThoseOfTheSumOfAllRanksResults) {
  // d/dx_r of sum over ranks s of <weights_s, y_s>, by differences.
  using Function = std::function<Tensor(ProcessGroup&, const Tensor&)>;
  const Function functions[] = {
      [](ProcessGroup& g, const Tensor& x) { return g.all_reduce(x); },
      [](ProcessGroup& g, const Tensor& x) { return g.all_reduce(x, ReduceOp::kMean); },
      [](ProcessGroup& g, const Tensor& x) { return g.all_gather(x, 1); },
      [](ProcessGroup& g, const Tensor& x) { return g.reduce_scatter(x, 0); },
      [](ProcessGroup& g, const Tensor& x) { return g.reduce_scatter(x, 1, ReduceOp::kMean); },
      [](ProcessGroup& g, const Tensor& x) { return g.all_to_all(x, 0, 1); },
      [](ProcessGroup& g, const Tensor& x) { return g.broadcast(x, 1); },
  };
  expect_ranks(2, [&](ProcessGroup& group) {
    for (const Function& f : functions) {
      const Tensor start =
          reshape(cast(arange(0, 8) * double(group.rank() + 1), DType::kF64), {2, 4});
      // Squares, so that a gradient has a gradient.
      const auto objective = [&](const Tensor& x) {
        const Tensor y = f(group, x * x);
        return sum(y * weights_of(group.rank(), y.shape()));
      };
      const Var x(start);
      const Tensor y = objective(x);
      const Tensor gradient = grad(y, {x}, {.create_graph = true})[0];
      const Tensor second = grad(sum(gradient), {x})[0];
      const std::vector<double> found = gradient.to_vector<double>();
      for (int rank = 0; rank < 2; rank++)
        for (int64_t i = 0; i < 8; i++) {
          const auto moved = [&](double by) {
            std::vector<double> values = start.to_vector<double>();
            if (rank == group.rank()) values[size_t(i)] += by;
            return group.all_reduce(objective(Tensor::from(values, {2, 4}))).item<double>();
          };
          const double difference = (moved(0.5) - moved(-0.5));  // exact for squares
          if (rank == group.rank()) {
            EXPECT_NEAR(found[size_t(i)], difference, 1e-9);
          }
        }
      // The objective is a quadratic form without mixed terms: x times the second derivative is the
      // first.
      EXPECT_EQ((second * start).to_vector<double>(), found);
    }
    const Var x(ones({2}));
    const Tensor highest = group.all_reduce(x, ReduceOp::kMax);
    EXPECT_ERROR(backward(sum(highest)), kNoGradient, "all_reduce: no gradient of the max");
  });
}

// ---- errors

TEST(ProcessGroup, RefusesArgumentsBeforeAnythingIsSent) {
  expect_ranks(2, [&](ProcessGroup& group) {
    const Tensor x = zeros({3, 4});
    EXPECT_ERROR(group.reduce_scatter(x), kShapeMismatch,
                 "reduce_scatter: expected a size of dim 0 that the number of ranks, 2, divides, "
                 "got shape [3, 4]");
    EXPECT_ERROR(group.all_to_all(x, 0, 1), kShapeMismatch, "all_to_all: expected a size of dim 0");
    EXPECT_ERROR(group.all_gather(x, 2), kOutOfRange, "all_gather");
    EXPECT_ERROR(group.broadcast(x, 2), kOutOfRange, "broadcast: expected a root in [0, 2), got 2");
    EXPECT_ERROR(group.all_reduce(zeros({2}, {.dtype = DType::kI32}), ReduceOp::kMean),
                 kDTypeMismatch, "all_reduce: no mean of i32");
    EXPECT_ERROR(group.all_reduce(zeros({2}, {.dtype = DType::kBool})), kDTypeMismatch,
                 "all_reduce: no sum of bool");
    group.barrier();
  });
}

TEST(ProcessGroup, NamesTheCallsOfRanksThatDiffer) {
  const auto expect = [](const std::vector<std::string>& failures, const std::string& part) {
    for (const std::string& failure : failures) {
      EXPECT_TRUE(has(failure, "invalid argument: ")) << failure;
      EXPECT_TRUE(has(failure, part)) << failure;
    }
  };
  expect(run_ranks(3,
                   [](ProcessGroup& group) {
                     if (group.rank() == 1)
                       group.all_gather(zeros({2}));
                     else
                       group.all_reduce(zeros({2}));
                   }),
         "rank 1 calls ");
  expect(run_ranks(2, [](ProcessGroup& group) { group.all_reduce(zeros({2 + group.rank()})); }),
         "f32[3]");
  expect(run_ranks(2,
                   [](ProcessGroup& group) {
                     const DType dtype = group.rank() == 0 ? DType::kF16 : DType::kBf16;
                     group.all_reduce(zeros({2}, {.dtype = dtype}));
                   }),
         "bf16[2]");
}

TEST(ProcessGroup, NamesARankThatLeaves) {
  const auto failures = run_ranks(3, [](ProcessGroup& group) {
    if (group.rank() == 2) return;
    group.all_reduce(zeros({2}));
  });
  for (const int rank : {0, 1})
    EXPECT_EQ(failures[size_t(rank)],
              "input/output error: all_reduce: rank 2 has left the group, and does not call "
              "all_reduce f32[2] sum");
  EXPECT_EQ(failures[2], "");
}

TEST(ProcessGroup, NamesARankThatHangs) {
  const auto failures = run_ranks(
      3,
      [](ProcessGroup& group) {
        if (group.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(3));
        group.all_reduce(zeros({2}));
      },
      1);
  for (const int rank : {0, 2})
    EXPECT_TRUE(has(failures[size_t(rank)], "rank 1 moved no byte for 1 s (WICK_DIST_TIMEOUT)"))
        << failures[size_t(rank)];
  EXPECT_TRUE(has(failures[1], "rank 1 moved no byte")) << failures[1];
}

TEST(ProcessGroup, StaysFailed) {
  run_ranks(2, [](ProcessGroup& group) {
    EXPECT_ERROR(group.all_reduce(zeros({2 + group.rank()})), kInvalidArgument, "calls");
    EXPECT_ERROR(group.barrier(), kIo, "barrier: the group has failed before: rank ");
  });
}

/// The texts of the errors of ranks that are processes; rank `dying` kills itself in its call.
std::vector<std::string> errors_after_death(int count, int dying, int64_t size) {
  const int port = test::free_port();
  std::vector<std::string> errors(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  std::mutex forking;
  for (int rank = 0; rank < count; rank++)
    threads.emplace_back([&, rank] {
      errors[size_t(rank)] = test::in_child([&] {
        ProcessGroup group = ProcessGroup::join(test::options_of(rank, count, port));
        if (rank == dying) raise(SIGKILL);
        for (;;) group.all_reduce(ones({size}));
        return std::string();
      });
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

TEST(ProcessGroup, NamesARankThatDies) {
  for (const int64_t size : {2, 4'000'000}) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<std::string> errors = errors_after_death(3, 1, size);
    for (const int rank : {0, 2})
      // A rank may still be in the first barrier.
      EXPECT_TRUE(has(errors[size_t(rank)], ": rank 1 has died")) << errors[size_t(rank)];
    EXPECT_TRUE(has(errors[1], "ended with status 9")) << errors[1];
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  }
}

}  // namespace
}  // namespace wick
