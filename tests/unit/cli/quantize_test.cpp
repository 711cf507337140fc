#include "run.h"
#include "wick/io/gguf.h"

namespace wick {
namespace {

using namespace test;

const std::string kModel = WICK_GOLDEN "/decoders/qwen3/model.gguf";

TEST(Quantize, WritesAFileThatHoldsTheModel) {
  const Folder folder;
  const std::string out = folder / "q8.gguf";
  const Outcome outcome = run("quantize " + kModel + " " + out + " --type q8_0");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(begins(outcome.out, out + ": ")) << outcome.out;
  EXPECT_EQ(GgufReader(out).metadata().integer("general.file_type"), 7);
  const Outcome logits =
      run("logits -m " + out + " --tokens 1,2 --device cpu -o " + (folder / "x.safetensors"));
  EXPECT_EQ(logits.code, 0) << logits.err;
}

TEST(Quantize, PrintsOneLineOfJson) {
  const Folder folder;
  const Outcome outcome =
      run("quantize " + kModel + " " + (folder / "a.gguf") + " --type bf16 --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* key : {"\"out\"", "\"type\":\"bf16\"", "\"bytes_before\"", "\"bytes_after\""})
    EXPECT_TRUE(contains(outcome.out, key)) << outcome.out;
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1);
}

TEST(Quantize, AFileThatExistsIsReplacedOnlyByForce) {
  const Folder folder;
  const std::string out = folder.write("a.gguf", "old");
  expect_bad_input(run("quantize " + kModel + " " + out + " --type q8_0"),
                   out + ": exists; --force replaces it");
  EXPECT_EQ(bytes_of(out), "old");
  EXPECT_EQ(run("quantize " + kModel + " " + out + " --type q8_0 --force").code, 0);
  EXPECT_EQ(bytes_of(out).substr(0, 4), "GGUF");
}

TEST(Quantize, TheInputIsNeverReplaced) {
  const Folder folder;
  const std::string in = folder.write("in.gguf", bytes_of(kModel));
  std::filesystem::create_symlink(in, folder / "link.gguf");
  for (const std::string& out : {in, folder / "./in.gguf", folder / "link.gguf"})
    expect_bad_input(run("quantize " + in + " " + out + " --type q8_0 --force"),
                     "expected another place than the input's");
  EXPECT_EQ(bytes_of(in), bytes_of(kModel));
}

TEST(Quantize, BadInputIsOneLine) {
  const Folder folder;
  const std::string out = folder / "a.gguf", text = folder.write("text", "no model");
  const struct {
    std::string arguments, error;
  } rows[] = {
      {(folder / "none") + " " + out + " --type q8_0", "none: no such file or folder"},
      {text + " " + out + " --type q8_0", "expected the text GGUF"},
      {kModel + " " + out + " --type q3", "got q3"},
      {kModel + " " + out, "--type is required"},
      {kModel + " --type q8_0", "out is required"},
      {kModel + " " + (folder / "none/a.gguf") + " --type q8_0", "no folder"},
      {kModel + " " + folder.path() + " --type q8_0", "exists"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.arguments);
    expect_bad_input(run("quantize " + row.arguments), row.error);
  }
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Quantize, HelpShowsTwoExamples) {
  const Outcome outcome = run("quantize --help");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(contains(outcome.out, "Examples:\n  wick quantize ")) << outcome.out;
}

TEST(Quantize, NamesTheFlagThatQuantizedWeightsNeed) {
  const Folder folder;
  const std::string first = folder / "first.gguf", second = folder / "second.gguf";
  ASSERT_EQ(run("quantize " + kModel + " " + first + " --type q8_0").code, 0);
  expect_bad_input(run("quantize " + first + " " + second + " --type q4_0"), "--requantize");
  EXPECT_EQ(run("quantize --requantize " + first + " " + second + " --type q4_0").code, 0);
}

}  // namespace
}  // namespace wick
