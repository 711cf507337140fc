// Elements in other places: every element as it was, in every dtype. What a geometry's dims say is
// beside each row.
#include "reference/arrange.h"

#include "shapes.h"
#include "wick/ops/arrange.h"

namespace wick::conformance {
namespace {

using Options = std::vector<int64_t>;

/// An op of one operand, whose options are the geometry's dims.
Row moves(const char* op, std::function<Tensor(const Tensor&, const Options&)> run,
          std::function<Array(const Array&, const Options&)> reference,
          std::vector<Geometry> geometries) {
  Row row;
  row.op = op;
  row.run = [run](std::vector<Tensor> x, const Case& c) { return run(x[0], c.geometry.dims); };
  row.reference = [reference](const std::vector<Array>& x, const Case& c) {
    return Result{reference(x[0], c.geometry.dims), {}, 0};
  };
  for (const DType dtype : kAll) row.dtypes.push_back({dtype});
  row.geometries = std::move(geometries);
  row.signed_zero = true;
  row.differentiable = {0};
  return row;
}

Dims dims(const Options& options) { return Dims(std::span<const int64_t>(options)); }

/// Reads with ids, which are on every device.
Row stack_row() {
  Row row;
  row.op = "stack";
  row.run = [](std::vector<Tensor> x, const Case& c) { return stack(x, c.geometry.dims[0]); };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return Result{reference::stack(x, c.geometry.dims[0]), {}, 0};
  };
  for (const DType dtype : kAll) row.dtypes.push_back({dtype});
  row.geometries = {
      {{{}, {}, {}}, {0}},
      {{{3}, {3}, {3}}, {-1}},
      {{{2, 3}, {2, 3}, {2, 3}}, {1}},
      {{{2, 0}, {2, 0}, {2, 0}}, {0}},
      {{{2, 3, 1, 2, 1, 3, 1, 2, 2}, {2, 3, 1, 2, 1, 3, 1, 2, 2}, {2, 3, 1, 2, 1, 3, 1, 2, 2}},
       {4}}};
  row.signed_zero = true;
  row.differentiable = {0, 1, 2};
  return row;
}

// How often each dim.
const std::vector<Geometry> kRepeats = {
    {{{}}, {}},          {{{}}, {3}},
    {{{3}}, {2}},        {{{2, 3}}, {2, 1, 3}},
    {{{2, 3}}, {0, 2}},  {{{2, 0}}, {2, 3}},
    {{{33, 5}}, {3, 7}}, {{{2, 1, 2, 1, 2, 1, 2, 1, 2}}, {1, 2, 1, 2, 1, 2, 1, 2, 1}}};

// Shift and dim.
const std::vector<Geometry> kRolls = {
    {{{5}}, {2, 0}},       {{{5}}, {-7, -1}},
    {{{3, 4}}, {1, 0}},    {{{3, 4}}, {4, 1}},
    {{{3, 0}}, {2, 1}},    {{{2, 3, 4}}, {-2, 1}},
    {{{33, 31}}, {40, 0}}, {{{2, 2, 2, 2, 3, 2, 2, 2, 2}}, {1, 4}}};

// Offset and two dims.
const std::vector<Geometry> kDiagonals = {
    {{{3, 3}}, {0, 0, 1}}, {{{3, 5}}, {1, 0, 1}},      {{{3, 5}}, {-2, 0, 1}},
    {{{3, 5}}, {7, 0, 1}}, {{{2, 3, 4}}, {1, -1, -2}}, {{{2, 3, 4}}, {0, 2, 0}},
    {{{0, 3}}, {0, 0, 1}}, {{{40, 50}}, {-3, 0, 1}},   {{{2, 2, 1, 2, 2, 3, 2, 2, 2}}, {-1, 5, 1}}};
const std::vector<Geometry> kEmbedded = {{{{3}}, {0, -2, -1}},   {{{3}}, {2, 0, 1}},
                                         {{{3}}, {-1, 1, 0}},    {{{2, 3}}, {1, 0, -1}},
                                         {{{2, 0}}, {1, 0, 2}},  {{{3, 2, 4}}, {-2, 1, 3}},
                                         {{{20, 12}}, {0, 1, 2}}};

// The diagonal.
const std::vector<Geometry> kTriangles = {{{{3, 3}}, {0}},     {{{3, 5}}, {1}},  {{{5, 3}}, {-2}},
                                          {{{2, 3, 4}}, {9}},  {{{4, 4}}, {-9}}, {{{0, 3}}, {0}},
                                          {{{2, 33, 31}}, {3}}};

// Dim, size and step of windows.
const std::vector<Geometry> kWindows = {
    {{{7}}, {0, 3, 1}},    {{{7}}, {0, 2, 3}},       {{{7}}, {-1, 7, 1}},
    {{{7}}, {0, 0, 2}},    {{{2, 6}}, {1, 4, 2}},    {{{5, 3}}, {0, 3, 2}},
    {{{3, 0}}, {0, 2, 1}}, {{{3, 5, 2}}, {1, 2, 2}}, {{{33, 40}}, {1, 5, 3}}};

std::vector<Row> window_rows() {
  Row row = moves(
      "unfold", [](const Tensor& x, const Options& o) { return unfold(x, o[0], o[1], o[2]); },
      [](const Array& x, const Options& o) { return reference::unfold(x, o[0], o[1], o[2]); },
      kWindows);
  return {row};
}

/// Numbers of dims and pads of the last dim; -1 of 2 dims stands for the edge cut off.
std::vector<Row> pad_rows() {
  const std::vector<Geometry> geometries = {
      {{{5}}, {2, 3}},       {{{5}}, {0, 4}}, {{{2, 3}}, {2, 0}},   {{{4, 0, 3}}, {1, 2}},
      {{{2, 3, 4}}, {3, 3}}, {{{5}}, {0, 0}}, {{{33, 20}}, {19, 7}}};
  using Source = int64_t (*)(int64_t, int64_t);
  const auto row = [&](const char* op, PadMode mode, Source source) {
    return moves(
        op,
        [mode](const Tensor& x, const Options& o) {
          return pad(x, {{o[0], o[1]}}, {.mode = mode, .value = 2});
        },
        [source](const Array& x, const Options& o) {
          const Real value = x.dtype == DType::kBool ? 1 : 2;
          return reference::pad(x, -1, o[0], o[1], value, source);
        },
        geometries);
  };
  return {
      row("pad", PadMode::kConstant, [](int64_t, int64_t) { return int64_t(-1); }),
      row("pad reflect", PadMode::kReflect,
          [](int64_t i, int64_t n) { return i < 0 ? -i : 2 * n - 2 - i; }),
      row("pad replicate", PadMode::kReplicate,
          [](int64_t i, int64_t n) { return i < 0 ? 0 : n - 1; }),
      row("pad circular", PadMode::kCircular, [](int64_t i, int64_t n) { return (i + n) % n; })};
}

Row pad_of_two_dims_row() {
  return moves(
      "pad of two dims",
      [](const Tensor& x, const Options& o) {
        return pad(x, {{o[0], o[1]}, {o[2], o[3]}}, {.mode = PadMode::kReplicate});
      },
      [](const Array& x, const Options& o) {
        const auto edge = [](int64_t i, int64_t n) { return i < 0 ? int64_t(0) : n - 1; };
        return reference::pad(reference::pad(x, -2, o[0], o[1], 0, edge), -1, o[2], o[3], 0, edge);
      },
      {{{{2, 3}}, {1, 2, 0, 3}}, {{{2, 1, 2, 3}}, {0, 1, 2, 0}}});
}

Row pixel_row() {
  Row row = moves(
      "pixel_shuffle", [](const Tensor& x, const Options& o) { return pixel_shuffle(x, o[0]); },
      [](const Array& x, const Options& o) { return reference::pixel_shuffle(x, o[0]); },
      {{{{4, 2, 3}}, {2}}, {{{2, 9, 1, 2}}, {3}}, {{{1, 2, 4, 2, 2}}, {1}}, {{{0, 4, 2, 2}}, {2}}});
  return row;
}

/// There and back is where it was; so the inverse is right where the one is.
Row pixel_back_row() {
  return moves(
      "pixel_unshuffle",
      [](const Tensor& x, const Options& o) {
        return pixel_unshuffle(pixel_shuffle(x, o[0]), o[0]);
      },
      [](const Array& x, const Options&) { return x; },
      {{{{4, 2, 3}}, {2}}, {{{2, 9, 1, 2}}, {3}}, {{{3, 0, 2, 2}}, {2}}});
}

/// sum's dtypes and bound.
Row trace_row() {
  Row row;
  row.op = "trace";
  row.run = [](std::vector<Tensor> x, const Case&) { return trace(x[0]); };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return reference::sum(reference::diagonal(x[0], 0, 0, 1), {});
  };
  for (const DType dtype : kAll) row.dtypes.push_back({dtype});
  row.geometries = {{{{3, 3}}}, {{{3, 5}}}, {{{0, 2}}}, {{{60, 40}}}};
  row.special = false;
  row.tolerance = sums(4);
  row.loose = kHoldsOfItsOp;
  row.differentiable = {0};
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"arrange">() {
  std::vector<Row> rows = {
      stack_row(),
      moves(
          "clone", [](const Tensor& x, const Options&) { return clone(x); },
          [](const Array& x, const Options&) { return x; }, one_operand()),
      moves(
          "repeat", [](const Tensor& x, const Options& o) { return repeat(x, dims(o)); },
          [](const Array& x, const Options& o) { return reference::repeat(x, o); }, kRepeats),
      moves(
          "repeat_interleave",
          [](const Tensor& x, const Options& o) { return repeat_interleave(x, o[0], o[1]); },
          [](const Array& x, const Options& o) {
            const int d = reference::normalize_dim(o[1], x.shape.size());
            return reference::repeat_interleave(
                x, Options(std::size_t(x.shape[std::size_t(d)]), o[0]), d);
          },
          {{{{3}}, {2, 0}},
           {{{2, 3}}, {3, -1}},
           {{{2, 3}}, {0, 0}},
           {{{2, 3, 2}}, {2, 1}},
           {{{20, 30}}, {4, 0}}}),
      moves(
          "roll", [](const Tensor& x, const Options& o) { return roll(x, {o[0]}, {o[1]}); },
          [](const Array& x, const Options& o) { return reference::roll(x, o[0], o[1]); }, kRolls),
      moves(
          "roll of two dims",
          [](const Tensor& x, const Options& o) {
            return roll(x, {o[0], o[1]}, {0, -1});
          },
          [](const Array& x, const Options& o) {
            return reference::roll(reference::roll(x, o[0], 0), o[1], -1);
          },
          {{{{3, 4}}, {1, -2}}, {{{2, 0}}, {1, 1}}, {{{3, 2, 5}}, {0, 12}}}),
      moves(
          "flip", [](const Tensor& x, const Options& o) { return flip(x, dims(o)); },
          [](const Array& x, const Options& o) {
            Array y = x;
            for (const int64_t d : o) y = reference::flip(y, d);
            return y;
          },
          {{{{5}}, {0}},
           {{{3, 4}}, {0, -1}},
           {{{3, 0}}, {1}},
           {{{2, 3, 4}}, {1}},
           {{{}}, {}},
           {{{33, 31}}, {1}}}),
      moves(
          "rot90", [](const Tensor& x, const Options& o) { return rot90(x, o[0], o[1], o[2]); },
          [](const Array& x, const Options& o) {
            // A right angle: the second dim reversed, then the two exchanged.
            Array y = x;
            const std::size_t a = std::size_t(reference::normalize_dim(o[1], x.shape.size())),
                              b = std::size_t(reference::normalize_dim(o[2], x.shape.size()));
            std::vector<int> order(x.shape.size());
            for (std::size_t d = 0; d < order.size(); d++) order[d] = int(d);
            std::swap(order[a], order[b]);
            for (int64_t k = 0; k < ((o[0] % 4) + 4) % 4; k++)
              y = reference::permute(reference::flip(y, int64_t(b)), order);
            return y;
          },
          {{{{2, 3}}, {1, 0, 1}},
           {{{2, 3}}, {2, 0, 1}},
           {{{2, 3}}, {-1, 0, 1}},
           {{{2, 3}}, {8, 0, 1}},
           {{{2, 3, 4}}, {1, 2, 0}},
           {{{2, 0}}, {3, 1, 0}}}),
      moves(
          "diagonal",
          [](const Tensor& x, const Options& o) { return diagonal(x, o[0], o[1], o[2]); },
          [](const Array& x, const Options& o) { return reference::diagonal(x, o[0], o[1], o[2]); },
          kDiagonals),
      moves(
          "diag_embed",
          [](const Tensor& x, const Options& o) { return diag_embed(x, o[0], o[1], o[2]); },
          [](const Array& x, const Options& o) {
            return reference::diag_embed(x, o[0], o[1], o[2]);
          },
          kEmbedded),
      moves(
          "tril", [](const Tensor& x, const Options& o) { return tril(x, o[0]); },
          [](const Array& x, const Options& o) {
            return reference::kept(x, [&](int64_t d) { return d <= o[0]; });
          },
          kTriangles),
      moves(
          "triu", [](const Tensor& x, const Options& o) { return triu(x, o[0]); },
          [](const Array& x, const Options& o) {
            return reference::kept(x, [&](int64_t d) { return d >= o[0]; });
          },
          kTriangles),
      trace_row(),
      pad_of_two_dims_row(),
      pixel_row(),
      pixel_back_row(),
  };
  for (const auto table : {window_rows, pad_rows})
    for (Row& row : table()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace wick::conformance
