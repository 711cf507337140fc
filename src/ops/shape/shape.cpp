#include "wick/ops/shape.h"

#include <algorithm>

#include "base/calling.h"
#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/one_dim.h"
#include "ops/shape/view.h"
#include "ops/tape/tape.h"
#include "wick/ops/create.h"

namespace wick {
namespace {

/// The shape with -1 replaced by the inferred size.
Shape complete_shape(const Tensor& x, const Shape& shape) {
  Shape result = shape;
  int hole = -1;
  for (int d = 0; d < shape.size(); d++) {
    check(shape[d] >= -1 && (shape[d] != -1 || hole < 0), ErrorCode::kInvalidArgument, "reshape",
          "expected sizes of at least 0 and one -1 at most, got ", shape);
    if (shape[d] != -1) continue;
    hole = d;
    result[d] = 1;
  }
  const int64_t others = checked_numel(result);
  if (hole >= 0 && others > 0) result[hole] = x.numel() / others;
  check(checked_numel(result) == x.numel() && (hole < 0 || others > 0), ErrorCode::kShapeMismatch,
        "reshape", "shape ", x.shape(), " has ", x.numel(), " elements and does not become ",
        shape);
  return result;
}

}  // namespace

Tensor off_tape(const std::function<Tensor()>& f) {
  const NoGrad off;
  return f();
}

Tensor part_of(const char* op, const Tensor& x, Through through) {
  const Tensor y = x.view(through(x.layout()), op);
  return record(
      op, y, {&x}, kKeepNothing, [op, through](const RuleContext& c, std::span<Tensor> g) {
        // This op is recorded too, so that it can be differentiated again.
        const Tensor whole =
            zeros(c.input_shape(0), {.dtype = c.gradient.dtype(), .device = c.gradient.device()});
        if (c.gradient.numel() > 0) copy_elements(c.gradient, whole.view(through(whole.layout())));
        g[0] = record(op, whole, {&c.gradient}, kKeepNothing,
                      [op, through](const RuleContext& again, std::span<Tensor> gg) {
                        gg[0] = part_of(op, again.gradient, through);
                      });
      });
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  check_defined("reshape", x, BlockDTypes::kAccepted);
  const Shape target = complete_shape(x, shape);
  if (target == x.shape()) return x;
  if (is_block(x.dtype())) check_whole_blocks("reshape", Layout::contiguous(target), x.dtype());
  Dims strides;
  Tensor y;
  if (reshape_strides(x.layout(), target, &strides))
    y = x.view({target, strides, x.layout().offset});
  else
    y = make_contiguous(x).view(Layout::contiguous(target));
  return record("reshape", y, {&x}, kKeepNothing, [](const RuleContext& c, std::span<Tensor> g) {
    g[0] = reshape(c.gradient, c.input_shape(0));
  });
}

Tensor permute(const Tensor& x, const Dims& order) {
  check_defined("permute", x, BlockDTypes::kAccepted);
  bool good = order.size() == x.rank();
  Dims inverse(x.rank(), -1);
  Layout layout = x.layout();
  for (int d = 0; good && d < x.rank(); d++) {
    const int from = normalize_dim("permute", order[d], x.rank());
    good = inverse[from] == -1;
    inverse[from] = d;
    layout.shape[d] = x.shape()[from];
    layout.strides[d] = x.strides()[from];
  }
  check(good, ErrorCode::kInvalidArgument, "permute", "expected each of ", x.rank(),
        " dims once, got ", order);
  return record("permute", x.view(layout, "permute"), {&x}, kKeepNothing,
                [inverse](const RuleContext& c, std::span<Tensor> g) {
                  g[0] = permute(c.gradient, inverse);
                });
}

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  const Calling calling("transpose");
  check_defined("transpose", x, BlockDTypes::kAccepted);
  const int a = normalize_dim("transpose", dim0, x.rank()),
            b = normalize_dim("transpose", dim1, x.rank());
  Dims order(x.rank(), 0);
  for (int d = 0; d < x.rank(); d++) order[d] = d == a ? b : d == b ? a : d;
  return permute(x, order);
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  check_defined("unsqueeze", x, BlockDTypes::kAccepted);
  Shape shape = x.shape();
  shape.insert(normalize_dim("unsqueeze", dim, x.rank() + 1), 1);
  return reshape(x, shape);
}

Tensor squeeze(const Tensor& x, int64_t dim) {
  check_defined("squeeze", x, BlockDTypes::kAccepted);
  if (x.rank() == 0) return squeeze(as_one_dim(x), dim);
  const int d = normalize_dim("squeeze", dim, x.rank());
  if (x.shape()[d] != 1) return x;
  Shape shape = x.shape();
  shape.erase(d);
  return reshape(x, shape);
}

Tensor squeeze(const Tensor& x) {
  check_defined("squeeze", x, BlockDTypes::kAccepted);
  Shape shape;
  for (const int64_t size : x.shape())
    if (size != 1) shape.push_back(size);
  return reshape(x, shape);
}

Tensor flatten(const Tensor& x, int64_t first, int64_t last) {
  check_defined("flatten", x, BlockDTypes::kAccepted);
  if (x.rank() == 0) return reshape(x, {1});
  const int from = normalize_dim("flatten", first, x.rank()),
            to = normalize_dim("flatten", last, x.rank());
  check(from <= to, ErrorCode::kInvalidArgument, "flatten", "dim ", first, " comes after dim ",
        last, " in shape ", x.shape());
  Shape shape;
  for (int d = 0; d < x.rank(); d++) {
    if (d <= from || d > to)
      shape.push_back(x.shape()[d]);
    else
      shape[from] *= x.shape()[d];
  }
  return reshape(x, shape);
}

Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination) {
  const Calling calling("movedim");
  check_defined("movedim", x, BlockDTypes::kAccepted);
  check(source.size() == destination.size(), ErrorCode::kInvalidArgument, "movedim",
        "expected as many destinations as sources, got ", source, " to ", destination);
  const int rank = x.rank();
  Dims order(rank, -1), taken(rank, 0);
  for (int i = 0; i < source.size(); i++) {
    const int from = normalize_dim("movedim", source[i], rank),
              to = normalize_dim("movedim", destination[i], rank);
    check(order[to] < 0 && !taken[from], ErrorCode::kInvalidArgument, "movedim",
          "a dim is repeated in ", source, " to ", destination);
    order[to] = from;
    taken[from] = 1;
  }
  int next = 0;
  for (int d = 0; d < rank; d++) {
    if (order[d] >= 0) continue;
    while (taken[next]) next++;
    order[d] = next++;
  }
  return permute(x, order);
}

Tensor movedim(const Tensor& x, int64_t source, int64_t destination) {
  const Calling calling("movedim");
  return movedim(x, Dims{source}, Dims{destination});
}

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  check_defined("select", x, BlockDTypes::kAccepted);
  const int d = normalize_dim("select", dim, x.rank());
  const int64_t size = x.shape()[d];
  check(-size <= index && index < size, ErrorCode::kOutOfRange, "select", "expected an index in [",
        -size, ", ", size, ") of dim ", d, ", got ", index);
  return squeeze(narrow(x, d, index < 0 ? index + size : index, 1), d);
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  check_defined("narrow", x, BlockDTypes::kAccepted);
  const int d = normalize_dim("narrow", dim, x.rank());
  const int64_t size = x.shape()[d];
  check(0 <= start && 0 <= length && start <= size && length <= size - start,
        ErrorCode::kOutOfRange, "narrow", "elements ", start, " to ", start, " + ", length,
        " of dim ", d, " are out of range for shape ", x.shape());
  return part_of("narrow", x, [d, start, length](Layout layout) {
    layout.shape[d] = length;
    if (length > 0) layout.offset += start * layout.strides[d];
    return layout;
  });
}

Tensor broadcast_to(const Tensor& x, const Shape& target) {
  check_defined("broadcast_to", x, BlockDTypes::kAccepted);
  Shape shape = target;
  const int lead = shape.size() - x.rank();
  for (int d = 0; d < shape.size(); d++) {
    if (shape[d] != -1) continue;
    check(lead <= d, ErrorCode::kShapeMismatch, "broadcast_to", "shape ", x.shape(),
          " has no dim for the -1 in dim ", d, " of ", target);
    shape[d] = x.shape()[d - lead];
  }
  Dims strides;
  check(checked_numel(shape) >= 0 && broadcast_strides(x.layout(), shape, &strides),
        ErrorCode::kShapeMismatch, "broadcast_to", "shape ", x.shape(), " does not broadcast to ",
        target);
  return record("broadcast_to", x.view({shape, strides, x.layout().offset}, "broadcast_to"), {&x},
                kKeepNothing, [](const RuleContext& c, std::span<Tensor> g) {
                  g[0] = sum_to(c.gradient, c.input_shape(0));
                });
}

Tensor broadcast_left(const Tensor& x, const Shape& left) {
  const Calling calling("broadcast_left");
  check_defined("broadcast_left", x, BlockDTypes::kAccepted);
  Shape shape = left;
  for (const int64_t size : x.shape()) shape.push_back(size);
  return broadcast_to(x, shape);
}

namespace {
/// Views use no memory for elements, but each is an object, and a stride or size of 0 would allow
/// any number of them.
void check_parts(const char* op, int64_t count) {
  constexpr int64_t kMax = 1 << 24;
  check(count <= kMax, ErrorCode::kInvalidArgument, op, "expected at most ", kMax, " parts, got ",
        count);
}
}  // namespace

std::vector<Tensor> split(const Tensor& x, const Dims& sizes, int64_t dim) {
  check_defined("split", x, BlockDTypes::kAccepted);
  const int d = normalize_dim("split", dim, x.rank());
  int64_t total = 0;
  for (const int64_t size : sizes) {
    check(size >= 0 && size <= x.shape()[d] - total, ErrorCode::kShapeMismatch, "split", "sizes ",
          sizes, " do not fit dim ", d, " of shape ", x.shape());
    total += size;
  }
  check(total == x.shape()[d], ErrorCode::kShapeMismatch, "split", "sizes ", sizes, " sum to ",
        total, ", dim ", d, " of shape ", x.shape(), " has ", x.shape()[d]);
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    parts.push_back(narrow(x, d, start, size));
    start += size;
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim) {
  check_defined("split", x, BlockDTypes::kAccepted);
  const int64_t whole = x.shape()[normalize_dim("split", dim, x.rank())];
  check(size > 0, ErrorCode::kInvalidArgument, "split", "expected a size above 0, got ", size);
  check_parts("split", whole / size);
  Dims sizes;
  for (int64_t start = 0; start < whole; start += size)
    sizes.push_back(std::min(size, whole - start));
  if (whole == 0) sizes.push_back(0);
  return split(x, sizes, dim);
}

std::vector<Tensor> chunk(const Tensor& x, int64_t count, int64_t dim) {
  const Calling calling("chunk");
  check_defined("chunk", x, BlockDTypes::kAccepted);
  const int64_t whole = x.shape()[normalize_dim("chunk", dim, x.rank())];
  check(count > 0, ErrorCode::kInvalidArgument, "chunk", "expected a count above 0, got ", count);
  const int64_t parts = whole == 0 ? count : std::min(count, whole);
  check_parts("chunk", parts);
  Dims sizes;
  for (int64_t i = 0; i < parts; i++) sizes.push_back(whole / parts + (i < whole % parts ? 1 : 0));
  return split(x, sizes, dim);
}

std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  check_defined("unbind", x, BlockDTypes::kAccepted);
  const int d = normalize_dim("unbind", dim, x.rank());
  check_parts("unbind", x.shape()[d]);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < x.shape()[d]; i++) parts.push_back(select(x, d, i));
  return parts;
}

}  // namespace wick
