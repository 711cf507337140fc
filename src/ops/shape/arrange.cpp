// Rearranging elements: each op records its inverse as the gradient.
#include <algorithm>

#include "base/calling.h"
#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/elementwise/range.h"
#include "ops/shape/gather.h"
#include "ops/shape/view.h"
#include "ops/tape/tape.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

/// Records y = f(x) for a linear f whose gradient is back(gy).
Tensor record_linear(const char* op, const Tensor& x, const Tensor& y,
                     std::function<Tensor(const Tensor&)> back) {
  return record(op, y, {&x}, kKeepNothing,
                [back](const RuleContext& c, std::span<Tensor> g) { g[0] = back(c.gradient); });
}

/// Two different dims of x.
struct Pair {
  Pair(const char* op, int rank, int64_t dim0, int64_t dim1)
      : first(normalize_dim(op, dim0, rank)), second(normalize_dim(op, dim1, rank)) {
    check(first != second, ErrorCode::kInvalidArgument, op, "expected two different dims, got ",
          dim0, " and ", dim1);
  }
  int first, second;
};

/// The diagonal of two dims as the last dim.
Layout diagonal_of(const Layout& x, Pair pair, int64_t offset) {
  const int64_t rows = x.shape[pair.first], columns = x.shape[pair.second];
  Layout y = x;
  for (const int d : {std::max(pair.first, pair.second), std::min(pair.first, pair.second)}) {
    y.shape.erase(d);
    y.strides.erase(d);
  }
  // Beyond -rows or columns the diagonal is empty; clamping keeps the difference from overflowing.
  const int64_t shift = std::clamp(offset, -rows, columns);
  const int64_t length =
      shift < 0 ? std::min(rows + shift, columns) : std::min(rows, columns - shift);
  y.shape.push_back(length);
  // Without elements strides may have any value, and their sum could overflow.
  y.strides.push_back(numel(y.shape) == 0 ? 1 : x.strides[pair.first] + x.strides[pair.second]);
  if (length > 0)
    y.offset += shift < 0 ? -shift * x.strides[pair.first] : shift * x.strides[pair.second];
  return y;
}

/// x with 0 wherever compare(j, i + diagonal) holds, for row i and column j.
Tensor cut_at(const Tensor& x, int64_t diagonal, Tensor (*compare)(const Tensor&, const Tensor&)) {
  const NoGrad off;
  const TensorOptions options{.dtype = DType::kI64, .device = x.device()};
  const Tensor i = unsqueeze(arange(x.size(-2), options), 1), j = arange(x.size(-1), options);
  // All diagonals outside the matrix are alike; clamping keeps sums from overflowing.
  const int64_t shift = std::clamp(diagonal, -x.size(-2) - 1, x.size(-1) + 1);
  return masked_fill(x, compare(j, i + shift), 0);
}

void check_matrix(const char* op, const Tensor& x) {
  check_defined(op, x);
  check(x.rank() >= 2, ErrorCode::kShapeMismatch, op, "expected at least two dims, got shape ",
        x.shape());
}

/// Overlapping windows of a dim, as the last dim.
Layout windows_of(const Layout& x, int dim, int64_t size, int64_t step) {
  Layout y = x;
  y.shape[dim] = (x.shape[dim] - size) / step + 1;
  y.strides[dim] *= step;
  y.shape.push_back(size);
  y.strides.push_back(x.strides[dim]);
  return y;
}

/// For each element, the sum over the windows that contain it.
Tensor sum_of_windows(const Tensor& windows, const Shape& shape, int dim, int64_t size,
                      int64_t step) {
  const Tensor x = zeros(shape, {.dtype = windows.dtype(), .device = windows.device()});
  if (windows.numel() == 0) return x;
  const Tensor seen = x.view(windows_of(x.layout(), dim, size, step));
  const int last = windows.rank() - 1;
  const NoGrad off;
  // Elements first to first + step - 1 of different windows do not overlap, so they are added at
  // once.
  for (int64_t first = 0; first < size; first += step) {
    const int64_t length = std::min(step, size - first);
    const Tensor part = narrow(seen, last, first, length);
    copy_elements(first == 0 ? narrow(windows, last, first, length)
                             : part + narrow(windows, last, first, length),
                  part);
  }
  return x;
}

Tensor fold_windows(const Tensor& windows, const Shape& shape, int dim, int64_t size,
                    int64_t step) {
  return record_linear(
      "unfold", windows, sum_of_windows(windows, shape, dim, size, step),
      [dim, size, step](const Tensor& gradient) { return unfold(gradient, dim, size, step); });
}

/// The source index of each position of a padded dim.
std::vector<int64_t> padded_ids(const Padding& padding, int64_t size, PadMode mode) {
  std::vector<int64_t> ids;
  for (int64_t i = -padding.before; i < size + padding.after; i++) {
    int64_t id = std::clamp<int64_t>(i, 0, size - 1);
    if (mode == PadMode::kReflect && i != id) id = i < 0 ? -i : 2 * (size - 1) - i;
    if (mode == PadMode::kCircular && i != id) id = i < 0 ? i + size : i - size;
    ids.push_back(id);
  }
  return ids;
}

/// Checks that the mode can pad this much, and that no more is cropped than there is.
void check_padding(const Padding& padding, int64_t size, int dim, PadMode mode) {
  const int64_t most = std::max(padding.before, padding.after);
  const int64_t limit = mode == PadMode::kReflect ? size - 1 : size;
  const bool fits = mode == PadMode::kReplicate ? size > 0 : most <= limit;
  check(mode == PadMode::kConstant || most <= 0 || fits, ErrorCode::kInvalidArgument, "pad",
        "cannot pad dim ", dim, " of size ", size, " by ", padding.before, " and ", padding.after,
        " in this mode");
  // Checks each value by itself first, so that their sum cannot overflow.
  const int64_t least = std::min(padding.before, padding.after);
  const bool is_left =
      least >= -size &&
      std::min<int64_t>(padding.before, 0) + std::min<int64_t>(padding.after, 0) >= -size;
  check(is_left, ErrorCode::kInvalidArgument, "pad", "cannot pad dim ", dim, " of size ", size,
        " by ", padding.before, " and ", padding.after, ": that crops more than there is");
}

/// Surrounds x with the number. The gradient is the part where x was.
Tensor pad_with(const Tensor& x, const std::vector<Padding>& padding, Number value) {
  const int lead = x.rank() - int(padding.size());
  Shape shape = x.shape();
  for (int d = lead; d < x.rank(); d++) {
    const Padding& p = padding[size_t(d - lead)];
    check(!__builtin_add_overflow(shape[d], p.before, &shape[d]) &&
              !__builtin_add_overflow(shape[d], p.after, &shape[d]),
          ErrorCode::kInvalidArgument, "pad", "the padded size of dim ", d, " exceeds int64_t");
  }
  const auto inside = [padding, lead](const Layout& whole, const Shape& inner) {
    Layout part = whole;
    part.shape = inner;
    for (int d = lead; d < inner.size(); d++)
      part.offset += padding[size_t(d - lead)].before * whole.strides[d];
    return part;
  };
  check_holds("pad", x.dtype(), value);
  const Tensor y = full(shape, value, {.dtype = x.dtype(), .device = x.device()});
  if (x.numel() > 0) copy_elements(x, y.view(inside(y.layout(), x.shape())));
  return record_linear("pad", x, y, [inside, inner = x.shape()](const Tensor& gradient) {
    return part_of("pad", gradient,
                   [inside, inner](const Layout& whole) { return inside(whole, inner); });
  });
}

}  // namespace

Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  check_matrix("diagonal", x);
  const Pair pair("diagonal", x.rank(), dim1, dim2);
  return part_of("diagonal", x,
                 [pair, offset](const Layout& l) { return diagonal_of(l, pair, offset); });
}

Tensor diag_embed(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  check_defined("diag_embed", x);
  check(x.rank() >= 1, ErrorCode::kShapeMismatch, "diag_embed", "expected at least one dim");
  const Pair pair("diag_embed", x.rank() + 1, dim1, dim2);
  const int64_t limit = int64_t(1) << 31;
  check(-limit <= offset && offset <= limit, ErrorCode::kInvalidArgument, "diag_embed",
        "expected an offset in [-2^31, 2^31], got ", offset);
  const int64_t size = x.size(-1) + std::abs(offset);
  Shape shape;
  for (int d = 0, from = 0; d <= x.rank(); d++)
    shape.push_back(d == pair.first || d == pair.second ? size : x.shape()[from++]);
  const Tensor y = zeros(shape, {.dtype = x.dtype(), .device = x.device()});
  if (x.numel() > 0) copy_elements(x, y.view(diagonal_of(y.layout(), pair, offset)));
  return record_linear("diag_embed", x, y, [pair, offset](const Tensor& gradient) {
    return diagonal(gradient, offset, pair.first, pair.second);
  });
}

Tensor diag(const Tensor& x, int64_t offset) {
  const Calling calling("diag");
  check_defined("diag", x);
  check(x.rank() == 1 || x.rank() == 2, ErrorCode::kShapeMismatch, "diag",
        "expected one dim or two, got shape ", x.shape());
  return x.rank() == 1 ? diag_embed(x, offset) : diagonal(x, offset);
}

Tensor trace(const Tensor& x) {
  check_defined("trace", x);
  check(x.rank() == 2, ErrorCode::kShapeMismatch, "trace", "expected two dims, got shape ",
        x.shape());
  return sum(diagonal(x));
}

Tensor tril(const Tensor& x, int64_t diagonal) {
  check_matrix("tril", x);
  return record_linear("tril", x, cut_at(x, diagonal, gt),
                       [diagonal](const Tensor& gradient) { return tril(gradient, diagonal); });
}

Tensor triu(const Tensor& x, int64_t diagonal) {
  check_matrix("triu", x);
  return record_linear("triu", x, cut_at(x, diagonal, lt),
                       [diagonal](const Tensor& gradient) { return triu(gradient, diagonal); });
}

Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step) {
  check_defined("unfold", x);
  const int d = normalize_dim("unfold", dim, x.rank());
  check(0 <= size && size <= x.shape()[d], ErrorCode::kInvalidArgument, "unfold",
        "expected windows of 0 to ", x.shape()[d], " elements, got ", size);
  check(step > 0, ErrorCode::kInvalidArgument, "unfold", "expected a step above 0, got ", step);
  // A longer step gives the same single window; clamping keeps its stride from overflowing.
  const int64_t apart = std::min(step, x.shape()[d] + 1);
  return record_linear("unfold", x, x.view(windows_of(x.layout(), d, size, apart)),
                       [d, size, apart, shape = x.shape()](const Tensor& gradient) {
                         return fold_windows(gradient, shape, d, size, apart);
                       });
}

Tensor repeat(const Tensor& x, const Dims& times) {
  const Calling calling("repeat");
  check_defined("repeat", x);
  check(times.size() >= x.rank(), ErrorCode::kInvalidArgument, "repeat",
        "expected times for at least ", x.rank(), " dims, got ", times);
  const int lead = times.size() - x.rank();
  Shape apart, spread, shape;  // [1, n], [times, n] and [times n] for each dim
  for (int d = 0; d < times.size(); d++) {
    const int64_t size = d < lead ? 1 : x.shape()[d - lead];
    check(times[d] >= 0, ErrorCode::kInvalidArgument, "repeat",
          "expected times of at least 0, got ", times);
    for (const int64_t s : {int64_t(1), size}) apart.push_back(s);
    for (const int64_t s : {times[d], size}) spread.push_back(s);
    int64_t product = 0;
    check(!__builtin_mul_overflow(times[d], size, &product), ErrorCode::kInvalidArgument, "repeat",
          "shape ", x.shape(), " repeated ", times, " times is too large");
    shape.push_back(product);
  }
  check(checked_numel(spread) >= 0, ErrorCode::kInvalidArgument, "repeat", "shape ", x.shape(),
        " repeated ", times, " times is too large");
  return reshape(broadcast_to(reshape(x, apart), spread), shape).contiguous();
}

Tensor tile(const Tensor& x, const Dims& times) {
  const Calling calling("tile");
  check_defined("tile", x);
  Dims all(std::max(0, x.rank() - times.size()), 1);
  for (const int64_t n : times) all.push_back(n);
  return repeat(x, all);
}

Tensor repeat_interleave(const Tensor& x, int64_t times, int64_t dim) {
  const Calling calling("repeat_interleave");
  check_defined("repeat_interleave", x);
  const int d = normalize_dim("repeat_interleave", dim, x.rank());
  check(times >= 0, ErrorCode::kInvalidArgument, "repeat_interleave",
        "expected times of at least 0, got ", times);
  Shape spread = x.shape(), shape = x.shape();
  spread.insert(d + 1, times);
  check(checked_numel(spread) >= 0, ErrorCode::kInvalidArgument, "repeat_interleave", "shape ",
        x.shape(), " repeated ", times, " times is too large");
  shape[d] = int64_t(uint64_t(shape[d]) * uint64_t(times));  // without elements it may wrap
  return reshape(broadcast_to(unsqueeze(x, d + 1), spread), shape).contiguous();
}

Tensor repeat_interleave(const Tensor& x, const Tensor& counts, int64_t dim) {
  const Calling calling("repeat_interleave");
  check_defined("repeat_interleave", x);
  check_defined("repeat_interleave", counts);
  const int d = normalize_dim("repeat_interleave", dim, x.rank());
  check_integers("repeat_interleave", "counts", counts);
  check(counts.shape() == Shape{x.shape()[d]}, ErrorCode::kShapeMismatch, "repeat_interleave",
        "expected counts of shape [", x.shape()[d], "], got ", counts.shape());
  std::vector<int64_t> ids;
  const std::vector<int64_t> of = cast(counts, DType::kI64).to_vector<int64>();
  for (size_t i = 0; i < of.size(); i++) {
    check(of[i] >= 0, ErrorCode::kInvalidArgument, "repeat_interleave",
          "expected counts of at least 0, got ", of[i], " for element ", i);
    ids.insert(ids.end(), size_t(of[i]), int64_t(i));
  }
  return index_select(x, d, Tensor::from(ids, x.device()));
}

Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims) {
  check_defined("roll", x);
  if (dims.empty() && shifts.size() == 1)
    return reshape(roll(reshape(x, {x.numel()}), shifts, {0}), x.shape());
  check(shifts.size() == dims.size(), ErrorCode::kInvalidArgument, "roll",
        "expected one shift per dim, got shifts ", shifts, " for dims ", dims);
  const Tensor y = off_tape([&] {
    Tensor rolled = x;
    for (int i = 0; i < dims.size(); i++) {
      const int d = normalize_dim("roll", dims[i], x.rank());
      const int64_t size = x.shape()[d];
      if (size == 0) continue;
      const int64_t shift = (shifts[i] % size + size) % size;
      if (shift == 0) continue;
      rolled = cat({narrow(rolled, d, size - shift, shift), narrow(rolled, d, 0, size - shift)}, d);
    }
    return rolled;
  });
  return record_linear("roll", x, y, [shifts, dims, shape = x.shape()](const Tensor& gradient) {
    Dims back = shifts;
    for (int i = 0; i < dims.size(); i++) {
      const int64_t size = shape[normalize_dim("roll", dims[i], shape.size())];
      back[i] = size == 0 ? 0 : -(shifts[i] % size);
    }
    return roll(gradient, back, dims);
  });
}

Tensor flip(const Tensor& x, const Dims& dims) {
  check_defined("flip", x);
  Dims mask(x.rank(), 0);
  for (const int64_t dim : dims) {
    const int d = normalize_dim("flip", dim, x.rank());
    check(mask[d] == 0, ErrorCode::kInvalidArgument, "flip", "dim ", d, " is named twice");
    mask[d] = 1;
  }
  const Tensor y = off_tape([&] {
    Tensor flipped = x;
    for (int d = 0; d < x.rank(); d++) {
      const int64_t size = x.shape()[d];
      if (!mask[d] || size < 2) continue;
      flipped = index_select(flipped, d, arange(size - 1, -1, -1, {DType::kI64, x.device()}));
    }
    return flipped;
  });
  return record_linear("flip", x, y,
                       [dims](const Tensor& gradient) { return flip(gradient, dims); });
}

Tensor rot90(const Tensor& x, int64_t times, int64_t dim0, int64_t dim1) {
  check_matrix("rot90", x);
  const Pair pair("rot90", x.rank(), dim0, dim1);
  switch ((times % 4 + 4) % 4) {
    case 1:
      return transpose(flip(x, {pair.second}), pair.first, pair.second);
    case 2:
      return flip(x, {pair.first, pair.second});
    case 3:
      return flip(transpose(x, pair.first, pair.second), {pair.second});
    default:
      return x;
  }
}

Tensor pad(const Tensor& x, const std::vector<Padding>& padding, const PadOptions& options) {
  const Calling calling("pad");
  check_defined("pad", x);
  check(int64_t(padding.size()) <= x.rank(), ErrorCode::kInvalidArgument, "pad",
        "expected padding for at most ", x.rank(), " dims, got ", padding.size());
  const int lead = x.rank() - int(padding.size());
  Tensor inner = x;
  std::vector<Padding> around = padding;
  for (size_t i = 0; i < padding.size(); i++) {
    const int d = lead + int(i);
    Padding& p = around[i];
    check_padding(p, x.shape()[d], d, options.mode);
    const int64_t start = std::max<int64_t>(0, -p.before), end = std::max<int64_t>(0, -p.after);
    p = {std::max<int64_t>(0, p.before), std::max<int64_t>(0, p.after)};
    if (options.mode == PadMode::kConstant) {
      if (start + end > 0) inner = narrow(inner, d, start, x.shape()[d] - start - end);
      continue;
    }
    if (p.before + p.after > 0)
      inner = index_select(inner, d,
                           Tensor::from(padded_ids(p, x.shape()[d], options.mode), x.device()));
    if (start + end > 0) inner = narrow(inner, d, start, inner.shape()[d] - start - end);
  }
  return options.mode == PadMode::kConstant ? pad_with(inner, around, options.value) : inner;
}

Tensor pixel_shuffle(const Tensor& x, int64_t factor) {
  check_defined("pixel_shuffle", x);
  const int64_t square = factor > 0 && factor < (int64_t(1) << 31) ? factor * factor : 0;
  check(x.rank() >= 3 && square > 0 && x.size(-3) % square == 0, ErrorCode::kShapeMismatch,
        "pixel_shuffle", "expected [..., C r^2, H, W] for r = ", factor, ", got ", x.shape());
  const int lead = x.rank() - 3;
  const int64_t c = x.size(-3) / square, h = x.size(-2), w = x.size(-1);
  Shape cut(std::span<const int64_t>(x.shape().data(), size_t(lead))), shape = cut;
  Dims order(lead, 0);
  for (int d = 0; d < lead; d++) order[d] = d;
  for (const int64_t size : {c, factor, factor, h, w}) cut.push_back(size);
  for (const int d : {0, 3, 1, 4, 2}) order.push_back(lead + d);  // [C, H, r, W, r]
  for (const int64_t size : {c, h * factor, w * factor}) shape.push_back(size);
  return reshape(permute(reshape(x, cut), order), shape);
}

Tensor pixel_unshuffle(const Tensor& x, int64_t factor) {
  check_defined("pixel_unshuffle", x);
  check(x.rank() >= 3 && factor > 0 && factor < (int64_t(1) << 31) && x.size(-2) % factor == 0 &&
            x.size(-1) % factor == 0,
        ErrorCode::kShapeMismatch, "pixel_unshuffle",
        "expected [..., C, H r, W r] for r = ", factor, ", got ", x.shape());
  const int lead = x.rank() - 3;
  const int64_t c = x.size(-3), h = x.size(-2) / factor, w = x.size(-1) / factor;
  Shape cut(std::span<const int64_t>(x.shape().data(), size_t(lead))), shape = cut;
  Dims order(lead, 0);
  for (int d = 0; d < lead; d++) order[d] = d;
  for (const int64_t size : {c, h, factor, w, factor}) cut.push_back(size);
  for (const int d : {0, 2, 4, 1, 3}) order.push_back(lead + d);  // [C, r, r, H, W]
  for (const int64_t size : {c * factor * factor, h, w}) shape.push_back(size);
  return reshape(permute(reshape(x, cut), order), shape);
}

Tensor clone(const Tensor& x) {
  check_defined("clone", x, BlockDTypes::kAccepted);
  return record_linear("clone", x, own_copy(x), [](const Tensor& gy) { return gy; });
}

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  check(!tensors.empty(), ErrorCode::kInvalidArgument, "cat", "expected at least one tensor");
  for (const Tensor& t : tensors) check_defined("cat", t, BlockDTypes::kAccepted);
  const Tensor& first = tensors[0];
  const int d = normalize_dim("cat", dim, first.rank());
  Shape shape = first.shape();
  shape[d] = 0;
  for (const Tensor& t : tensors) {
    check_same_device("cat", first, t);
    check(t.dtype() == first.dtype(), ErrorCode::kDTypeMismatch, "cat", "expected ",
          dtype_name(first.dtype()), ", got ", dtype_name(t.dtype()));
    Shape others = t.shape();
    if (others.size() == shape.size()) others[d] = first.shape()[d];
    check(others == first.shape(), ErrorCode::kShapeMismatch, "cat", "shapes ", first.shape(),
          " and ", t.shape(), " differ outside of dim ", d);
    shape[d] += t.shape()[d];
  }
  const Tensor y = Tensor::empty(shape, {.dtype = first.dtype(), .device = first.device()});
  std::vector<const Tensor*> inputs;
  std::vector<int64_t> lengths;
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    Layout part = y.layout();
    part.shape[d] = t.shape()[d];
    part.offset = at * part.strides[d];
    if (t.numel() > 0) copy_elements(t, y.view(part, "cat"));
    at += t.shape()[d];
    inputs.push_back(&t);
    lengths.push_back(t.shape()[d]);
  }
  return record("cat", y, inputs, kKeepNothing,
                [d, lengths](const RuleContext& c, std::span<Tensor> g) {
                  int64_t from = 0;
                  for (size_t i = 0; i < lengths.size(); from += lengths[i++])
                    if (c.wants(int(i))) g[i] = narrow(c.gradient, d, from, lengths[i]);
                });
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) {
  const Calling calling("stack");
  check(!tensors.empty(), ErrorCode::kInvalidArgument, "stack", "expected at least one tensor");
  std::vector<Tensor> rows;
  for (const Tensor& t : tensors) {
    check_defined("stack", t, BlockDTypes::kAccepted);
    check(t.shape() == tensors[0].shape(), ErrorCode::kShapeMismatch, "stack", "shapes ",
          tensors[0].shape(), " and ", t.shape(), " differ");
    rows.push_back(unsqueeze(t, normalize_dim("stack", dim, t.rank() + 1)));
  }
  return cat(rows, normalize_dim("stack", dim, rows[0].rank()));
}

}  // namespace wick
