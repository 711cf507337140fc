// wick generate and wick chat with images.
#include "../models/logits.h"
#include "pty.h"
#include "run.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"

namespace wick::test {
namespace {

const std::string kGolden = WICK_GOLDEN;
const std::string kModel = kGolden + "/image_prompt/paligemma", kImages = kGolden + "/images";
const std::string kPhoto = " --image " + kImages + "/photo.png",
                  kGray = " --image " + kImages + "/gray.png",
                  kRgba = " --image " + kImages + "/rgba.png";
// As make_prompts.py continues texts.
const std::string kGreedy = " --device cpu --temperature 0 --repetition-penalty 2 ";

/// The ids of a prompt of make_prompts.py.
std::vector<int64_t> expected(const std::string& key) {
  return load_safetensors(kModel + "/prompts.safetensors").at(key).to_vector<int64_t>();
}

TEST(GenerateWithImages, ContinuesAsTransformers) {
  const struct {
    std::string arguments, key;
  } cases[] = {{kPhoto + " -p 'a cat in a hat'", "0"}, {kRgba + kGray + " -p 'the cats'", "1"}};
  for (const auto& c : cases) {
    const std::vector<int64_t> ids = expected(c.key + ".generated");
    const Outcome outcome = run("generate " + kModel + kGreedy + c.arguments +
                                " --json --max-tokens " + std::to_string(ids.size()));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const Settings line = parse_json(outcome.out, "stdout");
    EXPECT_EQ(line.integers("tokens"), ids);
    EXPECT_EQ(line.integer("prompt_tokens"), int64_t(expected(c.key + ".input_ids").size()));
  }
  const Outcome piped =
      run("generate " + kModel + kGreedy + "--image - -p 'a cat in a hat' --max-tokens 4 < " +
          kImages + "/photo.png");
  EXPECT_TRUE(begins(piped.out, "a cat in a hat\n")) << piped.out << piped.err;
}

TEST(GenerateWithImages, SaysInOneLineWhyItCannot) {
  const std::string generate = "generate " + kModel + kGreedy;
  expect_bad_input(run(generate + "-p a --image /nowhere.png"), "/nowhere.png");
  expect_bad_input(run(generate + "-p a --image " + kModel + "/config.json"),
                   "config.json: expected a PNG, JPEG or WebP image");
  expect_bad_input(run(generate + "--image -"), "--image: expected -p beside an image from stdin");
  expect_bad_input(run(generate + kPhoto + " -p '<image><image>'"),
                   "expected a <image> in the text for each of 1 images, got 2");
  const Folder folder;
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
    folder.write(name, bytes_of(kModel + "/" + name));
  expect_bad_input(run("generate --device cpu " + folder.path() + kPhoto + " -p a"),
                   "expected preprocessor_config.json or processor_config.json in the folder");
  expect_bad_input(run("chat --device cpu " + folder.path() + kPhoto + " -p a"),
                   "expected preprocessor_config.json or processor_config.json in the folder");
  std::filesystem::remove(folder / "tokenizer.json");
  expect_bad_input(run("generate --device cpu " + folder.path() + kPhoto + " -p a"),
                   "the model has no tokenizer");
  for (const char* name : {"config.json", "model.safetensors"})
    folder.write(name, bytes_of(kGolden + "/decoders/llama_linear/" + name));
  folder.write("tokenizer.json", bytes_of(kModel + "/tokenizer.json"));
  for (const char* command : {"generate", "chat"})
    expect_bad_input(run(command + (" --device cpu " + folder.path()) + kPhoto + " -p a"),
                     "a model of type llama reads no images");
}

TEST(ChatWithImages, AnswersAQuestionAboutAnImage) {
  const std::vector<int64_t> ids = expected("0.generated");
  const Outcome outcome =
      run("chat " + kModel + kGreedy + kPhoto + " -p 'a cat in a hat' --json --max-tokens " +
          std::to_string(ids.size()));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(parse_json(outcome.out, "stdout").integers("tokens"), ids);
}

TEST(ChatWithImages, OneMayBeAddedToALaterQuestion) {
  Terminal terminal({"chat", kModel, "--device", "cpu", "--temperature", "0",
                     "--repetition-penalty", "2", "--max-tokens", "3", "--context", "64",
                     "--no-history"});
  EXPECT_TRUE(contains(terminal.until_prompt(), "/image FILE adds an image to the next question"));
  const auto answer = [&](const std::string& line) {
    terminal.type(line + "\r");
    terminal.until("\r\n");
    return terminal.until_prompt();
  };
  EXPECT_TRUE(contains(answer("/image /nowhere.png"), "/nowhere.png: "));
  EXPECT_TRUE(
      contains(answer("/image " + kImages + "/photo.png"), "the next question has this image"));
  EXPECT_TRUE(contains(answer("a cat in a hat"), "prefill: 11 tokens"));
  // The answer's last token at least, "\n" and the question; not the image again.
  const std::string second = answer("the");
  const size_t at = second.find("prefill: ");
  ASSERT_NE(at, second.npos) << second;
  EXPECT_LT(std::atoi(second.c_str() + at + 9), 10) << second;
  terminal.type("/exit\r");
  EXPECT_EQ(terminal.code(), 0);
}

}  // namespace
}  // namespace wick::test
