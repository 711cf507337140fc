#include "wick/io/file.h"

#include "../expect.h"
#include "../temporary_folder.h"

namespace wick {
namespace {

using test::TemporaryFolder;

TEST(File, HoldsTheBytesThatWereWritten) {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\xff", 4);
  write_file(folder.file("a"), bytes);
  EXPECT_EQ(read_file(folder.file("a")), bytes);
}

TEST(File, IsThereOrIsNotOrCannotBeSeen) {
  const TemporaryFolder folder;
  const std::string file = folder.write("a", "");
  EXPECT_TRUE(is_there(file));
  EXPECT_FALSE(is_folder(file));
  EXPECT_TRUE(is_there(folder.path()));
  EXPECT_TRUE(is_folder(folder.path()));
  EXPECT_FALSE(is_there(folder.file("b")));
  EXPECT_FALSE(is_folder(folder.file("b")));
  EXPECT_FALSE(is_there(""));
  EXPECT_ERROR(is_there(folder.file(std::string(5000, 'x'))), kIo, "File name too long");
}

}  // namespace
}  // namespace wick
