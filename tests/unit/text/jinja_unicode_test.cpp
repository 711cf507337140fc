#include "text/jinja/unicode.h"

#include <gtest/gtest.h>

namespace wick::jinja {
namespace {

TEST(JinjaUnicode, TheLastCodePointStartsWhereItsBytesDo) {
  for (const std::string text : {"a", "é", "€", "🦊"})
    EXPECT_EQ(start_of_last("x" + text, 1 + text.size()), 1u) << text;
}

TEST(JinjaUnicode, CaseChangesAsInPython) {
  EXPECT_EQ(to_upper("straße ﬁ é"), "STRASSE FI É");
  EXPECT_EQ(to_upper("\u0390"), "\u0399\u0308\u0301");
  EXPECT_EQ(to_lower("ÀΣ ΌΣΟΣ. İ"), "àς όσος. i̇");
  EXPECT_EQ(to_title("heLLo wORLD it's ßa 1st"), "Hello World It'S Ssa 1St");
  EXPECT_EQ(to_capitalized("éCOLE"), "École");
  EXPECT_EQ(to_swapped_case("aÉß"), "AéSS");
  EXPECT_EQ(to_folded_case("Straße"), "strasse");
}

TEST(JinjaUnicode, ClassesAreThoseOfPython) {
  EXPECT_TRUE(is_space(0x3000) && is_space(0x1c) && !is_space(0x200b));
  EXPECT_TRUE(is_decimal(U'٣') && is_digit(U'²') && !is_decimal(U'²'));
  EXPECT_TRUE(is_numeric(U'½') && is_numeric(U'五') && !is_digit(U'½'));
  EXPECT_TRUE(is_lower(U'ª') && is_upper(U'Ⅷ') && is_title(U'ǅ'));
  EXPECT_TRUE(is_printable(U'é') && is_printable(U' ') && !is_printable(0xa0));
  EXPECT_TRUE(is_lower_case("ab1") && !is_lower_case("1") && !is_lower_case("aB"));
  EXPECT_EQ(decimal_value(U'٣'), 3);
  EXPECT_EQ(decimal_value(0x1d7d9), 1);
}

}  // namespace
}  // namespace wick::jinja
