#include "wick/ops/rope.h"

#include <cmath>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/fused/positions.h"
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

/// The memory layout of x [B, T, H, D]: contiguous (kFirst), or a transposed view of [B, H, T, D]
/// (kSecond).
enum class Tokens { kFirst, kSecond };

/// Rotates x [B, T, H, D]; `tokens` is the memory layout of the result.
Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& positions,
              Tokens tokens, RopeAttributes attributes) {
  const Tensor y = tokens == Tokens::kFirst
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
                .rule = [back, tokens, composite](const RuleContext& c, std::span<Tensor> g) {
                  // Tables are rarely learned, so their gradients have no kernel.
                  if (c.wants(1) || c.wants(2)) return differentiate(c, g, composite);
                  g[0] = rotate(c.gradient, c.input(1), c.input(2), c.input(3), tokens, back);
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

/// Runs rope, rope_i or rope_thd, according to the layout of x and of its pairs.
Tensor rope_of(const char* name, const Tensor& x, const Tensor& cos, const Tensor& sin,
               const Tensor& positions, Tokens tokens, bool interleaved) {
  const Calling calling(name);
  check_defined("rope", x);
  check_defined("rope", cos);
  check_defined("rope", sin);
  check_same_device("rope", x, cos);
  check_same_device("rope", x, sin);
  const bool tokens_first = tokens == Tokens::kFirst;
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
  const Tensor at = positions_or_first(positions, x.size(0), x.size(tokens_first ? 1 : 2), cos);
  const RopeAttributes attributes{interleaved, false};
  if (tokens_first) return rotate(x, cos, sin, at, tokens, attributes);
  return transpose(rotate(transpose(x, 1, 2), cos, sin, at, tokens, attributes), 1, 2);
}

}  // namespace

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& positions) {
  return rope_of("rope", x, cos, sin, positions, Tokens::kSecond, false);
}
Tensor rope_i(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& positions) {
  return rope_of("rope_i", x, cos, sin, positions, Tokens::kSecond, true);
}
Tensor rope_thd(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& positions) {
  return rope_of("rope_thd", x, cos, sin, positions, Tokens::kFirst, false);
}

RopeTables rope_tables(int64_t positions, int64_t head_dim, double theta,
                       const TensorOptions& options) {
  const Calling calling("rope_tables");
  check(positions >= 0 && head_dim >= 0 && head_dim % 2 == 0, ErrorCode::kInvalidArgument,
        "rope_tables", "expected an even head_dim and positions of at least 0, got ", head_dim,
        " and ", positions);
  const int64_t half = head_dim / 2;
  const Tensor cosines = Tensor::empty({positions, half}, {.dtype = DType::kF64});
  const Tensor sines = empty_like(cosines);
  double *cos = static_cast<double*>(cosines.data()), *sin = static_cast<double*>(sines.data());
  for (int64_t p = 0; p < positions && half > 0; p++)
    for (int64_t i = 0; i < half; i++) {
      // The frequency is rounded to f32, as in other f32 implementations, so that models agree at
      // large positions.
      const double frequency =
          options.dtype == DType::kF64
              ? std::pow(theta, -2.0 * double(i) / double(head_dim))
              : double(1.0f / std::pow(float(theta), float(2 * i) / float(head_dim)));
      const double angle = options.dtype == DType::kF64 ? double(p) * frequency
                                                        : double(float(p) * float(frequency));
      cos[p * half + i] = std::cos(angle);
      sin[p * half + i] = std::sin(angle);
    }
  return {cast(cosines, options.dtype).to(options.device),
          cast(sines, options.dtype).to(options.device)};
}

}  // namespace wick
