// select_experts: a wave has a row, whose logits its lanes hold in registers. It finds the largest
// key, which the lane that has it drops, as often as experts are selected.
#include "wick/abi/ops/routing.h"
#include "kernels/logit_key.h"
#include "scalar/math.h"
#include "scalar/unary.h"

namespace wick::gpu {
namespace {

template <class T, int per_lane>
struct SelectExperts {
  using C = float;
  using Keys = LogitKey<C>;
  struct Args {
    const T* logits;
    int64 row;                // between rows of logits, in elements
    const float* correction;  // or nullptr
    float* weights;
    int64* ids;
    int32 rows, experts, selected;
    ExpertScores scores;
    bool renormalizes;
    float least_sum, scale;
  };
  static constexpr int kThreads = 128;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int wave, const Args& a) { return {ceil_div(a.rows, kThreads / wave)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int row = ctx.block().x * Ctx::kWaves + ctx.wave();
    if (row >= a.rows) return;
    float scores[per_lane];
    uint32 keys[per_lane];
    score(ctx, a, row, scores, keys);
    int place[per_lane];  // among the selected
    WICK_UNROLL
    for (int i = 0; i < per_lane; i++) place[i] = -1;
    WICK_ROLL
    for (int j = 0; j < a.selected; j++) {
      uint32 key = 0, expert = ~0u;
      WICK_UNROLL
      for (int i = 0; i < per_lane; i++)
        if (keys[i] > key) key = keys[i], expert = uint32(i * Ctx::kWave + ctx.lane());
      masks_down<Ctx::kWave / 2, 1>([&]<int mask>() {
        const uint32 other = ctx.template shuffle_xor<mask>(key);
        const uint32 other_expert = ctx.template shuffle_xor<mask>(expert);
        const bool is_other = other > key || (other == key && other_expert < expert);
        key = is_other ? other : key;
        expert = is_other ? other_expert : expert;
      });
      WICK_UNROLL
      for (int i = 0; i < per_lane; i++)
        if (expert == uint32(i * Ctx::kWave + ctx.lane())) keys[i] = 0, place[i] = j;
    }
    float factor = a.scale;
    if (a.renormalizes) {
      float sum = 0;
      WICK_UNROLL
      for (int i = 0; i < per_lane; i++) sum += place[i] >= 0 ? scores[i] : 0;
      sum = add_lanes(ctx, sum);
      factor /= sum < a.least_sum ? a.least_sum : sum;
    }
    const int64 first = int64(row) * a.selected;
    WICK_UNROLL
    for (int i = 0; i < per_lane; i++)
      if (place[i] >= 0) {
        a.weights[first + place[i]] = scores[i] * factor;
        a.ids[first + place[i]] = i * Ctx::kWave + ctx.lane();
      }
  }

 private:
  template <class Ctx>
  static WICK_DEVICE float add_lanes(const Ctx& ctx, float v) {
    masks_down<Ctx::kWave / 2, 1>([&]<int mask>() { v += ctx.template shuffle_xor<mask>(v); });
    return v;
  }

  /// The scores of a lane's experts, and their keys: at least 1, 0 beyond the last expert.
  template <class Ctx>
  static WICK_DEVICE void score(const Ctx& ctx, const Args& a, int row, float (&scores)[per_lane],
                                uint32 (&keys)[per_lane]) {
    const T* const logits = a.logits + row * a.row;
    uint32 largest = 0;
    WICK_UNROLL
    for (int i = 0; i < per_lane; i++) {
      const int expert = i * Ctx::kWave + ctx.lane();
      const bool is_expert = expert < a.experts;
      scores[i] = is_expert ? widen<float>(logits[expert]) : 0;
      keys[i] = is_expert ? Keys::of(scores[i]) : 0;
      largest = keys[i] > largest ? keys[i] : largest;
    }
    if (a.scores == ExpertScores::kSoftmax) {
      masks_down<Ctx::kWave / 2, 1>([&]<int mask>() {
        const uint32 other = ctx.template shuffle_xor<mask>(largest);
        largest = other > largest ? other : largest;
      });
      const float most = Keys::value(largest);
      float sum = 0;
      WICK_UNROLL
      for (int i = 0; i < per_lane; i++) {
        scores[i] = keys[i] != 0 ? exp(scores[i] - most) : 0;
        sum += scores[i];
      }
      sum = add_lanes(ctx, sum);
      WICK_UNROLL
      for (int i = 0; i < per_lane; i++) scores[i] /= sum;
    } else {
      WICK_UNROLL
      for (int i = 0; i < per_lane; i++) scores[i] = Sigmoid()(scores[i]);
    }
    if (!a.correction) return;
    WICK_UNROLL
    for (int i = 0; i < per_lane; i++)
      if (keys[i] != 0) keys[i] = Keys::of(scores[i] + a.correction[i * Ctx::kWave + ctx.lane()]);
  }
};

template <class T>
struct SelectExpertsLaunch {
  static constexpr Signature signature{kSelectExperts, kDTypeOf<T>};
  static constexpr int kFewPerLane = 4, kMaxPerLane = 16;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View &logits = call.in[0], &correction = call.in[1];
    const auto& a = attributes_of(call);
    if (logits.rank != 2) return "logits are not a matrix";
    if (logits.shape[0] > kLaunchLimit) return "there are more than 2^30 rows";
    if (logits.shape[1] > kMaxPerLane * wave_of(call.device))
      return "there are more experts than a wave holds";
    if (logits.shape[1] > 1 && logits.strides[1] != 1) return "an inner stride is not 1";
    return call.out[0].contiguous() && call.out[1].contiguous() &&
                   (!a.has_correction || correction.contiguous())
               ? nullptr
               : "the correction or a result is not contiguous";
  }
  static Status run(const Call& call) {
    return call.in[0].shape[1] <= kFewPerLane * wave_of(call.device)
               ? launch_for<kFewPerLane>(call)
               : launch_for<kMaxPerLane>(call);
  }

 private:
  static const SelectExpertsAttributes& attributes_of(const Call& call) {
    return *static_cast<const SelectExpertsAttributes*>(call.attributes);
  }
  template <int per_lane>
  static Status launch_for(const Call& call) {
    const View& logits = call.in[0];
    const auto& a = attributes_of(call);
    return launch<SelectExperts<T, per_lane>>(
        {logits.as<const T>(), logits.shape[0] > 1 ? logits.strides[0] : 0,
         a.has_correction ? call.in[1].as<const float>() : nullptr, call.out[0].as<float>(),
         call.out[1].as<int64>(), int32(logits.shape[0]), int32(logits.shape[1]), a.selected,
         a.scores, a.renormalizes != 0, float(a.least_sum), float(a.scale)},
        call);
  }
};

}  // namespace

template <>
void add_family<"routing">(KernelList& list) {
  add_kernels<SelectExpertsLaunch>(list, "waves", TypeList<bf16, f16, float>{});
}

}  // namespace wick::gpu
