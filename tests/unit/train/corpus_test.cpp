#include "wick/train/corpus.h"

#include <set>

#include "../expect.h"
#include "../temporary_folder.h"
#include "train/scored_windows.h"

namespace wick::test {
namespace {

TEST(Corpus, HoldsOutTheEndOfEachText) {
  const TemporaryFolder folder;
  folder.write("b", "0123456789");
  folder.write("a", "abcdefghijklmnopqrst");
  const Corpus corpus = read_corpus({folder.path()}, 0.1);
  EXPECT_EQ(corpus.train, (std::vector<std::string>{"abcdefghijklmnopqr", "012345678"}));
  EXPECT_EQ(corpus.held_out, (std::vector<std::string>{"st", "9"}));
  EXPECT_EQ(read_corpus({folder.path()}, 0.1).checksum, corpus.checksum);
  EXPECT_NE(read_corpus({folder.path()}, 0.2).checksum, corpus.checksum);
  EXPECT_NE(read_corpus({folder.file("b"), folder.file("a")}, 0.1).checksum, corpus.checksum);
}

Corpus letters(int64_t count) {
  Corpus corpus;
  corpus.train.emplace_back();
  for (int64_t i = 0; i < count; i++) corpus.train[0] += char(i % 251);
  return corpus;
}

TEST(ByteBatches, OfAStepAreTheSameWithoutThoseBefore) {
  const Corpus corpus = letters(1000);
  const ByteBatches one(corpus, 3, 16, 7), other(corpus, 3, 16, 7);
  for (int64_t step = 0; step < 50; step++) one.at(step, Device::cpu());
  for (const int64_t step : {49, 3, 40}) {
    const ByteBatch a = one.at(step, Device::cpu()), b = other.at(step, Device::cpu());
    EXPECT_EQ(a.ids.to_vector<int64_t>(), b.ids.to_vector<int64_t>());
    EXPECT_EQ(a.targets.to_vector<int64_t>(), b.targets.to_vector<int64_t>());
  }
  EXPECT_NE(one.at(0, Device::cpu()).ids.to_vector<int64_t>(),
            ByteBatches(corpus, 3, 16, 8).at(0, Device::cpu()).ids.to_vector<int64_t>());
}

TEST(ByteBatches, TargetsAreTheBytesThatFollow) {
  const ByteBatches batches(letters(1000), 2, 16, 1);
  const ByteBatch batch = batches.at(5, Device::cpu());
  const auto ids = batch.ids.to_vector<int64_t>(), targets = batch.targets.to_vector<int64_t>();
  ASSERT_EQ(targets.size(), 32u);
  for (size_t i = 0; i < 32; i++) {
    if (i % 16 != 15) {
      EXPECT_EQ(targets[i], ids[i + 1]);
    }
    if (ids[i] != '\n') {
      EXPECT_EQ(targets[i], (ids[i] + 1) % 251);
    }
  }
}

TEST(ByteBatches, AnEpochTakesEveryWindowOnce) {
  Corpus corpus = letters(0);
  for (int i = 0; i < 1001; i++) corpus.train[0] += i % 16 == 0 ? char(i / 16) : '~';  // marks
  const ByteBatches batches(corpus, 1, 16, 3);
  std::multiset<int64_t> seen;
  for (int64_t step = 0; step < 61; step++)
    for (const int64_t id : batches.at(step, Device::cpu()).ids.to_vector<int64_t>())
      if (id != '~') seen.insert(id);
  for (int64_t mark = 1; mark < 60; mark++) {
    if (mark == '\n') continue;  // stands before the text too
    EXPECT_EQ(seen.count(mark), 1u) << mark;
  }
}

TEST(ScoredWindows, ScoreEveryByteOnceWithItsTarget) {
  for (const int64_t size : {0, 1, 7, 8, 9, 12, 13, 40}) {
    std::string text;
    for (int64_t i = 0; i < size; i++) text += char('A' + i);
    const ScoredWindows windows = windows_of({text, "xy"}, 8);
    EXPECT_EQ(windows.bytes, size + 2);
    std::string scored;
    for (size_t i = 0; i < windows.scored.size(); i++)
      if (windows.scored[i] > 0) {
        scored += char(windows.targets[i]);
        EXPECT_EQ(windows.ids[i],
                  scored.back() == 'A' || scored.back() == 'x' ? '\n' : windows.targets[i] - 1);
        // at least half a window before it, where the text has as much
        const int64_t at = int64_t(i) % 8;
        EXPECT_GE(at, std::min<int64_t>(scored.back() >= 'x' ? 0 : windows.targets[i] - 'A', 4));
      }
    EXPECT_EQ(scored, text + "xy") << size;
    EXPECT_EQ(int64_t(windows.ids.size()), windows.count * 8);
  }
}

}  // namespace
}  // namespace wick::test
