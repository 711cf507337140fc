// Copies through pinned buffers, with a card that copies when it is waited for.
#include "runtime/staging.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace wick::gpu {
namespace {

/// Keeps its copies until an event is waited for, as a slow card would.
class SlowCard : public StagingCalls {
 public:
  int64 most_pinned = kStagingBytes;  // larger buffers are refused
  int fails_at = -1;                  // the copy that fails
  int copies = 0, waits = 0, most_waiting = 0;
  std::vector<int64> pinned;  // the sizes of the buffers

  Status allocate_pinned(int64 bytes, void** data) override {
    if (bytes > most_pinned) return {StatusCode::kOutOfMemory, "no pinned memory"};
    memory_.push_back(std::make_unique<char[]>(size_t(bytes)));
    pinned.push_back(bytes);
    *data = memory_.back().get();
    return {};
  }
  Status make_event(void** event) override {
    events_.push_back(std::make_unique<size_t>(0));
    *event = events_.back().get();
    return {};
  }
  Status copy(void* to, const void* from, int64 bytes, CopyKind) override {
    if (copies++ == fails_at) return {StatusCode::kDeviceError, "lost"};
    queue_.push_back([=] { std::memcpy(to, from, size_t(bytes)); });
    most_waiting = std::max(most_waiting, int(queue_.size() - run_));
    return {};
  }
  Status record(void* event) override {
    *static_cast<size_t*>(event) = queue_.size();
    return {};
  }
  Status wait(void* event) override {
    waits++;
    run_until(*static_cast<size_t*>(event));
    return {};
  }
  void finish() { run_until(queue_.size()); }

 private:
  void run_until(size_t end) {
    for (; run_ < end; run_++) queue_[run_]();
  }

  std::vector<std::unique_ptr<char[]>> memory_;
  std::vector<std::unique_ptr<size_t>> events_;
  std::vector<std::function<void()>> queue_;
  size_t run_ = 0;
};

std::vector<char> some_bytes(int64 count) {
  std::vector<char> bytes(static_cast<size_t>(count));
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = char(i * 31 + i / 4099);
  return bytes;
}

constexpr int64 kSizes[] = {1,
                            kDirectBytes,
                            kStagingBytes - 1,
                            kStagingBytes,
                            kStagingBytes + 1,
                            2 * kStagingBytes,
                            3 * kStagingBytes,
                            5 * kStagingBytes / 2};

TEST(Staging, BringsAllBytesThereAndBack) {
  SlowCard card;
  Staging staging;  // one for all: each copy begins with buffers that are in flight
  for (const int64 size : kSizes) {
    const std::vector<char> sent = some_bytes(size);
    std::vector<char> on_card(sent.size()), received(sent.size());
    ASSERT_TRUE(
        staging.copy(card, on_card.data(), sent.data(), size, CopyKind::kHostToDevice).ok());
    ASSERT_TRUE(
        staging.copy(card, received.data(), on_card.data(), size, CopyKind::kDeviceToHost).ok());
    ASSERT_TRUE(received == sent) << size << " bytes";
  }
  EXPECT_EQ(card.pinned, (std::vector<int64>{kStagingBytes, kStagingBytes}));
}

TEST(Staging, AnUploadHasReadItsMemoryAndLeavesTheLastPartsToTheCard) {
  SlowCard card;
  Staging staging;
  std::vector<char> sent = some_bytes(4 * kStagingBytes), on_card(sent.size());
  const std::vector<char> kept = sent;
  ASSERT_TRUE(
      staging.copy(card, on_card.data(), sent.data(), int64(sent.size()), CopyKind::kHostToDevice)
          .ok());
  EXPECT_EQ(card.copies, 4);
  EXPECT_EQ(card.waits, 2);
  EXPECT_EQ(card.most_waiting, 2) << "one part is filled while the card copies the other";
  std::fill(sent.begin(), sent.end(), 0);
  card.finish();
  EXPECT_TRUE(on_card == kept);
}

TEST(Staging, ADownloadAsksForTheNextPartBeforeItEmptiesOne) {
  SlowCard card;
  Staging staging;
  const std::vector<char> on_card = some_bytes(4 * kStagingBytes);
  std::vector<char> received(on_card.size());
  ASSERT_TRUE(staging
                  .copy(card, received.data(), on_card.data(), int64(on_card.size()),
                        CopyKind::kDeviceToHost)
                  .ok());
  EXPECT_EQ(card.most_waiting, 2);
  EXPECT_TRUE(received == on_card);
}

TEST(Staging, WithLittlePinnedMemoryTheBuffersAreSmaller) {
  SlowCard card;
  card.most_pinned = kStagingBytes / 3;
  Staging staging;
  const std::vector<char> sent = some_bytes(kStagingBytes + 5);
  std::vector<char> on_card(sent.size());
  ASSERT_TRUE(
      staging.copy(card, on_card.data(), sent.data(), int64(sent.size()), CopyKind::kHostToDevice)
          .ok());
  card.finish();
  EXPECT_TRUE(on_card == sent);
  EXPECT_EQ(card.pinned, (std::vector<int64>{kStagingBytes / 4, kStagingBytes / 4}));
}

TEST(Staging, SaysWhyItFailsAndWorksWhenTheReasonIsGone) {
  SlowCard card;
  card.most_pinned = 0;
  Staging staging;
  const std::vector<char> sent = some_bytes(3 * kStagingBytes);
  std::vector<char> on_card(sent.size());
  const auto upload = [&] {
    return staging.copy(card, on_card.data(), sent.data(), int64(sent.size()),
                        CopyKind::kHostToDevice);
  };
  EXPECT_EQ(upload().code, StatusCode::kOutOfMemory);
  card.most_pinned = kStagingBytes;
  card.fails_at = 1;
  EXPECT_STREQ(upload().text, "lost");
  EXPECT_TRUE(upload().ok());
  card.finish();
  EXPECT_TRUE(on_card == sent);
}

}  // namespace
}  // namespace wick::gpu
