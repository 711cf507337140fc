// cat: the one function of shapes that copies.
#include "shapes.h"
#include "values.h"
#include "wick/ops/arrange.h"

namespace wick::conformance {
namespace {

Row cat_row() {
  Row row;
  row.op = "cat";
  row.run = [](std::vector<Tensor> x, const Case& c) { return cat(x, c.geometry.dims[0]); };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::cat(x, c.geometry.dims[0]);
  };
  for (const DType dtype : kAll) row.dtypes.push_back({dtype});
  row.geometries = {{{{1}, {2}, {4}}, {0}},
                    {{{3, 2}, {3, 5}, {3, 1}}, {1}},
                    {{{3, 2}, {0, 2}, {5, 2}}, {0}},
                    {{{0, 2}, {0, 2}, {0, 2}}, {-2}},
                    {{{2, 0, 3}, {2, 0, 4}, {2, 0, 1}}, {2}},
                    {{{2, 3, 4}, {2, 1, 4}, {2, 5, 4}}, {-2}},
                    {{{2, 3, 1, 5}, {1, 3, 1, 5}, {4, 3, 1, 5}}, {0}},
                    {{{2, 1, 3, 2, 1, 2, 1, 2, 1, 2},
                      {2, 1, 3, 2, 4, 2, 1, 2, 1, 2},
                      {2, 1, 3, 2, 1, 2, 1, 2, 1, 2}},
                     {4}},
                    {{{33, 70}, {33, 100}, {33, 33}}, {1}}};
  row.signed_zero = true;
  row.differentiable = {0, 1, 2};
  row.bench = Geometry{{{1024, 1024}, {1024, 512}, {1024, 2048}}, {1}};
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"shape">() {
  return {cat_row()};
}

}  // namespace wick::conformance
