#include "../../../cli/report.h"

#include <gtest/gtest.h>

namespace wick::test {
namespace {

using namespace cli;

TEST(Report, NumbersAndTimesAsTheyAreRead) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-1234), "-1,234");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(clock_time(7.4), "0:07");
  EXPECT_EQ(clock_time(754), "12:34");
  EXPECT_EQ(clock_time(3723), "1:02:03");
}

TEST(Progress, ALineIsNeverAsLongAsTheTerminalIsWide) {
  EXPECT_EQ(progress_line(10, 40, "text", 80), "[######..................] 10/40  text");
  EXPECT_EQ(progress_line(5, 40, "text", 80), "[###.....................]  5/40  text");
  EXPECT_EQ(progress_line(40, 40, "text", 80), "[########################] 40/40  text");
  EXPECT_EQ(progress_line(10, 40, "text", 23), "[##......] 10/40  text");
  EXPECT_EQ(progress_line(10, 40, "text", 14), "10/40  text");
  EXPECT_EQ(progress_line(10, 40, "text", 10), "10/40  te");
  for (int columns = 2; columns < 200; columns++)
    EXPECT_LT(progress_line(7, 1000, std::string(90, 'x'), columns).size(), size_t(columns));
}

TEST(ByteProgress, IsALineWithRateAndTimeLeft) {
  const int64_t mebibyte = 1 << 20;
  EXPECT_EQ(bytes_text(281 * mebibyte, 4685 * mebibyte, 2),
            "281 of 4,685 MiB  141 MiB/s  0:31 left");
  EXPECT_EQ(bar_line(1, 4, bytes_text(mebibyte, 4 * mebibyte, 1), 80),
            "[######..................] 1 of 4 MiB  1 MiB/s  0:03 left");
  EXPECT_EQ(bytes_text(0, mebibyte, 0), "0 of 1 MiB  0 MiB/s  0:00 left");
}

TEST(TextPlot, PutsHighAboveLow) {
  const std::string plot = text_plot({{'*', "falls", {{0, 3}, {1, 2}, {2, 1}}}}, 3, 3);
  EXPECT_EQ(plot,
            "    3.00 |*\n"
            "         | *\n"
            "    1.00 |  *\n"
            "         +---\n"
            "          0 2\n"
            "          * falls\n");
  EXPECT_EQ(text_plot({{'*', "nothing", {}}}), "");
  EXPECT_NE(text_plot({{'*', "a point", {{5, 5}}}}), "");
}

}  // namespace
}  // namespace wick::test
