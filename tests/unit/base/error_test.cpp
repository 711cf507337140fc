#include "wick/base/error.h"

#include <set>

#include "../expect.h"

namespace wick {

struct Named {};
std::string to_string(const Named&) { return "named"; }

namespace {

TEST(Error, JoinsTheParts) {
  EXPECT_ERROR(fail(ErrorCode::kShapeMismatch, "matmul", "got ", 3, ", ", -4L, ", ", 5ull, ", ",
                    true, ", ", std::string("text")),
               kShapeMismatch, "matmul: got 3, -4, 5, true, text");
  EXPECT_ERROR(fail(ErrorCode::kIo, "x", INT64_MIN, " ", UINT64_MAX), kIo,
               "x: -9223372036854775808 18446744073709551615");
  EXPECT_ERROR(fail(ErrorCode::kIo, "x", Named{}), kIo, "x: named");
}

TEST(Error, WritesNumbersInFullAndNoMore) {
  EXPECT_ERROR(fail(ErrorCode::kIo, "x", 0.1, " ", 1e-5, " ", 1e300), kIo, "x: 0.1 1e-05 1e+300");
}

TEST(Check, ThrowsWhereTheConditionDoesNotHold) {
  check(true, ErrorCode::kIo, "x", "never");
  EXPECT_ERROR(check(false, ErrorCode::kFormat, "x", "seen"), kFormat, "x: seen");
}

TEST(ErrorCode, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int code = 0; code <= int(ErrorCode::kFormat); code++)
    names.insert(error_code_name(ErrorCode(code)));
  EXPECT_EQ(names.size(), size_t(ErrorCode::kFormat) + 1);
  EXPECT_EQ(names.count("unknown error"), 0u);
  EXPECT_STREQ(error_code_name(ErrorCode(1000)), "unknown error");
}

}  // namespace
}  // namespace wick
