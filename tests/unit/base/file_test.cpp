#include "base/file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>

#include "../expect.h"
#include "../temporary_folder.h"
#include "wick/base/file_error.h"

namespace wick {
namespace {

using Names = std::vector<std::string>;

std::string text_of(const MappedFile& file) { return {file.bytes().begin(), file.bytes().end()}; }

TEST(MappedFile, ShowsTheBytes) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(text_of(MappedFile(folder.write("a", std::string_view("a\0b", 3)))),
            std::string("a\0b", 3));
  EXPECT_EQ(text_of(MappedFile(folder.write("empty", ""))), "");
}

TEST(MappedFile, SaysWhyThereIsNone) {
  const test::TemporaryFolder folder;
  EXPECT_ERROR(MappedFile(folder.file("none")), kIo, folder.file("none") + ": No such file");
  EXPECT_ERROR(MappedFile(folder.path()), kIo, "not a regular file");
}

TEST(FileErrors, KeepTheSystemsReason) {
  const test::TemporaryFolder folder;
  const auto reason = [](const auto& f) {
    try {
      f();
    } catch (const FileError& error) {
      return error.reason();
    }
    return 0;
  };
  EXPECT_EQ(reason([&] { MappedFile(folder.file("none")); }), ENOENT);
  EXPECT_EQ(reason([&] { MappedFile(folder.path()); }), EISDIR);
  EXPECT_EQ(reason([&] { read_text_file(folder.write("a", "") + "/b"); }), ENOTDIR);
  EXPECT_EQ(reason([&] { write_text_file(folder.file("none/b"), ""); }), ENOENT);
  EXPECT_EQ(reason([&] { write_text_file(folder.path(), ""); }), EISDIR);
}

TEST(Files, APipeThatNobodyWritesToIsAnErrorAndNotAWait) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_ERROR(MappedFile(folder.file("pipe")), kIo, "not a regular file");
  EXPECT_ERROR(read_text_file(folder.file("pipe")), kIo, "not a regular file");
}

TEST(TextFile, ComesBack) {
  const test::TemporaryFolder folder;
  write_text_file(folder.file("a"), "one");
  write_text_file(folder.file("a"), "another");
  EXPECT_EQ(read_text_file(folder.file("a")), "another");
  EXPECT_EQ(folder.names(), (Names{"a"}));
}

TEST(AtomicFile, HasItsNameOnlyWhenItIsWhole) {
  const test::TemporaryFolder folder;
  folder.write("a", "old");
  {
    AtomicFile file(folder.file("a"));
    file.write("new");
    EXPECT_EQ(folder.read("a"), "old");
    EXPECT_EQ(folder.names().size(), 2u);
  }
  EXPECT_EQ(folder.read("a"), "old");
  EXPECT_EQ(folder.names(), (Names{"a"}));
}

TEST(AtomicFile, TwoWritersDoNotMix) {
  const test::TemporaryFolder folder;
  AtomicFile first(folder.file("a")), second(folder.file("a"));
  first.write("11");
  second.write("2");
  first.write("1");
  second.commit();
  EXPECT_EQ(folder.read("a"), "2");
  first.commit();
  EXPECT_EQ(folder.read("a"), "111");
  EXPECT_EQ(folder.names(), (Names{"a"}));
}

TEST(AtomicFile, SaysWhyItCannotBe) {
  const test::TemporaryFolder folder;
  const std::string in_none = folder.file("none/a");
  EXPECT_ERROR(write_text_file(in_none, ""), kIo, in_none + ": cannot be written: No such file");
  std::filesystem::create_directory(folder.file("folder"));
  EXPECT_ERROR(write_text_file(folder.file("folder"), "x"), kIo,
               "cannot be replaced: not a regular file");
  EXPECT_EQ(folder.names(), (Names{"folder"}));
}

TEST(AtomicFile, NeverReplacesWhatIsNotARegularFile) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", folder.file("to_pipe"));
  std::filesystem::create_symlink("none", folder.file("to_none"));
  for (const char* name : {"pipe", "to_pipe"})
    EXPECT_ERROR(write_text_file(folder.file(name), "x"), kIo,
                 folder.file(name) + ": cannot be replaced: not a regular file");
  EXPECT_ERROR(write_text_file("/dev/null", "x"), kIo, "/dev/null: cannot be replaced: ");
  EXPECT_ERROR(write_text_file(folder.file("to_none"), "x"), kIo, "the link cannot be resolved: ");
  EXPECT_TRUE(std::filesystem::is_fifo(folder.file("pipe")));
  EXPECT_EQ(folder.names(), (Names{"pipe", "to_none", "to_pipe"}));
}

TEST(AtomicFile, ReplacesWhatALinkLeadsToAndKeepsTheLink) {
  const test::TemporaryFolder folder;
  folder.write("a", "old");
  std::filesystem::create_symlink("a", folder.file("link"));
  write_text_file(folder.file("link"), "new");
  EXPECT_EQ(folder.read("a"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(folder.names(), (Names{"a", "link"}));
}

TEST(AtomicFile, RemovesThePartFilesOfDeadProcessesAlone) {
  const test::TemporaryFolder folder;
  const std::string own = std::to_string(getpid());
  folder.write("a.part-1-0", "of a process that was killed, whose number is in use again");
  folder.write("a.part-" + own + "-0", "of one that had our number");
  const Names others = {"a.part",     "a.part-1",    "a.part-1-", "a.part-1-0.txt",
                        "a.part-x-0", "aa.part-1-0", "b.part-1-0"};
  for (const std::string& name : others) folder.write(name, "");
  std::filesystem::create_directory(folder.file("a.part-2-0"));
  int ready[2], done[2];
  ASSERT_TRUE(pipe(ready) == 0 && pipe(done) == 0);
  const pid_t living = fork();
  if (living == 0) {
    AtomicFile file(folder.file("a"));
    file.write("of the other process");
    char byte = 1;
    const bool waited = write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1;
    file.commit();
    _exit(waited ? 0 : 1);
  }
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  write_text_file(folder.file("a"), "ours");
  EXPECT_EQ(folder.read("a"), "ours");
  Names left = others;
  left.insert(left.end(), {"a", "a.part-2-0"});
  Names names = folder.names();
  std::erase_if(names, [&](const std::string& name) {
    return name.starts_with("a.part-" + std::to_string(living) + "-");
  });
  std::sort(left.begin(), left.end());
  EXPECT_EQ(names, left);
  EXPECT_EQ(write(done[1], &byte, 1), 1);
  int status = 0;
  waitpid(living, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(folder.read("a"), "of the other process");
  EXPECT_EQ(folder.names(), left);
  for (const int end : {ready[0], ready[1], done[0], done[1]}) close(end);
}

TEST(AtomicFile, RemovesThePartsOfAKilledProcess) {
  const test::TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    AtomicFile file(folder.file("a"));
    file.write("half");
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(folder.names().size(), 1u);
  write_text_file(folder.file("a"), "whole");
  EXPECT_EQ(folder.names(), (Names{"a"}));
}

TEST(TextFile, LargerThanMemoryIsAnError) {
  const test::TemporaryFolder folder;
  folder.write("a", "");
  std::error_code error;
  std::filesystem::resize_file(folder.file("a"), uintmax_t{1} << 43, error);  // a hole
  if (error) GTEST_SKIP() << "no sparse file of 8 TiB: " << error.message();
  EXPECT_ERROR(read_text_file(folder.file("a")), kOutOfMemory,
               "the file has 8796093022208 bytes, more than the ");
}

TEST(AtomicFile, AFullDiskLeavesTheOldFileAndNoHalfOne) {
  const test::TemporaryFolder folder;
  folder.write("a", "old");
  const std::string said = test::in_child([&]() -> std::string {
    signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit fails, as on a full disk
    const rlimit limit{1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return "no limit";
    write_text_file(folder.file("a"), std::string(3000, 'x'));
    return "no error";
  });
  EXPECT_EQ(said,
            "input/output error: " + folder.file("a") + ": cannot be written: File too large");
  EXPECT_EQ(folder.read("a"), "old");
  EXPECT_EQ(folder.names(), (Names{"a"}));
}

}  // namespace
}  // namespace wick
