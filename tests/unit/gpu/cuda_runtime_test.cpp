// The module wick_cuda through its table alone. The first half runs anywhere; the second needs an
// NVIDIA card and says so where there is none. WICK_BACKEND_PATH names the folder of the module
// when it is not where the build put it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "scalar/unary.h"
#include "wick/abi/backend.h"
#include "wick/abi/collectives.h"
#include "wick/abi/ops/gather.h"

// A process may export CUDA registration functions of its own, as PyTorch's does: the module must
// not call these.
namespace {
int foreign_registrations = 0;
}  // namespace
extern "C" __attribute__((visibility("default"))) void** __cudaRegisterFatBinary(void*) {
  foreign_registrations++;
  return nullptr;
}
extern "C" __attribute__((visibility("default"))) void __cudaRegisterFunction(void**, const char*,
                                                                              char*, const char*,
                                                                              int, void*, void*,
                                                                              void*, void*, int*) {
  foreign_registrations++;
}

namespace wick {
namespace {

std::string own_file;  // of this program

std::string module_file() {
  const char* folder = getenv("WICK_BACKEND_PATH");
  return folder && *folder ? std::string(folder) + "/wick_cuda.so" : WICK_CUDA_MODULE;
}

/// The module's table. A module stays loaded: its kernels are registered with the runtime for good.
const Backend& backend() {
  static const Backend* table = [] {
    void* module = dlopen(module_file().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!module) {
      fprintf(stderr, "%s\n", dlerror());
      abort();
    }
    return reinterpret_cast<BackendEntry>(dlsym(module, kBackendEntryName))();
  }();
  return *table;
}

int32 cards() { return std::max(backend().device_count(nullptr), 0); }

/// What a command prints; ran tells whether it succeeded.
std::string output_of(const std::string& command, bool* ran) {
  std::string text;
  FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (!pipe) return *ran = false, text;
  char part[4096];
  while (const size_t n = fread(part, 1, sizeof part, pipe)) text.append(part, n);
  *ran = pclose(pipe) == 0;
  return text;
}

// ---- anywhere

TEST(CudaModule, LoadsWithoutADriverAndFillsTheTable) {
  EXPECT_EQ(backend().abi_version, kAbiVersion);
  EXPECT_EQ(backend().struct_size, sizeof(Backend));
  EXPECT_EQ(backend().layout_hash, kLayoutHash);
  EXPECT_STREQ(backend().name, "cuda");
}

TEST(CudaModule, RegistersItsKernelsWithItsOwnRuntime) {
  backend();
  EXPECT_EQ(foreign_registrations, 0);
}

TEST(CudaModule, ExportsOneSymbol) {
  bool ran = false;
  const std::string symbols = output_of("nm -D --defined-only " + module_file(), &ran);
  if (!ran) GTEST_SKIP() << "no nm here";
  EXPECT_EQ(std::count(symbols.begin(), symbols.end(), '\n'), 1) << symbols;
  EXPECT_NE(symbols.find(" T wick_backend\n"), std::string::npos) << symbols;
}

TEST(CudaModule, RunsOnGlibc234) {
  bool ran = false;
  const std::string symbols = output_of("objdump -T " + module_file(), &ran);
  if (!ran) GTEST_SKIP() << "no objdump here";
  ASSERT_NE(symbols.find("GLIBC_2."), std::string::npos);
  for (size_t at = 0; (at = symbols.find("GLIBC_2.", at)) != std::string::npos; at++)
    EXPECT_LE(atoi(symbols.c_str() + at + 8), 34)
        << symbols.substr(at, symbols.find('\n', at) - at);
}

TEST(CudaModule, SaysWhatIsMissingWhereThereIsNoCard) {
  const char* why = nullptr;
  if (backend().device_count(&why) > 0) {
    EXPECT_EQ(why, nullptr);
    GTEST_SKIP() << "a card is here";
  }
  ASSERT_NE(why, nullptr);
  const std::string text = why;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  if (void* driver = dlopen("libcuda.so.1", RTLD_LAZY)) {
    dlclose(driver);
    EXPECT_NE(text.find("driver"), std::string::npos) << text;
  } else {
    EXPECT_EQ(backend().device_count(nullptr), -1);
    EXPECT_NE(text.find("no NVIDIA driver: libcuda.so.1 not found; install"), std::string::npos)
        << text;
  }
  const char* again = nullptr;
  backend().device_count(&again);
  EXPECT_STREQ(why, again);
}

/// What the module says in a process of its own, with a driver from tests/unit/gpu/fake_cuda.
std::string said_with(const std::string& variables) {
  bool ran = false;
  const std::string folder = std::filesystem::path(own_file).parent_path() / "fake_cuda";
  return output_of("LD_LIBRARY_PATH=" + folder + " " + variables + " " + own_file + " --why", &ran);
}

TEST(CudaModule, TellsAnOldDriverFromAMissingCard) {
  EXPECT_EQ(said_with("FAKE_CUDA_VERSION=11080"),
            "-1 NVIDIA driver too old: has CUDA 11.8, needs " WICK_CUDA_MAJOR
            ".0; install driver " WICK_CUDA_DRIVER " or newer\n");
  EXPECT_EQ(said_with("env -u CUDA_VISIBLE_DEVICES FAKE_CUDA_VERSION=99010"),
            "0 NVIDIA driver there (CUDA 99.1), no NVIDIA GPU\n");
  EXPECT_EQ(said_with("CUDA_VISIBLE_DEVICES=7 FAKE_CUDA_VERSION=99010"),
            "0 NVIDIA driver there (CUDA 99.1), no NVIDIA GPU among those that "
            "CUDA_VISIBLE_DEVICES=\"7\" shows\n");
  EXPECT_EQ(
      said_with("FAKE_CUDA_VERSION=99010 FAKE_CUDA_INIT=802"),
      "0 the CUDA runtime does not start: cudaErrorSystemNotReady: system not yet initialized\n");
}

TEST(CudaModule, FindsNoKernelsForADeviceThatIsNotThere) {
  const DType dtypes[] = {DType::kF32, DType::kF32};
  const KernelQuery query{&Neg::op, dtypes, 1, 1};
  for (const int32 device : {-1, cards(), 1000}) {
    const Kernel* kernels = reinterpret_cast<const Kernel*>(&query);
    EXPECT_EQ(backend().find_kernels(device, &query, &kernels), 0);
    EXPECT_EQ(kernels, nullptr);
  }
}

TEST(CudaModule, AnswersBadOrdinalsWithAStatus) {
  const Backend& b = backend();
  char host[16] = {};
  for (const int32 device : {-1, cards(), 1000}) {
    void* made = host;
    int64 free_bytes, total_bytes, native;
    int32 done = 1;
    DeviceInfo info;
    ErrorRecord record;
    const Status answers[] = {b.device_info(device, &info),
                              b.memory_info(device, &free_bytes, &total_bytes),
                              b.alloc(device, 256, &made),
                              b.host_alloc(device, 256, &made),
                              b.copy(device, host, host, 8, CopyKind::kHostToDevice, nullptr),
                              b.copy_peer(device, host, device, host, 8, nullptr),
                              b.fill(device, host, 0, 8, nullptr),
                              b.stream_create(device, &made),
                              b.stream_synchronize(device, nullptr, &record),
                              b.event_create(device, &made),
                              b.event_record(device, nullptr, nullptr),
                              b.event_query(device, nullptr, &done),
                              b.stream_wait(device, nullptr, nullptr),
                              b.graph_begin(device, nullptr),
                              b.graph_end(device, nullptr, &made),
                              b.graph_launch(device, nullptr, host),
                              b.native_handles(device, nullptr, &native, &made)};
    for (const Status& status : answers) EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
    const Status last = b.fill(device, host, 0, 8, nullptr);
    const std::string named = "fill: cuda:" + std::to_string(device);
    EXPECT_EQ(std::string(last.text).substr(0, named.size()), named);
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(record.code, 0u);
    b.free(device, nullptr);
    b.host_free(device, nullptr);
    b.stream_destroy(device, nullptr);
    b.event_destroy(device, nullptr);
    b.graph_destroy(device, nullptr);
  }
}

// ---- on a card

class CudaCard : public testing::Test {
 protected:
  const Backend& b = backend();
  void SetUp() override {
    const char* why = nullptr;
    if (b.device_count(&why) <= 0) GTEST_SKIP() << why;
  }
  static void ok(const Status& status) { ASSERT_TRUE(status.ok()) << status.text; }

  /// Device memory that holds these values.
  template <class T>
  void* upload(const std::vector<T>& values) {
    void* data = nullptr;
    ok(b.alloc(0, int64(values.size() * sizeof(T)), &data));
    ok(b.copy(0, data, values.data(), int64(values.size() * sizeof(T)), CopyKind::kHostToDevice,
              nullptr));
    return data;
  }
  template <class T>
  std::vector<T> download(const void* data, size_t n, void* stream = nullptr) {
    std::vector<T> values(n);
    ok(b.copy(0, values.data(), data, int64(n * sizeof(T)), CopyKind::kDeviceToHost, stream));
    return values;
  }
  void synchronize(void* stream = nullptr) {
    ErrorRecord record;
    ok(b.stream_synchronize(0, stream, &record));
    EXPECT_EQ(record.code, 0u);
  }
  /// Runs the op by the first kernel that takes it.
  void run(const Op& op, std::vector<View> in, View out, void* stream = nullptr) {
    std::vector<DType> dtypes;
    for (const View& view : in) dtypes.push_back(view.dtype);
    dtypes.push_back(out.dtype);
    const KernelQuery query{&op, dtypes.data(), int32(in.size()), 1};
    const Kernel* kernels = nullptr;
    const int32 n = b.find_kernels(0, &query, &kernels);
    DeviceInfo info;
    ok(b.device_info(0, &info));
    const Call call{in.data(), &out, int32(in.size()), 1, &op, nullptr, 0, stream, nullptr, 0};
    for (int32 i = 0; i < n; i++) {
      if (kernels[i].accepts && kernels[i].accepts(&kernels[i], &call, &info)) continue;
      ASSERT_TRUE(!kernels[i].scratch_bytes ||
                  kernels[i].scratch_bytes(&kernels[i], &call, &info) == 0);
      return ok(kernels[i].run(&kernels[i], &call));
    }
    FAIL() << "no kernel of " << n << " takes " << op.name;
  }
  static View vector_view(void* data, DType dtype, int64 n) { return {data, dtype, 1, {n}, {1}}; }
};

TEST_F(CudaCard, IsDescribed) {
  for (int32 i = 0; i < cards(); i++) {
    DeviceInfo info;
    ok(b.device_info(i, &info));
    EXPECT_EQ(strncmp(info.architecture, "sm_", 3), 0) << info.architecture;
    EXPECT_EQ(info.ordinal, i);
    EXPECT_EQ(info.wave, 32);
    EXPECT_EQ(info.computes_bf16, atoi(info.architecture + 3) >= 80);
    EXPECT_GT(info.compute_units, 0);
    EXPECT_GE(info.shared_memory_bytes, 48 << 10);
    EXPECT_EQ(info.host_memory, 0);
    int64 free_bytes = 0, total_bytes = 0;
    ok(b.memory_info(i, &free_bytes, &total_bytes));
    EXPECT_GT(free_bytes, 0);
    EXPECT_GE(total_bytes, free_bytes);
    EXPECT_EQ(total_bytes, info.total_bytes);
  }
}

TEST_F(CudaCard, CopiesAndFills) {
  const size_t n = (3 << 20) + 7;  // more than one staging buffer of the driver
  std::vector<uint8> values(n);
  for (size_t i = 0; i < n; i++) values[i] = uint8(i * 131 >> 3);
  void* data = upload(values);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 256, 0u);
  EXPECT_EQ(download<uint8>(data, n), values);

  void *second = nullptr, *pinned = nullptr;
  ok(b.alloc(0, int64(n), &second));
  ok(b.host_alloc(0, int64(n), &pinned));
  ok(b.copy(0, second, data, int64(n), CopyKind::kOnDevice, nullptr));
  ok(b.copy(0, pinned, second, int64(n), CopyKind::kDeviceToHost, nullptr));
  synchronize();
  EXPECT_EQ(memcmp(pinned, values.data(), n), 0);

  ok(b.fill(0, static_cast<char*>(second) + 1, 0x5a, 5, nullptr));
  const std::vector<uint8> filled = download<uint8>(second, 8);
  EXPECT_EQ(filled,
            (std::vector<uint8>{values[0], 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, values[6], values[7]}));
  ok(b.copy(0, second, data, 0, CopyKind::kOnDevice, nullptr));

  for (int32 other = 0; other < cards(); other++) {
    void* there = nullptr;
    ok(b.alloc(other, int64(n), &there));
    ok(b.copy_peer(other, there, 0, data, int64(n), nullptr));
    ErrorRecord record;
    ok(b.stream_synchronize(other, nullptr, &record));
    ok(b.fill(0, second, 0, int64(n), nullptr));
    synchronize();
    ok(b.copy_peer(0, second, other, there, int64(n), nullptr));
    EXPECT_EQ(download<uint8>(second, n), values) << "by way of cuda:" << other;
    b.free(other, there);
  }
  b.host_free(0, pinned);
  b.free(0, second);
  b.free(0, data);
}

TEST_F(CudaCard, SurvivesRunningOutOfMemory) {
  void* data = nullptr;
  const Status status = b.alloc(0, int64(1) << 50, &data);
  EXPECT_EQ(status.code, StatusCode::kOutOfMemory);
  EXPECT_NE(std::string(status.text).find("1125899906842624 bytes asked for"), std::string::npos)
      << status.text;
  EXPECT_EQ(data, nullptr);
  ok(b.alloc(0, 256, &data));
  b.free(0, data);
  EXPECT_EQ(b.alloc(0, -1, &data).code, StatusCode::kInvalidArgument);
}

TEST_F(CudaCard, RunsAKernel) {
  std::vector<float> x(100003), expected(x.size());
  for (size_t i = 0; i < x.size(); i++) x[i] = float(i) - 5000.5f, expected[i] = -x[i];
  void* in = upload(x);
  void* out = upload(std::vector<float>(x.size()));
  run(Neg::op, {vector_view(in, DType::kF32, int64(x.size()))},
      vector_view(out, DType::kF32, int64(x.size())));
  synchronize();
  EXPECT_EQ(download<float>(out, x.size()), expected);
  b.free(0, in);
  b.free(0, out);
}

TEST_F(CudaCard, OrdersStreamsByEvents) {
  const int64 n = int64(64) << 20;
  void *first = nullptr, *second = nullptr, *event = nullptr, *data = nullptr;
  ok(b.stream_create(0, &first));
  ok(b.stream_create(0, &second));
  ok(b.event_create(0, &event));
  ok(b.alloc(0, n, &data));
  for (int round = 0; round < 20; round++) {
    // The second stream reads only after the first has written it all.
    for (int i = 0; i < 20; i++) ok(b.fill(0, data, uint8(i), n, first));
    ok(b.fill(0, data, uint8(100 + round), n, first));
    ok(b.event_record(0, event, first));
    ok(b.stream_wait(0, second, event));
    EXPECT_EQ(download<uint8>(static_cast<char*>(data) + n - 1, 1, second)[0], 100 + round);
    int32 done = 0;
    ok(b.event_query(0, event, &done));
    EXPECT_EQ(done, 1);
  }
  b.free(0, data);
  b.event_destroy(0, event);
  b.stream_destroy(0, first);
  b.stream_destroy(0, second);
}

TEST_F(CudaCard, HandsOutWhatAKernelFoundWrongAndClearsIt) {
  const std::vector<float> x = {1, 2, 3, 4, 5};
  void* in = upload(x);
  void* ids = upload(std::vector<int64>{0, 1, 7, 2});
  void* out = upload(std::vector<float>{9, 9, 9, 9});
  void* stream = nullptr;
  ok(b.stream_create(0, &stream));
  const auto view = [](void* data, DType dtype, int64 n) {
    return View{data, dtype, 3, {1, n, 1}, {n, 1, 1}};
  };
  run(kGather, {view(in, DType::kF32, 5), view(ids, DType::kI64, 4)}, view(out, DType::kF32, 4),
      stream);
  ErrorRecord record;
  ok(b.stream_synchronize(0, nullptr, &record));
  EXPECT_EQ(record.code, 0u) << "another stream's";
  ok(b.stream_synchronize(0, stream, &record));
  EXPECT_EQ(record.code, uint32(StatusCode::kIdOutOfRange));
  EXPECT_EQ(record.op, kGather.id);
  EXPECT_EQ(record.position, 2);
  EXPECT_EQ(record.value, 7);
  EXPECT_EQ(record.limit, 5);
  for (int i = 0; i < 2; i++) {
    ok(b.stream_synchronize(0, stream, &record));
    EXPECT_EQ(record.code, 0u);
  }
  const std::vector<float> y = download<float>(out, 4);
  EXPECT_EQ((std::vector<float>{y[0], y[1], y[3]}), (std::vector<float>{1, 2, 3}));
  b.stream_destroy(0, stream);
  for (void* data : {in, ids, out}) b.free(0, data);
}

TEST_F(CudaCard, ReplaysACapturedGraph) {
  void *stream = nullptr, *other = nullptr, *graph = nullptr, *pinned = nullptr;
  ok(b.stream_create(0, &stream));
  ok(b.stream_create(0, &other));
  ok(b.host_alloc(0, 64, &pinned));
  std::vector<double> x(777);
  for (size_t i = 0; i < x.size(); i++) x[i] = double(i);
  void* in = upload(x);
  void* out = upload(std::vector<double>(x.size()));
  const auto view = [&](void* data) { return vector_view(data, DType::kF64, int64(x.size())); };

  // This kernel's first launch of the process: its code is loaded in the middle of the capture.
  ok(b.graph_begin(0, stream));
  run(Sqrt::op, {view(in)}, view(out), stream);
  run(Neg::op, {view(out)}, view(in), stream);
  ErrorRecord record;
  EXPECT_EQ(b.stream_synchronize(0, stream, &record).code, StatusCode::kInvalidArgument);
  double host = 0;
  EXPECT_EQ(b.copy(0, &host, in, 8, CopyKind::kDeviceToHost, stream).code,
            StatusCode::kInvalidArgument);
  ok(b.copy(0, pinned, in, 64, CopyKind::kDeviceToHost, stream));
  void* meanwhile = nullptr;
  ok(b.alloc(0, 1 << 20, &meanwhile));
  b.free(0, meanwhile);
  ok(b.graph_end(0, stream, &graph));
  synchronize(stream);
  EXPECT_EQ(download<double>(in, x.size()), x) << "a capture runs nothing";

  for (double& value : x) value = -std::sqrt(value);
  ok(b.graph_launch(0, stream, graph));
  synchronize(stream);
  EXPECT_EQ(download<double>(in, x.size()), x);
  EXPECT_EQ(memcmp(pinned, x.data(), 64), 0);
  ok(b.graph_launch(0, other, graph));  // on another stream than it was recorded on
  synchronize(other);

  b.graph_destroy(0, graph);
  b.host_free(0, pinned);
  b.stream_destroy(0, stream);
  b.stream_destroy(0, other);
  b.free(0, in);
  b.free(0, out);
}

TEST_F(CudaCard, ReportsErrorsOfReplayedGraphs) {
  void *stream = nullptr, *graph = nullptr;
  ok(b.stream_create(0, &stream));
  void* in = upload(std::vector<float>{1, 2});
  void* ids = upload(std::vector<int64>{0, 1});
  void* out = upload(std::vector<float>{0, 0});
  const auto view = [](void* data, DType dtype) {
    return View{data, dtype, 3, {1, 2, 1}, {2, 1, 1}};
  };
  ok(b.graph_begin(0, stream));
  run(kGather, {view(in, DType::kF32), view(ids, DType::kI64)}, view(out, DType::kF32), stream);
  ok(b.graph_end(0, stream, &graph));
  ErrorRecord record;
  ok(b.graph_launch(0, stream, graph));
  ok(b.stream_synchronize(0, stream, &record));
  EXPECT_EQ(record.code, 0u);
  const int64 wrong = -9;
  ok(b.copy(0, ids, &wrong, 8, CopyKind::kHostToDevice, stream));
  ok(b.graph_launch(0, stream, graph));
  ok(b.stream_synchronize(0, stream, &record));
  EXPECT_EQ(record.code, uint32(StatusCode::kIdOutOfRange));
  EXPECT_EQ(record.value, wrong);
  void* other = nullptr;  // it reports where it is launched
  ok(b.stream_create(0, &other));
  ok(b.graph_launch(0, other, graph));
  ok(b.stream_synchronize(0, stream, &record));
  EXPECT_EQ(record.code, 0u);
  ok(b.stream_synchronize(0, other, &record));
  EXPECT_EQ(record.value, wrong);
  b.graph_destroy(0, graph);
  b.stream_destroy(0, other);
  b.stream_destroy(0, stream);
  for (void* data : {in, ids, out}) b.free(0, data);
}

TEST_F(CudaCard, RunsNcclOfOneRankAlsoInAGraph) {
  const Collectives& nccl = *collectives_of(b);
  CollectivesFacts facts;
  if (const Status status = nccl.describe(0, &facts); !status.ok()) GTEST_SKIP() << status.text;
  EXPECT_EQ(strncmp(facts.library, "NCCL 2.", 7), 0) << facts.library;
  EXPECT_NE(strchr(facts.card, ':'), nullptr) << facts.card;
  CommunicatorId id;
  ok(nccl.make_id(0, &id));
  void *communicator = nullptr, *stream = nullptr, *graph = nullptr;
  ok(nccl.join(0, &id, 0, 1, &communicator));
  ok(b.stream_create(0, &stream));
  std::vector<float> x(1000);
  for (size_t i = 0; i < x.size(); i++) x[i] = float(i);
  void* in = upload(x);
  std::vector<void*> out;
  for (int i = 0; i < 5; i++) out.push_back(upload(std::vector<float>(x.size())));
  const int64 bytes = int64(x.size() * sizeof(float));
  const auto run_all = [&] {
    const auto call = [&](int i) {
      return CollectiveCall{0, communicator, stream, in, out[size_t(i)]};
    };
    const CollectiveCall sum = call(0), part = call(1), gathered = call(2), from_root = call(3),
                         messages = call(4);
    ok(nccl.all_reduce(&sum, DType::kF32, Reduction::kMean, int64(x.size())));
    ok(nccl.reduce_scatter(&part, DType::kF32, Reduction::kSum, int64(x.size())));
    ok(nccl.all_gather(&gathered, bytes));
    ok(nccl.broadcast(&from_root, bytes, 0));
    const CollectiveMessage sent{0, in, bytes}, received{0, out[4], bytes};
    ok(nccl.exchange(&messages, &sent, 1, &received, 1));
  };
  const auto expect_all = [&] {
    synchronize(stream);
    for (void* data : out) {
      EXPECT_EQ(download<float>(data, x.size()), x);
      ok(b.fill(0, data, 0, bytes, nullptr));
    }
    synchronize();
  };
  run_all();
  expect_all();
  ok(b.graph_begin(0, stream));
  run_all();
  ok(b.graph_end(0, stream, &graph));
  for (int round = 0; round < 2; round++) {
    ok(b.graph_launch(0, stream, graph));
    expect_all();
  }
  ok(nccl.state(0, communicator));
  b.graph_destroy(0, graph);
  nccl.leave(0, communicator);
  ok(nccl.make_id(0, &id));
  ok(nccl.join(0, &id, 0, 1, &communicator));
  nccl.abort(0, communicator);
  b.stream_destroy(0, stream);
  out.push_back(in);
  for (void* data : out) b.free(0, data);
}

TEST_F(CudaCard, ServesThreadsWithTheirOwnStreams) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, -1);
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      void* stream = nullptr;
      ok(b.stream_create(0, &stream));
      std::vector<float> x(1000 + t, float(t + 1));
      void* in = upload(x);
      void* out = upload(x);
      const int64 n = int64(x.size());
      int bad = 0;
      for (int round = 0; round < 200; round++) {
        run(Neg::op, {vector_view(in, DType::kF32, n)}, vector_view(out, DType::kF32, n), stream);
        run(Neg::op, {vector_view(out, DType::kF32, n)}, vector_view(in, DType::kF32, n), stream);
        if (round % 10 == 0) bad += download<float>(in, x.size(), stream) != x;
      }
      synchronize(stream);
      b.stream_destroy(0, stream);
      b.free(0, in);
      b.free(0, out);
      wrong[t] = bad;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST_F(CudaCard, RefusesAnotherCardsStreamAndLeavesTheThreadsContextAlone) {
  if (cards() < 2) GTEST_SKIP() << "one card";
  void* stream = nullptr;
  ok(b.stream_create(1, &stream));
  const Status status = b.fill(0, nullptr, 0, 8, stream);
  EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
  EXPECT_STREQ(status.text, "fill: the stream is of cuda:1, the call for cuda:0");
  b.stream_destroy(1, stream);

  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
  ASSERT_NE(driver, nullptr);
  const auto current = reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxGetCurrent"));
  ASSERT_NE(current, nullptr);
  std::thread([&] {
    void* context = nullptr;
    int64 free_bytes, total_bytes;
    ok(b.memory_info(1, &free_bytes, &total_bytes));
    EXPECT_EQ(current(&context), 0);
    EXPECT_EQ(context, nullptr);
  }).join();
}

TEST_F(CudaCard, GivesItsOwnHandles) {
  int64 device = -1;
  void *stream = nullptr, *native = nullptr, *of_default = nullptr;
  ok(b.stream_create(0, &stream));
  ok(b.native_handles(0, stream, &device, &native));
  ok(b.native_handles(0, nullptr, &device, &of_default));
  EXPECT_EQ(device, 0);
  EXPECT_NE(native, nullptr);
  EXPECT_NE(of_default, nullptr);
  EXPECT_NE(native, of_default);
  b.stream_destroy(0, stream);
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  wick::own_file = std::filesystem::canonical("/proc/self/exe");
  if (argc == 2 && strcmp(argv[1], "--why") == 0) {
    const char* why = nullptr;
    const int count = wick::backend().device_count(&why);
    printf("%d %s\n", count, why ? why : "");
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
