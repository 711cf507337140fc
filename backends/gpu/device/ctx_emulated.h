// The implementation of ctx.h for the emulator. Operations take the caller's source location for
// error messages.
#pragma once
#include "device/ctx.h"
#include "device/emulator.h"

namespace wick::gpu {
namespace emu {

/// The copies of a thread that are on their way into shared memory.
class Copies {
 public:
  /// from: nullptr for zeros. False if there are too many.
  bool begin(void* to, const void* from) {
    if (count_ == kMax) return false;
    Copy& copy = copies_[count_++];
    copy = {to, {}, group_};
    if (from) __builtin_memcpy(copy.bytes, from, sizeof copy.bytes);
    __builtin_memset(to, 0xff, sizeof copy.bytes);
    return true;
  }
  void commit() { group_++; }
  /// Delivers all but those of the last `groups` groups that were committed, and of none.
  void wait(int groups) {
    int left = 0;
    for (int i = 0; i < count_; i++) {
      if (copies_[i].group < group_ - groups)
        __builtin_memcpy(copies_[i].to, copies_[i].bytes, sizeof copies_[i].bytes);
      else
        copies_[left++] = copies_[i];
    }
    count_ = left;
  }

 private:
  static constexpr int kMax = 128;
  struct Copy {
    void* to;
    char bytes[16];
    int group;
  };
  int count_ = 0, group_ = 0;
  Copy copies_[kMax];
};

}  // namespace emu

template <int wave_, int threads_, class M>
struct Ctx {
  static constexpr int kWave = wave_, kThreads = threads_, kWaves = threads_ / wave_;
  using Matrix = M;
  ErrorRecord* record;
  emu::Block* emulated;
  int thread_;
  Grid block_;
  emu::Copies* copies;  // this thread's

  int thread() const { return thread_; }
  int lane() const { return thread_ % kWave; }
  int wave() const { return thread_ / kWave; }
  Grid block() const { return block_; }
  void sync(emu::SourceLine at = {__builtin_FILE(), __builtin_LINE()}) const {
    emulated->barrier(thread_, at);
  }
  /// Like sync: the emulator runs plain stores to global memory, which it cannot hold back.
  void sync_shared(emu::SourceLine at = {__builtin_FILE(), __builtin_LINE()}) const { sync(at); }
  /// A lane number beyond the wave is taken modulo the wave, as both vendors do.
  template <class T>
  T shuffle(T v, int source, emu::SourceLine at = {__builtin_FILE(), __builtin_LINE()}) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    struct Lane {
      T in;
      int source;
      T out;
    } mine{v, source & (kWave - 1), v};
    const auto exchange = [](Lane** lanes) {
      for (int l = 0; l < kWave; l++) lanes[l]->out = lanes[lanes[l]->source]->in;
    };
    together(mine, exchange, at);
    return mine.out;
  }
  template <int mask, class T>
  T shuffle_xor(T v, emu::SourceLine at = {__builtin_FILE(), __builtin_LINE()}) const {
    static_assert(0 < mask && mask < kWave);
    return shuffle(v, lane() ^ mask, at);
  }
  uint64 ballot(bool b, emu::SourceLine at = {__builtin_FILE(), __builtin_LINE()}) const {
    struct Lane {
      bool in;
      uint64 out;
    } mine{b, 0};
    const auto vote = [](Lane** lanes) {
      uint64 votes = 0;
      for (int l = 0; l < kWave; l++) votes |= uint64(lanes[l]->in) << l;
      for (int l = 0; l < kWave; l++) lanes[l]->out = votes;
    };
    together(mine, vote, at);
    return mine.out;
  }
  /// The number of bits that are 1.
  static int count_bits(uint64 v) { return __builtin_popcountll(v); }
  /// 2^x. Error: 2 ulp; a result below 2^-126 may be 0.
  static float exp2(float x) { return __builtin_exp2f(x); }
  /// 1 / x. Error: 2 ulp; subnormal results and operands may count as 0.
  static float reciprocal(float x) { return 1 / x; }
  /// The larger one; if one is NaN, the other.
  static float larger(float a, float b) { return __builtin_fmaxf(a, b); }
  /// See ctx_amd.h. Not needed here.
  static int opaque(int x) { return x; }
  /// See ctx_amd.h. Not needed here.
  static void keep_order() {}
  static int in_one_register(int x) { return x; }
  /// See ctx.h.
  struct alignas(16) Words {
    int32 w[4];
  };
  /// See ctx.h. The bytes arrive at the wait; until then NaNs are there.
  static constexpr bool kCopiesAsync = kSame<M, MatrixSm80>;
  void copy_async(void* to, const void* from, bool inside,
                  emu::SourceLine at = {__builtin_FILE(), __builtin_LINE()}) const {
    require(reinterpret_cast<uint64>(to) % 16 == 0 && reinterpret_cast<uint64>(from) % 16 == 0,
            "copies to or from an address that is not aligned", at);
    require(copies->begin(to, inside ? from : nullptr), "has too many copies on their way", at);
  }
  void commit_copies() const { copies->commit(); }
  template <int groups>
  void wait_copies() const {
    copies->wait(groups);
  }
  /// Adds to *p. Returns the old value. T: 32- and 64-bit integers and floats.
  template <class T>
  static T atomic_add(T* p, T v) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    T old, sum;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do {
      if constexpr (T(1) / T(2) == T(0))
        sum = T(uint64(old) + uint64(v));  // integers wrap
      else
        sum = old + v;
    } while (!__atomic_compare_exchange(p, &old, &sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
  }
  /// Stores the larger of *p and the value. Returns the old value. T: u32 and u64.
  template <class T>
  static T atomic_max(T* p, T v) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (old < v &&
           !__atomic_compare_exchange_n(p, &old, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
  }
  /// Stores desired if the old value is expected. Returns the old value.
  static uint32 compare_and_swap(uint32* p, uint32 expected, uint32 desired) {
    __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
  }
  /// Records an error, unless there is one already; the host reads the record when it next
  /// synchronizes. op: the op's id.
  void fail(StatusCode code, uint64 op, int64 position, int64 value, int64 limit) const {
    if (compare_and_swap(&record->code, 0, uint32(code)) != 0) return;
    record->op = op, record->position = position, record->value = value, record->limit = limit;
  }

  // The members below exist in the emulator alone, for its implementation of mma.h.

  /// Waits until all lanes of the wave are here. The last one calls f(lanes), where lanes[l] is lane
  /// l's argument; then all continue. f captures nothing.
  template <class Lane, class F>
  void together(Lane& mine, F, emu::SourceLine at) const {
    static_assert(__is_empty(F));
    const auto all = [](void** lanes) { F{}(reinterpret_cast<Lane**>(lanes)); };
    emulated->meet(thread_, &mine, all, at);
  }
  /// Ends the launch with this error message unless ok.
  void require(bool ok, const char* what, emu::SourceLine at) const {
    if (!ok) emulated->refuse(thread_, what, at);
  }
  /// A wave operation that requires the same value in every lane.
  template <class T>
  void require_uniform(T v, emu::SourceLine at) const {
    struct Lane {
      T v;
      bool same;
    } mine{v, true};
    const auto compare = [](Lane** lanes) {
      for (int l = 0; l < kWave; l++) lanes[l]->same = lanes[l]->v == lanes[0]->v;
    };
    together(mine, compare, at);
    require(mine.same, "brings another value than lane 0 of its wave", at);
  }
};

}  // namespace wick::gpu
