#include "wick/generate/engine.h"

#include <cmath>
#include <future>
#include <random>
#include <set>
#include <thread>

#include "../expect.h"
#include "letters_model.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"

namespace wick {
namespace {

using test::continuation;
using test::letters_model;

EngineRequest greedy_request(const LanguageModel& model, const std::string& text, int64_t tokens) {
  return {.prompt = model.prompt_ids(text),
          .sampling = {.temperature = 0},
          .max_tokens = tokens,
          .stop_ids = std::vector<int64_t>()};
}

std::string text_of(Engine& engine, EngineRequest request) {
  return engine.submit(std::move(request)).finish().text;
}

TEST(Engine, GivesTheTextThatASessionGives) {
  const LanguageModel model = letters_model();
  Engine engine(model);
  EngineStream stream = engine.submit(greedy_request(model, "abc", 10));
  std::string joined;
  std::vector<int64_t> ids;
  while (const auto piece = stream.next()) {
    joined += piece->text;
    ids.insert(ids.end(), piece->ids.begin(), piece->ids.end());
  }
  EXPECT_EQ(joined, continuation(model, "abc", 10));
  const EngineText& text = stream.result();
  EXPECT_EQ(text.text, joined);
  EXPECT_EQ(text.ids, ids);
  EXPECT_EQ(text.ending, Ending::kLength);
  EXPECT_EQ(text.prompt_tokens, 3);
  EXPECT_EQ(text.prefill.tokens, 3);
  EXPECT_EQ(text.decode.tokens, 9);
  EXPECT_EQ(stream.next(), std::nullopt);
}

/// A crowd of requests with settings of their own.
std::vector<EngineRequest> crowd(const LanguageModel& model, int count) {
  std::mt19937 random(7);
  std::vector<EngineRequest> requests;
  for (int i = 0; i < count; i++) {
    std::string text;
    for (int n = 1 + int(random() % 20); n > 0; n--) text += char('a' + random() % 20);
    EngineRequest request = greedy_request(model, text, 1 + random() % 24);
    request.seed = random();
    if (i % 3 != 0) request.sampling = {.temperature = 1.5, .top_k = 20};
    if (i % 4 == 0) request.sampling.repetition_penalty = 1.3;
    if (i % 5 == 0) request.sampling.logit_bias = {{int64_t(random() % 48), 3.0}};
    if (i % 7 == 0) request.logprobs = 2;
    requests.push_back(std::move(request));
  }
  return requests;
}

class EngineOf : public testing::TestWithParam<const char*> {};
TEST_P(EngineOf, TextsAreTheSameAloneAndInACrowd) {
  const LanguageModel model = letters_model(std::string("decoders/") + GetParam());
  const std::vector<EngineRequest> requests = crowd(model, 64);
  std::vector<std::string> alone;
  for (const EngineRequest& request : requests) {
    Engine engine(model, {.sequences = 1});
    alone.push_back(text_of(engine, request));
  }
  Engine engine(model, {.sequences = 6, .chunk = 5});
  std::vector<EngineStream> streams;
  std::mt19937 random(3);
  for (const EngineRequest& request : requests) {
    streams.push_back(engine.submit(request));
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
  }
  int differ = 0;
  for (size_t i = 0; i < requests.size(); i++) {
    const std::string& text = streams[i].finish().text;
    EXPECT_EQ(text, alone[i]) << i;
    differ += text != alone[0];
  }
  EXPECT_GT(differ, 32);
  const EngineStats stats = engine.stats();
  EXPECT_EQ(stats.finished, 64);
  EXPECT_EQ(stats.running, 0);
}
INSTANTIATE_TEST_SUITE_P(Families, EngineOf,
                         testing::Values("llama_linear", "mistral_window", "gemma3", "mamba2",
                                         "qwen3_next", "deepseek_v2", "lfm2"),
                         [](const auto& info) { return std::string(info.param); });

TEST(GraphSteps, AnEnginesTextsOnAnEmulatedCardAreTheCpus) {
  for (const char* name : {"decoders/llama_linear", "decoders/mamba2"}) {
    const LanguageModel model = letters_model(name);
    const LanguageModel other =
        letters_model(name, test::kLettersTemplate, 0, Device::parse("emu:32"));
    Engine here(model, {.sequences = 3}), there(other, {.sequences = 3, .chunk = 4});
    std::vector<EngineStream> streams;
    std::vector<EngineRequest> requests = crowd(model, 9);
    // Some end by their tokens, which a step that runs ahead does not know.
    for (size_t i = 6; i < 9; i++) {
      requests[i].max_tokens = 40;
      requests[i].logprobs = {};
      const std::string whole = text_of(here, requests[i]);
      if (i == 6) requests[i].stop = {whole.substr(9, 3)};
      if (i == 7) requests[i].stop_ids = model.prompt_ids(whole.substr(11, 1));
      if (i == 8) requests[i].grammar = Grammar::regex("[a-z]{20}");
    }
    requests.push_back(requests[6]);  // goes on from what another text has left
    for (const EngineRequest& request : requests) streams.push_back(there.submit(request));
    for (size_t i = 0; i < requests.size(); i++) {
      const EngineText& text = streams[i].finish();
      EngineStream alone = here.submit(requests[i]);
      EXPECT_EQ(text.text, alone.finish().text) << name << " " << i;
      EXPECT_EQ(text.ids, alone.result().ids) << name << " " << i;
      EXPECT_EQ(text.ending, alone.result().ending) << name << " " << i;
    }
    if (const char* allocator = getenv("WICK_ALLOC");
        allocator && allocator == std::string("caching")) {
      EXPECT_GT(there.stats().graph_steps, 0) << name;
      EXPECT_GT(there.stats().steps_ahead, 0) << name;
      EXPECT_LT(there.stats().steps_ahead, there.stats().graph_steps) << name;
    }
  }
}

/// The log probabilities of texts, which show a difference that no token shows.
std::vector<std::vector<double>> logprobs_of(Engine& engine,
                                             const std::vector<EngineRequest>& requests,
                                             bool together) {
  std::vector<EngineStream> streams;
  for (const EngineRequest& request : requests) {
    streams.push_back(engine.submit(request));
    if (!together) streams.back().finish();
  }
  std::vector<std::vector<double>> all;
  for (EngineStream& stream : streams) {
    std::vector<double> own;
    for (const ScoredToken& token : stream.finish().tokens) own.push_back(token.token.logprob);
    all.push_back(std::move(own));
  }
  return all;
}

TEST(Engine, ThatIsBatchInvariantComputesTheSameBitsAloneAndInACrowd) {
  for (const char* name : {"decoders/gemma3", "decoders/mixtral"}) {
    const LanguageModel model =
        letters_model(name, test::kLettersTemplate, 0, Device::parse("emu:32"));
    std::vector<EngineRequest> requests = crowd(model, 6);
    for (EngineRequest& request : requests) {
      request.logprobs = 0;
      request.max_tokens = std::min<int64_t>(*request.max_tokens, 6);
    }
    requests.push_back(requests[3]);  // finds its prompt in the cache
    EngineOptions options{.sequences = 4, .capacity = 64, .chunk = 4, .batch_invariant = true};
    Engine crowded(model, options);
    const auto together = logprobs_of(crowded, requests, true);
    std::vector<std::vector<double>> alone;
    for (const EngineRequest& request : requests) {
      Engine engine(model, options);
      alone.push_back(logprobs_of(engine, {request}, false).front());
    }
    EXPECT_EQ(together, alone) << name;
    options.batch_invariant = false;
    Engine other(model, options);
    EXPECT_NE(logprobs_of(other, requests, true), alone) << name << ": nothing to see";
  }
}

TEST(Engine, ThatIsBatchInvariantReadsWholePartsOfPromptsFromTheCache) {
  const LanguageModel model = letters_model();
  Engine engine(model, {.sequences = 2, .chunk = 3, .batch_invariant = true});
  const std::string first = text_of(engine, greedy_request(model, "abcdefgh", 4));
  EngineStream stream = engine.submit(greedy_request(model, "abcdefgh" + first + "xyz", 6));
  EXPECT_EQ(stream.finish().text, continuation(model, "abcdefgh" + first + "xyz", 6));
  EXPECT_EQ(stream.result().cached_tokens, 6);
}

TEST(Engine, ThatIsBatchInvariantSuspendsNoText) {
  const LanguageModel model = letters_model();
  Engine engine(model,
                {.sequences = 4, .capacity = 64, .cache_tokens = 128, .batch_invariant = true});
  std::vector<EngineStream> streams;
  for (const char* prompt : {"abc", "bcd", "cde", "def", "efg"})
    streams.push_back(engine.submit(greedy_request(model, prompt, 61)));
  for (EngineStream& stream : streams) EXPECT_EQ(stream.finish().ids.size(), 61u);
  EXPECT_EQ(engine.stats().suspended, 0);
}

TEST(Engine, ATextsLogitsAreItsFunctionsToChange) {
  const LanguageModel model = letters_model();
  Engine engine(model, {.sequences = 3});
  const int64_t vocab_size = model.facts().vocab_size;
  int calls = 0;
  EngineRequest request = greedy_request(model, "abc", 5);
  request.logprobs = 0;
  request.on_logits = [&](const Tensor& logits) {
    EXPECT_EQ(logits.shape(), Shape({1, vocab_size}));
    std::vector<float> own(size_t(vocab_size), 0.0f);
    own[size_t(7 + calls++)] = 1;
    return Tensor::from(own, {1, vocab_size});
  };
  EngineStream changed = engine.submit(request);
  const std::string plain = text_of(engine, greedy_request(model, "abc", 5));
  EXPECT_EQ(changed.finish().ids, (std::vector<int64_t>{7, 8, 9, 10, 11}));
  EXPECT_EQ(plain, continuation(model, "abc", 5));
  // Scores are the model's.
  request.on_logits = {};
  request.sampling.logit_bias = {{7, 1000.0}};
  request.max_tokens = 1;
  EngineStream biased = engine.submit(request);
  EXPECT_EQ(changed.result().tokens[0].token.logprob, biased.finish().tokens[0].token.logprob);

  request.on_logits = [](const Tensor& logits) { return narrow(logits, 1, 0, 3); };
  EngineStream wrong = engine.submit(request);
  EXPECT_ERROR(wrong.finish(), kShapeMismatch, "on_logits: expected logits [1, 48], got [1, 3]");
  request.on_logits = [](const Tensor&) -> Tensor { throw std::runtime_error("mine"); };
  EngineStream failing = engine.submit(request);
  EXPECT_THROW(failing.finish(), std::runtime_error);
  EXPECT_EQ(text_of(engine, greedy_request(model, "abc", 5)), plain);
}

TEST(Engine, ReadsPromptsTogether) {
  const LanguageModel model = letters_model();
  const std::vector<std::string> prompts = {"abcd", "bcde", "cdef", "defa", "efgh"};
  Engine engine(model, {.sequences = 8});
  // The engine waits at the first text's only token until the others are there.
  std::promise<void> all_there;
  std::shared_future<void> there = all_there.get_future().share();
  EngineRequest first = greedy_request(model, "xyz", 1);
  first.on_news = [there] { there.wait(); };
  EngineStream one = engine.submit(std::move(first));
  std::vector<EngineStream> streams;
  for (const std::string& prompt : prompts)
    streams.push_back(engine.submit(greedy_request(model, prompt, 6)));
  all_there.set_value();
  for (size_t i = 0; i < prompts.size(); i++)
    EXPECT_EQ(streams[i].finish().text, continuation(model, prompts[i], 6)) << prompts[i];
  EXPECT_LE(engine.stats().prompt_reads, 2);  // one for all of them, unless the first came early
}

/// Letters in some order.
std::string long_prompt(int length, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  for (int i = 0; i < length; i++) text += char('a' + random() % 20);
  return text;
}

TEST(Engine, TextsThatNeedMoreThanTheCacheTakeTurns) {
  for (const char* name : {"cpu", "emu:32"}) {
    const Device device = Device::parse(name);
    const LanguageModel model =
        letters_model("decoders/llama_linear", test::kLettersTemplate, 192, device);
    const int count = device.is_cpu() ? 16 : 4;
    std::vector<EngineRequest> requests;
    for (int i = 0; i < count; i++) {
      EngineRequest request = greedy_request(model, long_prompt(70 + 5 * (i % 7), i), 40 + i);
      request.seed = i;
      if (i % 2) request.sampling = {.temperature = 1.5, .top_k = 20};
      if (i % 3 == 0) request.grammar = Grammar::regex("[a-m]*");
      requests.push_back(std::move(request));
    }
    // Two texts of up to three blocks fit.
    Engine alone(model, {.sequences = 1, .capacity = 192}),
        engine(model, {.sequences = 4, .capacity = 192, .cache_tokens = 320, .chunk = 48});
    EXPECT_EQ(engine.stats().positions, 320);
    std::vector<EngineStream> streams;
    for (const EngineRequest& request : requests) streams.push_back(engine.submit(request));
    for (size_t i = 0; i < requests.size(); i++) {
      const EngineText& text = streams[i].finish();
      EXPECT_EQ(text.text, text_of(alone, requests[i])) << name << " " << i;
      EXPECT_GE(text.prefill.tokens + text.cached_tokens, text.prompt_tokens) << name << " " << i;
    }
    EXPECT_GT(engine.stats().suspended, 0) << name;
    EXPECT_EQ(engine.stats().finished, count) << name;
  }
}

TEST(Engine, KeepsMoreTextsThanItHasSequences) {
  const LanguageModel model = letters_model("decoders/llama_linear", test::kLettersTemplate, 128);
  Engine engine(model, {.sequences = 1, .capacity = 128, .cache_tokens = 320});
  std::vector<std::string> prompts;
  for (unsigned i = 0; i < 3; i++) prompts.push_back(long_prompt(80, 100 + i));
  const auto read = [&](const std::string& prompt) {
    EngineStream stream = engine.submit(greedy_request(model, prompt, 3));
    EXPECT_EQ(stream.finish().text, continuation(model, prompt, 3));
    return stream.result().cached_tokens;
  };
  EXPECT_EQ(read(prompts[0]), 0);
  EXPECT_EQ(read(prompts[1]), 0);
  EXPECT_EQ(read(prompts[0] + "x"), 80);  // of two blocks, the second is copied
  EXPECT_EQ(read(prompts[1]), 79);
  EXPECT_EQ(read(prompts[2]), 0);  // takes the blocks of the text that was used least lately
  EXPECT_EQ(read(prompts[1]), 79);
  EXPECT_EQ(read(prompts[0]), 0);
}

TEST(Engine, AModelThatKeepsStatesSharesNoMemory) {
  const LanguageModel model = letters_model("decoders/mamba2");
  EXPECT_ERROR(Engine(model, {.capacity = 64, .cache_tokens = 128}), kUnsupported,
               "cache_tokens: some layers of a model of type mamba2");
  EXPECT_ERROR(Engine(letters_model(), {.capacity = 64, .cache_tokens = 63}), kInvalidArgument,
               "cache_tokens: expected 0, or at least the capacity, got 63");
}

TEST(Engine, ReadsOnlyTheRestOfAPromptThatItKnows) {
  for (const std::string name : {"llama_linear", "gemma3", "mamba2"}) {
    const LanguageModel model = letters_model("decoders/" + name);
    Engine engine(model, {.sequences = 2});
    const std::string first = text_of(engine, greedy_request(model, "abcdefgh", 4)),
                      more = "abcdefgh" + first + "xyz";
    EngineStream stream = engine.submit(greedy_request(model, more, 6));
    EXPECT_EQ(stream.finish().text, continuation(model, more, 6)) << name;
    EXPECT_EQ(stream.result().cached_tokens, 8 + 3) << name;  // the last token was never read
    EXPECT_EQ(stream.result().prefill.tokens, 1 + 3) << name;
    // A state goes back to the end of a prompt.
    const std::string other = more + "zz";
    EngineStream forks = engine.submit(greedy_request(model, other, 6));
    EXPECT_EQ(forks.finish().text, continuation(model, other, 6)) << name;
    EXPECT_GE(forks.result().cached_tokens, int64_t(more.size())) << name;
  }
}

TEST(Engine, GoesOnFromTheEndOfAPartOfAPrompt) {
  for (const std::string name : {"mamba2", "gemma3"}) {
    const LanguageModel model = letters_model("decoders/" + name);
    Engine engine(model, {.sequences = 1, .chunk = 8});
    const std::string begin = "abcdefghijklmnopqrst";
    EXPECT_EQ(text_of(engine, greedy_request(model, begin + "uvwxyzabc", 4)),
              continuation(model, begin + "uvwxyzabc", 4));
    EngineStream other = engine.submit(greedy_request(model, begin + "zzz", 6));
    EXPECT_EQ(other.finish().text, continuation(model, begin + "zzz", 6)) << name;
    EXPECT_GE(other.result().cached_tokens, 16) << name;
    EngineStream short_one = engine.submit(greedy_request(model, "abcdefghij", 6));
    EXPECT_EQ(short_one.finish().text, continuation(model, "abcdefghij", 6)) << name;
    EXPECT_GE(short_one.result().cached_tokens, 8) << name;
  }
}

TEST(Engine, ReadsThePromptOfSeveralTextsOnce) {
  for (const std::string name : {"llama_linear", "gemma3", "mamba2", "lfm2", "qwen3_next"}) {
    const LanguageModel model = letters_model("decoders/" + name);
    Engine engine(model, {.sequences = 4});
    std::vector<EngineRequest> requests;
    for (uint64_t seed = 0; seed < 4; seed++) {
      requests.push_back(greedy_request(model, long_prompt(40, 5), 8));
      requests.back().seed = seed;
      requests.back().sampling = {.temperature = 1.5};
    }
    std::vector<EngineStream> streams;
    for (const EngineRequest& request : requests) streams.push_back(engine.submit(request));
    std::set<std::string> texts;
    for (size_t i = 0; i < streams.size(); i++) {
      Engine alone(model, {.sequences = 1});
      EXPECT_EQ(streams[i].finish().text, text_of(alone, requests[i])) << name << " " << i;
      texts.insert(streams[i].result().text);
      // The logits after the prompt are kept with a state, else its last token is read again.
      const bool has_state = name == "mamba2" || name == "lfm2" || name == "qwen3_next";
      EXPECT_EQ(streams[i].result().cached_tokens, i == 0 ? 0 : has_state ? 40 : 39) << name;
    }
    EXPECT_GT(texts.size(), 1u);
    EXPECT_EQ(text_of(engine, requests[1]), streams[1].result().text) << name;
    requests[1].prompt.back() ^= 1;  // another prompt of the same length
    Engine alone(model, {.sequences = 1});
    EXPECT_EQ(text_of(engine, requests[1]), text_of(alone, requests[1])) << name;
  }
}

TEST(Engine, CopiesALongBeginningFromATextThatGoesOn) {
  const LanguageModel model = letters_model();
  Engine engine(model, {.sequences = 2});
  const std::string begin = "abcdefghijklmnopqrstuvwxyzabcdefghijklmn";
  EngineStream one = engine.submit(greedy_request(model, begin + "x", 20));
  EngineStream two = engine.submit(greedy_request(model, begin + "y", 20));
  EXPECT_EQ(two.finish().text, continuation(model, begin + "y", 20));
  EXPECT_EQ(one.finish().text, continuation(model, begin + "x", 20));
  EXPECT_EQ(two.result().cached_tokens, int64_t(begin.size()));
}

TEST(Engine, EndsAtStopTextsStopIdsAndAFullSequence) {
  const LanguageModel model = letters_model();
  const std::string all = continuation(model, "abc", 10);
  Engine engine(model, {.sequences = 1, .capacity = 8});
  EngineRequest request = greedy_request(model, "abc", 5);
  request.stop = {all.substr(3, 1)};
  EngineStream stopped = engine.submit(request);
  EXPECT_EQ(stopped.finish().text, all.substr(0, all.find(all[3])));
  EXPECT_EQ(stopped.result().ending, Ending::kStop);
  request.stop = {};
  request.stop_ids = {{*model.tokenizer->id_of(all.substr(2, 1))}};
  EngineStream ended = engine.submit(request);
  EXPECT_EQ(ended.finish().text, all.substr(0, all.find(all[2])));
  EXPECT_EQ(ended.result().ending, Ending::kEnd);
  request.stop_ids = std::vector<int64_t>();
  request.max_tokens = {};
  EngineStream full = engine.submit(request);
  EXPECT_EQ(full.finish().text, all.substr(0, 6));  // 3 + 5 tokens in the cache, and one more
  EXPECT_EQ(full.result().ending, Ending::kContext);
}

TEST(Engine, ScoresTokensAsTheModelDoesBeforeSampling) {
  const LanguageModel model = letters_model();
  Engine engine(model);
  EngineRequest request = greedy_request(model, "abc", 3);
  request.sampling = {.temperature = 3, .logit_bias = {{5, 4.0}}};
  request.seed = 1;
  request.logprobs = 3;
  const EngineText text = engine.submit(request).finish();
  ASSERT_EQ(text.tokens.size(), 3u);
  std::vector<int64_t> ids = request.prompt;
  for (size_t i = 0; i < 3; i++) {
    const int64_t n = int64_t(ids.size());
    const Tensor logits = select(
        model.model->forward(Tensor::from(ids, {1, n}), positions_from_0(1, n, Device::cpu())), 1,
        n - 1);
    const std::vector<float> scores = log_softmax(logits).to_vector<float>();
    const ScoredToken& token = text.tokens[i];
    EXPECT_EQ(token.token.id, text.ids[i]);
    EXPECT_NEAR(token.token.logprob, double(scores[size_t(text.ids[i])]), 1e-4);
    ASSERT_EQ(token.likeliest.size(), 3u);
    const float best = *std::max_element(scores.begin(), scores.end());
    EXPECT_NEAR(token.likeliest[0].logprob, double(best), 1e-4);
    EXPECT_GE(token.likeliest[0].logprob, token.likeliest[2].logprob);
    ids.push_back(text.ids[i]);
  }
}

TEST(Engine, HoldsEachTextToItsOwnGrammar) {
  const LanguageModel model = letters_model();
  Engine engine(model, {.sequences = 3});
  std::vector<EngineStream> streams;
  for (const char* grammar : {"abc|abd|xyz", "[a-c]{4}", "", "q+"}) {
    EngineRequest request = greedy_request(model, "abc", 6);
    request.stop_ids = {{*model.tokenizer->id_of("V")}};
    if (*grammar) request.grammar = Grammar::regex(grammar);
    streams.push_back(engine.submit(request));
  }
  const std::string choice = streams[0].finish().text, letters = streams[1].finish().text;
  EXPECT_TRUE(choice == "abc" || choice == "abd" || choice == "xyz") << choice;
  EXPECT_EQ(streams[0].result().ending, Ending::kEnd);
  EXPECT_TRUE(Grammar::regex("[a-c]{4}").matches(letters)) << letters;
  EXPECT_EQ(streams[2].finish().text, continuation(model, "abc", 6));
  EXPECT_TRUE(Grammar::regex("q{1,6}").matches(streams[3].finish().text));
}

TEST(Engine, ACancelledTextEndsAndItsSequenceIsFree) {
  const LanguageModel model = letters_model("decoders/llama_linear", test::kLettersTemplate, 4096);
  Engine engine(model, {.sequences = 1});
  EngineStream endless = engine.submit(greedy_request(model, "abc", 4000));
  EXPECT_TRUE(endless.next().has_value());
  EngineStream waiting = engine.submit(greedy_request(model, "abd", 4000));
  EngineStream last = engine.submit(greedy_request(model, "abe", 3));
  waiting.cancel();
  endless.cancel();
  EXPECT_EQ(last.finish().text, continuation(model, "abe", 3));
  EXPECT_EQ(endless.finish().ending, Ending::kInterrupted);
  EXPECT_EQ(waiting.finish().ids.size(), 0u);
  EXPECT_EQ(engine.stats().cancelled, 2);
  { const EngineStream dropped = engine.submit(greedy_request(model, "abc", 4000)); }
  EXPECT_EQ(text_of(engine, greedy_request(model, "abe", 3)), continuation(model, "abe", 3));
}

TEST(Engine, AFullQueueRefusesARequest) {
  const LanguageModel model = letters_model("decoders/llama_linear", test::kLettersTemplate, 4096);
  Engine engine(model, {.sequences = 1, .queue = 2});
  EngineStream first = engine.submit(greedy_request(model, "abc", 4000));
  EXPECT_TRUE(first.next().has_value());  // it waits no longer
  EngineStream second = engine.submit(greedy_request(model, "abc", 1));
  EngineStream third = engine.submit(greedy_request(model, "abc", 1));
  EXPECT_ERROR((void)engine.submit(greedy_request(model, "abc", 1)), kOutOfMemory,
               "submit: all of 2 places of the queue are taken");
  first.cancel();
  EXPECT_EQ(third.finish().ids.size(), 1u);
}

TEST(Engine, ItsEndIsAnErrorOfOpenTexts) {
  const LanguageModel model = letters_model("decoders/llama_linear", test::kLettersTemplate, 4096);
  auto engine = std::make_unique<Engine>(model, EngineOptions{.sequences = 1});
  EngineStream running = engine->submit(greedy_request(model, "abc", 4000));
  EngineStream waiting = engine->submit(greedy_request(model, "abc", 4000));
  EXPECT_TRUE(running.next().has_value());
  engine.reset();
  EXPECT_ERROR(running.finish(), kInvalidArgument, "the engine was destroyed");
  EXPECT_ERROR(waiting.finish(), kInvalidArgument, "the engine was destroyed");
}

TEST(Engine, OneTextsErrorIsNotItsNeighbours) {
  const LanguageModel model = letters_model();
  Engine engine(model, {.sequences = 2});
  EngineRequest request = greedy_request(model, "abc", 10);
  request.sampling.logit_bias = {{3, HUGE_VAL}};
  EngineStream bad = engine.submit(request);
  EXPECT_EQ(text_of(engine, greedy_request(model, "abc", 10)), continuation(model, "abc", 10));
  EXPECT_ERROR(bad.finish(), kInvalidArgument, "or the bias is not finite");
  EXPECT_EQ(engine.stats().failed, 1);
}

/// A decoder without memory for the next calls, as many as `failures` says: it fails at their end,
/// when its layers have read the tokens.
class ScarceMemory final : public Decoder {
 public:
  ScarceMemory(const CausalModel& model, std::shared_ptr<int> failures)
      : Decoder(dynamic_cast<const Decoder&>(model)), failures_(std::move(failures)) {}
  std::shared_ptr<const CausalModel> shared() const override {
    return std::make_shared<ScarceMemory>(*this);
  }

 protected:
  Tensor hidden_of(const TokenGrid& grid, ModelCache* cache,
                   std::vector<Tensor>* all) const override {
    const Tensor hidden = Decoder::hidden_of(grid, cache, all);
    check(*failures_ == 0 || (*failures_)-- == 0, ErrorCode::kOutOfMemory, "tensor", "no room");
    return hidden;
  }

 private:
  std::shared_ptr<int> failures_;
};

TEST(Engine, OutOfMemoryEndsTheTextsOfACallAndNoLaterOnes) {
  for (const char* name : {"decoders/llama_linear", "decoders/recurrent_gemma",
                           "decoders/mistral_window", "decoders/qwen3_next"}) {
    LanguageModel model = letters_model(name);
    const std::string expected = continuation(model, "abcdef", 8);
    const auto failures = std::make_shared<int>(0);
    model.model = std::make_shared<ScarceMemory>(*model.model, failures);
    Engine engine(model, {.sequences = 2});
    for (int calls : {0, 1, 3}) {  // a text that fails at once, or after so many calls
      EngineRequest request = greedy_request(model, "abcdef", 8);
      request.on_logits = [&, calls = calls](const Tensor& logits) mutable {
        if (--calls == 0) *failures = 1;
        return logits;
      };
      if (calls == 0) *failures = 1;
      EXPECT_ERROR(engine.submit(std::move(request)).finish(), kOutOfMemory, "no room");
      EXPECT_EQ(text_of(engine, greedy_request(model, "abcdef", 8)), expected) << name;
    }
  }
}

TEST(Session, GoesOnAfterACallWithoutMemory) {
  for (const char* name : {"decoders/llama_linear", "decoders/recurrent_gemma",
                           "decoders/mistral_window", "decoders/qwen3_next"}) {
    LanguageModel model = letters_model(name);
    const std::string expected = continuation(model, "abcdef", 8);
    const auto failures = std::make_shared<int>(1);
    model.model = std::make_shared<ScarceMemory>(*model.model, failures);
    SessionOptions options = test::greedy();
    options.chunk = 2;
    Session session(model, options);
    EXPECT_ERROR(session.append(model.prompt_ids("abcdef")), kOutOfMemory, "no room");
    session.append(model.prompt_ids("abc"));
    *failures = 1;
    EXPECT_ERROR(session.append(model.prompt_ids("xyz")), kOutOfMemory, "no room");
    session.append(model.prompt_ids("def"));
    std::vector<int64_t> ids;
    while (ids.size() < 8) {
      *failures = ids.size() % 3 == 2 ? 1 : 0;
      if (*failures > 0) EXPECT_ERROR((void)session.step(), kOutOfMemory, "no room");
      ids.push_back(session.step()[0]);
    }
    EXPECT_EQ(model.tokenizer->decode(ids), expected) << name;
  }
}

TEST(Engine, RefusesRequestsAndOptionsOutsideTheirRange) {
  const LanguageModel model = letters_model();
  Engine engine(model, {.sequences = 1, .capacity = 8});
  const auto refused = [&](const auto& change, ErrorCode code, const char* text) {
    EngineRequest request = greedy_request(model, "abc", 3);
    change(request);
    try {
      (void)engine.submit(request);
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
    }
  };
  using R = EngineRequest;
  refused([](R& r) { r.prompt = {}; }, ErrorCode::kInvalidArgument, "prompt: expected tokens");
  refused([](R& r) { r.prompt.assign(9, 1); }, ErrorCode::kOutOfRange, "exceeds the capacity 8");
  refused([](R& r) { r.prompt = {48}; }, ErrorCode::kOutOfRange, "id 48 is outside");
  refused([](R& r) { r.max_tokens = 0; }, ErrorCode::kInvalidArgument, "max_tokens");
  refused([](R& r) { r.stop = {""}; }, ErrorCode::kInvalidArgument, "stop");
  refused([](R& r) { r.sampling.top_p = 2; }, ErrorCode::kInvalidArgument, "top_p");
  refused([](R& r) { r.logprobs = -1; }, ErrorCode::kInvalidArgument, "logprobs");
  refused(
      [](R& r) {
        r.sampling.logit_bias = {{48, 1.0}};
      },
      ErrorCode::kInvalidArgument, "logit_bias");
  EXPECT_ERROR(Engine(model, {.sequences = 0}), kInvalidArgument, "sequences: expected at least 1");
  EXPECT_ERROR(Engine(model, {.capacity = 1 << 20}), kInvalidArgument, "the model's positions");
}

}  // namespace
}  // namespace wick
