// rope, by the order of x's dims and what is a pair.
#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/fused/rope_into.h"
#include "ops/fused/stored_rows.h"
#include "reference/fused.h"
#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/rope.h"
#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/quantize.h"
#include "wick/ops/rope.h"
#include "wick/ops/shape.h"

namespace wick::conformance {
namespace {

struct Form {
  const char* op;
  Tensor (*run)(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& positions);
  reference::Rope reference;
};
const Form kForms[] = {{"rope", rope, {.interleaved = false, .token_dim = 2}},
                       {"rope_i", rope_i, {.interleaved = true, .token_dim = 2}},
                       {"rope_thd", rope_thd, {.interleaved = false, .token_dim = 1}}};

/// cos or sin of the angles of positions [P, D / 2], in the tables' dtype.
Array table(bool is_sin, const Case& c) {
  const HostShape& shape = c.geometry.operands[1];
  const DType dtype = c.dtypes[1];
  return reference::build(dtype, shape, [&](const Index& index) {
    const Real angle = Real(index[0]) * std::pow(Real(10000), -Real(index[1]) / Real(shape[1]));
    return reference::round_to_format(dtype, is_sin ? std::sin(angle) : std::cos(angle));
  });
}

Row row_of(const Form& form) {
  Row row;
  row.op = form.op;
  row.run = [form](std::vector<Tensor> x, const Case&) { return form.run(x[0], x[1], x[2], x[3]); };
  row.reference = [form](const std::vector<Array>& x, const Case&) {
    return reference::rope(x[0], x[1], x[2], x[3], form.reference);
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == 3) return random_ids(shape, c.geometry.operands[1][0], random, c.dtypes[3]);
    if (operand > 0) return table(operand == 2, c);
    return c.values == Values::kSpecial ? special_array(c.dtypes[0], shape, 0, random)
                                        : random_array(c.dtypes[0], shape, {-8, 8}, random);
  };
  // f64 first: mode grad takes its other operands as they are.
  row.dtypes = {{DType::kF64, DType::kF64, DType::kF64, DType::kI64}};
  for (const DType d : {DType::kF8E4M3, DType::kF8E5M2, DType::kBf16, DType::kF16, DType::kF32}) {
    row.dtypes.push_back({d, DType::kF32, DType::kF32, DType::kI64});
  }
  for (const DType ids : kIds) row.dtypes.push_back({DType::kF32, DType::kF32, DType::kF32, ids});
  const bool tokens_first = form.reference.token_dim == 1;
  const auto heads = [tokens_first](int64_t b, int64_t t, int64_t h, int64_t d) {
    return tokens_first ? HostShape{b, t, h, d} : HostShape{b, h, t, d};
  };
  // x, the tables [P, D / 2] and positions [B, T]
  for (const auto& [b, t, h, d, p] : std::vector<std::array<int64_t, 5>>{{1, 1, 1, 2, 1},
                                                                         {1, 3, 2, 4, 2},
                                                                         {2, 1, 3, 8, 40},
                                                                         {2, 7, 1, 6, 9},
                                                                         {0, 3, 2, 4, 5},
                                                                         {1, 33, 4, 32, 64},
                                                                         {2, 5, 3, 80, 100},
                                                                         {3, 17, 4, 64, 20},
                                                                         {1, 9, 2, 128, 16},
                                                                         {2, 70, 4, 64, 300}}) {
    row.geometries.push_back({{heads(b, t, h, d), {p, d / 2}, {p, d / 2}, {b, t}}});
  }
  row.long_geometries = {{{heads(3, 129, 4, 66), {300, 33}, {300, 33}, {3, 129}}}};
  // Two products and their sum, each rounded.
  row.tolerance = sums(1);
  row.fused = true;
  row.differentiable = {0, 1, 2};
  row.bench = Geometry{{heads(4, 512, 16, 64), {2048, 32}, {2048, 32}, {4, 512}}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kRope, d[0]}};
  };
  return row;
}

/// Operands of rope_into.
enum { kQ, kK, kV, kCos, kSin, kPositions, kAt, kNorms };
constexpr Real kEps = 1e-3L;

/// A case's dims: whether pairs are neighbours, whether there are norms, the rows of the caches.
bool is_interleaved(const Case& c) { return c.geometry.dims[0] != 0; }
bool has_norms(const Case& c) { return c.geometry.dims[1] != 0; }
int64_t cache_rows(const Case& c) { return c.geometry.dims[2]; }

/// What the caches of `stored` hold before: a number that they hold exactly.
float before(std::optional<DType> stored) { return stored == DType::kI8 ? 127 / 256.0f : 0.5f; }

/// A cache of one kind, full of what it holds before.
struct CacheRows {
  CacheRows(Shape shape, DType dtype, const Device& device) {
    const StoredRows stored = stored_rows(full(shape, before(dtype), {.device = device}), dtype);
    rows = Var(stored.rows, false);
    if (stored.scales) scales = Var(stored.scales, false);
  }
  Tensor in(DType dtype) const {
    return flatten(scales.defined() ? dequantize_i8(rows, scales, dtype)
                                    : cast(rows.tensor(), dtype));
  }
  Var rows, scales;
};

/// stored: the dtype of the caches; missing: x's.
Tensor added(const std::vector<Tensor>& x, const Case& c, std::optional<DType> stored) {
  const DType dtype = x[kQ].dtype();
  const Shape cache{x[kK].size(0), x[kK].size(2), cache_rows(c), x[kK].size(3)};
  CacheRows keys(cache, stored.value_or(dtype), x[kQ].device()),
      values(cache, stored.value_or(dtype), x[kQ].device());
  RopeIntoOptions options{.pairs = is_interleaved(c) ? RopePairs::kAdjacent : RopePairs::kHalves,
                          .norms = has_norms(c) ? x[kNorms] : Tensor(),
                          .eps = double(kEps)};
  if (stored == DType::kI8)
    options.key_scales = &keys.scales, options.value_scales = &values.scales;
  const Tensor y = rope_into(keys.rows, values.rows, x[kQ], x[kK], x[kV], {x[kCos], x[kSin]},
                             x[kPositions], x[kAt], options);
  return cat({flatten(y), keys.in(dtype), values.in(dtype)}, 0);
}

/// rope after the norm, one after another in one line.
Result turned(const Array& x, int64_t norm, const std::vector<Array>& all, const Case& c) {
  Array normed = x;
  if (has_norms(c)) {
    const std::size_t d = std::size_t(x.shape[3]);
    Array weight = all[kNorms];
    weight.shape = {int64_t(d)};
    weight.values.assign(all[kNorms].values.begin() + norm * int64_t(d),
                         all[kNorms].values.begin() + (norm + 1) * int64_t(d));
    normed.values = reference::rms_norm(x, weight, kEps).array.values;
  }
  return reference::rope(normed, all[kCos], all[kSin], all[kPositions],
                         {.interleaved = is_interleaved(c), .token_dim = 1});
}

/// What a number may be off by in a cache of `stored`, beside the largest magnitude of its group.
Real stored_error(DType stored, Real x, Real largest) {
  const Real relative =
      std::fabs(x) * reference::unit_roundoff(stored == DType::kI8 ? DType::kF16 : stored);
  if (stored == DType::kI8) return largest / 127 / 2 + relative;
  return relative + reference::smallest_subnormal(stored);
}
void add_stored_errors(DType stored, Result& rows, double bound) {
  const std::vector<Real>& x = rows.array.values;
  const Real u = Real(bound) * reference::unit_roundoff(rows.array.dtype);
  for (std::size_t i = 0; i < x.size(); i++) {
    Real largest = 0;
    if (stored == DType::kI8)
      for (std::size_t j = 0; j < 32; j++)
        largest = std::max(largest, std::fabs(x[i / 32 * 32 + j]));
    rows.magnitude[i] += stored_error(stored, x[i], largest) / u;
  }
}

constexpr double kIntoRoundings = 4;  // the norm is rounded to the dtype

/// stored: as of added.
Result expected_of_adding(const std::vector<Array>& x, const Case& c, std::optional<DType> stored) {
  const HostShape& k = x[kK].shape;
  const int64_t b = k[0], t = k[1], g = k[2], d = k[3], s = cache_rows(c);
  Result y = turned(x[kQ], 0, x, c);
  Result keys = turned(x[kK], 1, x, c), values = keys;
  values.array.values = x[kV].values, values.magnitude.assign(x[kV].values.size(), 0);
  for (Result* rows : {&keys, &values}) {
    if (stored) add_stored_errors(*stored, *rows, kIntoRoundings);
    const std::size_t first = y.array.values.size(), size = std::size_t(b * g * s * d);
    y.array.values.resize(first + size, Real(before(stored)));
    y.magnitude.resize(first + size, 0);
    for (int64_t i = 0; i < b * t * g * d; i++) {
      const int64_t in_head = i % d, group = i / d % g, token = i / d / g;  // of all sequences
      const int64_t at = int64_t(x[kAt].values[std::size_t(token)]);
      const std::size_t to =
          first + std::size_t((((token / t * g) + group) * s + at) * d + in_head);
      y.array.values[to] = rows->array.values[std::size_t(i)];
      y.magnitude[to] = rows->magnitude[std::size_t(i)];
    }
  }
  y.array.shape = {int64_t(y.array.values.size())};
  return y;
}

Row into_row() {
  Row row;
  row.op = "rope_into";
  row.run = [](std::vector<Tensor> x, const Case& c) { return added(x, c, {}); };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return expected_of_adding(x, c, {});
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == kPositions)
      return random_ids(shape, c.geometry.operands[kCos][0], random, DType::kI64);
    if (operand == kAt) {  // neighbouring rows, from any on
      const int64_t first = random.below(cache_rows(c));
      return reference::build(DType::kI64, shape, [&](const Index& at) {
        return Real((first + at[0] + at[1]) % cache_rows(c));
      });
    }
    if (operand == kCos || operand == kSin) {
      Case of_table = c;
      of_table.geometry.operands[1] = shape, of_table.dtypes[1] = c.dtypes[kCos];
      return table(operand == kSin, of_table);
    }
    return random_array(c.dtypes[operand], shape, {-4, 4}, random);
  };
  for (const DType d : {DType::kF64, DType::kBf16, DType::kF16, DType::kF32}) {
    const DType of_tables = d == DType::kF64 ? DType::kF64 : DType::kF32;
    row.dtypes.push_back({d, d, d, of_tables, of_tables, DType::kI64, DType::kI64, d});
  }
  for (const auto& [b, t, h, g, d, s] : std::vector<std::array<int64_t, 6>>{{1, 1, 1, 1, 2, 1},
                                                                            {1, 1, 8, 2, 128, 9},
                                                                            {3, 1, 4, 4, 64, 20},
                                                                            {2, 5, 3, 1, 80, 7},
                                                                            {1, 17, 2, 2, 512, 19},
                                                                            {2, 1, 6, 3, 100, 33}})
    for (const int64_t form : {0, 1, 2, 3})
      row.geometries.push_back({{{b, t, h, d},
                                 {b, t, g, d},
                                 {b, t, g, d},
                                 {40, d / 2},
                                 {40, d / 2},
                                 {b, t},
                                 {b, t},
                                 {2, d}},
                                {form & 1, form >> 1, s}});
  row.tolerance = condition(kIntoRoundings);
  row.loose = "the bound is that of a norm before, and of two products and their sum";
  row.special = false;
  row.distinct = {kPositions, kAt};
  row.few_layouts = {kK, kV, kCos, kSin, kPositions, kAt, kNorms};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kRopeInto, d[0]}};
  };
  return row;
}

/// Into caches of `stored`.
Row into_mixed_row(const char* name, DType stored) {
  Row row = into_row();
  row.op = name;
  row.run = [=](std::vector<Tensor> x, const Case& c) { return added(x, c, stored); };
  row.reference = [=](const std::vector<Array>& x, const Case& c) {
    return expected_of_adding(x, c, stored);
  };
  // In f32 and in what is narrower, where the caches are of another dtype.
  std::erase_if(row.dtypes, [=](const std::vector<DType>& d) {
    return d[kQ] == DType::kF64 || d[kQ] == stored;
  });
  // Groups are of 32.
  std::erase_if(row.geometries, [=](const Geometry& geometry) {
    return stored == DType::kI8 && geometry.operands[kQ][3] % 64 != 0;
  });
  row.kernels = [=](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kRopeIntoMixed, d[0], stored}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"rope">() {
  std::vector<Row> rows;
  for (const Form& form : kForms) rows.push_back(row_of(form));
  rows.push_back(into_row());
  rows.push_back(into_mixed_row("rope_into_mixed", DType::kF16));
  rows.push_back(into_mixed_row("rope_into_mixed(f8)", DType::kF8E4M3));
  rows.push_back(into_mixed_row("rope_into_mixed(i8)", DType::kI8));
  return rows;
}

}  // namespace wick::conformance
