// Models whose weights several ranks share: ranks are threads here, processes in cli_test.
#include "wick/models/tensor_parallel.h"

#include "../dist/ranks.h"
#include "../drawn_model.h"
#include "../exact_activations.h"
#include "../expect.h"
#include "../generate/letters_model.h"
#include "../temporary_folder.h"
#include "logits.h"
#include "models/decoder/parallel_decoder.h"
#include "wick/generate/chat.h"
#include "wick/generate/engine.h"
#include "wick/generate/session.h"
#include "wick/io/safetensors.h"
#include "wick/load/load_model.h"
#include "wick/load/quantize.h"
#include "wick/nn/ranks.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/create.h"

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
    test::expect_logits(*model.model, texts(), logits(), kNear);
  });
}

TEST_P(TensorParallel, ReadsTextsInPartsAndInBlocks) {
  lead([&](const LanguageModel& model) {
    test::expect_logits_by_halves_and_steps(*model.model, texts(), logits(), kNear);
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
    ::testing::Values(
        Case{"llama/grouped", 2}, Case{"llama/grouped", 2, "emu:32"}, Case{"decoders/qwen3", 2},
        Case{"decoders/qwen3", 3}, Case{"decoders/qwen3", 3, "emu:32"},
        Case{"decoders/qwen3", 4, "emu:64"}, Case{"decoders/qwen2", 2}, Case{"decoders/mixtral", 2},
        Case{"decoders/mixtral", 3, "emu:32"}, Case{"decoders/qwen2_moe", 2},
        Case{"decoders/qwen3_moe", 2, "emu:32"}, Case{"decoders/gpt_oss", 2},
        Case{"decoders/glm4_moe", 2}, Case{"decoders/llama4", 2}, Case{"decoders/gemma2", 2},
        Case{"decoders/gemma3", 2, "emu:32"}, Case{"decoders/gemma4", 2},
        Case{"decoders/gemma4_moe", 2}, Case{"decoders/falcon", 2},
        Case{"decoders/falcon_alibi", 2}, Case{"decoders/falcon_grouped", 2},
        Case{"decoders/gpt2", 2}, Case{"decoders/gpt2", 3}, Case{"decoders/phi", 2},
        Case{"decoders/phi3", 2}, Case{"decoders/cohere2", 2}, Case{"decoders/mistral_window", 2},
        Case{"decoders/phi3_longrope_long", 2}, Case{"decoders/ernie4_5_moe_bias", 2},
        Case{"decoders/granitemoe", 2}, Case{"decoders/seed_oss", 2}, Case{"decoders/olmo2", 2},
        Case{"decoders/olmo3", 3}, Case{"decoders/minimax_m2", 2},
        Case{"decoders/olmoe", 2, "emu:32"}, Case{"decoders/deepseek_v2", 2},
        Case{"decoders/deepseek_v3", 2, "emu:32"}, Case{"decoders/mistral4", 2}));

// ---- quantized weights

struct Quantized {
  const char* type;
  int ranks;
  const char* device = "cpu";
  bool tied = false;
};
void PrintTo(const Quantized& c, std::ostream* out) {
  *out << c.type << " " << c.ranks << " " << c.device << (c.tied ? " tied" : "");
}

/// Two key heads of four query heads, rows of 256 to 768 elements, and tokens that no number of
/// ranks divides.
DecoderConfig config_of(const Quantized& c) {
  return {.vocab_size = 101,
          .hidden_size = 256,
          .intermediate_size = 768,
          .num_hidden_layers = 2,
          .num_attention_heads = 8,
          .num_key_value_heads = 2,
          .head_dim = 64,
          .max_position_embeddings = 64,
          .tie_word_embeddings = c.tied};
}

class QuantizedTensorParallel : public ::testing::TestWithParam<Quantized> {};

TEST_P(QuantizedTensorParallel, GivesTheLogitsAndTokensOfOneProcess) {
  const ExactActivations exact;
  const test::TemporaryFolder folder;
  test::write_drawn_model(folder.path(), config_of(GetParam()), 5);
  const std::string path = folder.file("model.gguf");
  quantize_model(folder.path(), path, GetParam().type);
  const std::vector<int64_t> ids = {3, 100, 41, 59, 26, 53, 58, 97};
  const auto logits_of = [&](const LanguageModel& model) {
    const Device device = model.model->options().device;
    const int64_t t = int64_t(ids.size());
    return model.model->forward(Tensor::from(ids, {1, t}, device), positions_from_0(1, t, device))
        .to(Device::cpu());
  };
  const LanguageModel whole = load(path, GetParam().device);
  const Tensor expected = logits_of(whole);
  const std::vector<int64_t> expected_ids = continued(whole, ids);
  lead(GetParam().ranks, path, GetParam().device, [&](const LanguageModel& model) {
    EXPECT_LT(largest_difference(logits_of(model), expected), 1e-5);
    EXPECT_EQ(continued(model, ids), expected_ids);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Ranks, QuantizedTensorParallel,
    ::testing::Values(Quantized{"q4_0", 2}, Quantized{"q4_0", 3}, Quantized{"q4_0", 2, "emu:32"},
                      Quantized{"q4_k_m", 2}, Quantized{"q4_k_m", 3},
                      Quantized{"q4_k_m", 2, "cpu", true}, Quantized{"q4_k_m", 3, "emu:32", true},
                      Quantized{"q8_0", 3, "cpu", true}, Quantized{"bf16", 3}));

TEST(TensorParallel, NamesTheBlocksThatAreTooFew) {
  const test::TemporaryFolder folder;
  test::write_drawn_model(folder.path(), config_of({}), 5);
  const std::string path = folder.file("model.gguf");
  quantize_model(folder.path(), path, "q4_k_m");
  const std::vector<std::string> failures =
      test::run_ranks(4, [&](ProcessGroup& group) { (void)load(path, "cpu", group); });
  for (const std::string& failure : failures)
    EXPECT_EQ(
        failure,
        "invalid argument: tensor parallel: model.layers.0.mlp.down_proj.weight: 768 columns, "
        "in blocks of 256, are too few for 4 ranks");
}

// ---- errors

TEST(TensorParallel, GoesOnAfterACallThatFailsOnAllRanks) {
  lead(3, golden("decoders/qwen3"), "cpu", [](const LanguageModel& model) {
    const auto forward = [&](int64_t tokens, int64_t id) {
      const Tensor ids = full({1, tokens}, id, {.dtype = DType::kI64});
      return model.model->forward(ids, positions_from_0(1, tokens, Device::cpu()));
    };
    const Tensor before = forward(4, 7);
    EXPECT_ERROR(forward(65, 7), kOutOfRange, "a text of 65 tokens exceeds the 64 positions");
    EXPECT_ERROR(forward(4, 48).item<float>(), kOutOfRange, "48");
    EXPECT_ERROR(forward(4, -1).item<float>(), kOutOfRange, "-1");
    EXPECT_EQ(largest_difference(forward(4, 7), before), 0);
  });
}

TEST(TensorParallel, EndsWhenOneRankFailsAlone) {
  const std::vector<std::string> failures = test::run_ranks(2, [](ProcessGroup& group) {
    const LanguageModel model =
        load_model(golden("decoders/qwen3"), {.device = Device::cpu(),
                                              .dtype = DType::kF32,
                                              .positions = group.rank() == 1 ? 4 : 64,
                                              .group = group});
    if (group.rank() == 1) return follow(*model.model);
    const Tensor ids = full({1, 8}, 7, {.dtype = DType::kI64});
    (void)model.model->forward(ids, positions_from_0(1, 8, Device::cpu()));
  });
  EXPECT_TRUE(test::has(failures[0], "rank 1 calls broadcast")) << failures[0];
  EXPECT_TRUE(test::has(failures[1], "a text of 8 tokens exceeds the 4 positions")) << failures[1];
}

TEST(TensorParallel, NamesARankThatLeaves) {
  const std::vector<std::string> failures = test::run_ranks(3, [](ProcessGroup& group) {
    const LanguageModel model = load(golden("decoders/qwen3"), "cpu", group);
    if (group.rank() == 2) return;
    if (group.rank() == 1) return follow(*model.model);
    const Tensor ids = full({1, 8}, 7, {.dtype = DType::kI64});
    (void)model.model->forward(ids, positions_from_0(1, 8, Device::cpu()));
  });
  for (const int rank : {0, 1})
    EXPECT_TRUE(test::has(failures[size_t(rank)], "rank 2 has left the group"))
        << failures[size_t(rank)];
}

TEST(TensorParallel, RefusesModelsThatRanksCannotShare) {
  for (const auto& [name, part] :
       {std::pair("decoders/mamba2", "Mamba layers keep a state"),
        {"decoders/recurrent_gemma", "recurrent layers keep a state"},
        {"decoders/lfm2", "layers of short convolutions keep a state"},
        {"decoders/qwen3_next", "layers of the gated delta rule keep a state"},
        {"mamba", "several ranks cannot share a model of type mamba"}}) {
    const std::vector<std::string> failures =
        test::run_ranks(2, [&](ProcessGroup& group) { (void)load(golden(name), "cpu", group); });
    for (const std::string& failure : failures) {
      EXPECT_TRUE(test::has(failure, "unsupported: tensor parallel: ")) << failure;
      EXPECT_TRUE(test::has(failure, part)) << failure;
    }
  }
}

TEST(TensorParallel, TakesCallsOnRank0Alone) {
  expect_ranks(2, [](ProcessGroup& group) {
    const LanguageModel model = load(golden("decoders/qwen3"), "cpu", group);
    if (group.rank() == 0) {
      EXPECT_ERROR(follow(*model.model), kInvalidArgument, "rank 0 follows no other rank");
    } else {
      EXPECT_ERROR(Session(*model.model), kInvalidArgument, "rank 0 alone takes calls");
    }
  });
  const LanguageModel alone = load(golden("decoders/qwen3"), "cpu");
  EXPECT_FALSE(follows(*alone.model));
  EXPECT_ERROR(follow(*alone.model), kInvalidArgument, "expected a model that ranks share");
}

// ---- graphs

/// Ranks whose exchanges of a card's tensors can be captured, as they move no bytes: each rank has
/// its own values, and the numbers of a model are wrong, but the same in every run.
class CapturableRanks final : public Ranks {
 public:
  explicit CapturableRanks(const ProcessGroup& group) : group_(group) {}

  int rank() const override { return group_.rank(); }
  int count() const override { return group_.world_size(); }
  Tensor sum(const Tensor& x) const override {
    if (x.device().is_cpu()) return group_.all_reduce(x);
    return x + x;
  }
  Tensor concatenated(const Tensor& x) const override { return cat({x, x}, -1); }
  Tensor of_first(const Tensor& x) const override { return rank() == 0 ? x : zeros_like(x); }
  void send(const std::vector<int64_t>& numbers) const override {
    Tensor message = Tensor::from(std::vector<int64_t>{int64_t(numbers.size())});
    (void)group_.broadcast(message);
    (void)group_.broadcast(Tensor::from(numbers));
  }
  std::vector<int64_t> receive() const override {
    const auto received = [&](int64_t size) {
      return group_.broadcast(Tensor::empty({size}, {.dtype = DType::kI64})).to_vector<int64_t>();
    };
    messages++;
    return received(received(1)[0]);
  }

  mutable int64_t messages = 0;  // received

 private:
  const ProcessGroup group_;
};

TEST(TensorParallel, RanksCaptureStepsTogether) {
  const std::string path = golden("decoders/qwen3");
  const DecoderConfig config = load_config(path);
  const TensorSource tensors =
      decoder_tensors(SafetensorsReader(path + "/model.safetensors").source(), config);
  int64_t steps = 0, graph_steps = 0, messages = 0;
  expect_ranks(2, [&](ProcessGroup& group) {
    const auto ranks = std::make_shared<CapturableRanks>(group);
    Parameters parameters(tensors, {.device = Device::parse("emu:32"), .ranks = ranks});
    const ParallelDecoder model(config, parameters, 0);
    if (group.rank() > 0) {
      model.follow();
      messages = ranks->messages;
      return;
    }
    const auto ids_of = [&](bool graphs) {
      Session session(model, {.capacity = 64, .sampling = {.temperature = 0}, .graphs = graphs});
      session.append({3, 1, 4, 1, 5});
      std::vector<int64_t> ids;
      for (int i = 0; i < 20; i++) ids.push_back(session.step()[0]);
      steps += 20;
      graph_steps += session.graph_steps();
      EXPECT_EQ(session.why_no_graph(), graphs ? "" : "graphs is false");
      return ids;
    };
    EXPECT_EQ(ids_of(true), ids_of(false));
  });
  EXPECT_GT(graph_steps, 10);
  // Of a step: a change of the cache and a launch, or the hidden states and the logits.
  EXPECT_LT(messages, 2 * graph_steps + 3 * (steps - graph_steps) + 20);
}

TEST(TensorParallel, StepsWhoseExchangesCannotBeCapturedAreQueuedKernelByKernel) {
  lead(2, golden("decoders/qwen3"), "emu:32", [](const LanguageModel& model) {
    Session session(*model.model, {.capacity = 64, .sampling = {.temperature = 0}});
    session.append({3, 1, 4, 1, 5});
    for (int i = 0; i < 8; i++) (void)session.step();
    EXPECT_EQ(session.graph_steps(), 0);
    EXPECT_FALSE(session.why_no_graph().empty());
  });
}

}  // namespace
}  // namespace wick
