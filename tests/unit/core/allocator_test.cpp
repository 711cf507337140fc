#include "core/allocator.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include "scripted_backend.h"

namespace wick {
namespace {

using test::script;

constexpr int64_t kMiB = int64_t{1} << 20;

class Allocator : public testing::Test {
 protected:
  Allocator() { script = {}; }
  ~Allocator() override {
    make(true);  // takes the place of the one under test, which gives all back
    EXPECT_TRUE(script.allocated.empty());
    EXPECT_TRUE(script.events.empty());
  }

  void make(bool plain, int64_t limit = INT64_MAX) {
    allocator_ = std::make_unique<CachingAllocator>(backend_, 0, plain, limit);
  }
  void* allocate(int64_t bytes, void* stream = nullptr) {
    void* data = nullptr;
    const Status status = allocator_->allocate(bytes, stream, &data);
    EXPECT_TRUE(status.ok()) << status.text;
    return data;
  }
  CachingAllocator& allocator() { return *allocator_; }
  static void* stream(int i) { return reinterpret_cast<void*>(intptr_t(i)); }

 private:
  Backend backend_ = test::scripted::table("scripted");
  std::unique_ptr<CachingAllocator> allocator_ =
      std::make_unique<CachingAllocator>(backend_, 0, false);
};

TEST_F(Allocator, NothingIsNoMemory) {
  EXPECT_EQ(allocate(0), nullptr);
  allocator().release(nullptr);
  EXPECT_EQ(script.allocations, 0);
}

TEST_F(Allocator, SmallBlocksShareOneSegmentAndDoNotOverlap) {
  char* blocks[] = {static_cast<char*>(allocate(1)), static_cast<char*>(allocate(513)),
                    static_cast<char*>(allocate(4096))};
  EXPECT_EQ(script.allocations, 1);
  EXPECT_EQ(blocks[1] - blocks[0], 512);  // sizes are rounded up to 512
  EXPECT_EQ(blocks[2] - blocks[1], 1024);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks[1]) % 256, 0u);
  EXPECT_EQ(allocator().statistics().used_bytes, 512 + 1024 + 4096);
  EXPECT_EQ(allocator().statistics().reserved_bytes, 2 * kMiB);
  for (char* block : blocks) allocator().release(block);
}

TEST_F(Allocator, AReleasedBlockIsReusedOnItsStream) {
  void* first = allocate(5 * kMiB);
  allocator().release(first);
  EXPECT_EQ(allocate(5 * kMiB), first);
  EXPECT_EQ(script.allocations, 1);
  allocator().release(first);
}

TEST_F(Allocator, TheSmallestBlockThatIsLargeEnoughIsTaken) {
  void* large = allocate(64 * kMiB);
  void* small = allocate(32 * kMiB);
  allocator().release(large);
  allocator().release(small);
  EXPECT_EQ(allocate(30 * kMiB), small);
  allocator().release(small);
}

TEST_F(Allocator, WhatItKnowsOfBlocksTakesNoMoreMemoryWithTime) {
  const auto split_and_merge = [&] {
    void* blocks[] = {allocate(kMiB / 2), allocate(kMiB / 2), allocate(kMiB / 2)};
    for (const int i : {0, 2, 1}) allocator().release(blocks[i]);
  };
  for (int i = 0; i < 100; i++) split_and_merge();
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 10000; i++) split_and_merge();
  EXPECT_LT(mallinfo2().uordblks, before + 10000);
  EXPECT_EQ(script.allocations, 1);
}

TEST_F(Allocator, NeighboursMergeAgain) {
  char* a = static_cast<char*>(allocate(kMiB / 2));
  char* b = static_cast<char*>(allocate(kMiB / 2));
  char* c = static_cast<char*>(allocate(kMiB / 2));
  EXPECT_EQ(b, a + kMiB / 2);
  allocator().release(a);
  allocator().release(c);  // with the rest of the segment after it
  allocator().release(b);  // joins both sides
  // The whole segment of 2 MiB is one block again, so that it can be given back.
  allocator().empty_cache();
  EXPECT_EQ(script.frees, 1);
  EXPECT_EQ(allocator().statistics().reserved_bytes, 0);
}

TEST_F(Allocator, EmptyCacheKeepsASegmentInUse) {
  void* a = allocate(1000);
  void* b = allocate(1000);
  allocator().release(b);
  allocator().empty_cache();
  EXPECT_EQ(script.frees, 0);
  allocator().release(a);
  allocator().empty_cache();
  EXPECT_EQ(script.frees, 1);
}

TEST_F(Allocator, AnotherStreamDoesNotGetTheBlock) {
  void* mine = allocate(5 * kMiB, stream(1));
  allocator().release(mine);
  void* other = allocate(5 * kMiB, stream(2));
  EXPECT_NE(other, mine);
  EXPECT_EQ(allocate(5 * kMiB, stream(1)), mine);
  allocator().release(mine);
  allocator().release(other);
}

TEST_F(Allocator, ABlockThatAnotherStreamUsedWaitsForItsEvent) {
  void* block = allocate(5 * kMiB, stream(1));
  allocator().use_on(block, stream(2));
  allocator().use_on(block, stream(2));  // counts once
  allocator().use_on(block, stream(1));  // its own stream needs no event
  allocator().release(block);
  ASSERT_EQ(script.events.size(), 1u);
  EXPECT_EQ(script.events[0]->stream, stream(2));

  void* meanwhile = allocate(5 * kMiB, stream(1));
  EXPECT_NE(meanwhile, block);
  script.events[0]->passed = true;
  EXPECT_EQ(allocate(5 * kMiB, stream(1)), block);

  // The event is used again, not made anew.
  allocator().use_on(block, stream(3));
  allocator().release(block);
  EXPECT_EQ(script.events.size(), 1u);
  EXPECT_EQ(script.events[0]->stream, stream(3));
  script.events[0]->passed = true;
  allocator().release(meanwhile);
}

TEST_F(Allocator, EveryOtherStreamMustHavePassed) {
  void* block = allocate(5 * kMiB, stream(1));
  for (const int other : {2, 3, 4}) allocator().use_on(block, stream(other));
  allocator().release(block);
  ASSERT_EQ(script.events.size(), 3u);
  std::vector<void*> others;
  for (test::Event* event : std::vector(script.events)) {
    others.push_back(allocate(5 * kMiB, stream(1)));
    EXPECT_NE(others.back(), block);
    event->passed = true;
  }
  EXPECT_EQ(allocate(5 * kMiB, stream(1)), block);
  allocator().release(block);
  for (void* other : others) allocator().release(other);
}

TEST_F(Allocator, WhatWasReleasedMeanwhileIsNotForgottenByAReuse) {
  void* block = allocate(5 * kMiB, stream(1));
  allocator().use_on(block, stream(2));
  allocator().release(block);
  script.events[0]->passed = true;
  EXPECT_EQ(allocate(5 * kMiB, stream(1)), block);
  // Now stream 2 has nothing to do with it any more.
  allocator().release(block);
  EXPECT_EQ(allocate(5 * kMiB, stream(1)), block);
  allocator().release(block);
}

TEST_F(Allocator, OutOfMemoryGivesUnusedSegmentsBackAndTriesAgain) {
  script.memory = 100 * kMiB;
  void* a = allocate(60 * kMiB);
  allocator().release(a);
  void* b = allocate(80 * kMiB);  // fits only without a's segment
  EXPECT_NE(b, nullptr);
  EXPECT_EQ(script.frees, 1);
  allocator().release(b);
}

TEST_F(Allocator, OutOfMemoryWaitsForEventsBeforeItGivesUp) {
  script.memory = 100 * kMiB;
  script.events_pass_when_asked = false;
  void* a = allocate(60 * kMiB, stream(1));
  allocator().use_on(a, stream(2));
  allocator().release(a);
  script.events_pass_when_asked = true;
  void* b = allocate(80 * kMiB, stream(1));
  EXPECT_NE(b, nullptr);
  EXPECT_GT(script.queries, 0);
  allocator().release(b);
}

TEST_F(Allocator, OutOfMemoryIsReportedAndHarmsNothing) {
  script.memory = 100 * kMiB;
  void* a = allocate(60 * kMiB);
  void* b = a;
  const Status status = allocator().allocate(80 * kMiB, nullptr, &b);
  EXPECT_EQ(status.code, StatusCode::kOutOfMemory);
  EXPECT_EQ(b, nullptr);
  EXPECT_EQ(allocator().statistics().used_bytes, 60 * kMiB);
  allocator().release(a);
}

TEST_F(Allocator, MoreThanThereAreAddressesIsOutOfMemory) {
  void* data = nullptr;
  EXPECT_EQ(allocator().allocate(INT64_MAX - 100, nullptr, &data).code, StatusCode::kOutOfMemory);
}

TEST_F(Allocator, NoAllocationPassesTheLimit) {
  for (const bool plain : {false, true}) {
    make(plain, 25 * kMiB);
    void* a = allocate(8 * kMiB);  // of a segment of 20 MiB
    void* b = allocate(11 * kMiB);
    void* data = nullptr;
    EXPECT_EQ(allocator().allocate(7 * kMiB, nullptr, &data).code, StatusCode::kOutOfMemory);
    EXPECT_EQ(data, nullptr);
    void* c = allocate(4 * kMiB);
    EXPECT_LE(allocator().statistics().reserved_bytes, 25 * kMiB);
    EXPECT_EQ(allocator().largest(2), (std::vector<int64_t>{11 * kMiB, 8 * kMiB}));
    allocator().release(b);
    void* d = allocate(12 * kMiB);  // in place of b
    EXPECT_LE(allocator().statistics().reserved_bytes, 25 * kMiB);
    for (void* x : {a, c, d}) allocator().release(x);
    EXPECT_EQ(allocator().statistics().used_bytes, 0);
  }
}

TEST_F(Allocator, StatisticsCountBytesAndTheirPeak) {
  void* a = allocate(3 * kMiB);
  void* b = allocate(4 * kMiB);
  EXPECT_EQ(allocator().statistics().used_bytes, 7 * kMiB);
  allocator().release(a);
  allocator().release(b);
  const CachingAllocator::Statistics s = allocator().statistics();
  EXPECT_EQ(s.used_bytes, 0);
  EXPECT_EQ(s.peak_bytes, 7 * kMiB);
  EXPECT_EQ(s.reserved_bytes, 20 * kMiB);  // both in one segment for medium sizes
  EXPECT_EQ(s.segment_allocations, 1);
}

TEST_F(Allocator, PlainAllocatesEachTimeAndKeepsNothing) {
  make(true);
  void* a = allocate(1000);
  EXPECT_EQ(script.allocated.at(a), 1000);  // its own size: what reads beyond it is seen
  allocator().use_on(a, stream(2));
  allocator().release(a);
  void* b = allocate(1000);
  EXPECT_EQ(script.allocations, 2);
  EXPECT_EQ(script.frees, 1);
  allocator().release(b);
  EXPECT_TRUE(script.events.empty());
}

TEST_F(Allocator, APoolsMemoryServesNothingElseWhileItLives) {
  int pool = 0;
  void* const plain = allocate(4096);
  allocator().release(plain);
  allocator().begin_pool(&pool);
  void* const own = allocate(4096);
  EXPECT_NE(own, plain);
  allocator().release(own);
  EXPECT_EQ(allocate(4096), own);  // within the pool it is reused
  allocator().release(own);
  allocator().end_pool();
  EXPECT_EQ(allocate(4096), plain);
  allocator().release(plain);
  allocator().empty_cache();
  EXPECT_EQ(script.allocated.size(), 1u);  // the pool's segment stays
  allocator().dissolve_pool(&pool);
  EXPECT_EQ(allocate(4096), own);
  allocator().release(own);
}

TEST_F(Allocator, WhatOutlivesItsPoolGoesBackToTheDefaultStream) {
  int pool = 0;
  allocator().begin_pool(&pool);
  void* const kept = allocate(4096);
  allocator().end_pool();
  allocator().dissolve_pool(&pool);
  allocator().release(kept);
  EXPECT_EQ(allocate(4096), kept);
  allocator().release(kept);
}

TEST_F(Allocator, ASharedBlockWaitsForAllStreams) {
  void* before = allocate(5 * kMiB);
  allocator().share_with(stream(1));
  allocator().share_with(stream(1));  // counts once
  allocator().share_with(nullptr);    // has its part in any case
  void* mine = allocate(7 * kMiB, stream(1));
  allocator().release(before);
  allocator().release(mine);
  ASSERT_EQ(script.events.size(), 2u);
  EXPECT_EQ(script.events[0]->stream, stream(1));  // of the default stream's block
  EXPECT_EQ(script.events[1]->stream, nullptr);
  void* other = allocate(5 * kMiB);
  EXPECT_NE(other, before);
  for (test::Event* event : script.events) event->passed = true;
  EXPECT_EQ(allocate(7 * kMiB, stream(1)), mine);
  EXPECT_EQ(allocate(5 * kMiB), before);
  // Without the stream nothing has to wait, and its memory is the default stream's.
  allocator().forget(stream(1));
  for (void* block : {other, before, mine}) allocator().release(block);
  EXPECT_EQ(script.allocations, 2);  // of 20 MiB
  void* all[] = {allocate(19 * kMiB), allocate(19 * kMiB)};
  EXPECT_EQ(script.allocations, 2);
  for (void* block : all) allocator().release(block);
}

TEST_F(Allocator, AsksForNoEventWhileAGraphIsRecorded) {
  int pool = 0;
  allocator().share_with(stream(1));
  void* const early = allocate(5 * kMiB);
  void* const plain = allocate(7 * kMiB);
  allocator().release(early);
  ASSERT_EQ(script.events.size(), 1u);
  script.events[0]->passed = true;
  const int queries = script.queries;
  allocator().begin_pool(&pool);
  void* const own = allocate(4096, stream(1));  // the pool serves all streams of this thread
  allocator().release(own);
  EXPECT_EQ(allocate(4096), own);
  allocator().release(plain);
  EXPECT_EQ(script.queries, queries);
  EXPECT_EQ(script.events.size(), 1u);
  allocator().release(own);
  allocator().end_pool();
  ASSERT_EQ(script.events.size(), 2u);  // of `plain`
  allocator().dissolve_pool(&pool);     // whose graph may have run on any stream
  ASSERT_EQ(script.events.size(), 3u);
  void* const meanwhile = allocate(4096);
  EXPECT_NE(meanwhile, own);
  for (test::Event* event : script.events) event->passed = true;
  const int allocations = script.allocations;
  void* const whole = allocate(19 * kMiB);  // the segment of `early` and `plain`
  EXPECT_EQ(script.allocations, allocations);
  allocator().forget(stream(1));
  for (void* block : {meanwhile, whole}) allocator().release(block);
}

TEST_F(Allocator, AForkedPoolTakesNothingTwice) {
  int pool = 0;
  allocator().begin_pool(&pool);
  void* const before = allocate(4096);
  allocator().release(before);
  allocator().fork_pool();
  void* const first = allocate(4096);
  EXPECT_EQ(first, before);  // released before the streams parted
  allocator().release(first);
  void* const second = allocate(4096);
  EXPECT_NE(second, first);
  allocator().release(second);
  allocator().end_pool();
  allocator().dissolve_pool(&pool);
  EXPECT_EQ(allocate(4096), first);
  allocator().release(first);
}

}  // namespace
}  // namespace wick
