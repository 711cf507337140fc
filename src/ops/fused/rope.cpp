#include "wick/ops/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/fused/positions.h"
#include "ops/fused/rope_frequencies.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/rope.h"
#include "wick/ops/arrange.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

Tensor rope_composite(const Tensor& x, const Tensor& cos, const Tensor& sin,
                      const Tensor& positions, RopeAttributes a) {
  const int64_t b = x.size(0), t = x.size(1), h = x.size(2), half = x.size(3) / 2;
  const Tensor ids = reshape(positions, {b * t});
  const Tensor c = reshape(index_select(cos, 0, ids), {b, t, 1, half});
  const Tensor s = reshape(index_select(a.inverse ? -sin : sin, 0, ids), {b, t, 1, half});
  // [..., 2, half] if pairs are half apart, [..., half, 2] if they are adjacent
  const int64_t dim = a.interleaved ? 4 : 3;
  const Tensor pairs = reshape(cast(x, cos.dtype()),
                               a.interleaved ? Shape{b, t, h, half, 2} : Shape{b, t, h, 2, half});
  const Tensor x1 = squeeze(narrow(pairs, dim, 0, 1), dim),
               x2 = squeeze(narrow(pairs, dim, 1, 1), dim);
  const Tensor y = cat({unsqueeze(x1 * c - x2 * s, dim), unsqueeze(x2 * c + x1 * s, dim)}, dim);
  return cast(reshape(y, x.shape()), x.dtype());
}

/// Rotates x [B, T, H, D]. layout: the dims that are contiguous in the result's memory.
Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& positions,
              RopeLayout layout, RopeAttributes attributes) {
  const Tensor y = layout == RopeLayout::kTokensFirst
                       ? Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()})
                       : empty_transposed(x.shape(), x);
  const RopeAttributes back{attributes.interleaved, !attributes.inverse};
  const auto composite = [attributes](const auto& in) {
    return rope_composite(in[0], in[1], in[2], in[3], attributes);
  };
  const unsigned keep_x = recording({&cos, &sin}) ? kKeepInput0 : kKeepNothing;
  return fused({.op = kRope,
                .inputs = {&x, &cos, &sin, &positions},
                .in = {unit_stride(x), contiguous(cos), contiguous(sin), as_is(positions)},
                .out = {as_is(y)},
                .attributes = attributes_of(attributes),
                .composite = composite,
                .keep = keep_x | kKeepInput1 | kKeepInput2 | kKeepInput3,
                .rule = [back, layout, composite](const RuleContext& c, std::span<Tensor> g) {
                  // Tables are rarely learned, so their gradients have no kernel.
                  if (c.wants(1) || c.wants(2)) return differentiate(c, g, composite);
                  g[0] = rotate(c.gradient, c.input(1), c.input(2), c.input(3), layout, back);
                }});
}

/// positions [B, T]; if empty, those of the first T tokens.
Tensor positions_or_first(const Tensor& positions, int64_t batch, int64_t length,
                          const Tensor& cos) {
  if (positions) {
    check_same_device("rope", cos, positions);
    return checked_positions("rope", positions, batch, length);
  }
  check(length <= cos.size(0), ErrorCode::kShapeMismatch, "rope", "expected tables of at least ",
        length, " rows for as many tokens, got ", cos.shape());
  return first_positions(batch, length, cos.device());
}

// ---- frequencies

constexpr double kTurn = 2 * std::numbers::pi;

/// The pair, as a real number, that turns `rotations` times within the trained context.
double pair_of(double rotations, int64_t head_dim, double theta, const RopeScaling& s) {
  const double context = double(s.original_max_position_embeddings);
  return double(head_dim) * std::log(context / (rotations * kTurn)) / (2 * std::log(theta));
}

/// YaRN's share of the unscaled frequency in pair i: 1 up to the pair of beta_fast, 0 from that of
/// beta_slow on.
double unscaled_share(int64_t i, int64_t head_dim, double theta, const RopeScaling& s) {
  double low = pair_of(s.beta_fast, head_dim, theta, s),
         high = pair_of(s.beta_slow, head_dim, theta, s);
  if (s.truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, double(head_dim - 1));
  if (low == high) high += 0.001;
  return 1 - std::clamp((double(i) - low) / (high - low), 0.0, 1.0);
}

/// Llama 3's share of the unscaled frequency: 1 for wavelengths up to context / high_freq_factor, 0
/// from context / low_freq_factor on.
double unscaled_share(double frequency, const RopeScaling& s) {
  const double rotations = double(s.original_max_position_embeddings) * frequency / kTurn;
  if (s.high_freq_factor == s.low_freq_factor) return rotations < s.low_freq_factor ? 0 : 1;
  return std::clamp((rotations - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor), 0.0,
                    1.0);
}

/// theta of a context of `positions`, beyond the trained one. Source: Peng et al. 2023,
/// arXiv:2309.00071, 3.3 ("dynamic NTK").
double stretched_theta(double theta, int64_t positions, int64_t head_dim, const RopeScaling& s) {
  const int64_t trained = s.original_max_position_embeddings;
  if (positions <= trained || head_dim <= 2) return theta;
  const double growth = s.factor * double(positions) / double(trained) - (s.factor - 1);
  return theta * std::pow(growth, double(head_dim) / double(head_dim - 2));
}

/// LongRoPE's factors for tables of so many positions; empty for another type.
std::vector<double> factors_of(int64_t positions, const RopeScaling& s) {
  if (s.type != RopeScalingType::kLongRope) return {};
  return positions > s.original_max_position_embeddings ? s.long_factor : s.short_factor;
}

/// The angle of pair i per position. rounds: to f32 in each step, as other f32 implementations do,
/// so that models agree at large positions. factor: LongRoPE's.
double frequency_of(int64_t i, int64_t head_dim, double theta, bool rounds, const RopeScaling& s,
                    double factor) {
  const double frequency =
      rounds
          ? double(1.0f / (float(factor) * std::pow(float(theta), float(2 * i) / float(head_dim))))
          : std::pow(theta, -2.0 * double(i) / double(head_dim)) / factor;
  const auto mix = [&](double share) {
    return frequency / s.factor * (1 - share) + frequency * share;
  };
  double scaled = frequency;
  switch (s.type) {
    case RopeScalingType::kNone:
    case RopeScalingType::kDynamic:
    case RopeScalingType::kLongRope:
      break;
    case RopeScalingType::kLinear:
      scaled = frequency / s.factor;
      break;
    case RopeScalingType::kYarn:
      scaled = mix(unscaled_share(i, head_dim, theta, s));
      break;
    case RopeScalingType::kLlama3:
      scaled = mix(unscaled_share(frequency, s));
      break;
  }
  if (!s.divisors.empty()) scaled /= s.divisors[size_t(i)];
  return rounds ? double(float(scaled)) : scaled;
}

void check_scaling(int64_t head_dim, double theta, const RopeScaling& s) {
  const auto require = [](bool holds, const char* expected, auto got) {
    check(holds, ErrorCode::kInvalidArgument, "rope_tables", "expected ", expected, ", got ", got);
  };
  const auto require_per_pair = [&](const std::vector<double>& numbers, const char* expected) {
    require(int64_t(numbers.size()) == head_dim / 2, expected, numbers.size());
    for (const double number : numbers) require(number > 0, "numbers above 0", number);
  };
  require(s.factor > 0, "a factor above 0", s.factor);
  if (!s.divisors.empty()) require_per_pair(s.divisors, "one divisor per pair");
  if (s.type == RopeScalingType::kLongRope) {
    require_per_pair(s.short_factor, "one short factor per pair");
    require_per_pair(s.long_factor, "one long factor per pair");
  }
  if (s.type == RopeScalingType::kNone || s.type == RopeScalingType::kLinear) return;
  require(s.original_max_position_embeddings > 0, "original_max_position_embeddings above 0",
          s.original_max_position_embeddings);
  if (s.type == RopeScalingType::kYarn) {
    require(theta > 1, "theta above 1 for YaRN", theta);
    require(s.beta_fast > 0 && s.beta_slow > 0, "beta_fast and beta_slow above 0",
            std::min(s.beta_fast, s.beta_slow));
  }
  if (s.type == RopeScalingType::kLlama3)
    require(s.high_freq_factor >= s.low_freq_factor,
            "a high_freq_factor of at least low_freq_factor", s.high_freq_factor);
}

}  // namespace

Tensor rope(const Tensor& x, const RopeTables& tables, const RopeOptions& options) {
  const Calling calling("rope");
  const Tensor &cos = tables.cos, &sin = tables.sin;
  check_defined("rope", x);
  check_defined("rope", cos);
  check_defined("rope", sin);
  check_same_device("rope", x, cos);
  check_same_device("rope", x, sin);
  const bool tokens_first = options.layout == RopeLayout::kTokensFirst;
  check(x.rank() == 4 && x.size(3) % 2 == 0, ErrorCode::kShapeMismatch, "rope", "expected x ",
        tokens_first ? "[B, T, H, D]" : "[B, H, T, D]", " with D even, got ", x.shape());
  check(is_floating(x.dtype()) && cos.dtype() == accumulator_of(x.dtype()) &&
            sin.dtype() == cos.dtype(),
        ErrorCode::kDTypeMismatch, "rope", "expected tables of ",
        dtype_name(accumulator_of(x.dtype())), " for x of ", dtype_name(x.dtype()), ", got ",
        dtype_name(cos.dtype()));
  check(cos.rank() == 2 && cos.shape() == sin.shape() && cos.size(1) == x.size(3) / 2,
        ErrorCode::kShapeMismatch, "rope", "expected tables [P, ", x.size(3) / 2, "], got ",
        cos.shape(), " and ", sin.shape());
  const Tensor positions =
      positions_or_first(options.positions, x.size(0), x.size(tokens_first ? 1 : 2), cos);
  const RopeAttributes attributes{options.pairs == RopePairs::kAdjacent, false};
  if (tokens_first) return rotate(x, cos, sin, positions, options.layout, attributes);
  return transpose(rotate(transpose(x, 1, 2), cos, sin, positions, options.layout, attributes), 1,
                   2);
}

std::vector<double> rope_frequencies(int64_t positions, int64_t head_dim, double theta, bool rounds,
                                     const RopeScaling& scaling) {
  check_scaling(head_dim, theta, scaling);
  if (scaling.type == RopeScalingType::kDynamic)
    theta = stretched_theta(theta, positions, head_dim, scaling);
  const std::vector<double> factors = factors_of(positions, scaling);
  std::vector<double> frequencies;
  for (int64_t i = 0; i < head_dim / 2; i++)
    frequencies.push_back(frequency_of(i, head_dim, theta, rounds, scaling,
                                       factors.empty() ? 1 : factors[size_t(i)]));
  return frequencies;
}

namespace {

/// frequencies_of(p): of each pair, for position p.
template <class Frequencies>
RopeTables make_tables(int64_t positions, int64_t half, const TensorOptions& options,
                       double attention_factor, const Frequencies& frequencies_of) {
  const Tensor cosines = Tensor::empty({positions, half}, {.dtype = DType::kF64});
  const Tensor sines = empty_like(cosines);
  double *cos = static_cast<double*>(cosines.data()), *sin = static_cast<double*>(sines.data());
  const bool rounds = options.dtype != DType::kF64;
  const bool has_elements = cosines.numel() > 0;  // else a size may be too large to count to
  for (int64_t p = 0; has_elements && p < positions; p++) {
    for (const double frequency : frequencies_of(p)) {
      const double angle = rounds ? double(float(p) * float(frequency)) : double(p) * frequency;
      *cos++ = std::cos(angle) * attention_factor;
      *sin++ = std::sin(angle) * attention_factor;
    }
  }
  return {cast(cosines, options.dtype).to(options.device),
          cast(sines, options.dtype).to(options.device)};
}

}  // namespace

RopeTables rope_tables(int64_t positions, int64_t head_dim, double theta,
                       const TensorOptions& options, const RopeScaling& scaling) {
  const Calling calling("rope_tables");
  check(positions >= 0 && head_dim >= 0 && head_dim % 2 == 0, ErrorCode::kInvalidArgument,
        "rope_tables", "expected an even head_dim and positions of at least 0, got ", head_dim,
        " and ", positions);
  check_scaling(head_dim, theta, scaling);
  std::vector<double> frequencies;
  const auto same = [&](int64_t p) -> const std::vector<double>& {
    if (p == 0)
      frequencies =
          rope_frequencies(positions, head_dim, theta, options.dtype != DType::kF64, scaling);
    return frequencies;
  };
  return make_tables(positions, head_dim / 2, options, scaling.attention_factor, same);
}

RopeTables rope_tables_of_last(int64_t positions, int64_t head_dim, double theta,
                               const TensorOptions& options, const RopeScaling& scaling) {
  return make_tables(positions, head_dim / 2, options, scaling.attention_factor, [&](int64_t p) {
    return rope_frequencies(p + 1, head_dim, theta, options.dtype != DType::kF64, scaling);
  });
}

}  // namespace wick
