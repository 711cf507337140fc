#include "wick/generate/session.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "../expect.h"
#include "../recorder.h"
#include "../small_config.h"
#include "letters_model.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/sample.h"
#include "wick/core/backend.h"
#include "wick/ops/autograd.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/random.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

/// Plain: as llama. Rich: with every switch that changes what a step computes.
enum class Switches { kPlain, kRich };

Decoder small_decoder(const Device& device, Switches switches = Switches::kPlain) {
  device.set_seed(11);
  DecoderConfig config = test::small_config();
  config.vocab_size = 32, config.hidden_size = 16, config.intermediate_size = 24;
  config.num_hidden_layers = 2, config.num_key_value_heads = 2, config.head_dim = 8;
  config.max_position_embeddings = 300, config.initializer_range = 0.5;
  if (switches == Switches::kRich) {
    config.layer_types = {LayerType::kSliding, LayerType::kFull}, config.sliding_window = 40;
    config.rope_local_base_freq = 100, config.qk_norm = QkNorm::kHead, config.rotary_dim = 4;
    config.norm_places = NormPlaces::kBoth, config.norm_adds_one = true;
    config.embedding_scale = 4, config.residual_multiplier = 0.5, config.clip_qkv = 20;
    config.attn_logit_softcapping = 20, config.final_logit_softcapping = 30;
  }
  Parameters parameters({.device = device});
  return Decoder(config, parameters);
}

/// The tokens that follow the prompt in an empty session.
std::vector<int64_t> write(Session& session, const std::vector<int64_t>& prompt, int tokens) {
  session.rewind(0);
  session.append(prompt);
  std::vector<int64_t> ids;
  while (int(ids.size()) < tokens) ids.push_back(session.step()[0]);
  return ids;
}

TEST(Session, GreedyTokensAreThoseOfTheWholeTextReadAnew) {
  const Decoder decoder = small_decoder(Device::cpu());
  Session session(decoder, {.sampling = {.temperature = 0}});
  std::vector<int64_t> text = {3, 1, 4};
  const NoGrad off;
  for (const int64_t id : write(session, text, 8)) {
    const int64_t t = int64_t(text.size());
    const Tensor logits =
        decoder.forward(Tensor::from(text, {1, t}), positions_from_0(1, t, Device::cpu()));
    const auto last = narrow(squeeze(logits, 0), 0, t - 1, 1).to_vector<float>();
    EXPECT_EQ(id, std::max_element(last.begin(), last.end()) - last.begin());
    text.push_back(id);
  }
}

TEST(Session, TheSameSeedWritesTheSameText) {
  const Decoder decoder = small_decoder(Device::cpu());
  const auto text = [&](uint64_t seed) {
    Device::cpu().set_seed(seed);
    Session session(decoder, {.sampling = {.temperature = 1}});
    return write(session, {1}, 40);
  };
  EXPECT_EQ(text(5), text(5));
  EXPECT_NE(text(5), text(6));
}

TEST(Session, WithASeedItWritesTheSameTextWhateverElseDraws) {
  const Decoder decoder = small_decoder(Device::cpu());
  const auto text = [&](uint64_t seed, bool disturbed) {
    Session session(decoder, {.seed = seed});
    std::vector<int64_t> ids;
    for (int i = 0; i < 3; i++) {
      const auto more = write(session, {1}, 100);
      ids.insert(ids.end(), more.begin(), more.end());
      if (disturbed) (void)rand({5});
    }
    return ids;
  };
  const std::vector<int64_t> expected = text(5, false);
  EXPECT_EQ(text(5, true), expected);
  EXPECT_NE(text(7, false), expected);
  // A text that is written again is another one.
  EXPECT_FALSE(std::equal(expected.begin(), expected.begin() + 100, expected.begin() + 100));
}

/// Three sequences with settings that differ in everything.
const std::vector<Sampling> kSamplings = {
    {.temperature = 1.5, .top_k = 20, .repetition_penalty = 1.2, .logit_bias = {{5, 2}}},
    {.temperature = 0.7, .top_p = 0.9, .frequency_penalty = 0.1},
    {.temperature = 0, .presence_penalty = 0.5, .logit_bias = {{7, -1}, {8, -HUGE_VAL}, {9, 1}}}};
const std::vector<std::vector<int64_t>> kPrompts = {{3, 1, 4}, {9, 2}, {7, 7, 7, 1, 6}};

class SampledSequences : public ::testing::TestWithParam<const char*> {
 protected:
  const Decoder decoder = small_decoder(Device::parse(GetParam()));
};

TEST_P(SampledSequences, WriteTogetherWhatTheyWriteAlone) {
  std::vector<SequenceOptions> each;
  for (const Sampling& sampling : kSamplings) each.push_back({.sampling = sampling});
  each[1].seed = 99;
  for (const bool graphs : {true, false}) {
    Session together(decoder, {.sequences = 3, .each = each, .seed = 40, .graphs = graphs});
    together.append_each(kPrompts);
    for (int i = 0; i < 16; i++) together.step();
    for (size_t b = 0; b < 3; b++) {
      const uint64_t seed = each[b].seed.value_or(40 + b);
      Session alone(decoder, {.sampling = kSamplings[b], .seed = seed, .graphs = !graphs});
      alone.append(kPrompts[b]);
      for (int i = 0; i < 16; i++) alone.step();
      EXPECT_EQ(together.history(int64_t(b)), alone.history()) << b;
    }
  }
}

TEST_P(SampledSequences, OfOnePromptDrawOtherTokensBySeed) {
  Session session(decoder, {.sequences = 3, .seed = 1});
  session.append_each({{5}, {5}, {5}});
  for (int i = 0; i < 20; i++) session.step();
  EXPECT_NE(session.history(0), session.history(1));
  EXPECT_NE(session.history(1), session.history(2));
}

TEST_P(SampledSequences, ChangeTheirSamplingAndMaskAtAnyStep) {
  std::vector<std::vector<int64_t>> texts;
  for (const bool graphs : {true, false}) {
    Session session(decoder, {.sequences = 2, .seed = 6, .graphs = graphs});
    session.append_each({{1, 2}, {3}});
    const auto steps = [&](int count) {
      std::vector<int64_t> ids;
      const int64_t before = session.graph_steps();
      for (int i = 0; i < count; i++)
        for (const int64_t id : session.step()) ids.push_back(id);
      if (session.why_no_graph().empty()) {
        EXPECT_GE(session.graph_steps(), before + count - 2);
      }
      return ids;
    };
    steps(8);
    const int64_t captured = session.graph_steps();
    session.set_sampling({.temperature = 0});  // without another capture
    steps(1);
    if (session.why_no_graph().empty()) {
      EXPECT_EQ(session.graph_steps(), captured + 1);
    }
    steps(7);
    session.set_sampling({.temperature = 0.9, .logit_bias = {{4, 50}}}, 1);
    const std::vector<int64_t> biased = steps(4);
    for (size_t i = 1; i < biased.size(); i += 2) EXPECT_EQ(biased[i], 4);
    session.set_mask(Tensor::from(std::vector<uint32>{0x80000001u, 0x00000110u}, {2, 1}));
    std::set<int64_t> first, second;
    const std::vector<int64_t> masked = steps(20);
    for (size_t i = 0; i < masked.size(); i++) (i % 2 == 0 ? first : second).insert(masked[i]);
    for (const int64_t id : first) EXPECT_TRUE(id == 0 || id == 31) << id;
    for (const int64_t id : second) EXPECT_TRUE(id == 4 || id == 8) << id;
    session.set_mask({});
    session.set_sampling({.temperature = 3}, 0);
    session.set_sampling({.temperature = 3}, 1);
    const std::vector<int64_t> free = steps(20);
    EXPECT_GT(std::set<int64_t>(free.begin(), free.end()).size(), 4u);
    for (const int64_t b : {0, 1}) texts.push_back(session.history(b));
  }
  EXPECT_EQ(texts[0], texts[2]);
  EXPECT_EQ(texts[1], texts[3]);
}

INSTANTIATE_TEST_SUITE_P(Devices, SampledSequences, ::testing::Values("cpu", "emu:32"));

TEST(Session, RejectsSamplingThatDoesNotFit) {
  Session session(small_decoder(Device::cpu()), {.sequences = 2});
  EXPECT_ERROR(session.set_sampling({.top_p = 2}), kInvalidArgument, "top_p: expected a number");
  EXPECT_ERROR(session.set_sampling({.logit_bias = {{32, 1}}}), kInvalidArgument,
               "logit_bias: expected ids of the vocabulary, got 32");
  EXPECT_ERROR(session.set_sampling({}, 2), kOutOfRange, "sequence 2 of 2");
  EXPECT_ERROR(session.set_mask(zeros({2, 2}, {.dtype = DType::kI32})), kShapeMismatch,
               "set_mask: expected [2, 1], got [2, 2]");
  EXPECT_ERROR(session.set_mask(zeros({2, 1})), kDTypeMismatch,
               "set_mask: expected i32 or u32, got f32");
}

TEST(Session, RowsOfABatchAreThoseWrittenAlone) {
  const Decoder decoder = small_decoder(Device::cpu());
  Session together(decoder, {.sequences = 2, .chunk = 2, .sampling = {.temperature = 0}});
  Session alone(decoder, {.sampling = {.temperature = 0}});
  const std::vector<std::vector<int64_t>> prompts = {{7, 7, 2, 9, 30}, {4}};
  together.append_each(prompts);
  std::vector<std::vector<int64_t>> rows(2);
  for (int i = 0; i < 6; i++) {
    const auto tokens = together.step();
    for (size_t row = 0; row < 2; row++) rows[row].push_back(tokens[row]);
  }
  for (size_t row = 0; row < 2; row++) {
    EXPECT_EQ(rows[row], write(alone, prompts[row], 6));
    EXPECT_EQ(together.history(int64_t(row)), alone.history());
  }
}

TEST(Session, AppendingGoesOnWhereSamplingEnded) {
  const Decoder decoder = small_decoder(Device::cpu());
  Session whole(decoder, {.sampling = {.temperature = 0}});
  Session parts(decoder, {.chunk = 2, .sampling = {.temperature = 0}});
  parts.append({3, 1, 4});
  const int64_t first = parts.step()[0], second = parts.step()[0];
  parts.append({1, 5, 9});
  const auto after = [](Session& session) {
    std::vector<int64_t> ids;
    for (int i = 0; i < 5; i++) ids.push_back(session.step()[0]);
    return ids;
  };
  const auto written = after(parts);
  EXPECT_EQ(written, write(whole, {3, 1, 4, first, second, 1, 5, 9}, 5));
  EXPECT_EQ(parts.length(), 13);
  EXPECT_EQ(parts.history(), whole.history());
  // Back to a part of what was given, and on by the same tokens or by others.
  parts.rewind(4);
  EXPECT_EQ(parts.history(), (std::vector<int64_t>{3, 1, 4, first}));
  EXPECT_EQ(parts.step()[0], second);
  parts.append({1, 5, 9});
  EXPECT_EQ(after(parts), written);
  parts.rewind(1);
  parts.append({8});
  EXPECT_EQ(after(parts), write(whole, {3, 8}, 5));
}

TEST(Session, OneSequenceGoesOnWhileAnotherWaits) {
  const Decoder decoder = small_decoder(Device::cpu());
  Session alone(decoder, {.sampling = {.temperature = 0}});
  const auto first = write(alone, {7, 2}, 6), second = write(alone, {4, 4, 4}, 8);
  Session session(decoder,
                  {.sequences = 2, .sampling = {.temperature = 0}, .stop_ids = {{first[2]}}});
  session.append_each({{7, 2}, {4, 4, 4}});
  ASSERT_EQ(std::count(second.begin(), second.end(), first[2]), 0);  // else the test shows nothing
  std::vector<int64_t> other;
  for (int i = 0; i < 8; i++) {
    const auto tokens = session.step();
    EXPECT_EQ(tokens[0], first[size_t(std::min(i, 2))]);
    other.push_back(tokens[1]);
  }
  EXPECT_TRUE(session.stopped(0));
  EXPECT_FALSE(session.stopped(1));
  EXPECT_EQ(session.length(0), 5);
  EXPECT_EQ(other, second);
  session.append_each({{9}, {}});  // the stopped one goes on
  EXPECT_FALSE(session.stopped(0));
  const auto next = session.step();
  std::vector<int64_t> text = {7, 2, first[0], first[1], first[2], 9};
  EXPECT_EQ(next[0], write(alone, text, 1)[0]);
}

TEST(Session, TheHookReceivesTheLogitsAndChoosesThoseToSampleFrom) {
  const Decoder decoder = small_decoder(Device::cpu());
  Shape shape;
  Session session(decoder, {.sampling = {.temperature = 0}, .on_logits = [&](const Tensor& logits) {
                              shape = logits.shape();
                              return neg(logits);
                            }});
  session.append({3});
  const int64_t id = session.step()[0];
  EXPECT_EQ(shape, Shape({1, 32}));
  const NoGrad off;
  const auto logits = decoder
                          .forward(Tensor::from(std::vector<int64_t>{3}, {1, 1}),
                                   positions_from_0(1, 1, Device::cpu()))
                          .to_vector<float>();
  EXPECT_EQ(id, std::min_element(logits.begin(), logits.end()) - logits.begin());
}

// Layers with a state or a window have read a token of the step that failed.
TEST(Session, GoesOnAfterAStepThatFailed) {
  for (const char* name : {"decoders/llama_linear", "decoders/recurrent_gemma",
                           "decoders/mistral_window", "decoders/qwen3_next"}) {
    const LanguageModel model = test::letters_model(name);
    const auto ids_of = [&](const std::vector<int>& failing) {
      int call = 0;
      SessionOptions options = test::greedy();
      options.on_logits = [&](const Tensor& logits) {
        const bool fails = std::count(failing.begin(), failing.end(), call++) > 0;
        check(!fails, ErrorCode::kOutOfMemory, "on_logits", "no memory");
        return logits;
      };
      Session session(*model.model, options);
      session.append({1, 2, 3, 4, 5});
      std::vector<int64_t> ids;
      while (ids.size() < 6) {
        try {
          ids.push_back(session.step()[0]);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
        }
      }
      return ids;
    };
    EXPECT_EQ(ids_of({0, 3, 4}), ids_of({})) << name;
  }
}

/// The logits of the next token that sampling sees after bias and penalties, from given ones.
int64_t greedy_of(const std::vector<float>& logits, Sampling sampling,
                  const std::vector<int64_t>& prompt) {
  sampling.temperature = 0;
  Session session(small_decoder(Device::cpu()),
                  {.sampling = sampling, .on_logits = [&](const Tensor&) {
                     std::vector<float> all(32, -100.f);
                     std::copy(logits.begin(), logits.end(), all.begin());
                     return Tensor::from(all, {1, 32});
                   }});
  session.append(prompt);
  return session.step()[0];
}

TEST(Session, PenaltiesAndBiasChangeTheLogitsOfTokensThatOccurred) {
  const std::vector<float> logits = {4, 3, 2, 1};
  EXPECT_EQ(greedy_of(logits, {}, {0}), 0);
  EXPECT_EQ(greedy_of(logits, {.repetition_penalty = 1.3}, {0}), 0);      // 4 / 1.3 > 3
  EXPECT_EQ(greedy_of(logits, {.repetition_penalty = 1.4}, {0}), 1);      // 4 / 1.4 < 3
  EXPECT_EQ(greedy_of({-1, -1.5}, {.repetition_penalty = 1.6}, {0}), 1);  // -1.6 < -1.5
  EXPECT_EQ(greedy_of(logits, {.presence_penalty = 0.9}, {0, 0, 0}), 0);
  EXPECT_EQ(greedy_of(logits, {.presence_penalty = 1.1}, {0, 0, 0}), 1);
  EXPECT_EQ(greedy_of(logits, {.frequency_penalty = 0.4}, {0, 0}), 0);
  EXPECT_EQ(greedy_of(logits, {.frequency_penalty = 0.4}, {0, 0, 0}), 1);
  EXPECT_EQ(greedy_of(logits, {.logit_bias = {{3, 4}}}, {0}), 3);
  EXPECT_EQ(greedy_of(logits, {.logit_bias = {{0, -INFINITY}}}, {0}), 1);
}

TEST(Session, PenaltiesCountSampledTokensAndForgetThoseRewound) {
  const std::vector<float> logits = {4, 3, 2, 1};
  Session session(
      small_decoder(Device::cpu()),
      {.sampling = {.temperature = 0, .presence_penalty = 10}, .on_logits = [&](const Tensor&) {
         std::vector<float> all(32, -100.f);
         std::copy(logits.begin(), logits.end(), all.begin());
         return Tensor::from(all, {1, 32});
       }});
  session.append({9});
  EXPECT_EQ(session.step()[0], 0);
  EXPECT_EQ(session.step()[0], 1);
  EXPECT_EQ(session.step()[0], 2);
  session.rewind(2);
  EXPECT_EQ(session.step()[0], 1);
}

TEST(Session, MinPKeepsTokensNearTheLikeliest) {
  // Probabilities in the ratio 1 : 0.5 : 0.05.
  const std::vector<float> logits = {0, float(std::log(0.5)), float(std::log(0.05))};
  const auto drawn = [&](double min_p) {
    Device::cpu().set_seed(3);
    Session session(small_decoder(Device::cpu()),
                    {.sampling = {.min_p = min_p}, .on_logits = [&](const Tensor&) {
                       std::vector<float> all(32, -100.f);
                       std::copy(logits.begin(), logits.end(), all.begin());
                       return Tensor::from(all, {1, 32});
                     }});
    session.append({9});
    std::set<int64_t> ids;
    for (int i = 0; i < 200; i++) ids.insert(session.step()[0]);
    return ids;
  };
  EXPECT_EQ(drawn(0), (std::set<int64_t>{0, 1, 2}));
  EXPECT_EQ(drawn(0.04), (std::set<int64_t>{0, 1, 2}));
  EXPECT_EQ(drawn(0.06), (std::set<int64_t>{0, 1}));
  EXPECT_EQ(drawn(0.6), (std::set<int64_t>{0}));
}

TEST(Session, StopsAtItsCapacityWithAnError) {
  Session session(small_decoder(Device::cpu()), {.capacity = 5});
  write(session, {1, 2, 3}, 3);
  EXPECT_EQ(session.length(), 6);  // the last token needs no place in the cache
  EXPECT_ERROR(session.step(), kOutOfRange, "length 6 exceeds the capacity 5");
  session.rewind(4);
  EXPECT_ERROR(session.append({1, 2}), kOutOfRange, "4 + 2 tokens exceed the capacity 5");
  EXPECT_ERROR(session.append({32}), kOutOfRange, "id 32 is outside a vocabulary of 32");
  EXPECT_ERROR(session.append({-1}), kOutOfRange, "id -1");
  EXPECT_ERROR(session.append_each({{1}, {2}}), kShapeMismatch,
               "expected 1 lists of tokens, got 2");
  EXPECT_ERROR(session.rewind(5), kOutOfRange, "length 5 of a sequence of 4 tokens");
  EXPECT_ERROR(session.rewind(0, 1), kOutOfRange, "sequence 1 of 1");
  session.rewind(0);
  EXPECT_ERROR(session.append({}), kInvalidArgument,
               "expected at least one token for the empty sequence 0");
  EXPECT_ERROR(session.step(), kInvalidArgument, "sequence 0 is empty");
  write(session, {1}, 2);  // it is good for another text
}

/// small_decoder, whose embedding of token 7 is `value` and spreads to the logits behind it.
Decoder faulty_decoder(float value) {
  DecoderConfig config = small_decoder(Device::cpu()).config();
  Parameters parameters({.trainable = true});
  const Decoder decoder(config, parameters);
  const NoGrad off;
  Var embedding = parameters.vars().at("model.embed_tokens.weight");
  std::vector<float> rows = embedding.tensor().to_vector<float>();
  for (int64_t i = 0; i < config.hidden_size; i++) rows[size_t(7 * config.hidden_size + i)] = value;
  copy_(embedding, Tensor::from(rows, {config.vocab_size, config.hidden_size}));
  return decoder;
}

TEST(Session, LogitsThatAreNotFiniteAreAnErrorThatNamesTheFirstSuchToken) {
  const char* const kText = "step: the logits of token 2 (id 7) are not finite";
  for (const float value : {NAN, INFINITY})
    for (const double temperature : {0.0, 1.0}) {
      Session session(faulty_decoder(value), {.sampling = {.temperature = temperature}});
      session.append({3, 1, 7, 4, 5});
      EXPECT_ERROR(session.step(), kFormat, kText);
      Session other(faulty_decoder(value), {.sampling = {.temperature = temperature}});
      other.append({3, 1, 4, 5});
      EXPECT_GE(other.step()[0], 0);  // texts without the token are good
    }
}

TEST(Session, StepsWithoutWaitingReportLogitsThatAreNotFiniteWhenTheTokensAreRead) {
  Session session(faulty_decoder(NAN));
  session.append({3, 7});
  for (int i = 0; i < 3; i++) session.advance();
  EXPECT_ERROR(session.tokens(), kFormat, "the logits of token 1 (id 7) are not finite");
}

TEST(Session, OneSequenceOfSeveralWithLogitsThatAreNotFiniteIsAnError) {
  Session session(faulty_decoder(NAN), {.sequences = 2, .sampling = {.temperature = 0}});
  session.append_each({{1, 2, 3}, {7}});
  EXPECT_ERROR(session.step(), kFormat, "the logits of token 0 (id 7) are not finite");
}

TEST(Session, AMaskThatAllowsNoIdIsAnErrorThatNamesTheSequence) {
  for (const double temperature : {0.0, 1.0}) {
    Session session(small_decoder(Device::cpu()),
                    {.sequences = 2, .sampling = {.temperature = temperature}});
    session.append_each({{1, 2, 3}, {7}});
    session.set_mask(Tensor::from(std::vector<uint32>{1, 0}, {2, 1}));
    EXPECT_ERROR(session.step(), kInvalidArgument, "step: sequence 1 has no id left to draw");
  }
}

TEST(Session, InfiniteLogitsOfTheHookAreItsOwnAffair) {
  Session session(small_decoder(Device::cpu()), {.on_logits = [](const Tensor& logits) {
                    const Tensor ids = arange(logits.size(1), {.dtype = DType::kI64});
                    return where(ids == 9, logits, full({}, -INFINITY));
                  }});
  session.append({1});
  EXPECT_EQ(session.step(), std::vector<int64_t>{9});
  session.set_mask(Tensor::from(std::vector<uint32>{~(1u << 9)}, {1, 1}));
  EXPECT_ERROR(session.step(), kInvalidArgument, "step: sequence 0 has no id left to draw");
}

/// small_decoder with a trained context of 16 and theta 10000, scaled or not.
Decoder rotated_decoder(double theta, RopeScalingType type, int64_t positions,
                        const Device& device = Device::cpu()) {
  device.set_seed(11);
  DecoderConfig config = test::small_config();
  config.vocab_size = 32, config.hidden_size = 16, config.intermediate_size = 24;
  config.num_hidden_layers = 2, config.num_key_value_heads = 2, config.head_dim = 8;
  config.max_position_embeddings = 16, config.initializer_range = 0.5;
  config.rope_theta = theta;
  config.rope_scaling = {.type = type, .factor = 2, .original_max_position_embeddings = 16};
  Parameters parameters({.device = device});
  return Decoder(config, parameters, positions);
}

/// theta of a text of so many tokens. Source: Peng et al. 2023, arXiv:2309.00071, 3.3.
double dynamic_theta(int64_t length) {
  return length <= 16 ? 10000 : 10000 * std::pow(2.0 * double(length) / 16 - 1, 8.0 / 6);
}

std::vector<int64_t> some_ids(int64_t count) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; i++) ids.push_back((7 * i * i + 3 * i + 5) % 32);
  return ids;
}

std::vector<float> last_logits(const Decoder& decoder, const std::vector<int64_t>& ids) {
  const NoGrad off;
  const int64_t count = int64_t(ids.size());
  const Tensor logits =
      decoder.forward(Tensor::from(ids, {1, count}), positions_from_0(1, count, Device::cpu()));
  return select(squeeze(logits, 0), 0, count - 1).to_vector<float>();
}

TEST(DynamicRope, DependsOnTheLengthOfTheTextAndNotOnThePositionsLoaded) {
  for (const int64_t positions : {40, 64})
    for (const int64_t count : {12, 16, 17, 40}) {
      SCOPED_TRACE(std::to_string(count) + " tokens of " + std::to_string(positions));
      const auto got = last_logits(rotated_decoder(10000, RopeScalingType::kDynamic, positions),
                                   some_ids(count));
      const auto expected = last_logits(
          rotated_decoder(dynamic_theta(count), RopeScalingType::kNone, 64), some_ids(count));
      for (size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], expected[i], 2e-5);
    }
  // The lengths make a difference that such a tolerance sees.
  EXPECT_GT(
      std::abs(last_logits(rotated_decoder(dynamic_theta(40), RopeScalingType::kNone, 64),
                           some_ids(40))[0] -
               last_logits(rotated_decoder(10000, RopeScalingType::kNone, 64), some_ids(40))[0]),
      1e-3);
}

TEST(DynamicRope, OfASessionIsThatOfTheTextsLengthAtEachReading) {
  const Decoder decoder = rotated_decoder(10000, RopeScalingType::kDynamic, 64);
  std::vector<float> seen;
  const auto keep = [&seen](const Tensor& logits) {
    seen = logits.to_vector<float>();
    return logits;
  };
  const auto expect_seen = [&](const std::vector<float>& expected, size_t begin) {
    for (size_t i = 0; i < expected.size(); i++) EXPECT_NEAR(seen[begin + i], expected[i], 2e-5);
  };
  // A text that is appended at once has one base, in whatever chunks it is read. Rows of a batch
  // have their own.
  Session session(decoder, {.sequences = 2,
                            .capacity = 64,
                            .chunk = 7,
                            .sampling = {.temperature = 0},
                            .on_logits = keep});
  session.append_each({some_ids(40), some_ids(10)});
  session.step();
  expect_seen(last_logits(decoder, some_ids(40)), 0);
  expect_seen(last_logits(decoder, some_ids(10)), 32);
  // Keys in the cache keep the frequencies that they were written with.
  const std::vector<int64_t> text = some_ids(30);
  Session growing(decoder, {.capacity = 64, .sampling = {.temperature = 0}, .on_logits = keep});
  growing.append({text.begin(), text.begin() + 20});
  growing.append({text.begin() + 20, text.end()});
  growing.step();
  const NoGrad off;
  const auto cache = decoder.make_cache({.capacity = 64});
  cache->prepare({0}, {30});
  Tensor states;
  for (const auto& [begin, end] : {std::pair(0, 20), {20, 30}}) {
    const std::vector<int64_t> part(text.begin() + begin, text.begin() + end);
    const Tensor at = narrow(positions_from_0(1, 30, Device::cpu()), 1, begin, end - begin);
    states = decoder.hidden(Tensor::from(part, {1, end - begin}), at, cache.get());
  }
  expect_seen(decoder.logits(select(squeeze(states, 0), 0, 9)).to_vector<float>(), 0);
  // A token that is sampled ends its text.
  const int64_t token = growing.tokens()[0];
  growing.step();
  cache->prepare({30}, {31});
  const Tensor at = Tensor::from(std::vector<int64_t>{30}, {1, 1});
  states = decoder.hidden(Tensor::from(std::vector<int64_t>{token}, {1, 1}), at, cache.get(), {31});
  expect_seen(decoder.logits(squeeze(squeeze(states, 0), 0)).to_vector<float>(), 0);
}

/// Layers that slide over 24 positions, and one that does not.
Decoder sliding_decoder(int64_t positions) {
  Device::cpu().set_seed(5);
  DecoderConfig config = test::small_config();
  config.vocab_size = 32, config.hidden_size = 16, config.intermediate_size = 24;
  config.num_hidden_layers = 3, config.num_key_value_heads = 2, config.head_dim = 8;
  config.max_position_embeddings = positions, config.initializer_range = 0.5;
  config.layer_types = {LayerType::kSliding, LayerType::kFull, LayerType::kSliding};
  config.sliding_window = 24;
  Parameters parameters({.device = Device::cpu()});
  return Decoder(config, parameters);
}
std::vector<int64_t> long_text(int64_t count, int64_t seed) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; i++) ids.push_back((i * i * 7 + i / 3 + seed) % 32);
  return ids;
}
void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); i++) EXPECT_NEAR(a[i], b[i], 1e-4) << "at " << i;
}

TEST(WindowCache, ALongTextHasTheLogitsOfTheTextReadAtOnce) {
  const Decoder decoder = sliding_decoder(1200);
  std::vector<float> seen;
  const auto keep = [&](const Tensor& logits) {
    seen = logits.to_vector<float>();
    return logits;
  };
  Session session(decoder,
                  {.sequences = 2, .chunk = 64, .sampling = {.temperature = 0}, .on_logits = keep});
  // Windows hold 24 + 64 + 512 positions, so that all of them move, in each row at another time.
  std::vector<std::vector<int64_t>> texts = {long_text(1100, 1), long_text(700, 2)};
  session.append_each(
      {{texts[0].begin(), texts[0].begin() + 1000}, {texts[1].begin(), texts[1].begin() + 50}});
  session.append_each(
      {{texts[0].begin() + 1000, texts[0].end()}, {texts[1].begin() + 50, texts[1].end()}});
  for (int step = 0; step < 3; step++) {
    const std::vector<int64_t> ids = session.step();
    std::vector<float> expected = last_logits(decoder, texts[0]);
    const std::vector<float> second = last_logits(decoder, texts[1]);
    expected.insert(expected.end(), second.begin(), second.end());
    expect_near(seen, expected);
    for (size_t b = 0; b < 2; b++) texts[b].push_back(ids[b]);
  }
}

TEST(BlocksCache, GivesTheLogitsOfWholeRows) {
  for (const char* name : {"cpu", "emu:32"}) {
    const Device device = Device::parse(name);
    const Decoder decoder = small_decoder(device);
    const NoGrad off;
    const auto blocks = decoder.make_cache({.sequences = 2, .capacity = 60, .block = 8}),
               rows = decoder.make_cache({.sequences = 2, .capacity = 60});
    const std::vector<std::vector<int64_t>> texts = {long_text(40, 1), long_text(40, 2)};
    std::vector<int64_t> at = {0, 0};
    const auto read = [&](const std::vector<int64_t>& counts) {
      TokenBatch batch;
      std::vector<int64_t> ids, positions;
      batch.offsets = {0}, batch.starts = at;
      for (size_t b = 0; b < 2; b++) {
        for (int64_t i = 0; i < counts[b]; i++) {
          ids.push_back(texts[b][size_t(at[b] + i)]);
          positions.push_back(at[b] + i);
        }
        at[b] += counts[b];
        batch.offsets.push_back(int64_t(ids.size()));
      }
      batch.ids = Tensor::from(ids, device), batch.positions = Tensor::from(positions, device);
      expect_near(decoder.hidden(batch, blocks.get()).to_vector<float>(),
                  decoder.hidden(batch, rows.get()).to_vector<float>());
    };
    read({5, 20});
    read({1, 1});
    // Both go on from the second one's text; what they write is their own.
    for (ModelCache* cache : {blocks.get(), rows.get()}) cache->fork(1, 0);
    at[0] = at[1];
    EXPECT_EQ(blocks->free_blocks(), 16 - 3);
    read({2, 3});
    EXPECT_EQ(blocks->free_blocks(), 16 - 4);
    read({9, 1});
    for (ModelCache* cache : {blocks.get(), rows.get()}) EXPECT_EQ(cache->truncate(0, 12), 12);
    at[0] = 12;
    read({3, 2});
  }
}

TEST(WindowCache, TakesTheBytesOfItsWindow) {
  const Decoder decoder = sliding_decoder(100000);
  const Session small(decoder, {.capacity = 10000}), large(decoder, {.capacity = 20000});
  // [2 keys and values, 2 heads, positions, 8] f32; the full layer has all positions.
  const int64_t of_position = 2 * 2 * 8 * 4;
  EXPECT_EQ(small.cache_bytes(), of_position * (10000 + 2 * (24 + 512 + 512)));
  EXPECT_EQ(large.cache_bytes() - small.cache_bytes(), of_position * 10000);
}

TEST(WindowCache, GoesBackAFewTokensOrToTheLastAppend) {
  const Decoder decoder = sliding_decoder(3000);
  std::vector<float> seen;
  const auto keep = [&](const Tensor& logits) {
    seen = logits.to_vector<float>();
    return logits;
  };
  Session session(decoder, {.sampling = {.temperature = 0}, .on_logits = keep});
  std::vector<int64_t> text = long_text(1500, 3);
  session.append(text);
  for (int i = 0; i < 40; i++) session.step();
  EXPECT_EQ(session.tokens_read(), 1539);
  session.rewind(1520);  // within the window and what is kept before it
  session.step();
  EXPECT_EQ(session.tokens_read(), 1540);
  for (int i = 0; i < 700; i++) session.step();  // the window moves
  const int64_t before = session.tokens_read();
  session.rewind(1510);  // what the window held there is gone: read again from the append's end
  session.append({1, 2});
  EXPECT_EQ(session.tokens_read() - before, 12);
  session.step();
  text = session.history();
  text.pop_back();
  ASSERT_EQ(text.size(), 1512u);
  expect_near(seen, last_logits(decoder, text));
}

TEST(Decoder, ATextOfMoreTokensThanPositionsIsAnErrorThatSaysHowToRaiseThem) {
  const Decoder decoder = rotated_decoder(10000, RopeScalingType::kNone, 0);
  EXPECT_EQ(decoder.positions(), 16);
  EXPECT_ERROR(last_logits(decoder, some_ids(17)), kOutOfRange,
               "a text of 17 tokens exceeds the 16 positions of the model "
               "(\"max_position_embeddings\"); load it for more with LoadOptions::positions");
  Session session(decoder, {.capacity = 20});
  EXPECT_ERROR(session.append(some_ids(17)), kOutOfRange, "a text of 17 tokens exceeds");
  const Decoder larger = rotated_decoder(10000, RopeScalingType::kNone, 64);
  EXPECT_EQ(Session(larger).capacity(), 64);
}

TEST(Session, OfALanguageModelStopsAtItsStopIdsUnlessTheOptionsHaveAList) {
  const Decoder decoder = small_decoder(Device::cpu());
  Session alone(decoder, {.sampling = {.temperature = 0}});
  const int64_t first = write(alone, {7, 2}, 1)[0];
  EXPECT_EQ(alone.options().stop_ids, std::vector<int64_t>());
  LanguageModel model;
  model.model = decoder.shared();
  model.stop_ids = {first};
  const auto stops = [&](const SessionOptions& options) {
    Session session(model, options);
    EXPECT_EQ(write(session, {7, 2}, 1)[0], first);
    return session.stopped();
  };
  EXPECT_TRUE(stops({.sampling = {.temperature = 0}}));
  EXPECT_FALSE(stops({.sampling = {.temperature = 0}, .stop_ids = {{first + 1}}}));
  EXPECT_FALSE(stops({.sampling = {.temperature = 0}, .stop_ids = std::vector<int64_t>()}));
}

TEST(Session, AnOptionOutOfItsRangeIsAnError) {
  const auto refused = [](const SessionOptions& options, const char* text) {
    EXPECT_ERROR(Session(small_decoder(Device::cpu()), options), kInvalidArgument, text);
  };
  refused({.sequences = 0}, "sequences: expected at least 1, got 0");
  refused({.chunk = 0}, "chunk");
  refused({.sequences = 3, .each = {{}, {}}},
          "each: expected no settings or those of each sequence, got 2");
  refused({.each = {{.sampling = {.min_p = -1}}}}, "min_p: expected a number in [0, 1], got -1");
  refused({.sampling = {.temperature = -1}},
          "temperature: expected a number of at least 0, got -1");
  refused({.sampling = {.temperature = NAN}}, "temperature");
  refused({.sampling = {.top_k = -1}}, "top_k: expected at least 0, got -1");
  refused({.sampling = {.top_p = 0}}, "top_p: expected a number in (0, 1], got 0");
  refused({.sampling = {.min_p = 1.5}}, "min_p: expected a number in [0, 1], got 1.5");
  refused({.sampling = {.repetition_penalty = 0}}, "repetition_penalty");
  refused({.sampling = {.frequency_penalty = NAN}}, "frequency_penalty");
  refused({.sampling = {.logit_bias = {{32, 1}}}}, "logit_bias: expected ids of the vocabulary");
}

// ---- graphs

/// Two layers with states, one with a window and one without.
Decoder mixed_decoder(const Device& device) {
  device.set_seed(12);
  DecoderConfig config = test::small_config();
  config.vocab_size = 32, config.hidden_size = 16, config.intermediate_size = 24;
  config.num_hidden_layers = 4, config.num_key_value_heads = 2, config.head_dim = 8;
  config.max_position_embeddings = 300, config.initializer_range = 0.5;
  config.layer_types = {LayerType::kMamba, LayerType::kSliding, LayerType::kRecurrent,
                        LayerType::kFull};
  config.sliding_window = 20;
  config.mamba_num_heads = 4, config.mamba_head_dim = 8, config.mamba_num_groups = 1;
  config.mamba_state_size = 8, config.conv1d_width = 4;
  Parameters parameters({.device = device});
  return Decoder(config, parameters);
}

class GraphSteps : public ::testing::TestWithParam<int> {
 protected:
  const Device device = Device::emulated(GetParam());
  void SetUp() override {
    if (device.info().plain_allocation) GTEST_SKIP() << "check mode captures no graph";
  }
};

TEST_P(GraphSteps, WriteTheTokensOfStepsWithoutGraphs) {
  for (const Decoder& decoder :
       {small_decoder(device), small_decoder(device, Switches::kRich), mixed_decoder(device)}) {
    const Sampling sampling{.temperature = 1, .top_k = 5, .repetition_penalty = 1.2};
    Session with(decoder, {.sampling = sampling, .seed = 3});
    Session without(decoder, {.sampling = sampling, .seed = 3, .graphs = false});
    for (Session* session : {&with, &without}) {
      session->append(std::vector<int64_t>(110, 4));
      for (int i = 0; i < 26; i++) session->step();  // into the next bucket
      session->append({1, 5, 9, 2});
      for (int i = 0; i < 8; i++) session->step();
      session->rewind(20);
      session->append({6});
      for (int i = 0; i < 8; i++) session->step();
    }
    EXPECT_EQ(with.history(), without.history());
    EXPECT_EQ(with.tokens_read(), without.tokens_read());
    EXPECT_EQ(with.why_no_graph(), "");
    EXPECT_GT(with.graph_steps(), 30);
    EXPECT_EQ(without.graph_steps(), 0);
  }
}

TEST_P(GraphSteps, HaveTheFrequenciesOfTheirTextsLengths) {
  const auto run = [&](const Device& on, bool graphs) {
    const Decoder decoder = rotated_decoder(10000, RopeScalingType::kDynamic, 64, on);
    Session session(decoder, {.sequences = 2,
                              .capacity = 64,
                              .sampling = {.temperature = 0},
                              .stop_ids = std::vector<int64_t>{},
                              .graphs = graphs});
    session.append_each({some_ids(20), some_ids(5)});  // of 16 positions trained
    for (int i = 0; i < 30; i++) session.step();
    EXPECT_EQ(session.graph_steps() > 20, graphs) << session.why_no_graph();
    return std::vector{session.history(0), session.history(1)};
  };
  const auto expected = run(Device::cpu(), false);
  EXPECT_EQ(run(device, false), expected);
  EXPECT_EQ(run(device, true), expected);
}

TEST_P(GraphSteps, OfSeveralSequencesGoOnWhenOneStops) {
  const Decoder decoder = small_decoder(device);
  const auto run = [&](bool graphs, int64_t* steps) {
    Session session(decoder, {.sequences = 2,
                              .sampling = {.temperature = 1},
                              .stop_ids = std::vector<int64_t>{7},
                              .seed = 4,
                              .graphs = graphs});
    session.append_each({{3, 1}, {5, 9, 2, 6}});
    std::vector<int64_t> ids;
    const auto step = [&] {
      for (const int64_t id : session.step()) ids.push_back(id);
    };
    for (int i = 0; i < 60 && !session.stopped(0) && !session.stopped(1); i++) step();
    EXPECT_NE(session.stopped(0), session.stopped(1));
    const int64_t before = session.graph_steps();
    for (int i = 0; i < 5; i++) step();
    *steps = session.graph_steps() - before;
    for (const int64_t row : {0, 1})
      for (const int64_t id : session.history(row)) ids.push_back(id);
    return ids;
  };
  int64_t with = 0, without = 0;
  EXPECT_EQ(run(true, &with), run(false, &without));
  EXPECT_EQ(with, 5);
  EXPECT_EQ(without, 0);
}

TEST_P(GraphSteps, NeedNotBeWaitedFor) {
  const Decoder decoder = small_decoder(device);
  Session session(decoder, {.sampling = {.temperature = 0}});
  session.append({3, 1, 4});
  for (int i = 0; i < 5; i++) session.step();
  EXPECT_GT(session.graph_steps(), 0);
  for (int i = 0; i < 5; i++) session.advance();  // without waiting
  EXPECT_EQ(session.length(), 13);
  EXPECT_EQ(session.tokens().size(), 1u);
}

TEST_P(GraphSteps, AHookIsCalledAtEachStep) {
  int calls = 0;
  Session session(small_decoder(device), {.on_logits = [&](const Tensor& logits) {
                    calls++;
                    return logits;
                  }});
  session.append({3, 1, 4});
  for (int i = 0; i < 5; i++) session.step();
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(session.graph_steps(), 0);
  EXPECT_EQ(session.why_no_graph(), "on_logits runs at each step");
}

INSTANTIATE_TEST_SUITE_P(Waves, GraphSteps, ::testing::Values(32, 64));

// ---- what a graph of a step relies on

class Launches : public ::testing::TestWithParam<std::tuple<const char*, Switches>> {};

TEST_P(Launches, OfTwoStepsWithinABucketAreTheSameToTheByte) {
  const auto [name, switches] = GetParam();
  const Device under = Device::parse(name);
  if (kernels_of(under, kSample, DType::kF32, DType::kI32).empty())
    GTEST_SKIP() << name << " has no kernel of sample";
  const Device device = test::recorder_of(under);
  const Decoder decoder = small_decoder(device, switches);
  Session session(decoder,
                  {.capacity = 300, .sampling = {.temperature = 1, .top_k = 5}, .graphs = false});
  session.append(std::vector<int64_t>(120, 3));
  const auto launches_of_a_step = [&] {
    test::clear_records();
    session.advance();
    return test::records();
  };
  launches_of_a_step();  // the allocator's blocks settle
  launches_of_a_step();
  std::set<int64_t> tokens;
  const auto expected = launches_of_a_step();
  ASSERT_GT(expected.size(), 20u);
  // Nothing follows the logits but the draw and the launch that appends the token.
  const auto is_op = [&](size_t from_end, const char* op) {
    const std::string& line = expected[expected.size() - from_end];
    return line.find(op) != std::string::npos ? "" : line;
  };
  EXPECT_EQ(is_op(1, "append_tokens"), "");
  EXPECT_EQ(is_op(2, "sample"), "");
  EXPECT_EQ(is_op(3, switches == Switches::kPlain ? "matmul" : "mul"), "");
  for (const std::string& line : expected) EXPECT_NE(line.rfind("copy", 0), 0u) << line;
  while (session.length() <= 128) {
    EXPECT_EQ(launches_of_a_step(), expected) << "at position " << session.length() - 1;
    tokens.insert(session.tokens()[0]);
  }
  EXPECT_GT(tokens.size(), 1u);  // yet the steps did not do the same
  // The next bucket is another shape: so the record can tell steps apart.
  EXPECT_NE(launches_of_a_step(), expected);
}

INSTANTIATE_TEST_SUITE_P(Devices, Launches,
                         ::testing::Combine(::testing::Values("cpu", "emu:32"),
                                            ::testing::Values(Switches::kPlain, Switches::kRich)));

}  // namespace
}  // namespace wick
