#include "dispatch/sample.h"

#include <cmath>
#include <limits>
#include <span>

#include "dispatch/workers.h"
#include "runtime/table.h"
#include "scalar/philox.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 8192;  // logits a thread takes at least

/// Operands that may be left out.
template <class T>
const T* row_of(const View& x, int64 row) {
  return x.numel() == 0 ? nullptr : x.as<const T>() + row * x.strides[0];
}

/// One row of a call.
struct SampleRow {
  const SampleSettings& settings;
  const SampleState* state;  // nullptr: *uniform is the number
  const float* uniform;
  std::span<const int64> tokens, bias_ids;
  const float* bias;
  const int32* mask;

  SampleRow(const Call& call, int64 row)
      : settings(*reinterpret_cast<const SampleSettings*>(row_of<float>(call.in[1], row))),
        state(reinterpret_cast<const SampleState*>(row_of<int64>(call.in[2], row))),
        uniform(row_of<float>(call.in[3], row)),
        bias(row_of<float>(call.in[6], row)),
        mask(row_of<int32>(call.in[7], row)) {
    const View &all = call.in[4], &biased = call.in[5];
    if (all.numel() > 0 && state != nullptr && settings.penalizes())
      tokens = {row_of<int64>(all, row), size_t(std::clamp<int64>(state->seen, 0, all.shape[1]))};
    if (biased.numel() > 0) bias_ids = {row_of<int64>(biased, row), size_t(biased.shape[1])};
  }
  double number() const {
    if (uniform != nullptr) return double(*uniform);
    return double(philox_uniform(uint64(state->seed), uint64(state->index)));
  }
};

/// Draws for one row of logits, C: f32 or f64.
template <class C>
class Draw {
 public:
  static int64 bytes(int64 n) { return n * int64(3 * sizeof(C) + sizeof(int64)); }

  Draw(const Sampling& op, const SampleRow& row, const void* logits, int64 n, char* buffer)
      : op_(op), row_(row), s_(row.settings), n_(n) {
    ids_ = reinterpret_cast<int64*>(buffer);
    C* const values = reinterpret_cast<C*>(ids_ + n);
    weights_ = values + n;
    sorted_ = weights_ + n;
    x_ = values;
    const bool adjusts = !row.tokens.empty() || !row.bias_ids.empty() || row.mask != nullptr;
    if (op.in.direct && !adjusts)
      x_ = static_cast<const C*>(logits);
    else if (op.in.direct)
      std::copy_n(static_cast<const C*>(logits), n, values);
    else
      op.in.load(logits, 1, n, values);
    largest_ = largest();
    is_usable_ = std::isfinite(x_[largest_]);
    if (!adjusts) return;
    adjust(values);
    largest_ = largest();
  }

  /// The id, or the reason that there is none.
  int64 run_or_mark() {
    if (!is_usable_) return kUnusableLogits;
    return std::isfinite(x_[largest_]) ? run() : kUnusableIds;
  }
  int64 run() {
    const int64 first = largest_;
    const double temperature = double(s_.temperature);
    if (!(temperature > 0) || !std::isfinite(x_[first])) return first;
    op_.weights(x_, double(x_[first]), temperature, weights_, n_);
    if (s_.top_k >= 1 && s_.top_k < float(n_)) keep_top_k(int64(s_.top_k));
    if (s_.top_p < 1) keep_top_p();
    if (s_.min_p > 0) keep_min_p();
    return pick(row_.number());
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
  void adjust(C* x) {
    const auto is_id = [this](int64 id) { return 0 <= id && id < n_; };
    for (size_t i = 0; i < row_.bias_ids.size(); i++)
      if (is_id(row_.bias_ids[i])) x[row_.bias_ids[i]] += C(row_.bias[i]);
    if (!row_.tokens.empty()) {
      auto* const counts = reinterpret_cast<uint32*>(ids_);
      std::fill_n(counts, n_, 0u);
      for (const int64 id : row_.tokens)
        if (is_id(id)) counts[id]++;
      for (int64 i = 0; i < n_; i++)
        if (counts[i] > 0) x[i] = s_.penalized(x[i], counts[i]);
    }
    if (row_.mask == nullptr) return;
    for (int64 i = 0; i < n_; i++)
      if ((uint32(row_.mask[i / 32]) >> (i % 32) & 1) == 0)
        x[i] = -std::numeric_limits<C>::infinity();
  }
  void keep_top_k(int64 k) {
    std::copy(x_, x_ + n_, sorted_);
    std::nth_element(sorted_, sorted_ + (k - 1), sorted_ + n_, std::greater<>());
    const C edge = sorted_[k - 1];
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
    const double wanted = double(s_.top_p) * total();
    double sum = 0;
    C edge = x_[ids_[0]];
    while (end != ids_ && (sum == 0 || sum < wanted || x_[ids_[0]] == edge)) {
      edge = x_[ids_[0]];
      sum += double(weights_[ids_[0]]);
      std::pop_heap(ids_, end--, less);
    }
    for (const int64* id = ids_; id != end; id++) weights_[*id] = 0;
  }
  void keep_min_p() {
    const C least = C(std::min(s_.min_p, 1.0f));  // the largest weight is 1
    for (int64 i = 0; i < n_; i++)
      if (weights_[i] < least) weights_[i] = 0;
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
  const SampleRow& row_;
  const SampleSettings& s_;
  const int64 n_;
  int64 largest_;
  bool is_usable_;  // the logits, as they were given
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
  const View &logits = call->in[0], &ids = call->out[0];
  Workers workers = workers_of(op, *call);
  alignas(Workers::kAlignment) char local[kLocalBytes];
  char* const buffers = workers.scratch() > 0 ? static_cast<char*>(call->scratch) : local;
  if (!workers.fit(call->scratch_bytes))
    return error(StatusCode::kInvalidArgument, "sample: %lld bytes of scratch are too few",
                 (long long)call->scratch_bytes);
  const auto draw = [&]<class C>(int64 b, char* buffer, const C*) {
    const SampleRow row(*call, b);
    const void* x = logits.as<char>() + b * logits.strides[0] * op.in.size;
    Draw<C> one(op, row, x, logits.shape[1], buffer);
    ids.as<int64>()[b * ids.strides[0]] = attributes.marks != 0 ? one.run_or_mark() : one.run();
  };
  workers.run(logits.shape[0], buffers, [&](int64 b, char* buffer) {
    if (op.in.wide_size == sizeof(double))
      draw(b, buffer, static_cast<const double*>(nullptr));
    else
      draw(b, buffer, static_cast<const float*>(nullptr));
  });
  return {};
}

Status run_append_tokens(const Kernel*, const Call* call) {
  const View &drawn = call->in[0], &grows = call->in[1], &history = call->out[4];
  const auto column = [&](int out) { return call->out[out].as<int64>(); };
  for (int64 b = 0; b < drawn.numel(); b++) {
    const AppendedToken next(drawn.as<int64>()[b], grows.as<int64>()[b] != 0, column(0)[b],
                             column(2)[b]);
    column(0)[b] = next.token, column(1)[b] = next.marked, column(2)[b] = next.position;
    SampleState& state = call->out[3].as<SampleState>()[b];
    state.index += next.grows, state.seen += next.grows;
    if (0 <= next.position && next.position < history.shape[1])
      history.as<int64>()[b * history.shape[1] + next.position] = next.token;
  }
  return {};
}

}  // namespace wick::cpu
