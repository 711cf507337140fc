#include "../../../cli/controls.h"

#include <gtest/gtest.h>

#include "../../../cli/printable.h"

namespace wick::test {
namespace {

TEST(WithoutControls, KeepsTextNewlinesAndTabs) {
  const struct {
    std::string text, shown;
  } rows[] = {
      {"a\tb\n", "a\tb\n"},
      {"\x1b[2Ja", "[2Ja"},
      {std::string("a\0b\r\b\x7f", 6), "ab"},
      {"\xc2\x9b"
       "2J\xc2\x80",
       "2J"},
      {"\xc2\xa0\xc3\x9b \xe2\x82\xac \xf0\x9f\xa6\x8a",
       "\xc2\xa0\xc3\x9b \xe2\x82\xac \xf0\x9f\xa6\x8a"},
      {"a\u202eb\u2066c\u200fd\u061ce", "abcde"},
      {"\u200d\u2010\ufeff", "\u200d\u2010\ufeff"},
      // Bytes that are not UTF-8: C1 controls, an overlong ESC, a surrogate, a cut character.
      {"\x9b", "\ufffd"},
      {"\xc0\x9b", "\ufffd\ufffd"},
      {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
      {"\xc2", "\ufffd"},
  };
  for (const auto& row : rows) EXPECT_EQ(cli::without_controls(row.text), row.shown);
}

TEST(EscapedControls, AreWrittenAsInJson) {
  EXPECT_EQ(cli::escaped_controls("a\x1b[2J\u009b\u202e\x7f\n"),
            "a\\u001b[2J\\u009b\\u202e\\u007f\n");
  EXPECT_EQ(cli::printable("a\"\x1b\u009b\u202e\n\t"), "a\"\\u001b\\u009b\\u202e\\n\\t");
}

TEST(EscapedControls, OfPiecesAreThoseOfTheWhole) {
  const std::string text = "\u00e9\u009b\u65e5\u202e\U0001f98a\xe2\x80";
  cli::ControlEscaper escaper;
  std::string pieces;
  for (const char byte : text) pieces += escaper.push({&byte, 1});
  EXPECT_EQ(pieces + escaper.finish(), "\u00e9\\u009b\u65e5\\u202e\U0001f98a\ufffd");
  EXPECT_EQ(cli::escaped_controls(text), pieces + "\ufffd");
}

}  // namespace
}  // namespace wick::test
