// --tp: commands whose model several processes share.
#include <cmath>

#include "pty.h"
#include "small_model.h"
#include "wick/io/safetensors.h"

namespace wick::test {
namespace {

/// A trained model of two heads that share a key head.
const std::string& model() {
  static const SmallTraining training;
  static const std::string path = training.train();
  return path;
}

std::vector<float> logits(const std::string& flags) {
  const Folder folder;
  const std::string file = folder / "logits.safetensors";
  const Outcome outcome =
      run("logits -m " + model() + " --tokens 1,2,3,250,7 -o " + file + " --dtype f32 " + flags);
  EXPECT_EQ(outcome.code, 0) << flags << ": " << outcome.err;
  EXPECT_EQ(outcome.err, "");
  if (outcome.code != 0) return {};
  return load_safetensors(file).at("logits").to_vector<float>();
}

TEST(TensorParallel, GivesTheLogitsOfOneProcess) {
  const std::vector<float> whole = logits("--device cpu");
  for (const char* flags : {"--device cpu --tp 2", "--device emu:32 --tp 2"}) {
    const std::vector<float> shared = logits(flags);
    ASSERT_EQ(shared.size(), whole.size());
    for (size_t i = 0; i < whole.size(); i++)
      ASSERT_LT(std::fabs(shared[i] - whole[i]), 1e-5f * std::max(1.f, std::fabs(whole[i])));
  }
}

TEST(TensorParallel, GeneratesTheTokensOfOneProcess) {
  const std::string flags =
      "generate " + model() + " -p 'line 1' --temperature 0 --max-tokens 20 --device cpu";
  const Outcome whole = run(flags);
  EXPECT_EQ(whole.code, 0) << whole.err;
  for (const std::string& more : {std::string(" --tp 2"), std::string(" --tp 2 --threads 2")}) {
    const Outcome shared = run(flags + more);
    EXPECT_EQ(shared.code, 0) << shared.err;
    EXPECT_EQ(shared.out, whole.out);
  }
  const Outcome launched = run("launch -n 2 --plain '" WICK_PROGRAM "' " + flags + " --tp 2");
  EXPECT_EQ(launched.code, 0) << launched.err;
  EXPECT_EQ(launched.out, whole.out);
}

TEST(TensorParallel, RefusesModelsThatRanksCannotShare) {
  const std::string generate = "generate " + model() + " -p x --device cpu";
  expect_bad_input(run(generate + " --tp 3"),
                   "2 heads, of which 2 share a key head, are too few "
                   "for 3 ranks");
  expect_bad_input(run(generate + " --tp 2 --split 1,1"), "have a device each");
  expect_bad_input(run(generate + " --tp 0"), "--tp");
  expect_bad_input(run("generate /nowhere -p x --tp 2"), "no such file or folder");
  expect_bad_input(run(generate + " --tp 2", "RANK=0 WORLD_SIZE=3"),
                   "launch: expected a group of 2 ranks, a launcher has started 3");
  expect_bad_input(run("serve --tp 2 --idle 3 " + model()), "expected one model that stays loaded");
}

TEST(TensorParallel, ADeadRankEndsAServerWithItsName) {
  const Folder folder;
  const std::string out = folder / "out", err = folder / "err";
  const std::string script = folder.write(
      "script", "'" WICK_PROGRAM "' serve " + model() + " --device cpu --tp 2 --port 0 > " + out +
                    " 2> " + err + " & server=$!\n" + "while ! grep -q serves " + out +
                    "; do sleep 0.05; done\n" + "set -- $(cat /proc/$server/task/*/children)\n" +
                    "kill -9 $1; wait $server; echo ended with $?, $#\n");
  std::array<char, 256> text{};
  FILE* shell = popen(("sh " + script).c_str(), "r");
  const size_t count = fread(text.data(), 1, text.size() - 1, shell);
  pclose(shell);
  EXPECT_EQ(std::string(text.data(), count), "ended with 1, 1\n");
  EXPECT_TRUE(contains(bytes_of(err), "wick: launch: rank 1 is ended by signal 9"))
      << bytes_of(err);
}

}  // namespace
}  // namespace wick::test
