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

TEST(File, CouldBeWrittenOrNot) {
  const TemporaryFolder folder;
  const std::string file = folder.write("a", "old");
  require_writable({{file, 1000}, {folder.file("b"), 0}});
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
  EXPECT_EQ(folder.read("a"), "old");
  EXPECT_ERROR(require_writable({{file, 1000}, {folder.path(), 0}}), kIo,
               folder.path() + ": cannot be replaced: ");
  EXPECT_ERROR(require_writable({{folder.file("none/a"), 0}}), kIo,
               "none/a: cannot be written: No such file");
  // More than file systems and disks hold.
  EXPECT_ERROR(require_writable({{file, INT64_MAX}}), kIo, file + ": cannot be written: ");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
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
