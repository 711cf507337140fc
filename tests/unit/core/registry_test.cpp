#include "../expect.h"
#include "scripted_backend.h"
#include "wick/core/backend.h"

namespace wick {
namespace {

TEST(RegisterBackend, RefusesNoTable) {
  EXPECT_ERROR(register_backend(nullptr), kInvalidArgument,
               "register_backend: its table is missing");
}

TEST(RegisterBackend, RefusesATableOfAnotherVersion) {
  for (const int what : {0, 1, 2}) {
    Backend table = test::scripted::table("later");
    if (what == 0) table.abi_version++;
    if (what == 1) table.struct_size += 8;
    if (what == 2) table.layout_hash ^= 1;
    EXPECT_ERROR(register_backend(&table), kInvalidArgument,
                 "it was built for another version of wick");
  }
}

TEST(RegisterBackend, RefusesATableThatLacksAFunction) {
  const auto without = [](auto member) {
    Backend table = test::scripted::table("partial");
    table.*member = nullptr;
    EXPECT_ERROR(register_backend(&table), kInvalidArgument, "its table lacks a required function");
  };
  without(&Backend::name);
  without(&Backend::device_count);
  without(&Backend::device_info);
  without(&Backend::memory_info);
  without(&Backend::alloc);
  without(&Backend::free);
  without(&Backend::copy);
  without(&Backend::fill);
  without(&Backend::stream_create);
  without(&Backend::stream_destroy);
  without(&Backend::stream_synchronize);
  without(&Backend::event_create);
  without(&Backend::event_destroy);
  without(&Backend::event_record);
  without(&Backend::event_query);
  without(&Backend::stream_wait);
  without(&Backend::find_kernels);
  without(&Backend::list_ops);
}

TEST(RegisterBackend, RefusesANameThatIsTakenOrCannotBeParsed) {
  for (const char* name : {"cpu", "rocm", "cuda", "metal", "emu", "auto", "", "a:b"}) {
    const Backend table = test::scripted::table(name);
    EXPECT_ERROR(register_backend(&table), kInvalidArgument,
                 "expected a free name, got \"" + std::string(name) + "\"");
  }
}

TEST(RegisterBackend, GivesANameItsOwnKindOnce) {
  test::script = {};
  static const Backend first = test::scripted::table("first"),
                       second = test::scripted::table("second");
  const DeviceKind kind = register_backend(&first);
  EXPECT_NE(register_backend(&second), kind);
  EXPECT_ERROR(register_backend(&first), kInvalidArgument, "expected a free name, got \"first\"");

  test::script.devices = 3;
  EXPECT_EQ(Device::parse("first").location(), (DeviceLocation{kind, 0}));
  EXPECT_EQ(to_string(Device::parse("first:2")), "first:2");
  EXPECT_TRUE(Device::parse("first:2") == Device::parse("first:2"));
  EXPECT_FALSE(Device::parse("first:2").same_device(Device::parse("second:2")));
  EXPECT_ERROR(Device::parse("first:3"), kDeviceMissing,
               "first:3: no such device; there are first:0, first:1, first:2");
}

TEST(RegisterBackend, ADeviceThatCannotBeUsedSaysWhyAndHarmsNoOther) {
  test::script = {};
  test::script.devices = 3;
  test::script.unusable = 0;
  static const Backend table = test::scripted::table("mixed");
  register_backend(&table);
  EXPECT_ERROR(Device::parse("mixed:0"), kUnsupported,
               "device_info: the script says no on mixed:0");
  EXPECT_EQ(to_string(Device::parse("mixed:1")), "mixed:1");
  EXPECT_ERROR(Device::parse("mixed:3"), kDeviceMissing,
               "mixed:3: no such device; there are mixed:1, mixed:2");
  const BackendStatus status = backend_status().back();
  EXPECT_EQ(status.devices.size(), 2u);
  EXPECT_EQ(status.unusable, std::vector<std::string>{"the script says no"});
  test::script = {};
}

}  // namespace
}  // namespace wick
