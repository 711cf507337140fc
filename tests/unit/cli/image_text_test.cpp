// The commands that compare images with texts: embed, rank, forward and inspect.
#include "../models/logits.h"
#include "run.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/ops/shape.h"

namespace wick::test {
namespace {

const std::string kGolden = WICK_GOLDEN;
const std::string kModels = kGolden + "/image_text", kImages = kGolden + "/images";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

/// A copy of the golden SigLIP without the files that are named.
void copy_without(const Folder& folder, const std::vector<std::string>& left_out) {
  for (const char* name : {"config.json", "model.safetensors", "processor_config.json",
                           "tokenizer.json", "tokenizer_config.json"})
    if (std::find(left_out.begin(), left_out.end(), name) == left_out.end())
      folder.write(name, bytes_of(kModels + "/siglip/" + name));
}

TEST(EmbedImages, PrintsALineForEachImageAndText) {
  const NamedTensors expected = load_safetensors(kModels + "/siglip/embedded.safetensors");
  const std::string photo = kImages + "/photo.png", gray = kImages + "/gray.png";
  const Outcome outcome =
      run("embed --device cpu " + kModels + "/siglip --text 'A cat' --image " + photo + " " + gray);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<std::string> lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 3u) << outcome.out;
  const struct {
    const char* key;
    std::string item, tensor;
    int64_t row;
  } rows[] = {{"text", "A cat", "text_embeds", 0},
              {"image", photo, "image_embeds", 0},
              {"image", gray, "image_embeds", 2}};
  for (size_t i = 0; i < 3; i++) {
    const Settings line = parse_json(lines[i], "line");
    EXPECT_EQ(line.text(rows[i].key), rows[i].item);
    const std::vector<double> values = line.reals("embedding");
    const Tensor row = select(expected.at(rows[i].tensor), 0, rows[i].row);
    EXPECT_LT(largest_difference(Tensor::from(values), cast(row, DType::kF64)), 1e-5);
  }
  const Outcome piped = run("embed --device cpu " + kModels + "/siglip --image - < " + photo);
  EXPECT_EQ(parse_json(piped.out, "line").reals("embedding"),
            parse_json(lines[1], "line").reals("embedding"));
  EXPECT_EQ(run("embed --device cpu " + kModels + "/siglip --image - < " + photo).err, "");
}

TEST(EmbedImages, ReadsTextsFromFiles) {
  const Folder folder;
  const std::string texts = folder.write("texts", "A cat\ntwo dogs\n");
  const std::string command = "embed --device cpu " + kModels + "/clip";
  const Outcome outcome = run(command + " --text 'A cat' --text 'two dogs'");
  EXPECT_EQ(lines_of(outcome.out).size(), 2u) << outcome.err;
  EXPECT_EQ(run(command + " " + texts).out, outcome.out);
  EXPECT_EQ(run(command + " < " + texts).out, outcome.out);
}

TEST(Rank, PrintsTheBestImageFirst) {
  const std::vector<std::string> files = {"photo.png", "rgba.png", "gray.png", "alpha.webp"};
  std::string arguments;
  for (const std::string& file : files) arguments += " " + kImages + "/" + file;
  for (const char* name : {"siglip", "clip"}) {
    const std::string model = kModels + "/" + name;
    const std::vector<float> scores =
        select(load_safetensors(model + "/embedded.safetensors").at("scores"), 0, 0)
            .to_vector<float>();
    std::vector<size_t> order = {0, 1, 2, 3};
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    const Outcome outcome = run("rank --device cpu " + model + " 'A cat'" + arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::vector<std::string> lines = lines_of(outcome.out);
    ASSERT_EQ(lines.size(), 4u) << outcome.out;
    const std::vector<std::string> objects =
        lines_of(run("rank --json --device cpu -m " + model + " 'A cat'" + arguments).out);
    ASSERT_EQ(objects.size(), 4u);
    for (size_t i = 0; i < 4; i++) {
      const std::string path = kImages + "/" + files[order[i]];
      const size_t tab = lines[i].find('\t');
      EXPECT_EQ(lines[i].substr(tab + 1), path);
      EXPECT_NEAR(std::stod(lines[i].substr(0, tab)), scores[order[i]], 1e-4);
      const Settings object = parse_json(objects[i], "line");
      EXPECT_EQ(object.text("image"), path);
      EXPECT_NEAR(object.real("score"), scores[order[i]], 1e-4);
    }
  }
}

TEST(Rank, BadInputIsALineThatSaysWhy) {
  const Folder folder;
  copy_without(folder, {"processor_config.json"});
  const std::string photo = kImages + "/photo.png", siglip = kModels + "/siglip";
  const std::string text = folder.write("text", "no image\n"), cut = folder.write("cut.png", "");
  folder.write("cut.png", bytes_of(photo).substr(0, 60));
  const struct {
    std::string arguments, error;
  } cases[] = {
      {"rank", "rank: --model is required"},
      {"rank " + siglip, "rank: expected the query, a text, then images"},
      {"rank " + siglip + " cat", "rank: expected the query, a text, then images"},
      {"rank -m " + siglip + " cat", "rank: expected the query, a text, then images"},
      {"rank " + siglip + " " + photo + " " + photo, "got the file " + photo},
      {"rank " + siglip + " cat nothing.png", "nothing.png: No such file or directory"},
      {"rank " + siglip + " cat " + text, text + ": expected a PNG, JPEG or WebP image"},
      {"rank " + siglip + " cat " + cut, cut + ": "},
      {"rank " + siglip + " cat " + folder.path(), folder.path() + ": "},
      {"rank " + folder.path() + " cat " + photo, "expected preprocessor_config.json or "},
      {"rank " + kModels + "/siglip_gelu cat " + photo, "expected preprocessor_config.json or "},
      {"rank " + kGolden + "/llama/grouped cat " + photo,
       "expected a model that compares images with texts; one of type llama continues or embeds "
       "texts"},
      {"rank " + kGolden + "/mamba/model.gguf cat " + photo, "got a GGUF file"},
      {"rank " + siglip + " abcdefghijklmnop " + photo, "at most 10 tokens"},
      {"embed " + siglip + " --image nothing.png", "nothing.png: No such file or directory"},
      {"embed " + siglip + " --image " + text, text + ": expected a PNG, JPEG or WebP image"},
      {"embed " + folder.path() + " --image " + photo, "expected preprocessor_config.json or "},
      {"embed " + kGolden + "/llama/grouped --image " + photo, "continues or embeds texts"},
      {"generate -p x " + siglip,
       "expected a model that continues or embeds texts; one of type siglip"},
  };
  for (const auto& [arguments, error] : cases)
    expect_bad_input(run(arguments + " --device cpu"), error);
  expect_bad_input(run("embed --device cpu " + siglip + " --image"), "--image");
  // A model without a tokenizer embeds images, but no text.
  folder.write("processor_config.json", bytes_of(siglip + "/processor_config.json"));
  std::filesystem::remove(folder / "tokenizer.json");
  EXPECT_EQ(run("embed --device cpu " + folder.path() + " --image " + photo).code, 0);
  expect_bad_input(run("rank --device cpu " + folder.path() + " cat " + photo),
                   "the model has no tokenizer");
}

TEST(ImageTextCommands, ReadTextsWithSpieceModel) {
  const Folder folder;
  copy_without(folder, {"tokenizer.json", "tokenizer_config.json"});
  folder.write("spiece.model", bytes_of(kGolden + "/tokenizers/siglip.model"));
  EXPECT_EQ(run("tokenize " + folder.path() + " --text 'A the!'").out,
            "8\t\"\u2581a\"\n6\t\"\u2581the\"\n1\t\"</s>\"\n");
  const std::string embed = "embed --device cpu " + folder.path() + " --text ";
  const Settings line = parse_json(run(embed + "'A the!'").out, "line");
  EXPECT_EQ(line.reals("embedding").size(), 24u);
  EXPECT_EQ(parse_json(run(embed + "'a THE'").out, "line").reals("embedding"),
            line.reals("embedding"));
  EXPECT_EQ(lines_of(run("rank --device cpu " + folder.path() + " 'A the!' " + kImages +
                         "/photo.png " + kImages + "/gray.png")
                         .out)
                .size(),
            2u);
}

TEST(ForwardImages, GivesTheTensorsOfTransformers) {
  const Folder folder;
  for (const char* name : {"siglip", "clip"}) {
    const NamedTensors expected = load_safetensors(kModels + "/" + name + "/expected.safetensors");
    NamedTensors inputs;
    for (const char* input : {"pixel_values", "input_ids"}) inputs[input] = expected.at(input);
    save_safetensors(folder / "in.safetensors", inputs);
    const Outcome outcome =
        run("forward --device cpu --hidden " + kModels + "/" + name + " --in " +
            (folder / "in.safetensors") + " -o " + (folder / "out.safetensors"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const NamedTensors outputs = load_safetensors(folder / "out.safetensors");
    for (const char* output :
         {"image_embeds", "text_embeds", "logits_per_image", "vision_model_output.hidden_states.1"})
      EXPECT_LT(largest_difference(outputs.at(output), expected.at(output)), 1e-4) << output;
  }
  save_safetensors(folder / "in.safetensors", {{"positions", Tensor::from(std::vector<float>{1})}});
  expect_bad_input(run("forward --device cpu " + kModels + "/clip --in " +
                       (folder / "in.safetensors") + " -o " + (folder / "bad.safetensors")),
                   "does not read \"positions\"; expected pixel_values, input_ids");
  EXPECT_FALSE(std::filesystem::exists(folder / "bad.safetensors"));
}

TEST(InspectImages, PrintsBothTowersSettings) {
  const Outcome outcome = run("inspect --tensors " + kModels + "/siglip");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"architecture  siglip\n", "vision_config.patch_size", "logit_bias"})
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in\n" << outcome.out;
}

}  // namespace
}  // namespace wick::test
