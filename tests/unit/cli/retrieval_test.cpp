// The commands with a ColPali: embed and rank, forward, and those that it refuses.
#include "../models/logits.h"
#include "run.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/ops/shape.h"

namespace wick::test {
namespace {

const std::string kGolden = WICK_GOLDEN;
const std::string kColPali = kGolden + "/image_prompt/colpali", kImages = kGolden + "/images";
const std::vector<std::string> kFiles = {kImages + "/photo.png", kImages + "/rgba.png",
                                         kImages + "/gray.png"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

/// The list "embeddings" of a line, [tokens, D].
Tensor vectors_of(const Settings& line) {
  const Setting* const found = line.find("embeddings");
  if (!found) line.fail_expected("embeddings", "a list");
  const auto& rows = std::get<Setting::List>(found->value);
  std::vector<double> values;
  for (const Setting& row : rows)
    for (const double x : Settings("row", {{"x", row}}).reals("x")) values.push_back(x);
  const int64_t count = int64_t(rows.size());
  return Tensor::from(values, {count, int64_t(values.size()) / count});
}

TEST(EmbedWithColPali, PrintsAVectorForEachTokenOfQueriesAndImages) {
  for (const char* name : {"colpali", "colpali_engine"}) {
    const std::string model = kGolden + "/image_prompt/" + name;
    const NamedTensors expected = load_safetensors(model + "/ranked.safetensors");
    const Outcome outcome = run("embed --device cpu " + model +
                                " --text 'a cat in a hat' --image " + kFiles[0] + " " + kFiles[2]);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const std::vector<std::string> lines = lines_of(outcome.out);
    ASSERT_EQ(lines.size(), 3u) << outcome.out;
    const struct {
      const char* key;
      std::string item, tensor;
    } rows[] = {{"text", "a cat in a hat", "query.0"},
                {"image", kFiles[0], "image.0"},
                {"image", kFiles[2], "image.2"}};
    for (size_t i = 0; i < 3; i++) {
      const Settings line = parse_json(lines[i], "line");
      EXPECT_EQ(line.text(rows[i].key), rows[i].item);
      EXPECT_EQ(vectors_of(line).shape(), expected.at(rows[i].tensor).shape());
      EXPECT_LT(largest_difference(vectors_of(line), expected.at(rows[i].tensor)), 1e-4);
    }
    const Outcome piped = run("embed --device cpu " + model + " < /dev/null");
    EXPECT_EQ(piped.code, 0) << piped.err;
    EXPECT_EQ(piped.out, "");
  }
}

TEST(RankWithColPali, PrintsTheBestImageFirstByTheScoresOfTransformers) {
  for (const char* name : {"colpali", "colpali_engine"})
    for (const char* device : {"cpu", "emu:32"}) {
      const std::string model = kGolden + "/image_prompt/" + name;
      const std::vector<float> scores =
          select(load_safetensors(model + "/ranked.safetensors").at("scores"), 0, 1)
              .to_vector<float>();
      std::vector<size_t> order = {0, 1, 2};
      std::sort(order.begin(), order.end(),
                [&](size_t a, size_t b) { return scores[a] > scores[b]; });
      const Outcome outcome =
          run("rank --json --dtype f32 --device " + std::string(device) + " " + model +
              " 'where is the rat?' " + kFiles[2] + " " + kFiles[0] + " " + kFiles[1]);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      const std::vector<std::string> lines = lines_of(outcome.out);
      ASSERT_EQ(lines.size(), 3u) << outcome.out;
      for (size_t i = 0; i < 3; i++) {
        const Settings line = parse_json(lines[i], "line");
        EXPECT_EQ(line.text("image"), kFiles[order[i]]);
        EXPECT_NEAR(line.real("score"), scores[order[i]], 1e-4);
      }
    }
}

TEST(ForwardWithColPali, GivesTheVectorsOfTransformers) {
  const Folder folder;
  const NamedTensors expected = load_safetensors(kColPali + "/expected.safetensors");
  NamedTensors inputs;
  for (const char* name : {"pixel_values", "input_ids", "attention_mask"})
    inputs[name] = expected.at(name);
  save_safetensors(folder / "in.safetensors", inputs);
  const Outcome outcome = run("forward --device cpu " + kColPali + " --in " +
                              (folder / "in.safetensors") + " -o " + (folder / "out.safetensors"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const NamedTensors outputs = load_safetensors(folder / "out.safetensors");
  EXPECT_EQ(outputs.size(), 1u);
  EXPECT_LT(largest_difference(outputs.at("embeddings"), expected.at("embeddings")), 1e-4);
}

TEST(ColPaliCommands, SayInOneLineWhyTheyCannot) {
  const Folder folder;
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
    folder.write(name, bytes_of(kColPali + "/" + name));
  const std::string text = folder.write("text", "no image\n"), long_query(200, 'a');
  const struct {
    std::string arguments, error;
  } cases[] = {
      {"rank " + kColPali + " cat", "rank: expected the query, a text, then images"},
      {"rank " + kColPali + " cat nothing.png", "nothing.png: No such file or directory"},
      {"rank " + kColPali + " cat " + text, text + ": expected a PNG, JPEG or WebP image"},
      {"rank " + kColPali + " " + long_query + " " + kFiles[0],
       "exceeds the 64 positions of the model"},
      {"rank " + kColPali + " '<image>' " + kFiles[0], "for each of 0 images, got 1"},
      {"rank " + folder.path() + " cat " + kFiles[0], "expected preprocessor_config.json or "},
      {"rank " + kGolden + "/image_prompt/paligemma cat " + kFiles[0],
       "one of type paligemma continues or embeds texts"},
      {"embed " + kColPali + " --image nothing.png", "nothing.png: No such file or directory"},
      {"embed " + kColPali + " --text " + long_query, "exceeds the 64 positions of the model"},
      {"embed " + folder.path() + " --image " + kFiles[0], "expected preprocessor_config.json or "},
      {"generate -p a " + kColPali,
       "a model of type colpali whose tokens see each other both ways continues no text; use wick "
       "embed or wick rank"},
      {"generate -p a --image " + kFiles[0] + " " + kColPali, "use wick embed or wick rank"},
      {"chat -p a " + kColPali, "use wick embed or wick rank"},
      {"generate -p a " + kGolden + "/image_prompt/colpali_engine", "use wick embed or wick rank"},
      {"generate -p a " + kGolden + "/examples/gte_qwen", "continues no text; use wick embed\n"},
      {"perplexity " + kColPali + " " + text, "expected a causal model"},
      {"logits --tokens 1,2 -o " + (folder / "out") + " " + kColPali, "and no logits"},
  };
  for (const auto& [arguments, error] : cases)
    expect_bad_input(run(arguments + " --device cpu"), error);
  EXPECT_EQ(run("inspect " + kColPali).code, 0);
  std::filesystem::remove(folder / "tokenizer.json");
  expect_bad_input(run("rank --device cpu " + folder.path() + " cat " + kFiles[0]),
                   "the model has no tokenizer");
}

}  // namespace
}  // namespace wick::test
