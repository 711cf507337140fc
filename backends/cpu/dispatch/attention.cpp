#include "dispatch/attention.h"

#include "dispatch/workers.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 1 << 17;  // multiplications a thread takes at least
constexpr int64 kPieces = 16;  // that there are at least, if the shape allows: threads share them
constexpr int64 kKeyGranule = 64;  // keys are split at multiples of it

/// The i-th of n pieces of falling or rising cost, so ordered that neighbours together cost the
/// same: first, last, second, last but one ...
int64 folded(int64 i, int64 n) { return i % 2 ? n - 1 - i / 2 : i / 2; }

/// Sizes as ops.h names them, and what both directions look up.
struct Dims {
  Dims(const View& q, const View& k, const View& v, const View& positions, const View& first_keys,
       const SdpaAttributes& attributes)
      : B(q.shape[0]),
        H(q.shape[1]),
        T(q.shape[2]),
        D(q.shape[3]),
        Dv(v.shape[3]),
        G(k.shape[1]),
        S(attributes.block > 0 ? first_keys.shape[1] * attributes.block : k.shape[2]),
        block(attributes.block),
        causal(attributes.causal != 0),
        has_first_keys(attributes.has_first_keys != 0),
        has_sinks(attributes.has_sinks != 0),
        window(attributes.window),
        scoring{attributes.scale, attributes.soft_cap},
        positions(positions),
        first_keys(first_keys) {}

  /// Rows of queries that share a key head: row r is head r / T of the group, token r % T.
  int64 rows() const { return H / G * T; }
  int64 head(int64 g, int64 row) const { return g * (H / G) + row / T; }
  int64 token(int64 row) const { return row % T; }
  static int64 at(const View& x, int64 b, int64 t) {
    return x.as<int64>()[b * x.strides[0] + t * x.strides[1]];
  }
  /// A token sees the keys [unseen, seen).
  int64 seen(int64 b, int64 t) const {
    return causal ? std::clamp<int64>(at(positions, b, t), -1, S - 1) + 1 : S;
  }
  int64 unseen(int64 b, int64 t) const {
    int64 first = has_first_keys ? std::max<int64>(0, at(first_keys, b, t)) : 0;
    if (window > 0) {
      const int64 last = std::max<int64>(-1, at(positions, b, t));
      first = std::max(first, last - std::min(window, last + 1) + 1);
    }
    return std::min(first, seen(b, t));
  }

  int64 sizes() const { return B * H * T * S * (D + Dv); }

  int64 B, H, T, D, Dv, G, S;
  int64 block;  // keys of a block of a pool; 0: there is no pool
  bool causal, has_first_keys, has_sinks;
  int64 window;
  Scoring scoring;
  const View &positions, &first_keys;
};

/// Row (b, h, t) of [B, H, T, ...].
char* row_of(const View& x, int64 b, int64 h, int64 t) {
  return x.as<char>() + bytes_of(x.dtype, b * x.strides[0] + h * x.strides[1] + t * x.strides[2]);
}

Status too_little_scratch(const Kernel* kernel, const Call* call) {
  return error(StatusCode::kInvalidArgument, "%s: %lld bytes of scratch are too few", kernel->name,
               (long long)call->scratch_bytes);
}

// ---- forward

/// A call cut in pieces of queries of one key head. Pieces do not depend on the number of threads.
struct Plan {
  Plan(const AttentionParts& kernel, const Dims& d) : few(d.rows() <= kFewQueries) {
    size = std::min(kMaxQueries, std::max<int64>(1, d.rows()));
    while (size > kernel.lanes && d.B * d.G * ceil_div(d.rows(), size) < kPieces) size /= 2;
    per_head = ceil_div(d.rows(), size);
    pieces = d.B * d.G * per_head;
  }
  Workers workers(const AttentionParts& kernel, const Dims& d) const {
    return {pieces, d.sizes() / kGrain,
            few ? kernel.few_bytes(d.D, d.Dv) : kernel.forward_bytes(size, d.D, d.Dv)};
  }
  bool few;
  int64 size, per_head, pieces;  // queries of a piece, pieces of a head and in all
};

void attend(const Plan& plan, const AttentionParts& kernel, const Dims& d, const Call& call,
            int64 piece, char* buffer) {
  const View &q = call.in[0], &k = call.in[1], &v = call.in[2], &y = call.out[0], &l = call.out[1];
  const int64 b = piece / plan.per_head / d.G, g = piece / plan.per_head % d.G;
  const int64 first = folded(piece % plan.per_head, plan.per_head) * plan.size;
  Queries queries;
  queries.count = std::min(plan.size, d.rows() - first);
  const bool has_scales = k.dtype == DType::kI8;
  queries.biased = call.num_in == 7;
  queries.bias_stride = queries.biased ? call.in[6].strides[3] : 0;
  for (int64 i = 0; i < queries.count; i++) {
    const int64 h = d.head(g, first + i), t = d.token(first + i);
    queries.q[i] = row_of(q, b, h, t);
    queries.y[i] = row_of(y, b, h, t);
    queries.l[i] = row_of(l, b, h, t);
    queries.unseen[i] = d.unseen(b, t);
    queries.seen[i] = d.seen(b, t);
    if (queries.biased) queries.bias[i] = row_of(call.in[6], b, h, t);
    const View& sinks = call.in[5];
    queries.sink[i] =
        d.has_sinks ? sinks.as<char>() + bytes_of(sinks.dtype, h * sinks.strides[0]) : nullptr;
  }
  const int64 of = d.block > 0 ? 0 : b;  // all sequences share a pool
  Keys keys = {row_of(k, of, g, 0), row_of(v, of, g, 0), k.strides[2], v.strides[2]};
  if (has_scales) {
    const View &k_scales = call.in[6], &v_scales = call.in[7];
    keys.k_scales = {row_of(k_scales, of, g, 0), k_scales.strides[2]};
    keys.v_scales = {row_of(v_scales, of, g, 0), v_scales.strides[2]};
  }
  if (d.block > 0) {
    const View& table = call.in[4];
    keys.table = table.as<int64>() + b * table.strides[0];
    keys.table_stride = table.strides[1];
    keys.block = d.block;
    keys.pool = k.shape[2] / d.block;
  }
  (plan.few ? kernel.few : kernel.forward)(kernel, queries, keys, d.D, d.Dv, d.scoring, buffer);
}

// ---- gradient

/// A call cut in pieces of keys of one key head. Where there are few heads their keys are split,
/// and the gradient of q is added up from what each piece gives.
struct GradientPlan {
  explicit GradientPlan(const Dims& d) {
    const int64 wished = ceil_div(kPieces, std::max<int64>(1, d.B * d.G));
    const int64 granules = std::max<int64>(1, ceil_div(d.S, kKeyGranule));
    size = ceil_div(granules, std::min(wished, granules)) * kKeyGranule;
    parts = std::max<int64>(1, ceil_div(d.S, size));
    size = std::min(size, d.S);
    pieces = d.B * d.G * parts;
  }
  Workers workers(const AttentionParts& kernel, const Dims& d) const {
    return {pieces, d.sizes() * 5 / 2 / kGrain, kernel.gradient_bytes(size, d.D, d.Dv)};
  }
  /// Bytes of the parts of q's gradient: [parts][B, H, T, D] of the type that is computed in.
  int64 partial_bytes(const AttentionParts& kernel, const Dims& d) const {
    return parts > 1
               ? round_up(parts * d.B * d.H * d.T * d.D * kernel.in.wide_size, Workers::kAlignment)
               : 0;
  }
  int64 size, parts, pieces;  // keys of a piece, pieces of a head and in all
};

class Gradient {
 public:
  Gradient(const GradientPlan& plan, const AttentionParts& kernel, const Dims& d, const Call& call,
           char* partials, const View* bias)
      : plan_(plan), kernel_(kernel), d_(d), call_(call), partials_(partials), bias_(bias) {}

  void run(int64 piece, char* buffer) const {
    const View &k = call_.in[2], &v = call_.in[3], &gk = call_.out[1], &gv = call_.out[2];
    const int64 head = piece / plan_.parts, b = head / d_.G, g = head % d_.G;
    const int64 part = folded(piece % plan_.parts, plan_.parts), first = part * plan_.size;
    const GradientKeys keys = {
        {row_of(k, b, g, first), row_of(v, b, g, first), k.strides[2], v.strides[2]},
        std::min(plan_.size, d_.S - first),
        row_of(gk, b, g, first),
        row_of(gv, b, g, first),
        gk.strides[2],
        gv.strides[2],
        d_.D,
        d_.Dv,
        d_.scoring,
        buffer};
    kernel_.gradient_begin(kernel_, keys);
    for (int64 row = 0; row < d_.rows(); row += kGradientQueries)
      kernel_.gradient_queries(kernel_, keys, queries(b, g, row, part, first));
    kernel_.gradient_end(kernel_, keys);
  }

  /// q's gradient from its parts.
  void add_up() const {
    const int64 rows = d_.B * d_.H * d_.T, bytes = d_.D * kernel_.in.wide_size;
    parallel_for(
        rows, std::max<int64>(1, kGrain / (d_.D * plan_.parts)), [&](int64 begin, int64 end) {
          for (int64 i = begin; i < end; i++)
            kernel_.add_up(kernel_, partials_ + i * bytes, rows * d_.D, plan_.parts, d_.D,
                           row_of(call_.out[0], i / d_.T / d_.H, i / d_.T % d_.H, i % d_.T));
        });
  }

 private:
  GradientQueries queries(int64 b, int64 g, int64 first, int64 part, int64 first_key) const {
    GradientQueries some;
    some.count = std::min(kGradientQueries, d_.rows() - first);
    some.partial = plan_.parts > 1;
    some.biased = bias_ != nullptr;
    some.bias_stride = bias_ ? bias_->strides[3] : 0;
    for (int64 i = 0; i < some.count; i++) {
      const int64 h = d_.head(g, first + i), t = d_.token(first + i);
      some.gy[i] = row_of(call_.in[0], b, h, t);
      some.q[i] = row_of(call_.in[1], b, h, t);
      some.y[i] = row_of(call_.in[5], b, h, t);
      some.l[i] = row_of(call_.in[6], b, h, t);
      some.unseen[i] = std::max<int64>(0, d_.unseen(b, t) - first_key);
      some.seen[i] = std::max<int64>(0, d_.seen(b, t) - first_key);
      if (bias_)
        some.bias[i] =
            row_of(*bias_, b, h, t) + bytes_of(bias_->dtype, first_key * some.bias_stride);
      const int64 row = ((part * d_.B + b) * d_.H + h) * d_.T + t;
      some.gq[i] = some.partial ? partials_ + row * d_.D * kernel_.in.wide_size
                                : row_of(call_.out[0], b, h, t);
    }
    return some;
  }

  const GradientPlan& plan_;
  const AttentionParts& kernel_;
  const Dims& d_;
  const Call& call_;
  char* const partials_;
  const View* const bias_;
};

const AttentionParts& parts_of(const Kernel* kernel) {
  return *static_cast<const AttentionParts*>(kernel->data);
}
const SdpaAttributes& attributes_of(const Call* call) {
  return *static_cast<const SdpaAttributes*>(call->attributes);
}
Dims forward_dims(const Call* call) {
  const View* const in = call->in;
  return {in[0], in[1], in[2], in[3], in[4], attributes_of(call)};
}
Dims gradient_dims(const Call* call) {
  const View* const in = call->in;
  return {in[1], in[2], in[3], in[4], in[7], attributes_of(call)};
}

/// bias: nullptr if there is none.
Status run_gradient(const Kernel* kernel, const Call* call, const View* bias) {
  const AttentionParts& parts = parts_of(kernel);
  const Dims d = gradient_dims(call);
  if (d.B * d.G * (d.D + d.Dv) == 0) return {};
  const GradientPlan plan(d);
  Workers workers = plan.workers(parts, d);
  const int64 partial_bytes = plan.partial_bytes(parts, d);
  char* const partials = static_cast<char*>(call->scratch);
  alignas(Workers::kAlignment) char local[kLocalBytes];
  char* const buffers = workers.scratch() > 0 ? partials + partial_bytes : local;
  if (call->scratch_bytes < partial_bytes || !workers.fit(call->scratch_bytes - partial_bytes))
    return too_little_scratch(kernel, call);
  const Gradient gradient(plan, parts, d, *call, partials, bias);
  workers.run(plan.pieces, buffers,
              [&](int64 piece, char* buffer) { gradient.run(piece, buffer); });
  if (plan.parts > 1) gradient.add_up();
  return {};
}

}  // namespace

int64 sdpa_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  const Dims d = forward_dims(call);
  return Plan(parts_of(kernel), d).workers(parts_of(kernel), d).scratch();
}

const char* accepts_sdpa_masked(const Kernel* kernel, const Call* call, const DeviceInfo* device) {
  Call unmasked = *call;
  unmasked.num_in--;  // the bias may have any strides
  return accepts_unit_strides(kernel, &unmasked, device);
}

const char* accepts_sdpa_mixed(const Kernel* kernel, const Call* call, const DeviceInfo* device) {
  for (int i = 1; i < 3; i++)
    if (call->in[i].shape[3] > 1 && call->in[i].strides[3] != 1) return "an inner stride is not 1";
  return accepts_unit_strides(kernel, call, device);
}

Status run_sdpa(const Kernel* kernel, const Call* call) {
  const AttentionParts& parts = parts_of(kernel);
  const Dims d = forward_dims(call);
  if (d.B * d.H * d.T * d.Dv == 0) return {};
  const Plan plan(parts, d);
  Workers workers = plan.workers(parts, d);
  alignas(Workers::kAlignment) char local[kLocalBytes];
  char* const buffers = workers.scratch() > 0 ? static_cast<char*>(call->scratch) : local;
  if (!workers.fit(call->scratch_bytes)) return too_little_scratch(kernel, call);
  workers.run(plan.pieces, buffers,
              [&](int64 piece, char* buffer) { attend(plan, parts, d, *call, piece, buffer); });
  return {};
}

int64 sdpa_gradient_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  const Dims d = gradient_dims(call);
  const GradientPlan plan(d);
  return plan.partial_bytes(parts_of(kernel), d) + plan.workers(parts_of(kernel), d).scratch();
}

const char* accepts_sdpa_masked_gradient(const Kernel* kernel, const Call* call,
                                         const DeviceInfo* device) {
  if (attributes_of(call).has_first_keys != 0) return "there are a bias and first keys";
  return accepts_sdpa_masked(kernel, call, device);
}

Status run_sdpa_gradient(const Kernel* kernel, const Call* call) {
  return run_gradient(kernel, call, nullptr);
}
Status run_sdpa_masked_gradient(const Kernel* kernel, const Call* call) {
  return run_gradient(kernel, call, &call->in[7]);
}

}  // namespace wick::cpu
