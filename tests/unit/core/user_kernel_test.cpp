// Modules, kernels and launches on a backend that writes down what it is asked for.
#include "wick/core/user_kernel.h"

#include <cstdlib>

#include "../expect.h"
#include "../temporary_folder.h"
#include "core/stream.h"
#include "scripted_backend.h"
#include "wick/abi/runtime_code.h"
#include "wick/core/backend.h"

namespace wick {
namespace {

struct Record {
  std::vector<std::string> calls;  // "load code", "launch f grid 1 2 3 block 4 5 6 shared 7"
  std::vector<std::vector<char>> arguments;  // of the last launch
  void* stream = nullptr;                    // of the last launch
};
Record record;

// "kernel" takes a pointer, an int32 and a float.
constexpr int32 kArgumentBytes[] = {8, 4, 4};

Status load(int32, const void* image, int64 bytes, void** module) {
  const std::string text(static_cast<const char*>(image), size_t(bytes));
  if (text != "code") return {StatusCode::kInvalidArgument, "expected code"};
  record.calls.push_back("load " + text);
  *module = new int;
  return {};
}
void unload(int32, void* module) {
  record.calls.push_back("unload");
  delete static_cast<int*>(module);
}
Status find(int32, void*, const char* name, KernelFacts* facts) {
  if (std::string(name) != "kernel")
    return {StatusCode::kKernelNotFound, "there is no such kernel"};
  *facts = {&record, kArgumentBytes, 3, 64, 1024};
  return {};
}
Status launch(int32, void* function, const KernelLaunch* launch, void* stream) {
  EXPECT_EQ(function, &record);
  std::string text = std::string("launch ") + launch->name;
  for (const uint32 n : launch->grid) text += " " + std::to_string(n);
  for (const uint32 n : launch->block) text += " " + std::to_string(n);
  record.calls.push_back(text + " " + std::to_string(launch->shared_bytes));
  record.arguments.clear();
  for (int i = 0; i < 3; i++) {
    const char* value = static_cast<const char*>(launch->arguments[i]);
    record.arguments.emplace_back(value, value + kArgumentBytes[i]);
  }
  record.stream = stream;
  return {};
}
constexpr RuntimeCode kCode = {
    kRuntimeCodeVersion, sizeof(RuntimeCode), load, unload, find, launch, nullptr, nullptr};

/// A device of a backend with this code, registered under this name.
Device device_with(const RuntimeCode* code, const char* name) {
  test::script = {};
  auto* table = new Backend(test::scripted::table(name));
  table->runtime_code = code;
  table->stream_create = [](int32, void** stream) {
    *stream = new char;
    return Status{};
  };
  table->stream_destroy = [](int32, void* stream) { delete static_cast<char*>(stream); };
  return Device::at({register_backend(table), 0});
}

class UserKernel : public testing::Test {
 protected:
  void SetUp() override { record = {}; }
  static Device device() {
    static const Device found = device_with(&kCode, "loads");
    return found;
  }
  static KernelModule module() {
    return KernelModule::from_bytes(device(), std::as_bytes(std::span("code", 4)), "file");
  }
  static Tensor tensor(const Shape& shape = {4}) {
    return Tensor::empty(shape, {.device = device()});
  }
};

/// Whether memory is reused at all: not with WICK_ALLOC=plain.
bool memory_is_reused() {
  const char* choice = std::getenv("WICK_ALLOC");
  return !choice || std::string(choice) != "plain";
}

template <class T>
std::vector<char> bytes_of_value(T value) {
  const char* bytes = reinterpret_cast<const char*>(&value);
  return {bytes, bytes + sizeof value};
}

TEST_F(UserKernel, GetsItsArgumentsAsTheyAre) {
  const Tensor x = tensor({2, 3});
  const KernelFunction kernel = module().function("kernel");
  kernel.launch({1, 2, 3}, {4, 5, 2}, 7, x, 8, 9.5f);
  EXPECT_EQ(record.calls.back(), "launch kernel 1 2 3 4 5 2 7");
  EXPECT_EQ(record.arguments,
            (std::vector{bytes_of_value(x.data()), bytes_of_value(8), bytes_of_value(9.5f)}));
  EXPECT_EQ(record.stream, nullptr);
  const Tensor view = x.view({{2}, {3}, 1});
  kernel.launch(1, 64, 0, view, uint32_t(8), 9.5f);
  EXPECT_EQ(record.arguments[0], bytes_of_value(static_cast<float*>(x.data()) + 1));
  for (const Tensor& empty : {Tensor(), tensor({0})}) {
    kernel.launch(1, 64, 0, empty, 8, 9.5f);
    EXPECT_EQ(record.arguments[0], bytes_of_value(uint64_t(0)));
  }
  kernel.launch(1, 64, 0, nullptr, 8, 9.5f);
  EXPECT_EQ(record.arguments[0], bytes_of_value(uint64_t(0)));
}

TEST_F(UserKernel, KeepsItsModuleLoaded) {
  {
    const KernelFunction kernel = module().function("kernel");
    kernel.launch(1, 1, 0, nullptr, 1, 1.0f);
    EXPECT_EQ(record.calls, (std::vector<std::string>{"load code", "launch kernel 1 1 1 1 1 1 0"}));
  }
  EXPECT_EQ(record.calls.back(), "unload");
}

TEST_F(UserKernel, WithAnEmptyGridIsNotLaunched) {
  const KernelFunction kernel = module().function("kernel");
  kernel.launch({1, 0, 1}, 1, 0, nullptr, 1, 1.0f);
  EXPECT_EQ(record.calls.back(), "load code");
  EXPECT_ERROR(kernel.launch(0, 1, 0, nullptr, 1), kInvalidArgument, "expected 3 arguments, got 2");
}

TEST_F(UserKernel, CountsAVarAsOverwritten) {
  const Var x(tensor());
  const Tensor y = tensor();
  const KernelFunction kernel = module().function("kernel");
  const int64_t before = x.tensor().storage()->version();
  kernel.launch(1, 1, 0, x, 1, 1.0f);
  EXPECT_EQ(x.tensor().storage()->version(), before + 1);
  kernel.launch(1, 1, 0, y, 1, 1.0f);
  EXPECT_EQ(y.storage()->version(), 0);
  EXPECT_ERROR(kernel.launch(1, 1, 0, x, 1), kInvalidArgument, "");
  EXPECT_EQ(x.tensor().storage()->version(), before + 1);  // nothing was launched
}

TEST_F(UserKernel, RefusesWhatTheKernelDoesNotTake) {
  const KernelFunction kernel = module().function("kernel");
  const Tensor x = tensor();
  EXPECT_ERROR(kernel.launch(1, 1, 0, x, 1, 1.0), kInvalidArgument,
               "kernel: argument 2: expected 4 bytes, got 8");
  EXPECT_ERROR(kernel.launch(1, 1, 0, x, 1, 1.0f, 2), kInvalidArgument,
               "kernel: expected 3 arguments, got 4");
  EXPECT_ERROR(kernel.launch(1, {65, 1, 1}, 0, x, 1, 1.0f), kInvalidArgument,
               "kernel: block: expected at most 64 threads, got [65, 1, 1]");
  EXPECT_ERROR(kernel.launch(1, {8, 9}, 0, x, 1, 1.0f), kInvalidArgument,
               "kernel: block: expected at most 64 threads, got [8, 9, 1]");
  // A product of 2^64 must not pass for 0.
  const int64_t large = (int64_t{1} << 31) - 1;
  EXPECT_ERROR(kernel.launch(1, {large, large, large}, 0, x, 1, 1.0f), kInvalidArgument, "block");
  EXPECT_ERROR(kernel.launch(1, 0, 0, x, 1, 1.0f), kInvalidArgument,
               "kernel: block: expected sizes of 1 to 2^31 - 1, got [0, 1, 1]");
  EXPECT_ERROR(kernel.launch(large + 1, 1, 0, x, 1, 1.0f), kInvalidArgument, "kernel: grid");
  EXPECT_ERROR(kernel.launch(1, 1, 1025, x, 1, 1.0f), kInvalidArgument,
               "kernel: shared_bytes: expected 0 to 1024, got 1025");
  EXPECT_ERROR(kernel.launch(1, 1, -1, x, 1, 1.0f), kInvalidArgument, "shared_bytes");
  EXPECT_ERROR(kernel.launch(1, 1, 0, Tensor::empty({2}), 1, 1.0f), kDeviceMismatch,
               "kernel: argument 0: expected a tensor on loads:0, got one on cpu");
  EXPECT_ERROR(kernel.launch(1, 1, 0, Stream::of(Device::cpu()), x, 1, 1.0f), kDeviceMismatch,
               "kernel: the kernel is of loads:0, the stream of cpu");
  EXPECT_EQ(record.calls.back(), "load code");
}

TEST_F(UserKernel, OnAnotherStreamHoldsItsTensorsMemory) {
  if (!memory_is_reused()) GTEST_SKIP() << "memory is not reused";
  const KernelFunction kernel = module().function("kernel");
  test::script.events_pass_when_asked = false;
  const Stream stream(device());
  Tensor x = tensor();
  kernel.launch(1, 1, 0, stream, x, 1, 1.0f);
  EXPECT_EQ(record.stream, stream.impl().handle);
  void* const was = x.data();
  x = Tensor();
  EXPECT_NE(tensor().data(), was);  // the event on the stream has not passed
  test::script.events_pass_when_asked = true;
  EXPECT_EQ(tensor().data(), was);
}

TEST_F(UserKernel, ATensorMayOutliveTheStream) {
  if (!memory_is_reused()) GTEST_SKIP() << "memory is not reused";
  const KernelFunction kernel = module().function("kernel");
  test::script.events_pass_when_asked = false;
  Tensor x = tensor();
  kernel.launch(1, 1, 0, Stream(device()), x, 1, 1.0f);
  void* const was = x.data();
  x = Tensor();
  EXPECT_EQ(tensor().data(), was);  // nothing to wait for: the stream's work was done
}

TEST_F(UserKernel, IsNamedInErrorsOfItsModule) {
  EXPECT_ERROR(KernelModule::from_bytes(device(), std::as_bytes(std::span("bad", 3)), "x.hsaco"),
               kInvalidArgument, "x.hsaco: expected code on loads:0");
  EXPECT_ERROR(module().function("other"), kKernelNotFound, "file: there is no such kernel");
  const test::TemporaryFolder folder;
  EXPECT_ERROR(KernelModule::load(device(), folder.file("none")), kIo, folder.file("none"));
  EXPECT_ERROR(KernelModule::load(device(), folder.write("empty", "")), kInvalidArgument,
               "empty: ");
  KernelModule::load(device(), folder.write("code", "code"));
}

TEST(UserKernelSupport, IsMissingOnDevicesThatLoadNoCode) {
  EXPECT_ERROR(KernelModule::load(Device::cpu(), "x.hsaco"), kUnsupported,
               "x.hsaco: expected a device that loads kernels, got cpu");
  static RuntimeCode later = kCode;
  later.version++;
  EXPECT_ERROR(KernelModule::load(device_with(&later, "later_code"), "x.hsaco"), kUnsupported,
               "x.hsaco: the module of later_code:0 loads kernels by another version");
}

}  // namespace
}  // namespace wick
