#include "base/memory.h"

#include <gtest/gtest.h>

#include "../temporary_folder.h"

namespace wick {
namespace {

constexpr int64_t kMiB = 1 << 20;

/// A root with the files that the kernel shows.
class HostMemoryFiles : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_.file(name)).parent_path());
    folder_.write(name, text);
  }
  /// A machine of 1000 MiB, 600 of them free, and 50 of swap.
  void machine(const std::string& groups) {
    write("proc/meminfo",
          "MemTotal:        1024000 kB\nMemFree:           100 kB\nMemAvailable:     614400 kB\n"
          "SwapTotal:      102400 kB\nSwapFree:        51200 kB\n");
    write("proc/self/cgroup", groups);
  }
  void expect(int64_t available_mib, int64_t total_mib) {
    const HostMemory memory = host_memory_below(folder_.path());
    EXPECT_EQ(memory.available, available_mib * kMiB);
    EXPECT_EQ(memory.total, total_mib * kMiB);
  }
  static std::string mib(int64_t n) { return std::to_string(n * kMiB) + "\n"; }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(HostMemoryFiles, AreTheMachinesWithoutAGroup) {
  machine("0::/\n");
  expect(650, 1000);
}

TEST_F(HostMemoryFiles, AGroupsLimitHoldsAndSoDoThoseAboveIt) {
  machine("0::/a/b\n");
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  write("sys/fs/cgroup/a/b/memory.current", mib(10));
  write("sys/fs/cgroup/a/memory.max", mib(500));
  write("sys/fs/cgroup/a/memory.current", mib(400));
  write("sys/fs/cgroup/a/memory.stat",
        "anon 5\nfile 9\ninactive_file " + mib(20) + "active_file " + mib(10));
  expect(130, 500);
}

TEST_F(HostMemoryFiles, TheFirstVersionsGroupsLimitToo) {
  machine("4:cpu,memory:/pod/this\n1:name=systemd:/\n");
  // A container sees its own group as the root.
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", mib(200));
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", mib(250));
  expect(0, 200);
}

TEST_F(HostMemoryFiles, NoLimitIsNone) {
  machine("4:memory:/pod\n");
  write("sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/pod/memory.usage_in_bytes", mib(990));
  expect(650, 1000);
}

TEST(HostMemory, IsThere) {
  const HostMemory memory = host_memory();
  EXPECT_GT(memory.available, 0);
  EXPECT_GT(memory.total, kMiB);
  const HostMemory unknown = host_memory_below("/nonexistent");
  EXPECT_EQ(unknown.available, unknown.total);
}

}  // namespace
}  // namespace wick
