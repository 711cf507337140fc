#include "wick/train/data_parallel.h"

#include <cmath>

#include "../dist/ranks.h"
#include "../expect.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/contract.h"
#include "wick/ops/create.h"
#include "wick/ops/matmul.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

using test::expect_ranks;

constexpr int64_t kBatch = 7, kIn = 5, kHidden = 9, kSteps = 6;
constexpr double kRate = 0.05;
const AdamWSettings kSettings = {.weight_decay = 0.3, .clip_norm = 0.5, .decays_vectors = false};

Tensor numbers(const Shape& shape, double phase) {
  return reshape(cast(sin(arange(0, numel(shape)) * 0.7 + phase), DType::kF32), shape);
}

/// A network of three parameters and one that is not used. phase: of the first values.
NamedVars parameters(double phase) {
  return {{"bias", Var(numbers({kHidden}, phase))},
          {"first", Var(numbers({kIn, kHidden}, phase + 1))},
          {"second", Var(numbers({kHidden, 1}, phase + 2))},
          {"unused", Var(zeros({3}))}};
}

/// The loss of some rows of a step's batch, as a share of the batch's.
Tensor loss_of(const NamedVars& p, int64_t step, int64_t first, int64_t count) {
  const Tensor x = narrow(numbers({kBatch, kIn}, double(step)), 0, first, count);
  const Tensor y = matmul(tanh(matmul(x, p.at("first")) + p.at("bias")), p.at("second"));
  const Tensor off = y - narrow(numbers({kBatch, 1}, 10 + double(step)), 0, first, count);
  return sum(off * off) / double(kBatch);
}

std::vector<float> values_of(const NamedVars& parameters) {
  std::vector<float> all;
  for (const auto& [name, parameter] : parameters)
    for (const float value : parameter.tensor().to_vector<float>()) all.push_back(value);
  return all;
}

/// Trains the steps on this rank's rows.
void train(const ProcessGroup& group, DataParallel& optimizer, const NamedVars& p, int64_t from,
           int64_t to) {
  const int64_t begin = kBatch * group.rank() / group.world_size();
  const int64_t end = kBatch * (group.rank() + 1) / group.world_size();
  for (int64_t step = from; step < to; step++) {
    optimizer.backward(end > begin ? loss_of(p, step, begin, end - begin) : Tensor());
    optimizer.step(kRate);
  }
}

/// One process's parameters and averages after the steps.
std::pair<NamedVars, NamedTensors> trained_alone() {
  const NamedVars p = parameters(0);
  AdamW optimizer(p, kSettings);
  for (int64_t step = 0; step < kSteps; step++) {
    backward(loss_of(p, step, 0, kBatch));
    optimizer.step(kRate);
  }
  return {p, optimizer.state()};
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST(DataParallel, TrainsAsOneProcessDoes) {
  const auto [alone, state] = trained_alone();
  // More ranks than rows too, and buckets of one parameter, of some and of all.
  for (const int ranks : {1, 2, 3, 8})
    for (const int64_t bucket_bytes : {1, 60, 1 << 20})
      expect_ranks(ranks, [&](ProcessGroup& group) {
        // Rank 0's first values are everyone's.
        const NamedVars p = parameters(group.rank());
        DataParallel optimizer(p, kSettings, group, {.bucket_bytes = bucket_bytes});
        train(group, optimizer, p, 0, kSteps);
        expect_near(values_of(p), values_of(alone));
        EXPECT_EQ(optimizer.steps_done(), kSteps);
        const NamedTensors averages = optimizer.state();
        for (const auto& [name, tensor] : state) {
          ASSERT_TRUE(averages.count(name)) << name;
          EXPECT_EQ(averages.at(name).shape(), tensor.shape());
          expect_near(averages.at(name).to_vector<float>(), tensor.to_vector<float>());
        }
        for (const auto& [name, parameter] : p) EXPECT_FALSE(parameter.grad()) << name;
        // All ranks have the same bits.
        const Tensor own = Tensor::from(values_of(p));
        EXPECT_EQ(group.broadcast(own).to_vector<float>(), own.to_vector<float>());
      });
}

TEST(DataParallel, PartsOfABatchAddUp) {
  const auto [alone, state] = trained_alone();
  expect_ranks(2, [&](ProcessGroup& group) {
    const NamedVars p = parameters(0);
    DataParallel optimizer(p, kSettings, group);
    for (int64_t step = 0; step < kSteps; step++) {
      const int64_t begin = group.rank() == 0 ? 0 : 4;
      backward(loss_of(p, step, begin, 2));
      optimizer.backward(loss_of(p, step, begin + 2, group.rank() == 0 ? 2 : 1));
      optimizer.step(kRate);
    }
    expect_near(values_of(p), values_of(alone));
  });
}

TEST(DataParallel, GoesOnWithAnotherNumberOfRanks) {
  const auto [alone, state] = trained_alone();
  NamedTensors saved;
  NamedVars half;
  expect_ranks(3, [&](ProcessGroup& group) {
    const NamedVars p = parameters(0);
    DataParallel optimizer(p, kSettings, group);
    train(group, optimizer, p, 0, kSteps / 2);
    const NamedTensors averages = optimizer.state();
    if (group.rank() != 0) return;
    saved = averages;
    half = p;
  });
  for (const int ranks : {1, 2, 4})
    expect_ranks(ranks, [&](ProcessGroup& group) {
      NamedVars p;
      for (const auto& [name, parameter] : half) p.emplace(name, Var(parameter.tensor().detach()));
      DataParallel optimizer(p, kSettings, group);
      optimizer.restore(source_of(saved, "test"), kSteps / 2);
      train(group, optimizer, p, kSteps / 2, kSteps);
      expect_near(values_of(p), values_of(alone));
    });
}

TEST(DataParallel, RefusesStatesAndCallsThatDoNotFit) {
  const NamedVars p = parameters(0);
  DataParallel optimizer(p, kSettings, {});
  EXPECT_ERROR(optimizer.step(1), kInvalidArgument, "DataParallel::step: expected a call of");
  EXPECT_ERROR(optimizer.restore(source_of(NamedTensors{}, "file"), 0), kFormat,
               "file: no tensor is named \"mean.");
  EXPECT_ERROR(DataParallel(p, kSettings, {}, {.bucket_bytes = 0}), kInvalidArgument,
               "expected bucket_bytes of at least 1, got 0");
}

TEST(DataParallel, ARankThatFailsInBackwardLeavesTheOthersWithItsName) {
  const auto failures = test::run_ranks(2, [](ProcessGroup& group) {
    const NamedVars p = parameters(0);
    DataParallel optimizer(p, kSettings, group, {.bucket_bytes = 1});
    const Tensor loss = loss_of(p, 0, 0, kBatch);
    // Rank 1's loss is not a scalar.
    optimizer.backward(group.rank() == 0 ? loss : p.at("bias").tensor() * 2);
  });
  EXPECT_TRUE(test::has(failures[0], "rank 1 has left the group")) << failures[0];
  EXPECT_TRUE(test::has(failures[1], "backward: expected a scalar")) << failures[1];
}

}  // namespace
}  // namespace wick
