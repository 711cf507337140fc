// The commands that read a file or stdin, which refuse one that cannot be read in the same words.
#include "small_model.h"

namespace wick::test {
namespace {

TEST(Input, ThatCannotBeReadIsRefusedByEachCommandInTheSameWords) {
  const SmallTraining training;
  const std::string model = " -m " + training.train("model", 1) + " ";
  const std::string none = training.folder / "none", folder = training.folder.path();
  for (const std::string command :
       {"perplexity --device cpu", "tokenize", "tokenize --json --lines", "detokenize",
        "embed --device cpu"}) {
    SCOPED_TRACE(command);
    if (command.find("embed") == command.npos) {
      expect_bad_input(run(command + model + none), none + ": No such file or directory");
      expect_bad_input(run(command + model + folder), folder + ": not a regular file");
    }
    expect_bad_input(run(command + model + "< " + folder), "stdin: Is a directory");
  }
}

TEST(Input, OfLinesIsReadWithAndWithoutALastNewline) {
  const SmallTraining training;
  const std::string model = training.train("model", 1);
  for (const char* lines : {"\"ab\"\n\"c\"\n", "\"ab\"\n\"c\""}) {
    const std::string file = training.folder.write("lines", lines);
    for (const std::string& input : {file, "< " + file}) {
      const Outcome outcome = run("tokenize --json --lines -m " + model + " " + input);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2) << outcome.out;
    }
    const std::string bad = training.folder.write("bad", std::string(lines) + "\n5\n");
    const Outcome outcome = run("tokenize --json --lines -m " + model + " < " + bad);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome.err, "stdin:")) << outcome.err;
  }
}

}  // namespace
}  // namespace wick::test
