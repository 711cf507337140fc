// softmax and log_softmax.
#include "wick/abi/ops/softmax.h"
#include "reference/fused.h"
#include "shapes.h"
#include "values.h"
#include "wick/ops/softmax.h"

namespace wick::conformance {
namespace {

const std::vector<Geometry> kGeometries = {
    {{{1}}, {0}},       {{{7}}, {-1}},         {{{3, 11}}, {1}},
    {{{3, 11}}, {0}},   {{{2, 3, 4, 5}}, {1}}, {{{0, 3}}, {1}},
    {{{5, 205}}, {-1}}, {{{2, 1025}}, {-1}},   {{{7, 100, 100}}, {1}}};

Array make(const Case& c, Random& random) {
  const Domain domain{-8, 8};
  if (c.values == Values::kSpecial)
    return sprinkled_array(c.dtypes[0], c.geometry.operands[0], domain, random);
  return random_array(c.dtypes[0], c.geometry.operands[0], domain, random);
}

/// Computed in f32 where the dtype is narrower: the bound counts roundings there, multiplied by
/// what they do to the result.
Row common(const char* op) {
  Row row;
  row.op = op;
  row.make = [](std::size_t, const Case& c, Random& random) { return make(c, random); };
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype});
  row.geometries = kGeometries;
  row.tolerance = sums(4);
  row.differentiable = {0};
  row.long_geometries = {{{{331, 307}}, {1}}, {{{331, 307}}, {0}}};
  row.bench = Geometry{{{1024, 1024}}, {1}};
  return row;
}

Row softmax_row() {
  Row row = common("softmax");
  row.run = [](std::vector<Tensor> x, const Case& c) { return softmax(x[0], c.geometry.dims[0]); };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::softmax(x[0], c.geometry.dims[0]);
  };
  row.fused = true;
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kSoftmax, d[0]}};
  };
  return row;
}

Row log_softmax_row() {
  Row row = common("log_softmax");
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return log_softmax(x[0], c.geometry.dims[0]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::log_softmax(x[0], c.geometry.dims[0]);
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"softmax">() {
  return {and_without_dims(softmax_row()), and_without_dims(log_softmax_row())};
}

}  // namespace wick::conformance
