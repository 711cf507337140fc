#include "core/memory_limit.h"

#include "../expect.h"

namespace wick {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(MemoryLimit, IsTheLastEntryThatApplies) {
  EXPECT_EQ(memory_limit_of("", "cpu"), kNoLimit);
  EXPECT_EQ(memory_limit_of("8G", "cuda:0"), 8 * kGiB);
  EXPECT_EQ(memory_limit_of("1000", "cpu"), 1000);
  EXPECT_EQ(memory_limit_of("3K", "cpu"), 3072);
  EXPECT_EQ(memory_limit_of("1T", "cpu"), 1024 * kGiB);
  EXPECT_EQ(memory_limit_of("8G,cpu=2G", "cuda:0"), 8 * kGiB);
  EXPECT_EQ(memory_limit_of("8G,cpu=2G", "cpu"), 2 * kGiB);
  EXPECT_EQ(memory_limit_of("cuda=1G,emu:32=5M", "cuda:0"), kGiB);
  EXPECT_EQ(memory_limit_of("cuda=1G,emu:32=5M", "cuda:1"), kNoLimit);
  EXPECT_EQ(memory_limit_of("cuda=1G,emu:32=5M", "emu:32"), 5 << 20);
}

TEST(MemoryLimit, OfAnotherFormIsAnError) {
  for (const char* text :
       {"G", "8X", "8GG", "-1", "0", "8G,", ",", "cpu=", "cpu=8G=1", "8 G", "9999999999T", "cpu=x"})
    EXPECT_ERROR((void)memory_limit_of(text, "cuda:0"), kInvalidArgument,
                 "WICK_MEMORY_LIMIT: expected sizes such as 8G or cuda:0=8G");
}

}  // namespace
}  // namespace wick
