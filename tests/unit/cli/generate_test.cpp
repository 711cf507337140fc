// wick generate from outside.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "small_model.h"
#include "wick/io/json.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;

/// A trained model, made once.
const std::string& model() {
  static const SmallTraining small;
  static const std::string folder = small.train("model", 60);
  return folder;
}
std::string generate(const std::string& rest) {
  return "generate --device cpu -m " + model() + rest;
}

TEST(Generate, PrintsThePromptAndGoesOn) {
  const Outcome outcome = run(generate(" -p 'line 1' --max-tokens 20"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(begins(outcome.out, "line 1"));
  EXPECT_EQ(outcome.out.size(), 6 + 20 + 1u);
  EXPECT_TRUE(begins(outcome.err, "prefill: 6 tokens, ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "; decode: 19 tokens, ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, " tokens/s\n")) << outcome.err;
}

TEST(Generate, TheSeedDecides) {
  const std::string one = run(generate(" -p x --max-tokens 30 --seed 1")).out;
  EXPECT_EQ(run(generate(" -p x --max-tokens 30 --seed 1")).out, one);
  EXPECT_NE(run(generate(" -p x --max-tokens 30 --seed 2")).out, one);
  const std::string greedy = run(generate(" -p x --max-tokens 30 --temperature 0")).out;
  EXPECT_EQ(run(generate(" -p x --max-tokens 30 --temperature 0 --seed 2")).out, greedy);
  EXPECT_EQ(run(generate(" -p x --max-tokens 30 --top-k 1 --seed 3")).out, greedy);
}

TEST(Generate, NotesSayWhatItDecides) {
  const std::string rest = " -p 'line 1' --max-tokens 8 --temperature 0";
  const Outcome noted = run(generate(rest), "WICK_LOG=info");
  EXPECT_TRUE(contains(
      noted.err, "wick: session: steps are queued kernel by kernel: graph: cpu has no graphs"))
      << noted.err;
  const Outcome quiet = run(generate(rest));
  EXPECT_EQ(noted.out, quiet.out);
  EXPECT_FALSE(contains(quiet.err, "wick:")) << quiet.err;
  const Outcome emulated = run("generate --device emu:32 -m " + model() + rest, "WICK_LOG=info");
  EXPECT_TRUE(contains(emulated.err, "wick: emu: /")) << emulated.err;
  EXPECT_TRUE(contains(emulated.err, "wick: session: ")) << emulated.err;
  expect_bad_input(run(generate(rest), "WICK_LOG=loud"), "WICK_LOG");
}

TEST(Generate, JsonIsOneLineOfIt) {
  const Outcome outcome = run(generate(" -p 'line' --max-tokens 12 --json"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1) << outcome.out;
  const Settings result = parse_json(outcome.out, "stdout");
  EXPECT_EQ(result.text("prompt"), "line");
  EXPECT_EQ(result.text("stopped"), "length");
  EXPECT_EQ(result.integers("tokens").size(), 12u);
  EXPECT_EQ(result.integer("prefill_tokens"), 4);
  EXPECT_GT(result.real("decode_tokens_per_second"), 0);
}

TEST(Generate, GoesOnBeyondThePositionsThatTheModelKnows) {
  const Outcome outcome = run(generate(" -p 'line 1' --max-tokens 100"));  // it knows 32
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.size(), 6 + 100 + 1u);
  const Outcome longer = run(generate(" -p '" + std::string(100, 'x') + "' --max-tokens 3"));
  EXPECT_EQ(longer.code, 0) << longer.err;
  EXPECT_EQ(longer.out.size(), 100 + 3 + 1u);
}

TEST(Generate, ContinuesAFileOrStdin) {
  const std::string expected = run(generate(" -p 'line 1' --max-tokens 5 --seed 1")).out;
  const Folder folder;
  const std::string file = folder.write("text", "line 1\n");
  for (const std::string& input : {" " + file, " < " + file, " - < " + file})
    EXPECT_EQ(run(generate(" --max-tokens 5 --seed 1" + input)).out, expected) << input;
  EXPECT_EQ(run("generate --device cpu " + model() + " " + file + " --max-tokens 5 --seed 1").out,
            expected);
}

TEST(Generate, AnEmptyPromptBeginsAText) {
  const Outcome outcome = run(generate(" --max-tokens 5 < /dev/null"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.size(), 6u);
}

TEST(Generate, AGrammarHoldsTheText) {
  const Outcome matched =
      run(generate(" -p 'line 1' --max-tokens 50 --regex '(ab|cd){3}\\.' --seed 4"));
  EXPECT_EQ(matched.code, 0) << matched.err;
  EXPECT_EQ(matched.out.size(), 6 + 7 + 1u);
  EXPECT_EQ(matched.out.find_first_not_of("abcd", 6), 12u) << matched.out;
  const Folder folder;
  const std::string file =
      folder.write("list.gbnf", "# a list\nroot ::= (\"- \" item){2}\nitem ::= [x-z]+ \"\\n\"\n");
  const Outcome list = run(generate(" -p '' --max-tokens 200 --temperature 2 --grammar " + file));
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_TRUE(begins(list.out, "- ")) << list.out;
  EXPECT_EQ(list.out.find_first_not_of("-xyz \n"), list.out.npos) << list.out;
  EXPECT_EQ(std::count(list.out.begin(), list.out.end(), '\n'), 2 + 1) << list.out;

  const std::string schema = folder.write(
      "schema.json", R"({"type":"object","properties":{"a":{"type":"integer","maximum":99,
                         "minimum":10},"b":{"enum":["x","y"]}},"required":["a","b"],
                         "additionalProperties":false})");
  const Outcome object =
      run(generate(" -p '' --max-tokens 300 --temperature 3 --seed 1 --json-schema " + schema));
  EXPECT_EQ(object.code, 0) << object.err;
  const Settings value = parse_json(object.out, "stdout");
  EXPECT_GE(value.integer("a"), 10) << object.out;
  EXPECT_LE(value.integer("a"), 99) << object.out;
  EXPECT_TRUE(value.text("b") == "x" || value.text("b") == "y") << object.out;

  expect_bad_input(run(generate(" -p x --json-schema " + folder.write("no", "{\"not\":{}}"))),
                   "/no: #/not: the keyword is not supported");
  expect_bad_input(run(generate(" -p x --json-schema " + folder.write("cut", "{"))), "/cut: ");
  expect_bad_input(run(generate(" -p x --regex a --json-schema " + schema)), "--json-schema");
  expect_bad_input(run(generate(" -p x --regex '(a'")), "regex: line 1, column 3: expected \")\"");
  expect_bad_input(run(generate(" -p x --grammar " + folder.write("bad", "root ::= a"))),
                   "/bad: line 1, column 10: the rule \"a\" is not defined");
  expect_bad_input(run(generate(" -p x --grammar /nonexistent")), "/nonexistent");
  expect_bad_input(run(generate(" -p x --regex a --grammar " + file)), "--grammar");
}

TEST(Generate, OutputThatCannotBeWrittenIsAnError) {
  const Outcome outcome = run(generate(" -p x --max-tokens 5 > /dev/full"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "wick: the output cannot be written: ")) << outcome.err;
}

TEST(GenerateBadInput, Flags) {
  expect_bad_input(run("generate -p x"), "--model is required");
  expect_bad_input(run(generate(" --max-tokens 0")),
                   "--max-tokens: expected an integer from 1 to 2147483647, got 0");
  expect_bad_input(run(generate(" --temperature -1")),
                   "--temperature: expected a number of at least 0, got -1");
  expect_bad_input(run(generate(" --top-p 0")),
                   "--top-p: expected a number above 0 and up to 1, got 0");
  expect_bad_input(run(generate(" --top-k -2")),
                   "--top-k: expected an integer from 0 to 2147483647, got -2");
  expect_bad_input(run("generate --device gpu -p x -m " + model()), "device: expected cpu");
}

/// A copy of the model with a file replaced.
Outcome with(const std::string& file, const std::string& text) {
  const Folder folder;
  fs::copy(model(), folder.path());
  folder.write(file, text);
  return run("generate --device cpu -p x --max-tokens 2 -m " + folder.path());
}
/// Safetensors of a header and data as they are.
std::string safetensors(const std::string& header, const std::string& data) {
  const uint64_t bytes = header.size();
  return std::string(reinterpret_cast<const char*>(&bytes), 8) + header + data;
}

TEST(GenerateBadInput, Folders) {
  expect_bad_input(run("generate -p x --device cpu -m /nonexistent"),
                   "/nonexistent: no such file or folder");
  const Folder folder;
  expect_bad_input(run("generate -p x --device cpu -m " + folder.path()),
                   "expected config.json or a GGUF file in the folder");
  expect_bad_input(with("tokenizer.json", "{}"), "tokenizer.json: \"model\"");
}

TEST(GenerateBadInput, Configs) {
  expect_bad_input(with("config.json", "nonsense"), "config.json: expected JSON");
  std::string text = kSmallConfig;
  expect_bad_input(with("config.json", text.replace(text.find("16"), 2, "true")),
                   "config.json: \"hidden_size\": expected an integer of at least 1, got true");
  text = kSmallConfig;
  expect_bad_input(with("config.json", text.replace(text.find("16"), 2, "64")),
                   "tensor \"model.embed_tokens.weight\": expected shape [256, 64], got [256, 16]");
  text = kSmallConfig;
  expect_bad_input(with("config.json", text.replace(text.find("\"num_hidden_layers\": 2"), 22,
                                                    "\"num_hidden_layers\": 1")),
                   "tensor \"model.layers.1.input_layernorm.weight\" is not part");
}

TEST(GenerateBadInput, SafetensorsThatLie) {
  const std::string whole = bytes_of(model() + "/model.safetensors");
  expect_bad_input(with("model.safetensors", whole.substr(0, whole.size() - 1)),
                   "model.safetensors: tensor ");
  expect_bad_input(with("model.safetensors", whole.substr(0, 5)), "the file has 5 bytes");
  expect_bad_input(with("model.safetensors", ""), "the file has 0 bytes");
  expect_bad_input(with("model.safetensors", safetensors("{", "")), "the header is not JSON");
  expect_bad_input(
      with("model.safetensors",
           safetensors(R"({"a":{"dtype":"F32","shape":[1000000],"data_offsets":[0,4]}})", "four")),
      "tensor \"a\": F32 [1000000] has 4000000 bytes, its data 4");
  expect_bad_input(
      with("model.safetensors",
           safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "four")),
      "no tensor is named \"model.embed_tokens.weight\"");
}

TEST(GenerateBadInput, AWeightThatIsNoNumber) {
  const Folder folder;
  fs::copy(model(), folder.path());
  std::string weights = bytes_of(model() + "/model.safetensors");
  const float nan = std::nanf("");
  weights.replace(weights.size() - sizeof nan, sizeof nan, reinterpret_cast<const char*>(&nan),
                  sizeof nan);
  folder.write("model.safetensors", weights);
  const std::string text = folder.write("text", small_text()),
                    on = " --device cpu -m " + folder.path();
  const Outcome generated = run("generate -p x --max-tokens 2" + on);  // which prints the prompt
  EXPECT_EQ(generated.code, 2);
  EXPECT_NE(generated.err.find("step: the logits of token 0 (id "), std::string::npos)
      << generated.err;
  expect_bad_input(run("perplexity --context 16 --windows 1 " + text + on),
                   "perplexity: the logits of token 0 (id ");
  expect_bad_input(run("embed --text x" + on), "embed: the logits of token 0 (id ");
}

TEST(Embed, PrintsALineForEachText) {
  const SmallTraining training;
  const std::string model = training.train();
  const Outcome outcome = run("embed " + model + " --device cpu --text one --text \"two words\"");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const size_t end = outcome.out.find('\n');
  const Settings first = parse_json(outcome.out.substr(0, end), "stdout"),
                 second = parse_json(outcome.out.substr(end + 1), "stdout");
  EXPECT_EQ(first.text("text"), "one");
  EXPECT_EQ(second.text("text"), "two words");
  EXPECT_EQ(first.reals("embedding").size(), 16u);
  EXPECT_NE(first.reals("embedding"), second.reals("embedding"));
  double square = 0;
  for (const double value : second.reals("embedding")) square += value * value;
  EXPECT_NEAR(square, 1, 1e-5);
  const std::string lines = training.folder.write("lines", "one\ntwo words\n");
  EXPECT_EQ(run("embed -m " + model + " --device cpu < " + lines).out, outcome.out);
  EXPECT_EQ(run("embed " + model + " " + lines + " --device cpu").out, outcome.out);
  expect_bad_input(run("embed " + model + " 'a text'"),
                   "a text: No such file or directory; --text takes a text");
}

}  // namespace
}  // namespace wick::test
