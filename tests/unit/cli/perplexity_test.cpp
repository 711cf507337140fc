#include <cmath>

#include "small_model.h"
#include "wick/io/json.h"
#include "wick/load/load_model.h"
#include "wick/ops/autograd.h"
#include "wick/ops/cast.h"

namespace wick {
namespace {

using namespace test;

/// The perplexity of windows of a text's ids, by the definition, in double. bos: replaces the first
/// id of each window unless it is negative.
double expected_perplexity(const std::string& path, const std::vector<int64_t>& ids,
                           int64_t context, int64_t windows, int64_t bos) {
  const LanguageModel model = load_model(path, {.device = Device::cpu(), .dtype = DType::kF32});
  const NoGrad off;
  double sum = 0;
  int64_t scored = 0;
  for (int64_t w = 0; w < windows; w++) {
    std::vector<int64_t> window(ids.begin() + w * context, ids.begin() + (w + 1) * context);
    if (bos >= 0) window[0] = bos;
    const Tensor logits = model.model->forward(Tensor::from(window, {1, context}),
                                               positions_from_0(1, context, Device::cpu()));
    const std::vector<float> values = cast(logits, DType::kF32).to_vector<float>();
    const int64_t vocab = model.facts().vocab_size;
    for (int64_t t = context / 2; t + 1 < context; t++, scored++) {
      double total = 0;
      for (int64_t v = 0; v < vocab; v++) total += std::exp(double(values[size_t(t * vocab + v)]));
      sum += std::log(total) - double(values[size_t(t * vocab + window[size_t(t + 1)])]);
    }
  }
  return std::exp(sum / double(scored));
}

std::vector<int64_t> byte_ids(const std::string& text) { return {text.begin(), text.end()}; }

TEST(Perplexity, ScoresTheSecondHalfOfEachWindow) {
  const SmallTraining training;
  const std::string model = training.train();
  const Outcome outcome = run("perplexity -m " + model + " --device cpu --dtype f32 --context 16 " +
                              "--json " + training.text);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Settings line = parse_json(outcome.out, "stdout");
  const std::vector<int64_t> ids = byte_ids(small_text());
  const int64_t windows = int64_t(ids.size()) / 16;
  EXPECT_EQ(line.integer("windows"), windows);
  EXPECT_EQ(line.integer("context"), 16);
  EXPECT_EQ(line.integer("scored_tokens"), windows * 7);
  EXPECT_GT(line.real("error"), 0);
  EXPECT_NEAR(line.real("perplexity") / expected_perplexity(model, ids, 16, windows, -1), 1, 1e-5);
  EXPECT_EQ(outcome.err, "");  // no progress off a terminal
}

TEST(Perplexity, ReadsStdinAndAsManyWindowsAsAskedFor) {
  const SmallTraining training;
  const std::string model = training.train();
  const Outcome outcome =
      run("perplexity -m " + model +
          " --device cpu --dtype f32 --context 16 --windows 3 --json < " + training.text);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Settings line = parse_json(outcome.out, "stdin");
  EXPECT_EQ(line.integer("windows"), 3);
  EXPECT_NEAR(
      line.real("perplexity") / expected_perplexity(model, byte_ids(small_text()), 16, 3, -1), 1,
      1e-5);
}

TEST(Perplexity, EachWindowBeginsWithTheTokenThatTheFilesPutFirst) {
  const SmallTraining training;
  const std::string model = training.train();
  Settings tokenizer = read_json(model + "/tokenizer.json");
  tokenizer.set("post_processor", parse_json(R"({"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"A": {"id": "A", "ids": [65], "tokens": ["A"]}}})",
                                             "test"));
  write_json(model + "/tokenizer.json", tokenizer);
  const Outcome outcome =
      run("perplexity -m " + model + " --device cpu --dtype f32 --context 16 --windows 4 --json " +
          training.text);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<int64_t> ids = byte_ids("A" + small_text());
  const double expected = expected_perplexity(model, ids, 16, 4, 65);
  EXPECT_NEAR(parse_json(outcome.out, "stdout").real("perplexity") / expected, 1, 1e-5);
  EXPECT_GT(std::abs(expected_perplexity(model, ids, 16, 4, -1) / expected - 1), 1e-4);
}

TEST(Perplexity, RefusesAModelThatIsNotCausal) {
  const SmallTraining training;
  const std::string model = training.train("model", 1);
  Settings config = read_json(model + "/config.json");
  write_json(model + "/config.json", config.set("model_type", "qwen2").set("is_causal", false));
  expect_bad_input(run("perplexity --device cpu -m " + model + " " + training.text),
                   "model: expected a causal model");
}

TEST(Perplexity, BadInputIsOneLine) {
  const SmallTraining training;
  const std::string model = training.train("model", 1);
  const std::string small = training.folder.write("small", "short");
  const struct {
    std::string arguments, error;
  } rows[] = {
      {"-m " + model + " " + small, "small: expected a text of at least 32 tokens, got 5"},
      {"-m " + model + " --context 33 " + small, "--context: expected at most 32"},
      {"-m " + model + " --context 2 " + small, "--context"},
      {"-m " + model + " " + (training.folder / "none"), "none: No such file or directory"},
      {"-m " + model + " " + training.folder.path(), ": not a regular file"},
      {"-m " + (training.folder / "none") + " " + small, "none: no such file or folder"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.arguments);
    expect_bad_input(run("perplexity --device cpu " + row.arguments), row.error);
  }
}

}  // namespace
}  // namespace wick
