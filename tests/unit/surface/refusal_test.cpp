// What public ops say of arguments that they do not take.
#include "refusal.h"

#include <gtest/gtest.h>

#include <set>

namespace wick::test {
namespace {

constexpr int kCalls = 200;  // of each overload

/// What is wrong with how a call was refused; "" if nothing is.
std::string fault(const RefusalCall& row, Draw& draw) {
  try {
    row.call(draw);
  } catch (const Error& e) {
    const std::string text = e.what();
    // The result of an op that is made of no others may be too large; it is a tensor's, not an op's.
    const bool too_large = text.starts_with("tensor: no room on cpu for ") ||
                           (text.starts_with("tensor: shape ") && text.ends_with("2^63 bytes"));
    if (!text.starts_with(row.op + ": ") && !too_large) return text;
    if (e.code() == ErrorCode::kOutOfRange && text.find('[') == std::string::npos)
      return "no range: " + text;
  } catch (const std::exception& e) {
    return std::string("not an Error of wick's: ") + e.what();
  }
  return "";
}

/// A message without its numbers: what tells one fault from another.
std::string kind_of(std::string text) {
  std::erase_if(text, [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
  return text.substr(0, 60);
}

std::set<std::string> called_ops() {
  std::set<std::string> ops;
  for (const RefusalCall& row : refusal_calls()) ops.insert(row.op);
  return ops;
}

class Refusal : public testing::TestWithParam<std::string> {};

TEST_P(Refusal, NamesTheOpThatWasCalledAndTheRange) {
  std::set<std::string> seen;
  for (const RefusalCall& row : refusal_calls())
    for (uint64_t i = 0; i < kCalls && row.op == GetParam(); i++) {
      Draw draw(i);
      const CompositeScope scope(i % 2 ? CompositeMode::kAlways : CompositeMode::kAuto);
      const std::string found = fault(row, draw);
      if (!found.empty() && seen.insert(kind_of(found)).second)
        ADD_FAILURE() << row.op << "(" << draw.text() << "): " << found;
    }
}

INSTANTIATE_TEST_SUITE_P(Ops, Refusal, testing::ValuesIn(called_ops()),
                         [](const auto& info) { return info.param; });

TEST(Refusals, AreAskedOfEveryOp) {
  const std::set<std::string> called = called_ops();
  // Ops of users name themselves.
  const std::set<std::string> others = {"apply", "apply_", "with_gradient"};
  const Settings manifest = read_json(WICK_MANIFEST);
  for (const Setting& op : std::get<Setting::List>(manifest.find("ops")->value)) {
    const std::string name = std::get<Settings>(op.value).text("name");
    EXPECT_NE(called.count(name), others.count(name)) << name;
  }
}

}  // namespace
}  // namespace wick::test
