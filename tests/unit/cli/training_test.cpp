// wick train --resume of a damaged file, and of files of older versions.
#include "wick/train/training.h"

#include "small_model.h"
#include "wick/io/safetensors.h"

namespace wick::test {
namespace {

TEST(TrainingFile, DamageIsSaidInOneLine) {
  const SmallTraining small;
  const std::string folder = small.train("m", 2), file = folder + "/training.safetensors";
  std::string bytes = bytes_of(file);
  bytes[bytes.size() - 9] ^= 4;
  small.folder.write("m/training.safetensors", bytes);
  const Outcome outcome = run("train --device cpu --resume " + folder);
  expect_bad_input(outcome, file + ": damaged: its checksum is ");
}

TEST(TrainingFile, OfAnOlderVersionIsReadWithAWarning) {
  const SmallTraining small;
  const std::string folder = small.folder / "m", file = folder + "/training.safetensors";
  const std::string straight = small.train("straight", 4);
  EXPECT_EQ(run("train --steps 4 --checkpoint-every 2 --out " + folder + small.flags).code, 0);
  const SafetensorsReader reader(file);
  save_safetensors(file, reader.load_all(),
                   {{"wick_training", reader.metadata().at("wick_training")}});
  const Outcome outcome = run("train --device cpu --resume " + folder);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string warning = "wick: warning: " + file + ": written by an older wick, ";
  EXPECT_TRUE(begins(outcome.err, warning)) << outcome.err;
  EXPECT_EQ(outcome.err.find("warning", warning.size()), std::string::npos) << outcome.err;
  EXPECT_TRUE(bytes_of(folder + "/model.safetensors") == bytes_of(straight + "/model.safetensors"));
  EXPECT_FALSE(Training(file, Device::cpu()).unchecked());
}

}  // namespace
}  // namespace wick::test
