#include "dispatch/sample.h"

#include <cmath>

#include "dispatch/workers.h"
#include "runtime/table.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 8192;  // logits a thread takes at least

/// One row of logits, C: f32 or f64.
template <class C>
class Draw {
 public:
  static int64 bytes(int64 n) { return n * int64(3 * sizeof(C) + sizeof(int64)); }

  Draw(const Sampling& op, const SampleAttributes& attributes, const void* logits, int64 n,
       char* buffer)
      : op_(op), a_(attributes), n_(n) {
    ids_ = reinterpret_cast<int64*>(buffer);
    C* const values = reinterpret_cast<C*>(ids_ + n);
    weights_ = values + n;
    sorted_ = weights_ + n;
    x_ = values;
    if (op.in.direct)
      x_ = static_cast<const C*>(logits);
    else
      op.in.load(logits, 1, n, values);
  }

  int64 run(double uniform) {
    const int64 first = largest();
    if (C(a_.temperature) == C(0) || !std::isfinite(x_[first])) return first;
    op_.weights(x_, double(x_[first]), a_.temperature, weights_, n_);
    if (a_.top_k > 0 && a_.top_k < n_) keep_top_k();
    if (a_.top_p < 1) keep_top_p();
    return pick(uniform);
  }

 private:
  /// The first of the largest; NaN counts as larger than all.
  int64 largest() const {
    int64 best = 0;
    for (int64 i = 0; i < n_; i++) {
      if (x_[i] != x_[i]) return i;
      if (x_[i] > x_[best]) best = i;
    }
    return best;
  }
  void keep_top_k() {
    std::copy(x_, x_ + n_, sorted_);
    std::nth_element(sorted_, sorted_ + (a_.top_k - 1), sorted_ + n_, std::greater<>());
    const C edge = sorted_[a_.top_k - 1];
    for (int64 i = 0; i < n_; i++)
      if (x_[i] < edge) weights_[i] = 0;
  }
  /// Pops ids from a heap, the largest first, until their share reaches top_p, plus any that tie
  /// with the last: usually a few.
  void keep_top_p() {
    int64* end = ids_;
    for (int64 i = 0; i < n_; i++)
      if (weights_[i] > 0) *end++ = i;
    const auto less = [this](int64 a, int64 b) { return x_[a] < x_[b]; };
    std::make_heap(ids_, end, less);
    const double wanted = a_.top_p * total();
    double sum = 0;
    C edge = x_[ids_[0]];
    while (end != ids_ && (sum < wanted || x_[ids_[0]] == edge)) {
      edge = x_[ids_[0]];
      sum += double(weights_[ids_[0]]);
      std::pop_heap(ids_, end--, less);
    }
    for (const int64* id = ids_; id != end; id++) weights_[*id] = 0;
  }
  double total() const {
    double sum = 0;
    for (int64 i = 0; i < n_; i++) sum += double(weights_[i]);
    return sum;
  }
  int64 pick(double uniform) const {
    const double wanted = uniform * total();
    double sum = 0;
    int64 last = 0;
    for (int64 i = 0; i < n_; i++) {
      if (!(weights_[i] > 0)) continue;
      last = i;
      sum += double(weights_[i]);
      if (sum > wanted) break;
    }
    return last;
  }

  const Sampling& op_;
  const SampleAttributes& a_;
  const int64 n_;
  const C* x_;
  C *weights_, *sorted_;
  int64* ids_;
};

Workers workers_of(const Sampling& op, const Call& call) {
  const int64 B = call.in[0].shape[0], V = call.in[0].shape[1];
  const bool wide = op.in.wide_size == sizeof(double);
  return {B, B * V / kGrain, wide ? Draw<double>::bytes(V) : Draw<float>::bytes(V)};
}

}  // namespace

int64 sample_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  return workers_of(*static_cast<const Sampling*>(kernel->data), *call).scratch();
}

Status run_sample(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const Sampling*>(kernel->data);
  const auto& attributes = *static_cast<const SampleAttributes*>(call->attributes);
  const View &logits = call->in[0], &uniform = call->in[1], &ids = call->out[0];
  Workers workers = workers_of(op, *call);
  alignas(Workers::kAlignment) char local[kLocalBytes];
  char* const buffers = workers.scratch() > 0 ? static_cast<char*>(call->scratch) : local;
  if (!workers.fit(call->scratch_bytes))
    return error(StatusCode::kInvalidArgument, "sample: %lld bytes of scratch are too few",
                 (long long)call->scratch_bytes);
  const auto draw = [&]<class C>(int64 b, char* buffer, const C*) {
    const void* x = logits.as<char>() + b * logits.strides[0] * op.in.size;
    ids.as<int64>()[b * ids.strides[0]] =
        Draw<C>(op, attributes, x, logits.shape[1], buffer)
            .run(double(uniform.as<float>()[b * uniform.strides[0]]));
  };
  workers.run(logits.shape[0], buffers, [&](int64 b, char* buffer) {
    if (op.in.wide_size == sizeof(double))
      draw(b, buffer, static_cast<const double*>(nullptr));
    else
      draw(b, buffer, static_cast<const float*>(nullptr));
  });
  return {};
}

}  // namespace wick::cpu
