#include "small_model.h"
#include "wick/io/json.h"

namespace wick {
namespace {

using namespace test;

const Settings& test_at(const Settings& line, size_t i) {
  return std::get<Settings>(std::get<Setting::List>(line.find("tests")->value).at(i).value);
}

TEST(Bench, CountsTheLeastThatATokenMustRead) {
  const SmallTraining training;
  const std::string model = training.train();
  const Outcome outcome = run("bench -m " + model +
                              " --device cpu --dtype f32 --prompt 8,12 --tokens 5 --context 0,10 "
                              "--batch 1,3 --repeat 2 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Settings line = parse_json(outcome.out, "stdout");
  // A layer has q and o of 16 x 16, k and v of 16 x 8, three matrices of 16 x 24 and two norms.
  constexpr int64_t kLayer = 2 * 16 * 16 + 2 * 16 * 8 + 3 * 16 * 24 + 2 * 16;
  constexpr int64_t kWeights = 2 * kLayer + 2 * 256 * 16 + 16, kRead = kWeights - 256 * 16;
  EXPECT_EQ(line.integer("weights"), kWeights);
  EXPECT_EQ(line.integer("weight_bytes"), 4 * kWeights);
  EXPECT_GT(line.real("bandwidth"), 0);
  EXPECT_GT(line.real("products"), 0);
  ASSERT_EQ(std::get<Setting::List>(line.find("tests")->value).size(), 8u);
  for (size_t i = 0; i < 8; i++) {
    const Settings& test = test_at(line, i);
    SCOPED_TRACE(to_json(test, -1));
    const int64_t batch = test.integer("batch");
    EXPECT_GT(test.real("tokens_per_second"), 0);
    EXPECT_GE(test.real("deviation"), 0);
    if (i < 4) {
      EXPECT_EQ(test.text("test"), "prefill");
      EXPECT_EQ(test.integer("tokens"), i % 2 == 0 ? 8 : 12);
      EXPECT_GT(test.real("share_of_products"), 0);
      continue;
    }
    EXPECT_EQ(test.text("test"), "decode");
    EXPECT_EQ(test.integer("context"), i % 2 == 0 ? 0 : 10);
    // The five tokens have 2 tokens before them and themselves to attend to, in the mean, beside
    // the context; a position of a layer has 8 keys and 8 values.
    const double positions = double(test.integer("context")) + 3;
    EXPECT_DOUBLE_EQ(test.real("least_bytes_per_token"),
                     4 * double(kRead) / double(batch) + 2 * positions * 4 * 16);
    EXPECT_DOUBLE_EQ(test.real("share_of_bandwidth"), test.real("tokens_per_second") *
                                                          test.real("least_bytes_per_token") /
                                                          line.real("bandwidth"));
  }
}

TEST(Bench, CountsTheExpertsThatATokenSelects) {
  const SmallTraining training;
  const std::string config = training.folder.write(
      "config.json", R"({"model_type": "mixtral", "vocab_size": 256, "hidden_size": 16,
 "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
 "num_key_value_heads": 1, "max_position_embeddings": 32, "num_local_experts": 4,
 "num_experts_per_tok": 3})");
  ASSERT_EQ(config, training.config);
  const Outcome outcome = run("bench -m " + training.train("model", 1) +
                              " --device cpu --dtype f32 --prompt 8 --tokens 1 --repeat 1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Settings line = parse_json(outcome.out, "stdout");
  // A layer has q and o of 16 x 16, k and v of 16 x 8, two norms, a router of 16 x 4, and experts
  // of three matrices of 16 x 24.
  constexpr int64_t kExpert = 3 * 16 * 24, kExperts = 4, kSelected = 3,
                    kOthers = 2 * 16 * 16 + 2 * 16 * 8 + 2 * 16 + 16 * 4, kOutput = 256 * 16 + 16;
  EXPECT_EQ(line.integer("weights"), 2 * (kOthers + kExperts * kExpert) + kOutput + 256 * 16);
  // Beside the weights, it reads 8 keys and 8 values of one position per layer: its own.
  EXPECT_EQ(test_at(line, 1).real("least_bytes_per_token"),
            4.0 * (2 * (kOthers + kSelected * kExpert) + kOutput + 2 * 16));
}

TEST(Bench, PrintsARowPerTest) {
  const SmallTraining training;
  const Outcome outcome = run("bench -m " + training.train() +
                              " --device cpu --prompt 8 --tokens 4 --context 0,8 --repeat 1");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* text : {"llama, 0.0 million weights", "bandwidth ", "\nprefill 8 ",
                           "\ndecode 4 ", "\ndecode 4 after 8 ", "% of the bandwidth"})
    EXPECT_TRUE(contains(outcome.out, text)) << text << "\n" << outcome.out;
}

TEST(BenchBadInput, IsOneLine) {
  const SmallTraining training;
  const std::string model = training.train();
  const std::pair<const char*, const char*> cases[] = {
      {" --prompt 32", "--prompt: expected fewer tokens than the model's 32 positions, got 32"},
      {" --prompt 8 --tokens 32", "--tokens: expected fewer tokens than the model's 32"},
      {" --prompt 8 --tokens 8 --context 30", "--context: expected fewer tokens"},
      {" --batch 0", "--batch"},
      {" --repeat 0", "--repeat"}};
  for (const auto& [flags, text] : cases) {
    const Outcome outcome = run("bench -m " + model + " --device cpu" + flags);
    EXPECT_EQ(outcome.code, 2) << flags;
    EXPECT_EQ(outcome.out, "") << flags;
    EXPECT_TRUE(contains(outcome.err, text)) << outcome.err;
  }
}

}  // namespace
}  // namespace wick
