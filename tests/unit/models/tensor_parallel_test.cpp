// Models whose weights several ranks share: ranks are threads here, processes in cli_test.
#include "wick/models/tensor_parallel.h"

#include "../dist/ranks.h"
#include "../exact_activations.h"
#include "../expect.h"
#include "../generate/letters_model.h"
#include "../temporary_folder.h"
#include "logits.h"
#include "wick/generate/chat.h"
#include "wick/generate/engine.h"
#include "wick/generate/session.h"
#include "wick/io/safetensors.h"
#include "wick/load/convert.h"
#include "wick/load/load_model.h"
#include "wick/load/quantize.h"
#include "wick/ops/autograd.h"

namespace wick {
namespace {

using test::expect_ranks;
using test::largest_difference;
using test::next_tokens;

std::string golden(const std::string& name) { return std::string(WICK_GOLDEN) + "/" + name; }

LanguageModel load(const std::string& path, const char* device,
                   const std::optional<ProcessGroup>& group = {}) {
  return load_model(path, {.device = Device::parse(device), .dtype = DType::kF32, .group = group});
}

/// Calls f with the model on rank 0, which the other ranks follow.
void lead(int ranks, const std::string& path, const char* device,
          const std::function<void(const LanguageModel&)>& f) {
  expect_ranks(ranks, [&](ProcessGroup& group) {
    const LanguageModel model = load(path, device, group);
    EXPECT_EQ(follows(*model.model), group.rank() > 0);
    if (group.rank() > 0)
      follow(*model.model);
    else
      f(model);
  });
}

constexpr double kNear = 1e-4;  // of logits of size 10 to 50, beside transformers' own

struct Case {
  const char* model;
  int ranks;
  const char* device = "cpu";
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.model << " " << c.ranks << " " << c.device;
}

class TensorParallel : public ::testing::TestWithParam<Case> {
 protected:
  const std::string path = golden(GetParam().model);
  const char* const device = GetParam().device;
  const ExactActivations exact = {};
  const NamedTensors expected = load_safetensors(path + "/expected.safetensors");
  LanguageModel whole() const { return load(path, "cpu"); }
  void lead(const std::function<void(const LanguageModel&)>& f) const {
    wick::lead(GetParam().ranks, path, device, f);
  }
  std::vector<std::vector<int64_t>> texts() const {
    std::vector<std::vector<int64_t>> all;
    for (int row = 0; row < 3; row++)
      all.push_back(expected.at("ids." + std::to_string(row)).to_vector<int64_t>());
    return all;
  }
  std::vector<Tensor> logits() const {
    std::vector<Tensor> all;
    for (int row = 0; row < 3; row++) all.push_back(expected.at("logits." + std::to_string(row)));
    return all;
  }
};

TEST_P(TensorParallel, GivesTransformersLogits) {
  lead([&](const LanguageModel& model) {
    const Device on = model.model->options().device;
    for (size_t row = 0; row < 3; row++) {
      const std::vector<int64_t> ids = texts()[row];
      const int64_t t = int64_t(ids.size());
      const Tensor got =
          model.model->forward(Tensor::from(ids, {1, t}, on), positions_from_0(1, t, on));
      EXPECT_LT(largest_difference(squeeze(got, 0), logits()[row]), kNear);
    }
  });
}

TEST_P(TensorParallel, ReadsTextsInPartsAndInBlocks) {
  lead([&](const LanguageModel& model) {
    const NoGrad off;
    const std::vector<std::vector<int64_t>> rows = texts();
    const std::vector<Tensor> expected_logits = logits();
    for (const int64_t block : {0, 4}) {
      const auto cache =
          model.model->make_cache({.sequences = 3, .capacity = 64, .chunk = 5, .block = block});
      std::vector<int64_t> at(3, 0);
      const auto read = [&](const std::vector<int64_t>& counts) {
        const TokenBatch batch = next_tokens(rows, at, counts, model.model->options().device);
        const Tensor got = model.model->logits(model.model->hidden(batch, cache.get()));
        for (size_t row = 0; row < 3; row++)
          EXPECT_LT(largest_difference(narrow(got, 0, batch.offsets[row], counts[row]),
                                       narrow(expected_logits[row], 0, at[row], counts[row])),
                    kNear)
              << "row " << row << ", position " << at[row];
      };
      std::vector<int64_t> halves;
      for (const auto& row : rows) halves.push_back(int64_t(row.size()) / 2);
      read(halves);
      at = halves;
      for (int step = 0; step < 3; step++) {
        read({1, 1, 1});
        for (size_t row = 0; row < 3; row++)  // those that have ended read their last token again
          if (at[row] + 1 < int64_t(rows[row].size())) at[row]++;
      }
    }
  });
}

/// Tokens of a session that goes back.
std::vector<int64_t> continued(const LanguageModel& model, const std::vector<int64_t>& prompt) {
  Session session(*model.model, {.capacity = 64, .chunk = 3, .sampling = {.temperature = 0}});
  session.append(prompt);
  std::vector<int64_t> ids;
  for (int i = 0; i < 6; i++) ids.push_back(session.step()[0]);
  session.rewind(int64_t(prompt.size()) + 2);
  for (int i = 0; i < 6; i++) ids.push_back(session.step()[0]);
  return ids;
}

TEST_P(TensorParallel, ContinuesTextsAsOneProcessDoes) {
  const std::vector<int64_t> expected_ids = continued(whole(), texts()[0]);
  lead([&](const LanguageModel& model) { EXPECT_EQ(continued(model, texts()[0]), expected_ids); });
}

TEST_P(TensorParallel, GeneratesInTheSlotsOfAnEngine) {
  const LanguageModel letters = test::letters_model();
  const auto ids_of = [&](LanguageModel model) {
    model.tokenizer = letters.tokenizer;
    Engine engine(model, {.sequences = 2, .capacity = 64, .chunk = 4});
    std::vector<EngineStream> streams;
    for (const std::vector<int64_t>& prompt : texts())
      streams.push_back(engine.submit({.prompt = prompt,
                                       .sampling = {.temperature = 0},
                                       .max_tokens = 5,
                                       .stop_ids = std::vector<int64_t>()}));
    std::vector<std::vector<int64_t>> all;
    for (EngineStream& stream : streams) all.push_back(stream.finish().ids);
    return all;
  };
  const std::vector<std::vector<int64_t>> expected_ids = ids_of(whole());
  lead([&](const LanguageModel& model) { EXPECT_EQ(ids_of(model), expected_ids); });
}

TEST_P(TensorParallel, LoadsAPartOfTheWeightsOnEachRank) {
  const auto size_of = [](const LanguageModel& model) {
    int64_t elements = 0;
    for (const auto& [name, info] : model.weights) elements += numel(info.shape);
    return elements;
  };
  const int64_t all = size_of(whole());
  expect_ranks(GetParam().ranks, [&](ProcessGroup& group) {
    const LanguageModel model = load(path, device, group);
    // Norms and routers are on every rank, and key heads may be on several.
    EXPECT_LT(size_of(model), all * 3 / 4) << "rank " << group.rank();
    if (group.rank() > 0) follow(*model.model);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Ranks, TensorParallel,
    ::testing::Values(Case{"llama/grouped", 2}, Case{"llama/grouped", 2, "emu:32"},
                      Case{"decoders/qwen3", 2}, Case{"decoders/qwen3", 3},
                      Case{"decoders/qwen3", 3, "emu:32"}, Case{"decoders/qwen3", 4, "emu:64"},
                      Case{"decoders/qwen2", 2}, Case{"decoders/mixtral", 2},
                      Case{"decoders/mixtral", 3, "emu:32"}, Case{"decoders/qwen2_moe", 2},
                      Case{"decoders/qwen3_moe", 2, "emu:32"}, Case{"decoders/gpt_oss", 2},
                      Case{"decoders/glm4_moe", 2}, Case{"decoders/llama4", 2},
                      Case{"decoders/gemma2", 2}, Case{"decoders/gemma3", 2, "emu:32"},
                      Case{"decoders/gemma4", 2}, Case{"decoders/gemma4_moe", 2},
                      Case{"decoders/falcon", 2}, Case{"decoders/falcon_alibi", 2},
                      Case{"decoders/falcon_grouped", 2}, Case{"decoders/gpt2", 2},
                      Case{"decoders/gpt2", 3}, Case{"decoders/phi", 2}, Case{"decoders/phi3", 2},
                      Case{"decoders/cohere2", 2}, Case{"decoders/mistral_window", 2},
                      Case{"decoders/phi3_longrope_long", 2}, Case{"decoders/ernie4_5_moe_bias", 2},
                      Case{"decoders/granitemoe", 2}, Case{"decoders/seed_oss", 2}));

}  // namespace
}  // namespace wick
