#include "small_model.h"
#include "wick/io/gguf.h"
#include "wick/io/safetensors.h"

namespace wick {
namespace {

using namespace test;

TEST(Convert, TheFileGivesTheFoldersTokensAndLogits) {
  const SmallTraining training;
  const std::string model = training.train(), out = training.folder / "model.gguf";
  const Outcome outcome = run("convert " + model + " " + out);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(begins(outcome.out, out + ": ")) << outcome.out;
  std::vector<std::vector<float>> logits;
  std::vector<std::string> ids;
  for (const std::string& path : {model, out}) {
    const std::string file = training.folder / "logits.safetensors";
    const Outcome written = run("logits --device cpu --dtype f32 --tokens 72,101,108,108,111 -m " +
                                path + " -o " + file);
    ASSERT_EQ(written.code, 0) << written.err;
    logits.push_back(load_safetensors(file).at("logits").to_vector<float>());
    ids.push_back(run("tokenize -m " + path + " " + training.text).out);
  }
  EXPECT_EQ(ids[0], ids[1]);
  ASSERT_EQ(logits[0].size(), logits[1].size());
  for (size_t i = 0; i < logits[0].size(); i++) EXPECT_NEAR(logits[0][i], logits[1][i], 1e-5);
  // A folder can be quantized, too.
  const Outcome quantized = run("quantize " + model + " " + out + " --type q8_0 --force --json");
  EXPECT_EQ(quantized.code, 0) << quantized.err;
  EXPECT_EQ(GgufReader(out).metadata().integer("general.file_type"), 7);
}

TEST(Convert, TriesAllFilesOfTheFolderBeforeItWritesOne) {
  const Folder folder;
  std::filesystem::create_directories(folder / "out/config.json");
  const std::string model = folder.write("out/model.safetensors", "old");
  const std::string in = WICK_GOLDEN "/decoders/qwen3/model.gguf";
  const Outcome outcome = run("convert " + in + " " + (folder / "out") + " --force");
  EXPECT_NE(outcome.code, 0);
  EXPECT_TRUE(contains(outcome.err, "out/config.json: cannot be replaced: not a regular file\n"))
      << outcome.err;
  EXPECT_EQ(bytes_of(model), "old");
}

TEST(Convert, BadInputIsOneLine) {
  const Folder folder;
  const std::string model = WICK_GOLDEN "/decoders/qwen3", out = folder / "a.gguf",
                    old = folder.write("old.gguf", "old");
  const struct {
    std::string arguments, error;
  } rows[] = {
      {(folder / "none") + " " + out, "none: no such file or folder"},
      {old + " " + out, "old.gguf: byte 0: "},
      {WICK_GOLDEN "/tokenizers " + out, "expected config.json"},
      {model + " " + old, "exists; --force replaces it"},
      {model + "/model.gguf " + old + " --force", "old.gguf: expected a folder"},
      {model + " " + out + " --dtype q8_0", "expected f32, f16 or bf16, got q8_0"},
      {model, "out is required"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.arguments);
    expect_bad_input(run("convert " + row.arguments), row.error);
  }
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(bytes_of(old), "old");
}

TEST(Convert, AFullDiskIsAFailureOfTheMachine) {
  const SmallTraining training;
  const std::string model = training.train("model", 1);
  // A limit of files' sizes stands for the disk's.
  const std::string small = "trap '' XFSZ; ulimit -f 4;";
  for (const char* command : {"convert ", "quantize --type q8_0 "}) {
    const Outcome outcome = run(command + model + " " + (training.folder / "out.gguf"), small);
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "out.gguf: cannot be written: ")) << outcome.err;
  }
}

}  // namespace
}  // namespace wick
