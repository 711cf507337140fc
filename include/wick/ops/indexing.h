// Indexing as in NumPy and PyTorch: x[1, 2:, ..., ids].
#pragma once
#include <concepts>
#include <optional>
#include <variant>
#include <vector>

#include "wick/core/var.h"

namespace wick {

/// The elements start, start + step, ... before stop. A negative start or stop counts from the end
/// of the dim; ends beyond the dim are clamped. A negative step goes down, from the last element if
/// start is not given.
struct Slice {
  std::optional<int64_t> start = {};
  std::optional<int64_t> stop = {};
  std::optional<int64_t> step = {};
};
/// An index that stands for all dims the other indices leave, whole.
struct Ellipsis {};
inline constexpr Ellipsis kEllipsis;
/// An index that inserts a new dim of size 1.
struct NewAxis {};
inline constexpr NewAxis kNewAxis;

/// One index of an index expression; most kinds apply to one dim.
class Index {
 public:
  template <std::integral T>
  requires(!std::same_as<T, bool>) Index(T at) : item_(int64_t(at)) {}
  Index(Slice slice) : item_(slice) {}
  Index(Ellipsis all) : item_(all) {}
  Index(NewAxis axis) : item_(axis) {}
  /// ids of any integer dtype and shape, or a bool mask, which covers as many dims of x as it has.
  Index(Tensor ids) : item_(std::move(ids)) {}

  const std::variant<int64_t, Slice, Ellipsis, NewAxis, Tensor>& item() const { return item_; }

 private:
  std::variant<int64_t, Slice, Ellipsis, NewAxis, Tensor> item_;
};

/// The elements selected by one index per dim, starting with the first; dims without an index are
/// whole. An integer removes its dim. ids broadcast together, and their dims replace the first dim
/// with ids, or come first if a kept dim lies between them (PyTorch's rule). Negative integers and
/// ids count from the end. Returns a view if there are neither ids nor negative steps. Errors:
/// kOutOfRange; kShapeMismatch if a mask does not fit or ids do not broadcast; kInvalidArgument for
/// too many indices, a second ellipsis or a step of 0.
WICK_API Tensor index(const Tensor& x, const std::vector<Index>& items);

struct IndexPutOptions {
  bool accumulate = false;  // add instead of write; repeated ids add up
};
/// x with value (broadcast and cast) written where index(x, items) reads. If an id repeats, the
/// last value wins.
WICK_API Tensor index_put(const Tensor& x, const std::vector<Index>& items, const Tensor& value,
                          const IndexPutOptions& options = {});
/// Writes value where index(target, items) reads. Modifies target's memory and is not recorded on
/// the tape.
WICK_API void index_put_(Var& target, const std::vector<Index>& items, const Tensor& value,
                         const IndexPutOptions& options = {});
WICK_API void index_put_(Var& target, const std::vector<Index>& items, Number value);

/// x with src written into a slice of dim; src has the slice's shape. Errors: kShapeMismatch.
WICK_API Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim, const Slice& slice);
/// x with src written into slices of the first dims; src has the slices' shape. Errors:
/// kShapeMismatch.
WICK_API Tensor slice_assign(const Tensor& x, const std::vector<Slice>& slices, const Tensor& src);

}  // namespace wick
