// Linear attention by its maps, each with a row for the state that it returns.
#include "reference/linear_attention.h"

#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/linear_attention.h"
#include "wick/ops/linear_attention.h"

namespace wick::conformance {
namespace {

struct Form {
  const char* op;
  const char* state_op;
  FeatureMap map;
  double roundings;  // of a feature
};
constexpr Form kForms[] = {
    {"linear_attention", "linear_attention_state", FeatureMap::kNone, 0},
    {"linear_attention_elu", "linear_attention_elu_state", FeatureMap::kElu, 3},
    {"linear_attention_taylor", "linear_attention_taylor_state", FeatureMap::kTaylor, 7}};

constexpr double kEps = 0.0625;

/// The i-th option of the case's dims: normalize, has_state, has_lengths, chunk.
int64_t option(const Case& c, std::size_t i) { return c.geometry.dims[i]; }

struct Sizes {
  int64_t b, t, h, g, k, v;
};

Row row_of(const Form& form, bool of_state) {
  Row row;
  row.op = of_state ? form.state_op : form.op;
  row.loop = "linear_attention";
  row.run = [=](std::vector<Tensor> x, const Case& c) {
    const TensorAndState y = linear_attention(x[0], x[1], x[2],
                                              {.map = form.map,
                                               .normalize = option(c, 0) != 0,
                                               .eps = kEps,
                                               .state = option(c, 1) ? x[3] : Tensor(),
                                               .lengths = option(c, 2) ? x[4] : Tensor(),
                                               .chunk = option(c, 3)});
    return of_state ? y.state : y.y;
  };
  row.reference = [=](const std::vector<Array>& x, const Case& c) {
    const reference::ResultAndState y =
        reference::linear_attention(x[0], x[1], x[2],
                                    {.map = int(form.map),
                                     .normalize = option(c, 0) != 0,
                                     .eps = kEps,
                                     .state = option(c, 1) ? &x[3] : nullptr,
                                     .lengths = option(c, 2) ? &x[4] : nullptr});
    return of_state ? y.state : y.y;
  };
  // Normalized sums of kNone must not be near 0: there, and in the state, all is above 0.
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == 4) return random_ids(shape, c.geometry.operands[0][1] + 1, random, c.dtypes[4]);
    if (operand == 2) return random_array(c.dtypes[2], shape, {-4, 4}, random);
    return random_array(c.dtypes[operand], shape,
                        option(c, 0) || operand == 3 ? Domain{0.25, 2} : Domain{-2, 2}, random);
  };
  row.dtypes = {{DType::kF64, DType::kF64, DType::kF64, DType::kF64, DType::kI64}};
  for (const DType d : {DType::kF8E4M3, DType::kF8E5M2, DType::kBf16, DType::kF16, DType::kF32})
    row.dtypes.push_back({d, d, d, DType::kF32, DType::kI64});
  row.dtypes.push_back({DType::kF32, DType::kF32, DType::kF32, DType::kF32, DType::kU8});
  const auto geometry = [&form](Sizes s, std::vector<int64_t> options) {
    const int64_t features = linear_attention_features(int32(form.map), s.k);
    return Geometry{{{s.b, s.t, s.h, s.k},
                     {s.b, s.t, s.g, s.k},
                     {s.b, s.t, s.g, s.v},
                     {s.b, s.g, features, s.v + 1},
                     {s.b}},
                    std::move(options)};
  };
  row.geometries = {
      geometry({1, 1, 1, 1, 1, 1}, {0, 0, 0, 64}),  geometry({1, 1, 2, 2, 3, 5}, {1, 1, 0, 64}),
      geometry({2, 3, 2, 1, 2, 2}, {0, 1, 1, 2}),   geometry({1, 5, 1, 1, 2, 3}, {1, 0, 1, 2}),
      geometry({0, 3, 2, 1, 2, 2}, {0, 1, 1, 64}),  geometry({2, 0, 2, 1, 2, 2}, {1, 1, 0, 64}),
      geometry({1, 20, 4, 2, 5, 7}, {1, 0, 0, 6}),  geometry({2, 9, 3, 3, 7, 66}, {0, 1, 1, 4}),
      geometry({2, 1, 6, 2, 9, 65}, {1, 1, 1, 64}), geometry({3, 4, 2, 1, 4, 0}, {1, 0, 1, 64})};
  row.long_geometries = {geometry({3, 37, 6, 3, 13, 67}, {1, 1, 1, 16})};
  // Those of phi(k), and in y of phi(q) too; then the sums.
  row.tolerance = sums(2 + (of_state ? 1 : 2) * form.roundings, 0.5);
  // A row of equal q or k makes its squares alike, whose roundings add up beyond this bound.
  if (form.map == FeatureMap::kTaylor) row.distinct = {0, 1, 3};
  row.loose = kHoldsInAnyOrder;
  row.special = false;  // infinities cancel as the order of the products has it
  row.fused = true;
  row.differentiable = {0, 1, 2, 3};
  row.grad_domains = {{0.25, 1}};
  row.bench = geometry({4, 1, 16, 16, 16, 64}, {1, 1, 0, 64});
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kLinearAttention, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"linear_attention">() {
  std::vector<Row> rows;
  for (const Form& form : kForms)
    for (const bool of_state : {false, true}) rows.push_back(row_of(form, of_state));
  return rows;
}

}  // namespace wick::conformance
