#include "base/subprocess.h"

#include <unistd.h>

#include "../expect.h"
#include "../temporary_folder.h"

namespace wick {
namespace {

TEST(Subprocess, PassesArgumentsAsTheyAre) {
  const std::string odd = "a b; echo $HOME `id` \"'\\ *";
  const Finished finished = run_program({find_program("printf").value(), "%s|", odd, ""});
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(finished.output, odd + "||");
}

TEST(Subprocess, GivesStatusOutputAndErrors) {
  const std::string sh = find_program("sh").value();
  const Finished failed = run_program({sh, "-c", "echo out; echo err >&2; cat; exit 7"});
  EXPECT_EQ(failed.status, 7);
  EXPECT_EQ(failed.output, "out\nerr\n");  // cat found nothing to read
  EXPECT_EQ(run_program({sh, "-c", "kill -9 $$"}).status, 128 + 9);
  // More than a pipe holds, and more than is kept.
  EXPECT_GE(run_program({sh, "-c", "yes | head -c 3000000"}).output.size(), size_t(1) << 20);
}

TEST(Subprocess, FindsProgramsInPathAlone) {
  const test::TemporaryFolder folder;
  folder.write("plain", "no program");
  EXPECT_FALSE(find_program(folder.file("plain")).has_value());
  EXPECT_FALSE(find_program(folder.path() + "/").has_value());
  EXPECT_FALSE(find_program("no-such-program-anywhere").has_value());
  EXPECT_EQ(test::in_child([&] {
              setenv("PATH", (":.:" + folder.path()).c_str(), 1);
              return find_program("sh").value_or("none");
            }),
            "none");
  EXPECT_ERROR(run_program({folder.file("plain")}), kIo, "cannot be run");
}

}  // namespace
}  // namespace wick
