#include "text/tokenizer/vocabulary.h"

#include "../expect.h"

namespace wick::tokenization {
namespace {

TEST(Vocabulary, FindsEachTokenByItsText) {
  Vocabulary vocabulary;
  for (int i = 0; i < 1000; i++) EXPECT_TRUE(vocabulary.add("t" + std::to_string(i)));
  EXPECT_EQ(vocabulary.size(), 1000);
  for (int i = 0; i < 1000; i++) {
    EXPECT_EQ(vocabulary.find("t" + std::to_string(i)), i);
    EXPECT_EQ(vocabulary.text(i), "t" + std::to_string(i));
  }
  EXPECT_EQ(vocabulary.find("t1000"), -1);
  EXPECT_EQ(Vocabulary().find("t"), -1);
}

TEST(Vocabulary, AnIdWithoutTextIsNeverFound) {
  Vocabulary vocabulary;
  vocabulary.reserve(3, 10);
  EXPECT_TRUE(vocabulary.add(""));
  EXPECT_TRUE(vocabulary.add("a"));
  EXPECT_TRUE(vocabulary.add(""));
  EXPECT_EQ(vocabulary.find(""), -1);
  EXPECT_EQ(vocabulary.find("a"), 1);
  EXPECT_EQ(vocabulary.text(2), "");
}

TEST(Vocabulary, ARepeatedTextKeepsItsFirstId) {
  Vocabulary vocabulary;
  EXPECT_TRUE(vocabulary.add("a"));
  EXPECT_FALSE(vocabulary.add("a"));
  EXPECT_EQ(vocabulary.find("a"), 0);
  EXPECT_EQ(vocabulary.size(), 2);
}

TEST(Merges, HoldWhatWasSetForAPair) {
  Merges merges;
  EXPECT_EQ(merges.find(1, 2).id, -1);
  for (int32_t i = 0; i < 500; i++) merges.of(i, i * 7) = {uint32_t(i), i + 1};
  for (int32_t i = 0; i < 500; i++) {
    EXPECT_EQ(merges.find(i, i * 7).id, i + 1);
    EXPECT_EQ(merges.find(i, i * 7).rank, uint32_t(i));
    EXPECT_EQ(merges.find(i * 7 + 1, i).id, -1);
  }
  int count = 0;
  merges.each([&](int32_t left, int32_t right) { count += right == left * 7; });
  EXPECT_EQ(count, 500);
}

}  // namespace
}  // namespace wick::tokenization
