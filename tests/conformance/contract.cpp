// Products that are made of matmul and mul.
#include "reference/contract.h"

#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/matmul.h"
#include "wick/ops/contract.h"

namespace wick::conformance {
namespace {

Array make_factors(std::size_t operand, const Case& c, Random& random) {
  const DType dtype = c.dtypes[std::min(operand, c.dtypes.size() - 1)];
  const HostShape& shape = c.geometry.operands[operand];
  if (!is_floating(dtype)) return random_array(dtype, shape, {-100, 100}, random);
  return random_array(dtype, shape, {-1, 1}, random);
}

/// A row of products whose bound is of intermediate results in the dtype itself, which composites
/// round to.
Row products(const char* op, std::size_t operands) {
  Row row;
  row.op = op;
  row.make = make_factors;
  for (const DType dtype : kNumeric) row.dtypes.push_back({dtype});
  row.special = false;
  row.tolerance = condition(3, 1);
  row.loose = kHoldsOfItsOp;
  row.differentiable = {0, 1};
  if (operands == 3) row.differentiable.push_back(2);
  if (operands == 1) row.differentiable = {0};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kMatmul, d[0]}};
  };
  return row;
}

Row pair(const char* op, Tensor (*run)(const Tensor&, const Tensor&), const char* equation,
         std::vector<Geometry> geometries) {
  Row row = products(op, 2);
  row.run = [run](std::vector<Tensor> x, const Case&) { return run(x[0], x[1]); };
  row.reference = [equation](const std::vector<Array>& x, const Case&) {
    return reference::einsum(equation, x);
  };
  row.geometries = std::move(geometries);
  return row;
}

/// An equation as wick reads it, and as plain letters.
struct Equation {
  const char* text;
  const char* plain;
  std::vector<HostShape> operands;
};

const std::vector<Equation> kOfOne = {
    {"ij->ji", "ij->ji", {{3, 4}}},
    {"ii->i", "ii->i", {{4, 4}}},
    {"ii", "ii->", {{3, 3}}},
    {" b i j -> i ", "bij->i", {{2, 3, 4}}},
    {"...ij->...ji", "abij->abji", {{2, 3, 4, 2}}},
    {"ba", "ba->ab", {{2, 3}}},
    {"iji->j", "iji->j", {{3, 2, 3}}},
    {"i...", "iab->abi", {{3, 2, 2}}},
    {"...->...", "ab->ab", {{2, 3}}},
    {"...i->i", "abi->i", {{2, 3, 2}}},
    {"->", "->", {{}}},
    {"iijj->ij", "iijj->ij", {{2, 2, 3, 3}}},
    {"ij->", "ij->", {{0, 3}}},
};
const std::vector<Equation> kOfTwo = {
    {"ij,jk->ik", "ij,jk->ik", {{3, 4}, {4, 5}}},
    {"ij,jk", "ij,jk->ik", {{3, 4}, {4, 5}}},
    {"i,i->", "i,i->", {{7}, {7}}},
    {"i,j->ij", "i,j->ij", {{3}, {4}}},
    {"i,j->ji", "i,j->ji", {{3}, {4}}},
    {"bij,bjk->bik", "bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}},
    {"bij,bjk->kib", "bij,bjk->kib", {{2, 3, 4}, {2, 4, 5}}},
    {"...ij,...jk->...ik", "abij,bjk->abik", {{2, 3, 2, 3}, {3, 3, 2}}},
    {"...ij,...jk", "abij,abjk->abik", {{2, 1, 2, 3}, {1, 3, 3, 2}}},
    {"ijkl,klm->ijm", "ijkl,klm->ijm", {{2, 2, 3, 2}, {3, 2, 3}}},
    {"ij,ij->ij", "ij,ij->ij", {{3, 4}, {3, 4}}},
    {"ij,j->i", "ij,j->i", {{3, 1}, {4}}},  // a size of 1 broadcasts
    {"ij,kl->il", "ij,kl->il", {{2, 3}, {3, 2}}},
    {"ii,ij->j", "ii,ij->j", {{3, 3}, {3, 4}}},
    {"bhqd,bhkd->bhqk", "bhqd,bhkd->bhqk", {{2, 2, 3, 4}, {2, 2, 5, 4}}},
    {"ab,ba->", "ab,ba->", {{3, 0}, {0, 3}}},
    {"Ab,bC", "Ab,bC->AC", {{2, 3}, {3, 2}}},
    {"ij,jk->ik", "ij,jk->ik", {{33, 70}, {70, 21}}},
};
const std::vector<Equation> kOfThree = {
    {"ij,jk,kl->il", "ij,jk,kl->il", {{3, 4}, {4, 2}, {2, 5}}},
    {"i,ij,j->", "i,ij,j->", {{3}, {3, 4}, {4}}},
    {"bi,bj,bk->ijk", "bi,bj,bk->ijk", {{3, 2}, {3, 2}, {3, 2}}},
    {"...i,ij,...j->...", "abi,ij,bj->ab", {{2, 2, 3}, {3, 2}, {2, 2}}},
    {"ij,kj,lj->ikl", "ij,kj,lj->ikl", {{2, 3}, {2, 3}, {3, 3}}},
    {"a,b,c->cab", "a,b,c->cab", {{2}, {3}, {2}}},
};

/// The geometry's dim is the equation's number.
Row einsum_row(const char* op, const std::vector<Equation>& equations) {
  Row row = products(op, equations[0].operands.size());
  for (std::size_t i = 0; i < equations.size(); i++)
    row.geometries.push_back({equations[i].operands, {int64_t(i)}});
  row.run = [&equations](std::vector<Tensor> x, const Case& c) {
    return einsum(equations[std::size_t(c.geometry.dims[0])].text, x);
  };
  row.reference = [&equations](const std::vector<Array>& x, const Case& c) {
    return reference::einsum(equations[std::size_t(c.geometry.dims[0])].plain, x);
  };
  // Each contraction rounds what the next one takes.
  row.tolerance = condition(1 + 2 * double(equations[0].operands.size()), 1);
  row.dtypes.push_back({DType::kBool});
  return row;
}

Row addmm_row(const char* op,
              Tensor (*run)(const Tensor&, const Tensor&, const Tensor&, const AddmmOptions&),
              const char* equation, std::vector<Geometry> geometries) {
  Row row = products(op, 3);
  row.run = [run](std::vector<Tensor> x, const Case&) {
    return run(x[0], x[1], x[2], {.beta = 3, .alpha = 2});
  };
  row.reference = [equation](const std::vector<Array>& x, const Case&) {
    Result result = reference::einsum(equation, {x[1], x[2]});
    const Array added = reference::expand(x[0], result.array.shape);
    for (std::size_t i = 0; i < added.values.size(); i++) {
      Real& value = result.array.values[i];
      value = 2 * value + 3 * added.values[i];
      if (!is_floating(x[0].dtype)) value = reference::wrap(x[0].dtype, Wide(value));
      result.magnitude[i] = 2 * result.magnitude[i] + 3 * std::fabs(added.values[i]);
    }
    result.terms++;
    return result;
  };
  row.geometries = std::move(geometries);
  return row;
}

Row elementwise_products(const char* op, Tensor (*run)(const Tensor&, const Tensor&),
                         Result (*reference)(const Array&, const Array&),
                         std::vector<Geometry> geometries) {
  Row row = products(op, 2);
  row.run = [run](std::vector<Tensor> x, const Case&) { return run(x[0], x[1]); };
  row.reference = [reference](const std::vector<Array>& x, const Case&) {
    return reference(x[0], x[1]);
  };
  row.geometries = std::move(geometries);
  row.tolerance = rounded();
  return row;
}

Row cross_row() {
  Row row = products("cross", 2);
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return cross(x[0], x[1], c.geometry.dims[0]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::cross(x[0], x[1], c.geometry.dims[0]);
  };
  row.dtypes.clear();
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype});
  row.geometries = {{{{3}, {3}}, {0}},
                    {{{4, 3}, {4, 3}}, {-1}},
                    {{{2, 3, 4}, {1, 3, 4}}, {1}},
                    {{{0, 3}, {0, 3}}, {1}}};
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"contract">() {
  return {
      pair("dot", dot, "i,i->", {{{{7}, {7}}}, {{{0}, {0}}}, {{{1025}, {1025}}}}),
      pair("mv", mv, "ij,j->i",
           {{{{3, 4}, {4}}}, {{{0, 4}, {4}}}, {{{3, 0}, {0}}}, {{{70, 33}, {33}}}}),
      pair("bmm", bmm, "bij,bjk->bik", {{{{2, 3, 4}, {2, 4, 2}}}, {{{0, 3, 4}, {0, 4, 2}}}}),
      elementwise_products("outer", outer,
                           [](const Array& a, const Array& b) {
                             Array column = a;
                             column.shape.push_back(1);
                             Array row = b;
                             row.shape.insert(row.shape.begin(), 1);
                             return reference::kron(column, row);
                           },
                           {{{{3}, {4}}}, {{{0}, {4}}}, {{{40}, {30}}}}),
      elementwise_products("kron", kron, reference::kron,
                           {{{{2, 3}, {3, 2}}},
                            {{{3}, {2, 2}}},
                            {{{}, {4}}},
                            {{{2, 2, 2}, {3}}},
                            {{{2, 0}, {3, 2}}}}),
      cross_row(),
      addmm_row("addmm", addmm, "ij,jk->ik",
                {{{{3, 5}, {3, 4}, {4, 5}}}, {{{5}, {3, 4}, {4, 5}}}, {{{3, 1}, {3, 0}, {0, 5}}}}),
      addmm_row("baddbmm", baddbmm, "bij,bjk->bik",
                {{{{2, 3, 2}, {2, 3, 4}, {2, 4, 2}}}, {{{3, 2}, {2, 3, 4}, {2, 4, 2}}}}),
      pair("tensordot", [](const Tensor& a, const Tensor& b) { return tensordot(a, b); },
           "ijk,jkl->il", {{{{2, 3, 2}, {3, 2, 4}}}, {{{3, 0, 2}, {0, 2, 2}}}}),
      pair("tensordot of named dims",
           [](const Tensor& a, const Tensor& b) {
             return tensordot(a, b, {0, -1}, {1, 0});
           },
           "jik,kjl->il", {{{{2, 3, 4}, {4, 2, 3}}}}),
      einsum_row("einsum of one", kOfOne),
      einsum_row("einsum", kOfTwo),
      einsum_row("einsum of three", kOfThree),
  };
}

}  // namespace wick::conformance
