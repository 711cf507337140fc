// wick inspect from outside.
#include "run.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"

namespace wick::test {
namespace {

const std::string kGguf = WICK_GOLDEN "/gguf/";

/// stdout of a run that succeeds.
std::string inspect(const std::string& arguments) {
  const Outcome outcome = run("inspect " + arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

void expect_lines(const std::string& text, std::initializer_list<const char*> lines) {
  for (const char* line : lines)
    EXPECT_TRUE(contains("\n" + text, "\n" + std::string(line) + "\n")) << line << " is not in\n"
                                                                        << text;
}

TEST(Inspect, PrintsWhatAGgufFileHolds) {
  const std::string text = inspect(kGguf + "all.gguf");
  expect_lines(text, {"format        GGUF 3", "architecture  test", "metadata",
                      "  u64                   9223372036854775807",
                      "  f32                   0.15625", "  f64                   0.1",
                      "  text                  \"a \\\"line\\\"\\nGr\xc3\xbc\xc3\x9f"
                      "e \xf0\x9f\x95\xaf\"",
                      "  f32s                  [0.5, -2]",
                      "  deeper                [[[\"a\"], [\"b\", \"c\"]]]"});
  EXPECT_TRUE(contains(text, "\n  q8_0            1                 64 parameters")) << text;
  EXPECT_FALSE(contains(text, "a.q8_0")) << text;
  expect_lines(inspect("--tensors " + kGguf + "all.gguf"),
               {"  a.q8_0     q8_0     [2, 32]", "  b.four     f32      [2, 3, 1, 4]"});
}

TEST(Inspect, ASplitSetIsPrintedAsOne) {
  const std::string text = inspect("--json " + kGguf + "split-00001-of-00003.gguf");
  EXPECT_EQ(parse_json(text, "stdout").group("types")->entries().size(), 5u);
}

TEST(Inspect, JsonIsOneLineOfIt) {
  const std::string line = inspect("--json --tensors " + kGguf + "all.gguf");
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  const Settings result = parse_json(line, "stdout");
  EXPECT_EQ(result.text("format"), "GGUF 3");
  EXPECT_EQ(result.text("architecture"), "test");
  EXPECT_EQ(result.group("metadata")->integer("u16"), 65535);
  EXPECT_EQ(result.group("metadata")->texts("texts"),
            (std::vector<std::string>{"a", "", "\xc3\xa9"}));
  const Settings& q4_k = *result.group("types")->group("q4_k");
  EXPECT_EQ(q4_k.integer("tensors"), 1);
  EXPECT_EQ(q4_k.integer("parameters"), 512);
  EXPECT_EQ(q4_k.integer("bytes"), 288);
  const Settings& four = *result.group("tensors")->group("b.four");
  EXPECT_EQ(four.text("type"), "f32");
  EXPECT_EQ(four.integers("shape"), (std::vector<int64_t>{2, 3, 1, 4}));
  int64_t parameters = 0, bytes = 0;
  for (const auto& [type, value] : result.group("types")->entries()) {
    parameters += std::get<Settings>(value.value).integer("parameters");
    bytes += std::get<Settings>(value.value).integer("bytes");
  }
  EXPECT_EQ(result.integer("parameters"), parameters);
  EXPECT_EQ(result.integer("bytes"), bytes);
  EXPECT_FALSE(parse_json(inspect("--json " + kGguf + "all.gguf"), "stdout").has("tensors"));
}

TEST(Inspect, PrintsWhatASafetensorsFileAndAFolderHold) {
  const Folder folder;
  save_safetensors(
      folder / "model.safetensors",
      {{"w", Tensor::from({{1.f, 2.f}, {3.f, 4.f}})}, {"n", Tensor::from({int64_t(5)})}},
      {{"format", "pt"}});
  expect_lines(inspect(folder / "model.safetensors"),
               {"format        safetensors", "parameters    5", "metadata", "  format  \"pt\"",
                "tensors       2, 0.00 MiB",
                "  f32             1                  4 parameters       0.00 MiB"});
  folder.write("config.json",
               R"({"model_type": "llama", "eos_token_id": [1, 2, 3, 4, 5, 6, 7, 8, 9],
                                  "rope_scaling": {"factor": 2.0}})");
  expect_lines(inspect(folder.path()),
               {"architecture  llama", "config", "  eos_token_id  [1, 2, 3, 4, ...] (9)",
                "  rope_scaling.factor  2"});
  const Settings result = parse_json(inspect("--json " + folder.path()), "stdout");
  EXPECT_EQ(result.text("architecture"), "llama");
  const Settings& ids = *result.group("config")->group("eos_token_id");
  EXPECT_EQ(ids.integer("length"), 9);
  EXPECT_EQ(ids.integers("first"), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Inspect, AFolderWithOneGgufFileIsTheFile) {
  const Folder folder;
  folder.write("all.gguf", bytes_of(kGguf + "all.gguf"));
  EXPECT_EQ(inspect(folder.path()), inspect(kGguf + "all.gguf"));
  folder.write("b.gguf", "");
  expect_bad_input(run("inspect " + folder.path()),
                   "expected one GGUF file in the folder, found all.gguf and b.gguf");
}

TEST(Inspect, LongStringsAreCutBetweenCharacters) {
  const Folder folder;
  std::string text(59, 'x');
  for (int i = 0; i < 600; i++) text += "\xc3\xa9";
  save_safetensors(folder / "a", {}, {{"long", text}});
  expect_lines(inspect(folder / "a"),
               {("  long  \"" + std::string(59, 'x') + "\"... (1,259 bytes)").c_str()});
}

/// ESC, DEL and the control character U+009B, in all that a file names.
TEST(Inspect, ControlCharactersDoNotReachTheTerminal) {
  const Folder folder;
  const std::string odd = "\x1b[2J\x7f\xc2\x9b\r\n", printed = "\\u001b[2J\\u007f\\u009b\\u000d\\n";
  save_safetensors(folder / "model.safetensors", {{odd, Tensor::from({1.f})}}, {{odd, odd}});
  folder.write("config.json",
               R"({"model_type": "\u001b[2J\u007f\u009b\r\n", "\u001b[2J\u007f\u009b\r\n": 1})");
  const std::string text = inspect("--tensors " + folder.path());
  expect_lines(text, {("architecture  " + printed).c_str(),
                      ("  " + printed + "  \"" + printed + "\"").c_str(),
                      ("  " + printed + "  f32  [1]").c_str()});
  for (const std::string& output : {text, inspect("--tensors --json " + folder.path())})
    EXPECT_EQ(output.find_first_of("\x1b\x7f\x9b\r"), output.npos) << output;
  folder.write("config.json", R"({"model_type": ["\u001b"]})");
  expect_bad_input(run("inspect " + folder.path()),
                   "\"model_type\": expected a string, got a list");
}

TEST(Inspect, BadInputIsOneLine) {
  const Folder folder;
  expect_bad_input(run("inspect"), "path is required");
  expect_bad_input(run("inspect " + (folder / "none")), (folder / "none") + ": no such file");
  expect_bad_input(run("inspect " + folder.path()),
                   folder.path() + ": expected model.safetensors or ");
  expect_bad_input(run("inspect " + folder.write("a.gguf", "")),
                   "a.gguf: byte 0: a value of 4 bytes");
  expect_bad_input(run("inspect " + folder.write("b", "GGUF\4")), "b: byte 4: a value of 4 bytes");
  expect_bad_input(run("inspect " + folder.write("c", "text")),
                   "safetensors: " + (folder / "c") + ": the file has 4 bytes");
  expect_bad_input(run("inspect " + folder.write("d-00001-of-00002.gguf",
                                                 bytes_of(kGguf + "split-00001-of-00003.gguf"))),
                   "must end in -00001-of-00003.gguf");
  expect_bad_input(run("inspect " + folder.write("d-00001-of-00003.gguf",
                                                 bytes_of(kGguf + "split-00001-of-00003.gguf"))),
                   (folder / "d-00002-of-00003.gguf") + ": No such file");
  // Texts of a file that an error quotes.
  folder.write(
      "e.gguf",
      "GGUF" +
          std::string("\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\x1b[2J\xff\0\0\0\0",
                      37));
  expect_bad_input(run("inspect " + (folder / "e.gguf")),
                   "key \"\\u001b[2J\": unknown type of value 255");
}

}  // namespace
}  // namespace wick::test
