// A user's own HIP calls on the memory of wick's tensors, on rocm:0. The test opens HIP at run time,
// as a program without HIP's headers does.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "../expect.h"
#include "devices/absent.h"
#include "wick/wick.h"

namespace wick::test {
namespace {

constexpr int kHostToDevice = 1, kDeviceToHost = 2;  // hipMemcpyKind

/// The HIP calls of these tests. Each returns a hipError_t, 0 for success.
struct Hip {
  int (*hipSetDevice)(int device);
  int (*hipMemcpyAsync)(void* to, const void* from, size_t bytes, int kind, void* stream);
  int (*hipMemsetAsync)(void* to, int value, size_t bytes, void* stream);
  int (*hipStreamSynchronize)(void* stream);
  int (*hipModuleLoadData)(void** module, const void* image);
  int (*hipModuleGetFunction)(void** function, void* module, const char* name);
  int (*hipModuleLaunchKernel)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z,
                               unsigned shared_bytes, void* stream, void** args, void** extra);
};

/// The libamdhip64 that wick has opened: one of the usual names, or the file in WICK_HIP_RUNTIME.
void* open_hip() {
  if (const char* file = std::getenv("WICK_HIP_RUNTIME")) return dlopen(file, RTLD_NOW);
  for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return library;
  }
  return nullptr;
}

class RocmMemory : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    const std::optional<Device> found = find_device("rocm:0", &why);
    if (!found) GTEST_SKIP() << why;
    device_ = *found;
    void* library = open_hip();
    ASSERT_NE(library, nullptr) << "rocm:0 is there, but not libamdhip64: " << dlerror();
    find(library, "hipSetDevice", &hip_.hipSetDevice);
    find(library, "hipMemcpyAsync", &hip_.hipMemcpyAsync);
    find(library, "hipMemsetAsync", &hip_.hipMemsetAsync);
    find(library, "hipStreamSynchronize", &hip_.hipStreamSynchronize);
    find(library, "hipModuleLoadData", &hip_.hipModuleLoadData);
    find(library, "hipModuleGetFunction", &hip_.hipModuleGetFunction);
    find(library, "hipModuleLaunchKernel", &hip_.hipModuleLaunchKernel);
    if (HasFatalFailure()) return;
    const RocmDevice handles = as_rocm(device_);
    stream_ = handles.hip_stream();
    ASSERT_EQ(hip_.hipSetDevice(int(handles.hip_device())), 0);
  }

  /// The kernel axpy, from the first code object that this GPU accepts.
  void* axpy() {
    for (const auto& file : std::filesystem::directory_iterator(WICK_AXPY_FOLDER)) {
      if (file.path().extension() != ".hsaco") continue;
      std::ifstream in(file.path(), std::ios::binary);
      const std::string image{std::istreambuf_iterator<char>(in), {}};
      void *module = nullptr, *function = nullptr;
      if (hip_.hipModuleLoadData(&module, image.data()) != 0) continue;
      EXPECT_EQ(hip_.hipModuleGetFunction(&function, module, "axpy"), 0);
      return function;
    }
    return nullptr;
  }

  Device device_;
  Hip hip_ = {};
  void* stream_ = nullptr;

 private:
  template <class F>
  static void find(void* library, const char* name, F* function) {
    *function = reinterpret_cast<F>(dlsym(library, name));
    ASSERT_NE(*function, nullptr) << name;
  }
};

std::vector<float> counting(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST_F(RocmMemory, ACopyOnTheStreamReadsWhatWickQueuedBefore) {
  const Tensor x = Tensor::from(counting(1000), device_) * 2 + 1;
  const RocmStorage memory = x.as_rocm();
  ASSERT_EQ(memory.bytes(), 4000);
  std::vector<float> got(1000);
  ASSERT_EQ(hip_.hipMemcpyAsync(got.data(), memory.hip_memory(), 4000, kDeviceToHost, stream_), 0);
  ASSERT_EQ(hip_.hipStreamSynchronize(stream_), 0);
  for (size_t i = 0; i < got.size(); i++) ASSERT_EQ(got[i], 2 * float(i) + 1) << i;
}

TEST_F(RocmMemory, WickReadsWhatACopyOnTheStreamWrote) {
  const Tensor x = zeros({1000}, {.device = device_});
  const std::vector<float> values = counting(1000);
  ASSERT_EQ(
      hip_.hipMemcpyAsync(x.as_rocm().hip_memory(), values.data(), 4000, kHostToDevice, stream_),
      0);
  EXPECT_EQ((x + 1).to_vector<float>(), (Tensor::from(values) + 1).to_vector<float>());
}

TEST_F(RocmMemory, OfAViewBeginsAtItsFirstElement) {
  const Tensor x = Tensor::from(counting(12), {3, 4}, device_);
  const RocmStorage row = narrow(x, 0, 1, 1).as_rocm();
  EXPECT_EQ(row.bytes(), 32);  // rows 1 and 2
  ASSERT_EQ(hip_.hipMemsetAsync(row.hip_memory(), 0, 16, stream_), 0);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 0, 0, 0, 0, 8, 9, 10, 11}));
}

TEST_F(RocmMemory, AUsersKernelRunsBetweenWicksOps) {
  void* const function = axpy();
  ASSERT_NE(function, nullptr) << "no code object in " WICK_AXPY_FOLDER " runs on this GPU";
  for (const int n : {1, 255, 256, 1000}) {
    const Tensor x = Tensor::from(counting(size_t(n)), device_) + 1;
    const Tensor y = Tensor::from(counting(size_t(n)), device_) * 2;
    void *to = y.as_rocm().hip_memory(), *from = x.as_rocm().hip_memory();
    float a = 3;
    int count = n;
    void* args[] = {&to, &from, &a, &count};
    ASSERT_EQ(hip_.hipModuleLaunchKernel(function, unsigned(n + 255) / 256, 1, 1, 256, 1, 1, 0,
                                         stream_, args, nullptr),
              0);
    const std::vector<float> got = (y - 1).to_vector<float>();
    for (size_t i = 0; i < got.size(); i++)
      ASSERT_EQ(got[i], 2 * float(i) + 3 * (float(i) + 1) - 1) << "element " << i << " of " << n;
  }
}

TEST_F(RocmMemory, OfATensorWithoutElementsIsNull) {
  const RocmStorage none = zeros({0, 3}, {.device = device_}).as_rocm();
  EXPECT_EQ(none.hip_memory(), nullptr);
  EXPECT_EQ(none.bytes(), 0);
  EXPECT_EQ(hip_.hipMemsetAsync(none.hip_memory(), 0, 0, stream_), 0);
}

TEST_F(RocmMemory, RequestedAsCudaNamesBothDevices) {
  EXPECT_ERROR(ones({2}, {.device = device_}).as_cuda(), kDeviceMismatch,
               "as_cuda: expected a tensor on a cuda device, got one on rocm:0");
}

}  // namespace
}  // namespace wick::test
