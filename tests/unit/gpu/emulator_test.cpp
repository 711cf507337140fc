// The emulator catches what it is there to catch, at both waves, and lets right kernels pass.
// Kernels run through launch<K> or the backend's table, on its memory, as the framework's do.
#include "device/emulator.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "base/memory.h"
#include "device/mma.h"
#include "runtime/check_emulated.h"
#include "runtime/kernel_list.h"
#include "scalar/reduce.h"
#include "scalar/unary.h"
#include "wick/abi/ops/gather.h"
#include "wick/abi/ops/matmul.h"

namespace wick::gpu {

const Backend* emulated_backend();

namespace {

/// Memory of a device with the elements of a vector.
template <class T>
class Array {
 public:
  Array(int32 device, const std::vector<T>& values) : device_(device), size_(values.size()) {
    void* data = nullptr;
    const Status status = emulated_backend()->alloc(device, bytes(), &data);
    if (!status.ok()) ADD_FAILURE() << status.text;
    data_ = static_cast<T*>(data);
    EXPECT_TRUE(emulated_backend()
                    ->copy(device, data, values.data(), bytes(), CopyKind::kHostToDevice, nullptr)
                    .ok());
  }
  Array(const Array&) = delete;
  ~Array() { emulated_backend()->free(device_, data_); }

  T* data() const { return data_; }
  View view() const { return view_of(size_); }
  View view_of(size_t elements) const { return {data_, kDTypeOf<T>, 1, {int64(elements)}, {1}}; }
  std::vector<T> read() const {
    std::vector<T> values(size_);
    EXPECT_TRUE(emulated_backend()
                    ->copy(device_, values.data(), data_, bytes(), CopyKind::kDeviceToHost, nullptr)
                    .ok());
    return values;
  }

 private:
  int64 bytes() const { return int64(size_ * sizeof(T)); }
  int32 device_;
  size_t size_;
  T* data_ = nullptr;
};

/// Views and the call that points to them.
struct Operands {
  Operands(int32 device, std::vector<View> inputs, std::vector<View> outputs)
      : in(std::move(inputs)), out(std::move(outputs)) {
    call.in = in.data(), call.num_in = int32(in.size());
    call.out = out.data(), call.num_out = int32(out.size());
    call.device = device;
    call.op = &Sum::op;
  }
  std::vector<View> in, out;
  Call call{};
};

std::string text_of(const Status& status) { return status.ok() ? "ok" : status.text; }

std::vector<float> thirds(size_t n) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; i++) x[i] = float(i % 17) / 3;
  return x;
}

/// A context with a bug: the operation in one line is left out by all threads, or by one of them.
struct Mutation {
  enum Kind { kNone, kAllSkip, kOneSkips } kind = kNone;
  int line = 0;
};
Mutation mutation;
std::set<int> barrier_lines, wave_lines;  // seen while kNone

template <class Base>
struct Mutant : Base {
  bool skips(int line) const {
    if (mutation.line != line || mutation.kind == Mutation::kNone) return false;
    return mutation.kind == Mutation::kAllSkip || this->thread() == 5;
  }
  void sync(emu::SourceLine at = {__builtin_FILE(), __builtin_LINE()}) const {
    if (mutation.kind == Mutation::kNone && this->thread() == 0) barrier_lines.insert(at.line);
    if (!skips(at.line)) Base::sync(at);
  }
  void sync_shared(emu::SourceLine at = {__builtin_FILE(), __builtin_LINE()}) const { sync(at); }
  template <int mask, class T>
  T shuffle_xor(T v, emu::SourceLine at = {__builtin_FILE(), __builtin_LINE()}) const {
    if (mutation.kind == Mutation::kNone && this->thread() == 0) wave_lines.insert(at.line);
    return skips(at.line) ? v : Base::template shuffle_xor<mask>(v, at);
  }
};

/// y = x / sum(x), n elements: one block. Sums by a tree over shared memory, then by waves.
struct Normalize {
  struct Args {
    const float* x;
    float* y;
    int n;
  };
  static constexpr int threads(int) { return 256; }
  static Grid grid(int, const Args&) { return {}; }
  template <class Ctx>
  struct Shared {
    float part[256];
    float total;
  };
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int t = ctx.thread();
    float sum = 0;
    for (int i = t; i < a.n; i += Ctx::kThreads) sum += a.x[i];
    shared.part[t] = sum;
    ctx.sync();
    for (int half = Ctx::kThreads / 2; half >= Ctx::kWave; half /= 2) {
      if (t < half) shared.part[t] += shared.part[t + half];
      ctx.sync_shared();
    }
    if (ctx.wave() == 0) {
      float total = shared.part[t];
      masks_up<1, Ctx::kWave>([&]<int mask>() { total += ctx.template shuffle_xor<mask>(total); });
      if (t == 0) shared.total = total;
    }
    ctx.sync();
    for (int i = t; i < a.n; i += Ctx::kThreads) a.y[i] = a.x[i] / shared.total;
  }
};

/// Kernels of one block of 128 threads, whose body is F: the bug is the type's.
template <class F>
struct OneBlock {
  struct Args {
    const float* x;
    float* y;
    int n;
  };
  static constexpr int threads(int) { return 128; }
  static Grid grid(int, const Args&) { return {}; }
  template <class Ctx>
  struct Shared {
    float part[128];
  };
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    F{}(ctx, shared.part, a);
  }
};

class Emulator : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    mutation = {};
    emu::set_check_mode(true);
  }
  void TearDown() override {
    mutation = {};
    emu::set_check_mode(false);
  }
  int device() const { return GetParam(); }

  /// A OneBlock<F> from x to y of n elements each; its status as text.
  template <class F>
  std::string one_block(F, int n = 100) {
    const Array<float> x(device(), thirds(size_t(n))), y(device(), std::vector<float>(size_t(n)));
    return on<F>(x, y, n);
  }
  template <class F>
  std::string on(const Array<float>& x, const Array<float>& y, int n) {
    const Operands operands(device(), {x.view()}, {y.view()});
    return text_of(launch<OneBlock<F>>({x.data(), y.data(), n}, operands.call));
  }
  std::string normalize() {
    const Array<float> x(device(), thirds(1000)), y(device(), std::vector<float>(1000));
    const Operands operands(device(), {x.view()}, {y.view()});
    return text_of(launch<Normalize, Mutant>({x.data(), y.data(), 1000}, operands.call));
  }
};
INSTANTIATE_TEST_SUITE_P(Waves, Emulator, testing::Values(32, 64),
                         [](const auto& info) { return "emu" + std::to_string(info.param); });

#define EXPECT_COMPLAINT(text, ...)                                                                \
  do {                                                                                             \
    const std::string said = text;                                                                 \
    for (const char* part : {__VA_ARGS__})                                                         \
      EXPECT_NE(said.find(part), std::string::npos) << "expected \"" << part << "\" in: " << said; \
  } while (0)

TEST_P(Emulator, RunsARightKernel) {
  const std::vector<float> values = thirds(1000);
  const Array<float> x(device(), values), y(device(), std::vector<float>(1000));
  const Operands operands(device(), {x.view()}, {y.view()});
  EXPECT_EQ(text_of(launch<Normalize>({x.data(), y.data(), 1000}, operands.call)), "ok");
  double total = 0;
  for (const float v : values) total += v;
  const std::vector<float> result = y.read();
  for (size_t i = 0; i < 1000; i++) EXPECT_NEAR(result[i], values[i] / total, 1e-9);
  EXPECT_EQ(x.read(), values);
}

TEST_P(Emulator, CatchesEachBarrierLeftOut) {
  barrier_lines.clear();
  ASSERT_EQ(normalize(), "ok");
  ASSERT_EQ(barrier_lines.size(), 3u);
  for (const int line : barrier_lines) {
    mutation = {Mutation::kAllSkip, line};
    EXPECT_COMPLAINT(normalize(), "sum: ", "of output 0 (f32 [1000])");
  }
}

TEST_P(Emulator, ReportsEachBarrierThatOneThreadSkips) {
  barrier_lines.clear();
  ASSERT_EQ(normalize(), "ok");
  for (const int line : barrier_lines) {
    mutation = {Mutation::kOneSkips, line};
    EXPECT_COMPLAINT(normalize(), "sum: divergent: thread ", "emulator_test.cpp:");
  }
}

TEST_P(Emulator, ReportsAWaveOperationThatOneLaneSkips) {
  wave_lines.clear();
  ASSERT_EQ(normalize(), "ok");
  ASSERT_EQ(wave_lines.size(), 1u);
  mutation = {Mutation::kOneSkips, *wave_lines.begin()};
  EXPECT_COMPLAINT(normalize(), "sum: divergent: thread 0 waits at emulator_test.cpp:",
                   "(wave operation), thread 5 at emulator_test.cpp:", "(barrier)");
}

TEST_P(Emulator, ReportsAWaveOperationInABranch) {
  const auto branch = [](const auto& ctx, float*, const auto& a) {
    float v = a.x[ctx.thread() % a.n];
    if (ctx.lane() < 16) v = ctx.shuffle(v, 0);
    if (ctx.thread() < a.n) a.y[ctx.thread()] = v;
  };
  EXPECT_COMPLAINT(one_block(branch),
                   "divergent: thread 0 waits at emulator_test.cpp:", "thread 16 has returned");
}

TEST_P(Emulator, ReportsTwoWaveOperationsThatMeet) {
  const auto differ = [](const auto& ctx, float*, const auto& a) {
    float v = 1;
    if (ctx.lane() % 2)
      v = ctx.shuffle(v, 0);
    else
      v = float(ctx.ballot(true));
    if (ctx.thread() < a.n) a.y[ctx.thread()] = v;
  };
  EXPECT_COMPLAINT(one_block(differ), "divergent: thread 1 comes to the wave operation",
                   "its wave waits at");
}

// Whoever comes first: a consumer that reads a lower wave's value, a higher one's, and one between
// two others that only asks how many of them were there. Without the barrier the first is right in
// forward order and wrong in reverse, the second the other way round, and the third the same in
// both.
template <int form>
struct Unsynchronized {
  struct Args {
    int* y;
  };
  static constexpr int kBlocks = 16;
  static constexpr int threads(int wave) { return 3 * wave; }
  static Grid grid(int, const Args&) { return {kBlocks}; }
  template <class Ctx>
  struct Shared {
    int flag[3];
  };
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    if (ctx.lane() == 0) shared.flag[ctx.wave()] = 1;
    const bool below = shared.flag[0] == 1, above = shared.flag[2] == 1;
    if (ctx.thread() != Ctx::kWave) return;
    a.y[ctx.block().x] = form == 0 ? below : form == 1 ? above : below + above;
  }
};
template <int form>
std::vector<int> unsynchronized(int device, emu::Schedule schedule, uint32 seed = 1) {
  using K = Unsynchronized<form>;
  std::vector<int> y(K::kBlocks);
  const typename K::Args args{y.data()};
  const auto bound = [&](emu::BoundKernel kernel) {
    EXPECT_EQ(emu::run(kernel, {schedule, 0xff, seed, true}), nullptr);
  };
  if (device == 32)
    bound(emu::bind<K, Ctx<32, 96, NoMatrix>, emu::Itself>(args, K::grid(32, args)));
  else
    bound(emu::bind<K, Ctx<64, 192, NoMatrix>, emu::Itself>(args, K::grid(64, args)));
  return y;
}

TEST_P(Emulator, NeedsEachScheduleToCatchEveryRace) {
  using enum emu::Schedule;
  const std::vector<int> all(16, 1), none(16, 0);
  EXPECT_EQ(unsynchronized<0>(device(), kForward), all);
  EXPECT_EQ(unsynchronized<0>(device(), kReverse), none);
  EXPECT_EQ(unsynchronized<1>(device(), kForward), none);
  EXPECT_EQ(unsynchronized<1>(device(), kReverse), all);
  EXPECT_EQ(unsynchronized<2>(device(), kForward), all);
  EXPECT_EQ(unsynchronized<2>(device(), kReverse), all);
  EXPECT_NE(unsynchronized<2>(device(), kShuffled), all);

  const Array<int> y(device(), all);
  const Operands operands(device(), {}, {y.view()});
  const char* const who = "depends on which threads come first";
  EXPECT_COMPLAINT(text_of(launch<Unsynchronized<0>>({y.data()}, operands.call)), who, "[reverse");
  EXPECT_COMPLAINT(text_of(launch<Unsynchronized<1>>({y.data()}, operands.call)), who, "[reverse");
  EXPECT_COMPLAINT(text_of(launch<Unsynchronized<2>>({y.data()}, operands.call)), who, "[shuffled");
}

TEST(EmulatedAtomics, MaxKeepsTheLargerAndReturnsWhatStoodThere) {
  using C = Ctx<32, 32, NoMatrix>;
  uint32 small = 7;
  EXPECT_EQ(C::atomic_max(&small, uint32(9)), 7u);
  EXPECT_EQ(C::atomic_max(&small, uint32(8)), 9u);
  EXPECT_EQ(small, 9u);
  uint64 large = uint64(1) << 40;
  EXPECT_EQ(C::atomic_max(&large, ~uint64(0)), uint64(1) << 40);
  EXPECT_EQ(large, ~uint64(0));
}

// The order in which threads pass two points with a wave operation between them.
struct Interleaving {
  struct Args {
    int* order;
    int* next;
  };
  static constexpr int threads(int wave) { return 4 * wave; }
  static Grid grid(int, const Args&) { return {}; }
  template <class Ctx>
  struct Shared {};
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    a.order[ctx.atomic_add(a.next, 1)] = ctx.thread();
    ctx.ballot(true);
    a.order[ctx.atomic_add(a.next, 1)] = ctx.thread();
  }
};
std::vector<int> interleaving(int device, emu::Schedule schedule, uint32 seed = 1) {
  std::vector<int> order(size_t(8 * device));
  int next = 0;
  const Interleaving::Args args{order.data(), &next};
  using emu::bind, emu::Itself;
  const emu::BoundKernel kernel =
      device == 32 ? bind<Interleaving, Ctx<32, 128, NoMatrix>, Itself>(args, {})
                   : bind<Interleaving, Ctx<64, 256, NoMatrix>, Itself>(args, {});
  EXPECT_EQ(emu::run(kernel, {schedule, 0xff, seed, true}), nullptr);
  EXPECT_EQ(next, 8 * device);
  return order;
}

TEST_P(Emulator, SchedulesInterleaveThreadsDifferently) {
  using enum emu::Schedule;
  const std::vector<int> forward = interleaving(device(), kForward);
  const std::vector<int> reverse = interleaving(device(), kReverse);
  const std::vector<int> shuffled = interleaving(device(), kShuffled);
  const int wave = device(), threads = 4 * wave;
  for (int i = 0; i < 2 * wave; i++) {  // the first wave goes as far as it can
    EXPECT_EQ(forward[size_t(i)] / wave, 0);
    EXPECT_EQ(reverse[size_t(i)] / wave, 3);
  }
  for (int i = 0; i < 2 * threads; i++)
    EXPECT_EQ(reverse[size_t(i)] / wave, 3 - forward[size_t(i)] / wave);
  EXPECT_NE(shuffled, forward);
  EXPECT_NE(shuffled, reverse);
  EXPECT_NE(shuffled, interleaving(device(), kShuffled, 2));
  EXPECT_EQ(shuffled, interleaving(device(), kShuffled)) << "a seed always draws the same";
}

TEST_P(Emulator, ReportsAWritePastAnOutput) {
  const auto past = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() <= a.n) a.y[ctx.thread()] = 1;
  };
  EXPECT_COMPLAINT(one_block(past, 99),
                   "sum: writes bytes 0 to 3 past the end of output 0 (f32 [99])");
}

TEST_P(Emulator, ReportsAWriteBeforeAnOutput) {
  const auto before = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = 1;
    if (ctx.thread() == 0) a.y[-2] = 1;
  };
  EXPECT_COMPLAINT(one_block(before), "writes bytes 8 to 5 before the start of output 0");
}

TEST_P(Emulator, ReportsAWriteIntoTheNextTensorOfTheSameMemory) {
  const auto past = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() <= a.n) a.y[ctx.thread()] = 1;
  };
  const Array<float> x(device(), thirds(50)), y(device(), std::vector<float>(100, 7));
  const Operands operands(device(), {x.view()}, {y.view_of(50)});
  EXPECT_COMPLAINT(
      text_of(launch<OneBlock<decltype(past)>>({x.data(), y.data(), 50}, operands.call)),
      "writes bytes 0 to 3 past the end of output 0 (f32 [50])");
  EXPECT_EQ(y.read()[50], 7) << "and puts back what was there";
}

TEST_P(Emulator, ReportsAWriteFarAway) {
  const auto far = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = 1;
    if (ctx.thread() == 0) const_cast<float*>(a.x)[3] = 0.1f;
  };
  const Array<float> x(device(), thirds(50)), y(device(), std::vector<float>(50));
  const Operands as_input(device(), {x.view()}, {y.view()});
  EXPECT_COMPLAINT(
      text_of(launch<OneBlock<decltype(far)>>({x.data(), y.data(), 50}, as_input.call)),
      "writes bytes 12 to 15 of input 0 (f32 [50])");
  const Operands elsewhere(device(), {}, {y.view()});
  EXPECT_COMPLAINT(
      text_of(launch<OneBlock<decltype(far)>>({x.data(), y.data(), 50}, elsewhere.call)),
      "output 0 (f32 [50])");
}

TEST_P(Emulator, ReportsAWriteFarPastAnOutputAndFarBeforeIt) {
  // 5,000 floats are 20,000 bytes, beyond the red zone; 4,000,000 floats end in the gap's last MiB.
  const auto past = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = 1;
    if (ctx.thread() == 0) a.y[a.n + 5000] = 0.1f;
  };
  EXPECT_COMPLAINT(one_block(past),
                   "sum: writes bytes 20000 to 20003 past the end of output 0 (f32 [100])");
  const auto far = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = 1;
    if (ctx.thread() == 0) a.y[a.n + 4000000] = 0.1f;
  };
  EXPECT_COMPLAINT(one_block(far), "writes bytes 16000000 to 16000003 past the end of output 0");
  const auto before = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = 1;
    if (ctx.thread() == 0) a.y[-5000] = 0.1f;
  };
  EXPECT_COMPLAINT(one_block(before), "bytes 20000 to 19997 before the start of output 0");
  const auto reads = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = a.x[a.n + 5000];
  };
  EXPECT_COMPLAINT(one_block(reads), "reads, or writes zeros to, bytes ", " past the end of ");
  const auto right = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = 1;
  };
  EXPECT_EQ(one_block(right), "ok") << "nothing is left of the damage";
}

TEST_P(Emulator, ReportsAWriteBetweenTheElementsOfAStridedOutput) {
  const auto dense = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = 1;
  };
  const auto strided = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() < a.n / 2) a.y[2 * ctx.thread()] = 1;
  };
  const Array<float> x(device(), thirds(50)), y(device(), std::vector<float>(50));
  View view = y.view_of(25);
  view.strides[0] = 2;
  const Operands operands(device(), {x.view()}, {view});
  EXPECT_EQ(text_of(launch<OneBlock<decltype(strided)>>({x.data(), y.data(), 50}, operands.call)),
            "ok");
  EXPECT_COMPLAINT(
      text_of(launch<OneBlock<decltype(dense)>>({x.data(), y.data(), 50}, operands.call)),
      "writes between the elements: bytes 4 to 7 of output 0");
}

TEST_P(Emulator, ReportsAReadOfSharedMemoryThatNobodyWrote) {
  const auto unset = [](const auto& ctx, float* part, const auto& a) {
    if (ctx.thread() != 7) part[ctx.thread()] = 2;
    ctx.sync();
    if (ctx.thread() < a.n) a.y[ctx.thread()] = part[ctx.thread()];
  };
  EXPECT_COMPLAINT(one_block(unset), "reads memory that was never written",
                   "element [7] of output 0 (f32 [100]) is nan (0xffffffff) under [",
                   " (0x3c3c3c3c) under [");
}

TEST_P(Emulator, ReportsAReadBeyondATensor) {
  const auto beyond = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = a.x[ctx.thread() + 1];
  };
  EXPECT_COMPLAINT(one_block(beyond), "reads memory that was never written", "element [99]");
}

TEST_P(Emulator, ReportsAnOutputNotWhollyWritten) {
  const auto partly = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() < a.n && ctx.thread() != 41) a.y[ctx.thread()] = 1;
  };
  EXPECT_COMPLAINT(one_block(partly), "element [41] of output 0 (f32 [100]) is not written");
}

TEST_P(Emulator, ReportsWritesOutsideOfSharedMemory) {
  const auto past = [](const auto& ctx, float* part, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = 1;
    part[ctx.thread() + a.n - 98] = 1;  // n is 100
  };
  EXPECT_COMPLAINT(one_block(past), "writes byte 0 past the end of its shared memory of 512 bytes");
  const auto before = [](const auto& ctx, float* part, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = 1;
    part[ctx.thread() + 99 - a.n] = 1;
  };
  EXPECT_COMPLAINT(one_block(before), "writes byte 1 before its shared memory");
  emu::set_check_mode(false);
  EXPECT_COMPLAINT(one_block(past), "past the end of its shared memory");  // in any mode
}

TEST_P(Emulator, NamesTheWayInWhichAKernelDiverged) {
  // Ends under reverse alone: the higher wave has not seen the flag of the lower.
  const auto sometimes = [](const auto& ctx, float* part, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = 1;
    if (ctx.thread() == 0) part[0] = 5;
    if (ctx.wave() == 1 && part[0] != 5) return;
    ctx.sync();
  };
  EXPECT_COMPLAINT(one_block(sometimes), "divergent", "reverse, poison 0xff)");
}

// What mma.h's loads ask of their lanes.
TEST_P(Emulator, ReportsLanesThatShouldAgree) {
  const auto uniform = [](const auto& ctx, float*, const auto& a) {
    ctx.require_uniform(ctx.wave(), {__FILE__, __LINE__});
    if (ctx.thread() < a.n) a.y[ctx.thread()] = 1;
  };
  const auto differing = [](const auto& ctx, float*, const auto& a) {
    ctx.require_uniform(ctx.thread() == 9, {__FILE__, __LINE__});
    if (ctx.thread() < a.n) a.y[ctx.thread()] = 1;
  };
  EXPECT_EQ(one_block(uniform), "ok");
  EXPECT_COMPLAINT(one_block(differing),
                   "thread 9: brings another value than lane 0 of its wave at emulator_test.cpp:");
}

TEST_P(Emulator, ExchangesValuesOfFourAndEightBytes) {
  const auto exchange = [](const auto& ctx, float*, const auto& a) {
    using C = std::remove_cvref_t<decltype(ctx)>;
    const int lane = ctx.lane(), next = (lane + 1) % C::kWave;
    const double wide = ctx.shuffle(lane + 0.5, lane + 1);  // the last lane's source wraps
    bool swaps = true;
    std::vector<int> masks;
    masks_down<C::kWave / 2, 2>([&]<int mask>() {
      masks.push_back(mask);
      swaps = swaps && ctx.template shuffle_xor<mask + 1>(int64(lane) << 40 | 7) ==
                           (int64(lane ^ (mask + 1)) << 40 | 7);
      swaps = swaps && ctx.template shuffle_xor<mask>(lane + 0.5f) == float(lane ^ mask) + 0.5f;
    });
    swaps = swaps && masks.front() == C::kWave / 2 && masks.back() == 2;
    const uint64 odd = ctx.ballot(lane % 2 == 1);
    const bool right = ctx.shuffle(lane, next) == next && wide == next + 0.5 && swaps &&
                       odd == 0xaaaaaaaaaaaaaaaau >> (64 - C::kWave);
    if (ctx.thread() < a.n) a.y[ctx.thread()] = right;
  };
  const Array<float> x(device(), thirds(100)), y(device(), std::vector<float>(100));
  EXPECT_EQ(on<decltype(exchange)>(x, y, 100), "ok");
  EXPECT_EQ(y.read(), std::vector<float>(100, 1));
}

// ---- Kernels of the table

/// y[bucket of x] += x for every element, by atomics: the order of the sums is the schedule's.
template <class T, uint32 flags>
struct Histogram {
  struct Args {
    const T* x;
    T* y;
    int n;
  };
  static constexpr Signature signature{kScatterAdd, kDTypeOf<T>, flags};
  static Args args(const Call& c) {
    return {c.in[0].as<T>(), c.out[0].as<T>(), int(c.in[0].numel())};
  }
  static const char* accepts(const Call&, const DeviceInfo&) { return nullptr; }
  static constexpr int threads(int) { return 64; }
  static Grid grid(int, const Args& a) { return {(a.n + 63) / 64}; }
  template <class Ctx>
  struct Shared {};
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int i = ctx.block().x * Ctx::kThreads + ctx.thread();
    if (i < a.n) ctx.atomic_add(a.y + i % 3, a.x[i]);
  }
};

template <class R>
const Kernel& kernel() {
  static KernelList list;
  if (!list.first) add_kernel<R, kAllFamilies>(list, "the_kernel");
  return list.first->kernel;
}
template <class R>
std::string run_kernel_of(const Call& call) {
  return text_of(kernel<R>().run(&kernel<R>(), &call));
}

TEST_P(Emulator, ComparesUnorderedKernelsWithinATolerance) {
  const Array<float> x(device(), thirds(1000)), y(device(), std::vector<float>(3, 0.25f));
  const Operands operands(device(), {x.view()}, {y.view()});
  constexpr uint32 kAdds = kKernelAccumulates;
  EXPECT_EQ((run_kernel_of<Histogram<float, kAdds | kKernelUnordered>>(operands.call)), "ok");
  const std::vector<float> values = thirds(1000), sums = y.read();
  for (size_t bucket = 0; bucket < 3; bucket++) {
    double expected = 0.25;  // once, however many ways ran
    for (size_t i = bucket; i < 1000; i += 3) expected += values[i];
    EXPECT_NEAR(sums[bucket], expected, 1e-3);
  }
  EXPECT_COMPLAINT((run_kernel_of<Histogram<float, kAdds>>(operands.call)),
                   "depends on which threads come first", "the_kernel, emu:");
}

/// The last one wins.
struct LastOne : Histogram<float, kKernelAccumulates | kKernelUnordered> {
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int i = ctx.block().x * Ctx::kThreads + ctx.thread();
    if (i < a.n) a.y[i % 3] = a.x[i];
  }
};

TEST_P(Emulator, ComparesUnorderedSumsThatCancelByTheirTerms) {
  std::vector<float> values = thirds(498);  // of each bucket as many below 0
  for (std::size_t i = 0; i < 498; i++) values.push_back(-values[i]);
  const Array<float> x(device(), values), y(device(), std::vector<float>(3));
  const Operands operands(device(), {x.view()}, {y.view()});
  constexpr uint32 kFlags = kKernelAccumulates | kKernelUnordered;
  EXPECT_EQ((run_kernel_of<Histogram<float, kFlags>>(operands.call)), "ok");
  for (const float sum : y.read()) EXPECT_NEAR(sum, 0, 0.01);
  EXPECT_COMPLAINT(run_kernel_of<LastOne>(operands.call), "depends on which threads come first");
}

/// A place in line is drawn by who comes first, whatever the flags say of floats.
struct Line : Histogram<int32, kKernelAccumulates | kKernelUnordered> {
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    if (ctx.block().x != 0 || ctx.thread() > 40) return;
    const int32 place = ctx.atomic_add(a.y, 1);
    if (ctx.thread() == 0) a.y[1] = place;
  }
  static Args args(const Call& c) {
    return Histogram<int32, kKernelAccumulates | kKernelUnordered>::args(c);
  }
};

TEST_P(Emulator, ComparesIntegersExactlyEvenInUnorderedKernels) {
  std::vector<int32> values(1000);
  for (size_t i = 0; i < 1000; i++) values[i] = int32(i * 2654435761u);  // sums wrap
  const Array<int32> x(device(), values), y(device(), std::vector<int32>(3, 1));
  const Operands operands(device(), {x.view()}, {y.view()});
  constexpr uint32 kFlags = kKernelAccumulates | kKernelUnordered;
  EXPECT_EQ((run_kernel_of<Histogram<int32, kFlags>>(operands.call)), "ok");
  const std::vector<int32> sums = y.read();
  for (size_t bucket = 0; bucket < 3; bucket++) {
    uint32 expected = 1;
    for (size_t i = bucket; i < 1000; i += 3) expected += uint32(values[i]);
    EXPECT_EQ(uint32(sums[bucket]), expected);
  }
  EXPECT_COMPLAINT(run_kernel_of<Line>(operands.call), "element [1] of output 0 (i32 [3])");
}

struct Double {
  struct Args {
    const float* x;
    float* y;
    int n;
  };
  static constexpr Signature signature{Neg::op, DType::kF32, kKernelInPlace};
  static Args args(const Call& c) {
    return {c.in[0].as<float>(), c.out[0].as<float>(), int(c.in[0].numel())};
  }
  static const char* accepts(const Call&, const DeviceInfo&) { return nullptr; }
  static constexpr int threads(int) { return 64; }
  static Grid grid(int, const Args& a) { return {(a.n + 63) / 64}; }
  template <class Ctx>
  struct Shared {};
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int i = ctx.block().x * Ctx::kThreads + ctx.thread();
    if (i < a.n) a.y[i] = 2 * a.x[i];
  }
};

TEST_P(Emulator, KeepsAnInputThatIsTheOutput) {
  const Array<float> x(device(), thirds(100));
  const Operands operands(device(), {x.view()}, {x.view()});
  EXPECT_EQ(run_kernel_of<Double>(operands.call), "ok");
  std::vector<float> expected = thirds(100);
  for (float& v : expected) v *= 2;
  EXPECT_EQ(x.read(), expected);
}

/// A kernel of the table that makes two launches: partial sums into scratch, then their sum. The
/// bug: the second reads one more.
template <int more>
struct TwoLaunches {
  static constexpr int kParts = 8;
  struct Part {
    struct Args {
      const float* x;
      float* parts;
      int n;
    };
    static constexpr int threads(int wave) { return wave; }
    static Grid grid(int, const Args&) { return {kParts}; }
    template <class Ctx>
    struct Shared {};
    template <class Ctx>
    static void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
      float sum = 0;
      for (int i = ctx.block().x * Ctx::kWave + ctx.lane(); i < a.n; i += kParts * Ctx::kWave)
        sum += a.x[i];
      masks_up<1, Ctx::kWave>([&]<int mask>() { sum += ctx.template shuffle_xor<mask>(sum); });
      if (ctx.lane() == 0) a.parts[ctx.block().x] = sum;
    }
  };
  struct Whole {
    struct Args {
      const float* parts;
      float* y;
    };
    static constexpr int threads(int wave) { return wave; }
    static Grid grid(int, const Args&) { return {}; }
    template <class Ctx>
    struct Shared {};
    template <class Ctx>
    static void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
      if (ctx.thread() != 0) return;
      float sum = 0;
      for (int i = 0; i < kParts + more; i++) sum += a.parts[i];
      *a.y = sum;
    }
  };
  static constexpr Signature signature{Sum::op, DType::kF32};
  static const char* accepts(const Call&, const DeviceInfo&) { return nullptr; }
  static int64 scratch_bytes(const Call&, const DeviceInfo&) { return 64; }
  static Status run(const Call& c) {
    float* const parts = static_cast<float*>(c.scratch);
    if (const Status s = launch<Part>({c.in[0].as<float>(), parts, int(c.in[0].numel())}, c);
        !s.ok())
      return s;
    return launch<Whole>({parts, c.out[0].as<float>()}, c);
  }
};

TEST_P(Emulator, RunsAKernelOfSeveralLaunchesAsOne) {
  const Array<float> x(device(), std::vector<float>(1000, 0.5f)), y(device(), {0.f});
  const Array<float> scratch(device(), std::vector<float>(16));
  Operands operands(device(), {x.view()}, {y.view()});
  operands.call.scratch = scratch.data(), operands.call.scratch_bytes = 64;
  EXPECT_EQ(run_kernel_of<TwoLaunches<0>>(operands.call), "ok");
  EXPECT_EQ(y.read()[0], 500);
  EXPECT_COMPLAINT(run_kernel_of<TwoLaunches<1>>(operands.call),
                   "reads memory that was never written", "the_kernel, emu:");
}

/// What a lane holds of a matrix is the layout's; the product is not.
template <bool leaks>
struct Layouts {
  struct Args {
    int* y;
  };
  static constexpr bool kUsesMatrix = true;
  static constexpr int threads(int wave) { return wave; }
  static Grid grid(int, const Args&) { return {}; }
  template <class Ctx>
  struct Shared {};
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    using M = typename Ctx::Matrix;
    for (int i = 0; i < M::kAccumulator; i++) {
      const int m = M::m(ctx.lane(), i), n = M::n(ctx.lane(), i);
      a.y[m * 16 + n] = leaks ? ctx.lane() : m - n;
    }
  }
};

TEST_P(Emulator, RunsEveryMatrixLayoutOfItsWave) {
  const Array<int> y(device(), std::vector<int>(256));
  const Operands operands(device(), {}, {y.view()});
  EXPECT_EQ(text_of(launch<Layouts<false>>({y.data()}, operands.call)), "ok");
  const std::string leak = text_of(launch<Layouts<true>>({y.data()}, operands.call));
  if (device() == 32)
    EXPECT_COMPLAINT(leak, "depends on the matrix layout");
  else
    EXPECT_EQ(leak, "ok") << "wave 64 has one layout";
}

/// y = 1 + difference in the layouts with two columns a lane.
template <class T, bool says_so>
struct LayoutSums {
  struct Args {
    T* y;
    float difference;
  };
  static constexpr bool kUsesMatrix = true;
  static constexpr int threads(int wave) { return wave; }
  static Grid grid(int, const Args&) { return {}; }
  template <class Ctx>
  struct Shared {};
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    if (ctx.thread() == 0) *a.y = T(1 + (Ctx::Matrix::kColumns == 2 ? a.difference : 0));
  }
};
template <class T>
struct SaidLayoutSums : LayoutSums<T, true> {
  static constexpr bool kSumsByLayout = true;
};

TEST_P(Emulator, ComparesLayoutsOfAKernelWhoseSumsDependOnThemWithinATolerance) {
  if (device() != 32) GTEST_SKIP() << "wave 64 has one layout";
  const Array<float> y(device(), {0.f});
  const Operands operands(device(), {}, {y.view()});
  EXPECT_EQ(text_of(launch<SaidLayoutSums<float>>({y.data(), 0x1p-20f}, operands.call)), "ok");
  EXPECT_COMPLAINT(text_of(launch<SaidLayoutSums<float>>({y.data(), 0x1p-12f}, operands.call)),
                   "depends on the matrix layout");
  EXPECT_COMPLAINT(text_of(launch<LayoutSums<float, false>>({y.data(), 0x1p-20f}, operands.call)),
                   "depends on the matrix layout");
  const Array<int> z(device(), {0});
  const Operands integers(device(), {}, {z.view()});
  EXPECT_COMPLAINT(text_of(launch<SaidLayoutSums<int>>({z.data(), 1}, integers.call)),
                   "depends on the matrix layout");
}

/// y[k, row] of an accumulator c that was made an operand and multiplied by the unit matrix, and sums of
/// c's columns.
struct RoundedOperand {
  struct Args {
    float *y, *sums;
  };
  static constexpr bool kUsesMatrix = true;
  static constexpr int threads(int wave) { return wave; }
  static Grid grid(int, const Args&) { return {}; }
  template <class Ctx>
  struct Shared {
    alignas(16) f16 unit[16][16];
  };
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    using M = typename Ctx::Matrix;
    for (int i = ctx.thread(); i < 256; i += Ctx::kThreads)
      shared.unit[i / 16][i % 16] = round_to<f16>(i / 16 == i % 16 ? 1.f : 0.f);
    ctx.sync();
    Sums<M> c, product = {};
    float sums[M::kColumns] = {};
    for (int i = 0; i < M::kAccumulator; i++) {
      c.v[i] = float(M::m(ctx.lane(), i) * 16 + M::n(ctx.lane(), i));
      sums[M::column(i)] += c.v[i];
    }
    combine_columns(ctx, sums, [](float x, float y) { return x + y; });
    multiply(ctx, product, load_rows<Side::kLeft>(ctx, shared.unit[0], 16),
             rounded_operand<f16>(ctx, c));
    for (int i = 0; i < M::kAccumulator; i++) {
      const int m = M::m(ctx.lane(), i), n = M::n(ctx.lane(), i);
      a.y[m * 16 + n] = product.v[i];
      a.sums[n] = sums[M::column(i)];
    }
  }
};

TEST_P(Emulator, MakesOperandsOfAccumulatorsInEveryLayout) {
  const Array<float> y(device(), std::vector<float>(256)), sums(device(), std::vector<float>(16));
  const Operands operands(device(), {}, {y.view(), sums.view()});
  ASSERT_EQ(text_of(launch<RoundedOperand>({y.data(), sums.data()}, operands.call)), "ok");
  for (int i = 0; i < 256; i++) EXPECT_EQ(y.read()[size_t(i)], float(i)) << i;
  for (int n = 0; n < 16; n++) EXPECT_EQ(sums.read()[size_t(n)], float(16 * 120 + 16 * n)) << n;
}

/// y = a b of f64, a 16 x 8 and b 8 x 16, both with the same inner dim.
template <Inner inner>
struct DoubleProduct {
  struct Args {
    double* y;
  };
  static constexpr bool kUsesMatrix = true, kUsesDoubles = true;
  static constexpr int threads(int wave) { return wave; }
  static Grid grid(int, const Args&) { return {}; }
  template <class Ctx>
  struct Shared {
    alignas(16) double a[128], b[128];
  };
  static int place(int row, int k) { return inner == Inner::kAlongK ? row * 8 + k : k * 16 + row; }
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    using M = typename Ctx::Matrix::Doubles;
    for (int i = ctx.thread(); i < 128; i += Ctx::kThreads)
      shared.a[place(i / 8, i % 8)] = i, shared.b[place(i / 8, i % 8)] = 1000 - i;
    ctx.sync();
    const auto a = load_doubles<inner>(ctx, [&](int m, int k) { return shared.a + place(m, k); });
    const auto b = load_doubles<inner>(ctx, [&](int n, int k) { return shared.b + place(n, k); });
    DoubleSums<Ctx> sums;
    for (double& sum : sums.v) sum = 1;
    multiply(ctx, sums, a, b);
    for (int i = 0; i < M::kAccumulator; i++)
      args.y[M::m(ctx.lane(), i) * 16 + M::n(ctx.lane(), i)] = sums.v[i];
  }
};

TEST_P(Emulator, MultipliesF64InEveryLayoutThatHasIt) {
  const Array<double> y(device(), std::vector<double>(256));
  const Operands operands(device(), {}, {y.view()});
  const auto expect_product = [&](const Status& status) {
    ASSERT_EQ(text_of(status), "ok");
    for (int i = 0; i < 256; i++) {
      double sum = 1;
      for (int k = 0; k < 8; k++) sum += (i / 16 * 8 + k) * (1000 - (i % 16 * 8 + k));
      EXPECT_EQ(y.read()[size_t(i)], sum) << i;
    }
  };
  expect_product(launch<DoubleProduct<Inner::kAlongK>>({y.data()}, operands.call));
  expect_product(launch<DoubleProduct<Inner::kAlongRows>>({y.data()}, operands.call));
}

enum class Skips { kNothing, kWait, kSync };
/// y = x by way of shared memory, two copies of 16 bytes a thread on their way at a time; a thread stores
/// what its neighbour has copied.
template <Skips skips>
struct AsyncCopy {
  struct Args {
    const float* x;
    float* y;
  };
  static constexpr bool kUsesMatrix = true;
  static constexpr int threads(int) { return 64; }
  static Grid grid(int, const Args&) { return {}; }
  template <class Ctx>
  struct Shared {
    alignas(16) float stage[2][64][4];
  };
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int t = ctx.thread(), other = t ^ 32;
    for (int s = 0; s < 2; s++) {
      const float* const from = a.x + (s * 64 + t) * 4;
      if constexpr (Ctx::kCopiesAsync)
        ctx.copy_async(shared.stage[s][t], from, t > 0), ctx.commit_copies();
      else
        for (int e = 0; e < 4; e++) shared.stage[s][t][e] = t > 0 ? from[e] : 0;
    }
    for (int s = 0; s < 2; s++) {
      if constexpr (Ctx::kCopiesAsync && skips != Skips::kWait) {
        if (s == 0) ctx.template wait_copies<1>();
        if (s == 1) ctx.template wait_copies<0>();
      }
      if (skips != Skips::kSync) ctx.sync();
      for (int e = 0; e < 4; e++) a.y[(s * 64 + other) * 4 + e] = shared.stage[s][other][e];
    }
  }
};

TEST_P(Emulator, DeliversAsyncCopiesAtTheWait) {
  std::vector<float> values(512);
  for (size_t i = 0; i < values.size(); i++) values[i] = float(i + 1);
  const Array<float> x(device(), values), y(device(), std::vector<float>(512));
  const Operands operands(device(), {x.view()}, {y.view()});
  const auto run = [&]<Skips skips>() {
    return text_of(launch<AsyncCopy<skips>>({x.data(), y.data()}, operands.call));
  };
  EXPECT_EQ(run.template operator()<Skips::kNothing>(), "ok");
  for (size_t i = 0; i < 512; i++) EXPECT_EQ(y.read()[i], i / 4 % 64 == 0 ? 0 : values[i]) << i;
  EXPECT_COMPLAINT(run.template operator()<Skips::kSync>(), "memory that was never written");
  if (device() == 32)
    EXPECT_COMPLAINT(run.template operator()<Skips::kWait>(), "depends on the matrix layout");
}

// ---- The table

/// The first kernel for [m, k] x [k, n] of f64 on a card with so many compute units.
std::string double_product(int32 device, int64 m, int64 k, int64 n, int32 compute_units = 4) {
  const DType dtypes[] = {DType::kF64, DType::kF64, DType::kF64};
  const KernelQuery query{&kMatmul, dtypes, 2, 1};
  const Kernel* kernels = nullptr;
  const int32 count = emulated_backend()->find_kernels(device, &query, &kernels);
  DeviceInfo info;
  EXPECT_TRUE(emulated_backend()->device_info(device == 64, &info).ok());
  info.compute_units = compute_units;
  const auto matrix = [](int64 rows, int64 columns) {
    return View{nullptr, DType::kF64, 2, {rows, columns}, {columns, 1}};
  };
  const Operands operands(device, {matrix(m, k), matrix(k, n)}, {matrix(m, n)});
  for (int32 i = 0; i < count; i++)
    if (!kernels[i].accepts(&kernels[i], &operands.call, &info)) return kernels[i].name;
  return "none";
}

TEST_P(Emulator, MultipliesF64OnMatrixUnitsWhereOperandsAreInPacks) {
  EXPECT_EQ(double_product(device(), 32, 16, 32), "matmul_f64_packed_64");
  EXPECT_EQ(double_product(device(), 256, 16, 256), "matmul_f64_async_128");
  EXPECT_EQ(double_product(device(), 512, 16, 64), "matmul_f64_packed_128");
  EXPECT_EQ(double_product(device(), 256, 16, 256, 100), "matmul_f64_packed_64");
  EXPECT_EQ(double_product(device(), 256, 17, 256), "matmul_f64_tiled_64");
  EXPECT_EQ(double_product(device(), 256, 16, 255), "matmul_f64_tiled_64");
}

/// Reports ids of x beyond the limit, each thread its own.
struct Ids {
  struct Args {
    const int* ids;
    int* y;
    int n, limit;
  };
  static constexpr int threads(int) { return 128; }
  static Grid grid(int, const Args&) { return {}; }
  template <class Ctx>
  struct Shared {};
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int i = ctx.thread();
    if (i >= a.n) return;
    const bool right = a.ids[i] < a.limit;
    if (!right) ctx.fail(StatusCode::kIdOutOfRange, kGather.id, i, a.ids[i], a.limit);
    a.y[i] = right ? a.ids[i] : 0;
  }
};

// What is no kernel is told apart, so that check_kernel can say why.
static_assert(IsKernel<Ids>);
struct WithoutThreads : Ids {
  static void threads(int);
};
static_assert(!IsKernel<WithoutThreads> && !detail::HasThreads<WithoutThreads>);
struct WithAnotherGrid : Ids {
  static int grid(int, const Args&);
};
static_assert(!IsKernel<WithAnotherGrid> && !detail::HasGrid<WithAnotherGrid>);
struct WithAnotherRun : Ids {
  template <class Ctx>
  static void run(const Ctx&, const Args&);
};
static_assert(!IsKernel<WithAnotherRun> && !detail::HasRun<WithAnotherRun>);
struct WithAMember {
  ~WithAMember() {}
};
struct WithArgsThatAreNotPlain : Ids {
  using Args = WithAMember;
};
static_assert(!IsKernel<WithArgsThatAreNotPlain> && !detail::HasArgs<WithArgsThatAreNotPlain>);

TEST_P(Emulator, HandsOutAStreamsErrorRecordOnce) {
  const Backend& backend = *emulated_backend();
  const Array<int> ids(device(), {1, 2, 30, 4, 50}), y(device(), std::vector<int>(5));
  Operands operands(device(), {ids.view()}, {y.view()});
  void* stream = nullptr;
  ASSERT_TRUE(backend.stream_create(device(), &stream).ok());
  operands.call.stream = stream;
  ASSERT_EQ(text_of(launch<Ids>({ids.data(), y.data(), 5, 10}, operands.call)), "ok");

  ErrorRecord record;
  ASSERT_TRUE(backend.stream_synchronize(device(), nullptr, &record).ok());
  EXPECT_EQ(record.code, 0u) << "another stream's";
  ASSERT_TRUE(backend.stream_synchronize(device(), stream, &record).ok());
  EXPECT_EQ(StatusCode(record.code), StatusCode::kIdOutOfRange);
  EXPECT_EQ(record.op, kGather.id);
  EXPECT_EQ(record.limit, 10);
  EXPECT_EQ(record.value, record.position == 2 ? 30 : 50);
  ASSERT_TRUE(backend.stream_synchronize(device(), stream, &record).ok());
  EXPECT_EQ(record.code, 0u);
  backend.stream_destroy(device(), stream);
}

TEST_P(Emulator, DescribesItsDevice) {
  const Backend& backend = *emulated_backend();
  const char* why = "";
  ASSERT_EQ(backend.device_count(&why), 2);
  EXPECT_EQ(why, nullptr);
  DeviceInfo info;
  ASSERT_TRUE(backend.device_info(device() == 64, &info).ok());
  EXPECT_EQ(info.ordinal, device());
  EXPECT_EQ(info.wave, device());
  EXPECT_EQ(wave_of(device()), device());
  EXPECT_EQ(info.architecture, "wave" + std::to_string(device()));
  EXPECT_EQ(info.plain_allocation, 1);
  EXPECT_EQ(unsigned(info.families), unsigned(kEmulated));
  EXPECT_FALSE(backend.device_info(2, &info).ok());
  emu::set_check_mode(false);
  ASSERT_TRUE(backend.device_info(device() == 64, &info).ok());
  EXPECT_EQ(info.plain_allocation, 0);
}

TEST_P(Emulator, CountsMemoryThatTheSystemCanFreeAsFree) {
  int64 free_bytes = 0, total_bytes = 0, off = 0;
  // Other programs change what is available between two looks.
  for (int i = 0; i < 50 && (i == 0 || off > 1 << 20); i++) {
    ASSERT_TRUE(emulated_backend()->memory_info(device(), &free_bytes, &total_bytes).ok());
    off = std::abs(free_bytes - host_memory().available);
  }
  EXPECT_LE(off, 1 << 20) << free_bytes << " bytes are free";
  EXPECT_EQ(total_bytes, host_memory().total);
}

TEST_P(Emulator, RefusesWhatItCannotDo) {
  const Backend& backend = *emulated_backend();
  void* data = nullptr;
  EXPECT_COMPLAINT(text_of(backend.alloc(7, 16, &data)), "there is no emu:7");
  const Status huge = backend.alloc(device(), int64(1) << 60, &data);
  EXPECT_EQ(huge.code, StatusCode::kOutOfMemory);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(backend.alloc(device(), -1, &data).code, StatusCode::kInvalidArgument);

  const Array<float> x(device(), thirds(10));
  float host[20] = {};
  EXPECT_EQ(reinterpret_cast<uintptr_t>(x.data()) % 256, 0u);
  EXPECT_COMPLAINT(
      text_of(backend.copy(device(), x.data() + 5, host, 24, CopyKind::kHostToDevice, nullptr)),
      "copy: writes: 24 bytes from byte 20 of an allocation of 40");
  EXPECT_COMPLAINT(text_of(backend.fill(device(), x.data(), 0, 41, nullptr)), "fill: writes: 41");
  EXPECT_EQ(x.read(), thirds(10));
  x.data()[10] = 1;  // the host's own
  const Operands operands(device(), {}, {x.view()});
  const auto nothing = [](const auto&, float*, const auto&) {};
  EXPECT_COMPLAINT(text_of(launch<OneBlock<decltype(nothing)>>({}, operands.call)),
                   "before it ran, the host wrote beyond an allocation");
}

struct Sized {
  struct Args {
    Grid grid;
  };
  static constexpr int threads(int wave) { return wave; }
  static Grid grid(int, const Args& a) { return a.grid; }
  template <class Ctx>
  struct Shared {};
  template <class Ctx>
  static void run(const Ctx&, Shared<Ctx>&, const Args&) {}
};

TEST_P(Emulator, RunsEmptyGridsAndRefusesImpossibleOnes) {
  const Operands none(device(), {}, {});
  EXPECT_EQ(text_of(launch<Sized>({{0}}, none.call)), "ok");
  EXPECT_EQ(text_of(launch<Sized>({{2, 3, 4}}, none.call)), "ok");
  EXPECT_COMPLAINT(text_of(launch<Sized>({{1, 65536}}, none.call)), "grid is 1 x 65536 x 1 blocks");
  EXPECT_COMPLAINT(text_of(launch<Sized>({{-1}}, none.call)), "grid is -1 x 1 x 1 blocks");
}

struct Count {
  struct Args {
    int* y;
  };
  static constexpr int threads(int) { return 64; }
  static Grid grid(int, const Args&) { return {5, 3, 2}; }
  template <class Ctx>
  struct Shared {};
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const Grid at = ctx.block();
    a.y[((at.z * 3 + at.y) * 5 + at.x) * 64 + ctx.thread()] = at.x + 10 * at.y + 100 * at.z;
  }
};

TEST_P(Emulator, CoversAGridOfThreeDimensionsOnce) {
  const Array<int> y(device(), std::vector<int>(30 * 64));
  const Operands operands(device(), {}, {y.view()});
  ASSERT_EQ(text_of(launch<Count>({y.data()}, operands.call)), "ok");
  const std::vector<int> values = y.read();
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[29 * 64 + 63], 124);
}

TEST_P(Emulator, RunsKernelsWithoutBarriersAsALoop) {
  const auto plain = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = a.x[ctx.thread()];
  };
  emu::set_check_mode(false);
  const int64 before = emu::switches();
  EXPECT_EQ(one_block(plain), "ok");
  EXPECT_EQ(emu::switches() - before, 1) << "one change of stacks a block";
}

/// Says what the table tells of the first device, in a process of its own: WICK_EMU is read once.
[[noreturn]] void describe_and_exit() {
  const char* why = nullptr;
  const int count = emulated_backend()->device_count(&why);
  DeviceInfo info{};
  emulated_backend()->device_info(0, &info);
  fprintf(stderr, "%d devices, plain %d; %s\n", count, info.plain_allocation, why ? why : "fine");
  exit(0);
}

TEST(EmulatorMode, ComesFromTheEnvironment) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ok = testing::ExitedWithCode(0);
  setenv("WICK_EMU", "check", 1);
  EXPECT_EXIT(describe_and_exit(), ok, "2 devices, plain 1; fine");
  setenv("WICK_EMU", "fast", 1);
  EXPECT_EXIT(describe_and_exit(), ok, "2 devices, plain 0; fine");
  setenv("WICK_EMU", "chekc", 1);
  EXPECT_EXIT(describe_and_exit(), ok,
              "0 devices, plain 0; WICK_EMU: expected one of fast, check, got \"chekc\"");
  unsetenv("WICK_EMU");
}

#if defined(__SANITIZE_ADDRESS__)
TEST_P(Emulator, LetsTheAddressSanitizerSeeAReadBeyondATensor) {
  emu::set_check_mode(false);
  const auto beyond = [](const auto& ctx, float*, const auto& a) {
    if (ctx.thread() < a.n) a.y[ctx.thread()] = a.x[ctx.thread() + 1];
    ctx.sync();
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(one_block(beyond), "heap-buffer-overflow");
}
#endif

}  // namespace
}  // namespace wick::gpu
