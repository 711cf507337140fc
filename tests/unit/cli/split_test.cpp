// --split, --cpu-experts and WICK_MEMORY_LIMIT from outside.
#include <cmath>

#include "pty.h"

namespace wick::test {
namespace {

/// A model of four layers whose weights take 3.4 MiB.
const std::string& model() {
  static const Folder folder;
  static const bool written = [] {
    Device::cpu().set_seed(3);
    Parameters parameters({.trainable = true});
    const Decoder decoder(small_config(), parameters);
    NamedTensors tensors;
    for (const auto& [name, var] : parameters.vars()) tensors[name] = var.tensor();
    save_safetensors(folder / "model.safetensors", tensors);
    write_json(folder / "config.json", to_settings(small_config()));
    return true;
  }();
  return written ? folder.path() : folder.path();
}

struct Logits {
  std::string err;  // of the command
  std::vector<float> values;
};
/// The logits of a few tokens.
Logits logits(const std::string& flags, const std::string& environment = "") {
  const Folder folder;
  const std::string file = folder / "logits.safetensors";
  const Outcome outcome =
      run("logits -m " + model() + " --tokens 1,2,3,250,7 -o " + file + " " + flags, environment);
  EXPECT_EQ(outcome.code, 0) << flags << ": " << outcome.err;
  if (outcome.code != 0) return {};
  return {outcome.err, load_safetensors(file).at("logits").to_vector<float>()};
}

void expect_near(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); i++)
    ASSERT_LT(std::fabs(got[i] - expected[i]), 1e-5f * std::max(1.f, std::fabs(expected[i])));
}

TEST(Split, OfEachFormGivesTheLogitsOfOneDevice) {
  const Logits whole = logits("--device cpu");
  EXPECT_EQ(whole.err, "");
  for (const auto& [flags, devices] :
       {std::pair("--device emu:32,cpu --split 3,1", "wick: emu:32: layers 0 to 2, "),
        {"--device emu:32 --split 1,3", "; cpu: layers 1 to 3, "},
        {"--device cpu,emu:64,emu:32 --split 1,2,1", "; emu:64: layers 1 to 2, "},
        {"--device emu:32,emu:64 --split 0,4", "wick: emu:64: layers 0 to 3, "},
        {"--device emu:32 --split auto", "wick: emu:32: layers 0 to 3, "}}) {
    const Logits split = logits(flags);
    EXPECT_TRUE(contains(split.err, devices)) << split.err;
    expect_near(split.values, whole.values);
  }
}

TEST(Split, FitsTheLayersIntoTheMemoryLimit) {
  const Logits whole = logits("--device cpu");
  for (const auto& [limit, devices] :
       {std::pair("emu:32=1M", "wick: cpu: layers 0 to 3, 3.27 MiB of weights, 0.02 MiB of cache"),
        {"emu:32=6000K", "wick: cpu: layers 0 to 2, "},
        {"7M", "; emu:32: layers 1 to 3, "},
        {"cpu=1G,emu:32=16M", "wick: emu:32: layers 0 to 3, "}}) {
    const Logits split =
        logits("--device emu:32 --split auto", "WICK_MEMORY_LIMIT=" + std::string(limit));
    EXPECT_TRUE(contains(split.err, devices)) << limit << ": " << split.err;
    expect_near(split.values, whole.values);
  }
  const Logits three =
      logits("--device emu:32,cpu,emu:64", "WICK_MEMORY_LIMIT=emu:32=6000K,emu:64=6000K");
  EXPECT_TRUE(contains(three.err, "wick: emu:32: layers 0 to 0, ")) << three.err;
  EXPECT_TRUE(contains(three.err, "; emu:64: layers 3 to 3, ")) << three.err;
  expect_near(three.values, whole.values);
}

TEST(Split, OfAWrongFormIsBadInput) {
  const std::string command = "logits -m " + model() + " --tokens 1 -o /dev/null ";
  expect_bad_input(run(command + "--device emu:32 --split 3"), "expected the model's 4 layers");
  expect_bad_input(run(command + "--device emu:32 --split 3,2"), "4 layers in all, got 5");
  expect_bad_input(run(command + "--device emu:32 --split 1,1,2"),
                   "a number of layers for each of 1 devices, got 3");
  for (const char* list : {"x", "1,,3", "1,-1", "1,3,", ",", "99999999999999999999"})
    expect_bad_input(run(command + "--device emu:32 --split " + list),
                     "--split: expected numbers of layers, such as 20,12, or auto, got ");
  expect_bad_input(run(command + "--device emu:32,"), "device: expected cpu, rocm[:N]");
  expect_bad_input(run(command + "--device cpu", "WICK_MEMORY_LIMIT=lots"),
                   "WICK_MEMORY_LIMIT: expected sizes such as 8G or cuda:0=8G");
}

TEST(MemoryLimit, AModelBeyondItIsAnErrorThatNamesItsLargestTensors) {
  const Outcome outcome = run("logits -m " + model() + " --tokens 1 -o /dev/null --device emu:32",
                              "WICK_MEMORY_LIMIT=emu:32=2M");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "on emu:32, which has 2.00 MiB free: 1.")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "the largest tensors: model.layers.")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, ".weight (0.17 MiB)")) << outcome.err;
  // Both cards are too small, and there is no CPU.
  const Outcome cards =
      run("logits -m " + model() + " --tokens 1 -o /dev/null --device emu:32,emu:64",
          "WICK_MEMORY_LIMIT=1M");
  EXPECT_EQ(cards.code, 1) << cards.err;
  EXPECT_TRUE(contains(cards.err, "on emu:64, which has 1.00 MiB free")) << cards.err;
}

TEST(MemoryLimit, AChatOnATerminalSurvivesAQuestionThatNeedsMore) {
  const Folder folder;
  write_chat_model(folder, 4096);
  const std::string large(3000, 'a');
  const auto code = [&](const std::string& question, int64_t kilobytes) {
    return run("chat --device cpu -m " + folder.path() + " --context 4000 --max-tokens 2 -p " +
                   question,
               "WICK_MEMORY_LIMIT=" + std::to_string(kilobytes) + "K")
        .code;
  };
  // The least memory that a short question takes.
  int64_t limit = 64;
  while (limit < 65536 && code("hi", limit) != 0) limit += limit / 8;
  ASSERT_LT(limit, 65536);
  ASSERT_NE(code(large, limit), 0);
  Terminal terminal(endless(folder, {"--context", "4000", "--max-tokens", "2"}),
                    {"WICK_MEMORY_LIMIT=" + std::to_string(limit) + "K"});
  terminal.until_prompt();
  for (int i = 0; i < 2; i++) {
    terminal.type("hi\r");
    terminal.until(kEndOfAnswer);
    terminal.until_prompt();
    terminal.type(large + "\r");
    terminal.until(": no room on cpu for ");
    terminal.until(" in use by tensors, the largest of ");
    terminal.until_prompt();
  }
  terminal.type("\x04");
  EXPECT_EQ(terminal.code(), 0);
}

}  // namespace
}  // namespace wick::test
