// The file of a training run: damage in it, and files of older versions.
#include "../../../cli/training.h"

#include <fcntl.h>

#include "../expect.h"
#include "small_model.h"
#include "wick/abi/backend.h"
#include "wick/io/safetensors.h"

namespace wick::test {
namespace {

using cli::Training;

/// Changes bits of a file in place.
class Bits {
 public:
  explicit Bits(const std::string& path)
      : bytes_(bytes_of(path)), file_(open(path.c_str(), O_WRONLY)) {}
  ~Bits() { close(file_); }
  Bits(const Bits&) = delete;
  Bits& operator=(const Bits&) = delete;

  size_t size() const { return bytes_.size(); }
  size_t header_size() const { return 8 + *reinterpret_cast<const uint64_t*>(bytes_.data()); }
  /// Flips a bit; `put_back` restores the byte.
  void flip(size_t byte, size_t bit) { put(byte, char(bytes_[byte] ^ (1 << bit))); }
  void put_back(size_t byte) { put(byte, bytes_[byte]); }

 private:
  void put(size_t byte, char value) { EXPECT_EQ(pwrite(file_, &value, 1, off_t(byte)), 1); }

  std::string bytes_;
  int file_;
};

/// Whether the file is refused as bad input: exit code 2 of the program.
bool is_refused(const std::string& path) {
  try {
    const Training training(path, Device::cpu());
    return false;
  } catch (const Error& error) {
    return error.code() == ErrorCode::kFormat;
  }
}

TEST(TrainingFile, AFlippedBitAnywhereIsRefused) {
  const SmallTraining small;
  const std::string file = small.train("m", 2) + "/training.safetensors";
  Bits bits(file);
  ASSERT_FALSE(is_refused(file));
  // All of the header, and the tensors at distances that meet every byte of a number.
  size_t bit = 0;
  for (size_t byte = 0; byte < bits.size(); byte += byte < bits.header_size() ? 1 : 61) {
    bits.flip(byte, bit = (bit + 3) % 8);
    ASSERT_TRUE(is_refused(file)) << "bit " << bit << " of byte " << byte;
    bits.put_back(byte);
  }
  EXPECT_FALSE(is_refused(file));
}

TEST(TrainingFile, DamageIsSaidInOneLine) {
  const SmallTraining small;
  const std::string folder = small.train("m", 2), file = folder + "/training.safetensors";
  Bits bits(file);
  bits.flip(bits.size() - 9, 2);
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

TEST(TrainingFile, NamesWhatHasComputedTheSteps) {
  const SmallTraining small;
  const std::string file = small.train("m", 2) + "/training.safetensors";
  const std::vector<std::string> here = {Device::cpu().info().architecture};
  EXPECT_EQ(Training(file, Device::cpu()).architectures(), here);
}

}  // namespace
}  // namespace wick::test
