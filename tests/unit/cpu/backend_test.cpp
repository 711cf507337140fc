#include "runtime/backend.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

#include "../threads_scope.h"
#include "rig.h"
#include "scalar/binary.h"
#include "scalar/reduce.h"
#include "scalar/unary.h"

namespace wick::cpu {
namespace {

using test::Array;
using test::Launch;

TEST(CpuBackend, IsOneDeviceOfWaveOneInHostMemory) {
  const Backend* backend = cpu_backend();
  EXPECT_EQ(backend->abi_version, kAbiVersion);
  EXPECT_EQ(backend->struct_size, sizeof(Backend));
  EXPECT_EQ(backend->layout_hash, kLayoutHash);
  EXPECT_STREQ(backend->name, "cpu");
  const char* why = "unset";
  EXPECT_EQ(backend->device_count(&why), 1);
  DeviceInfo info;
  ASSERT_TRUE(backend->device_info(0, &info).ok());
  EXPECT_NE(info.name[0], '\0');
  EXPECT_NE(info.name[0], ' ');
  EXPECT_EQ(info.wave, 1);
  EXPECT_EQ(info.host_memory, 1);
  EXPECT_EQ(info.ordinal, 0);
  int64 free_bytes = 0, total_bytes = 0;
  ASSERT_TRUE(backend->memory_info(0, &free_bytes, &total_bytes).ok());
  EXPECT_GT(free_bytes, 0);
  EXPECT_GE(total_bytes, free_bytes);
  EXPECT_EQ(total_bytes, info.total_bytes);
}

TEST(CpuBackend, HasNoSecondDevice) {
  DeviceInfo info;
  const Status status = cpu_backend()->device_info(1, &info);
  EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.text).find("got 1"), std::string::npos) << status.text;
}

TEST(CpuBackend, AllocatesAlignedMemoryOfAnySize) {
  for (const int64 bytes : {0, 1, 255, 256, 257, 100000}) {
    void* data = nullptr;
    ASSERT_TRUE(cpu_backend()->alloc(0, bytes, &data).ok()) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 256, 0u);
    ASSERT_TRUE(cpu_backend()->fill(0, data, 7, bytes, nullptr).ok());
    cpu_backend()->free(0, data);
  }
}

TEST(CpuBackend, SaysHowMuchMemoryThereWasNot) {
  void* data = &data;
  const Status status = cpu_backend()->alloc(0, int64(1) << 61, &data);
  EXPECT_EQ(status.code, StatusCode::kOutOfMemory);
  EXPECT_EQ(data, nullptr);
  EXPECT_NE(std::string(status.text).find("2305843009213693952"), std::string::npos) << status.text;
  // The system would promise this much, and kill the process that writes to it.
  int64 free_bytes = 0, total_bytes = 0;
  ASSERT_TRUE(cpu_backend()->memory_info(0, &free_bytes, &total_bytes).ok());
  EXPECT_EQ(cpu_backend()->alloc(0, 4 * total_bytes, &data).code, StatusCode::kOutOfMemory);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(cpu_backend()->alloc(0, -1, &data).code, StatusCode::kOutOfMemory);
}

TEST(CpuBackend, CopiesAndFillsOnSeveralThreads) {
  std::vector<char> from(5 << 20), to(5 << 20);
  for (size_t i = 0; i < from.size(); i++) from[i] = char(i * 7);
  const wick::test::ThreadsScope scope(3);
  ASSERT_TRUE(cpu_backend()
                  ->copy(0, to.data(), from.data(), int64(to.size()), CopyKind::kOnDevice, nullptr)
                  .ok());
  EXPECT_EQ(from, to);
  ASSERT_TRUE(cpu_backend()->fill(0, to.data() + 1, 9, int64(to.size()) - 2, nullptr).ok());
  EXPECT_EQ(to.front(), from.front());
  EXPECT_EQ(to[1], 9);
  EXPECT_EQ(to[to.size() - 2], 9);
  EXPECT_EQ(to.back(), from.back());
}

TEST(CpuBackend, EventsHaveHappenedAndStreamsAreDone) {
  const Backend* backend = cpu_backend();
  void *stream = nullptr, *event = nullptr;
  ASSERT_TRUE(backend->stream_create(0, &stream).ok());
  ASSERT_TRUE(backend->event_create(0, &event).ok());
  ASSERT_TRUE(backend->event_record(0, event, stream).ok());
  int32 done = 0;
  ASSERT_TRUE(backend->event_query(0, event, &done).ok());
  EXPECT_EQ(done, 1);
  EXPECT_TRUE(backend->stream_wait(0, stream, event).ok());
  ErrorRecord record;
  std::memset(&record, 0xff, sizeof record);
  ASSERT_TRUE(backend->stream_synchronize(0, stream, &record).ok());
  EXPECT_EQ(record.code, 0u);
  backend->event_destroy(0, event);
  backend->stream_destroy(0, stream);
}

TEST(CpuTable, FindsNothingForOtherDtypesAttributesOrCounts) {
  for (const Isa isa : test::isas()) {
    EXPECT_EQ(test::find(isa, Exp::op, {DType::kI32, DType::kI32}, 1).count, 0);
    EXPECT_EQ(test::find(isa, Add::op, {DType::kF32, DType::kF32}, 1).count, 0);
    EXPECT_EQ(test::find(isa, Add::op, {DType::kF32, DType::kF16, DType::kF32}, 2).count, 0);
    const std::initializer_list<DType> f32 = {DType::kF32, DType::kF32};
    EXPECT_EQ(test::find(isa, Sum::op, f32, 1).count, 1);
    EXPECT_EQ(test::find(isa, Op("an op of nobody's", "T:T"), f32, 1).count, 0);
    // Built from other headers: the same name with other attributes, operands, or another's id.
    Op other = Sum::op;
    other.attributes.hash++;
    EXPECT_EQ(test::find(isa, other, f32, 1).count, 0);
    EXPECT_EQ(test::find(isa, Op("sum", "T:T", Sum::op.attributes), f32, 1).count, 0);
    other = Sum::op;
    other.name = "summe";
    EXPECT_EQ(test::find(isa, other, f32, 1).count, 0);
    EXPECT_EQ(test::find(isa, Sum::op, std::initializer_list<DType>{}, 0).count, 0);
  }
}

TEST(CpuTable, RefusesASecondOpOfTheSameId) {
  Table table;
  table.add(Op("first", "T:T"), DType::kF32, {});
  Op second("second", "T:T");
  second.id = Op("first", "T:T").id;
  EXPECT_DEATH(table.add(second, DType::kF32, {}), "two ops of one id: \"first\" .*\"second\"");
  EXPECT_DEATH(table.add(Op("first", "TT:T"), DType::kF32, {}), "two ops of one id");
  EXPECT_EQ(table.ops().size(), 1u);
}

TEST(CpuTable, KeepsAnErrorsTextPerThread) {
  const Status here = error(StatusCode::kInvalidArgument, "one: %d", 1);
  std::thread([] { error(StatusCode::kInvalidArgument, "two: %d", 2); }).join();
  EXPECT_STREQ(here.text, "one: 1");
}

}  // namespace
}  // namespace wick::cpu
