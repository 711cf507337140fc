#include "core/transfer.h"

#include <functional>
#include <set>

#include "../expect.h"
#include "scripted_backend.h"
#include "wick/core/backend.h"

namespace wick {
namespace {

using test::script;

/// A card that copies to itself from pinned memory only when it is waited for.
struct LateCard {
  std::set<void*> pinned;
  std::vector<std::function<void()>> queued;
  int copies_from_pageable = 0;

  void run() {
    for (const auto& copy : queued) copy();
    queued.clear();
  }
};
LateCard card;

Status host_alloc(int32, int64 bytes, void** data) {
  *data = std::malloc(size_t(bytes));
  card.pinned.insert(*data);
  return {};
}
void host_free(int32, void* data) {
  card.pinned.erase(data);
  std::free(data);
}
Status copy(int32, void* to, const void* from, int64 bytes, CopyKind kind, void*) {
  if (kind == CopyKind::kHostToDevice && card.pinned.count(const_cast<void*>(from)) > 0) {
    card.queued.push_back([=] { std::memcpy(to, from, size_t(bytes)); });
    return {};
  }
  card.copies_from_pageable += kind == CopyKind::kHostToDevice;
  card.run();
  std::memcpy(to, from, size_t(bytes));
  return {};
}
Status stream_synchronize(int32, void*, ErrorRecord* record) {
  card.run();
  *record = {};
  return {};
}
Status event_query(int32, void*, int32* done) {
  card.run();
  *done = 1;
  return {};
}

const Device& late_card() {
  static const Backend backend = [] {
    Backend b = test::scripted::table("late");
    b.host_alloc = host_alloc, b.host_free = host_free, b.copy = copy;
    b.stream_synchronize = stream_synchronize, b.event_query = event_query;
    return b;
  }();
  static const Device device = Device::at({register_backend(&backend), 0});
  return device;
}

std::vector<float> numbers(float first) { return {first, first + 1, first + 2}; }

TEST(Transfer, ToADeviceIsQueuedAndReadsTheTensorAtOnce) {
  script = {};
  std::vector<Tensor> moved;
  for (int i = 0; i < 2; i++) {  // so many as there are buffers
    const Tensor x = Tensor::from(numbers(float(10 * i)));
    moved.push_back(transferred(x, late_card()));
    std::memset(x.data(), 0, 12);  // x is free again
  }
  EXPECT_EQ(card.queued.size(), 2u);
  EXPECT_EQ(card.copies_from_pageable, 0);
  moved.push_back(transferred(Tensor::from(numbers(20)), late_card()));
  EXPECT_EQ(card.queued.size(), 1u);  // the third one waited for a buffer
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(moved[size_t(i)].device(), late_card());
    EXPECT_EQ(transferred(moved[size_t(i)], Device::cpu()).to_vector<float>(),
              numbers(float(10 * i)));
  }
}

TEST(Transfer, TakesTensorsOfAnySizeAndLayout) {
  script = {};
  for (const int64_t size : {1, 40000, 70000, 3}) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < size; i++) values.push_back(i * i);
    const Tensor there = transferred(Tensor::from(values), late_card());
    EXPECT_EQ(transferred(there, Device::cpu()).to_vector<int64_t>(), values);
  }
  const Tensor empty = Tensor::from(std::vector<float>());
  EXPECT_EQ(transferred(empty, late_card()).numel(), 0);
  const Tensor here = Tensor::from(numbers(1));
  EXPECT_EQ(transferred(here, Device::cpu()).data(), here.data());
}

TEST(Transfer, OfADeviceWithoutPinnedMemoryCopies) {
  const Device emulator = Device::emulated(32);
  const Tensor x = Tensor::from(numbers(3));
  EXPECT_EQ(transferred(transferred(x, emulator), Device::cpu()).to_vector<float>(), numbers(3));
  EXPECT_EQ(transferred(transferred(transferred(x, late_card()), emulator), Device::cpu())
                .to_vector<float>(),
            numbers(3));
}

}  // namespace
}  // namespace wick
