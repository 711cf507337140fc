// Indexing as NumPy and PyTorch write it: x[1, 2:, ..., ids].
#pragma once
#include <concepts>
#include <optional>
#include <variant>
#include <vector>

#include "wick/core/var.h"

namespace wick {

/// Elements start, start + step, ... before stop. Negative ends count from the end of the dim; what
/// is beyond it is cut. A negative step goes down, from the last element if start is not given.
struct Slice {
  std::optional<int64_t> start = {};
  std::optional<int64_t> stop = {};
  std::optional<int64_t> step = {};
};
/// An index that stands for as many whole dims as the other indices leave.
struct Ellipsis {};
inline constexpr Ellipsis kEllipsis;
/// An index that makes a new dim of size 1.
struct NewAxis {};
inline constexpr NewAxis kNewAxis;

/// An index of one dim, or what stands for none or for several.
class Index {
 public:
  template <std::integral T>
  requires(!std::same_as<T, bool>) Index(T at) : item_(int64_t(at)) {}
  Index(Slice slice) : item_(slice) {}
  Index(Ellipsis all) : item_(all) {}
  Index(NewAxis axis) : item_(axis) {}
  /// ids of any integer dtype and shape, or a mask of bool over as many dims as it has.
  Index(Tensor ids) : item_(std::move(ids)) {}

  const std::variant<int64_t, Slice, Ellipsis, NewAxis, Tensor>& item() const { return item_; }

 private:
  std::variant<int64_t, Slice, Ellipsis, NewAxis, Tensor> item_;
};

/// The elements that the indices choose, one index per dim from the first on; dims without one are
/// whole. A number takes its dim away; ids broadcast together, and their dims stand where the first
/// of them stood, or first if a kept dim lies between them (PyTorch's rule). Negative numbers and
/// ids count from the end. A view if there are neither ids nor negative steps. Errors: kOutOfRange,
/// kShapeMismatch of a mask that does not fit or of ids that do not broadcast, kInvalidArgument of
/// too many indices, a second ellipsis, a step of 0.
WICK_API Tensor index(const Tensor& x, const std::vector<Index>& items);

struct IndexPutOptions {
  bool accumulate = false;  // adds, also where an id repeats
};
/// x with value (broadcast, cast) set where index(x, items) reads. Of equal ids the last one's value
/// stays.
WICK_API Tensor index_put(const Tensor& x, const std::vector<Index>& items, const Tensor& value,
                          const IndexPutOptions& options = {});
/// Sets value where index(target, items) reads, in the memory of the target, off the tape.
WICK_API void index_put_(Var& target, const std::vector<Index>& items, const Tensor& value,
                         const IndexPutOptions& options = {});
WICK_API void index_put_(Var& target, const std::vector<Index>& items, Number value);

/// x with src, of the slice's shape, set at a slice of dim. Errors: kShapeMismatch.
WICK_API Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim, const Slice& slice);
/// x with src, of the slices' shape, set at slices of the first dims. Errors: kShapeMismatch.
WICK_API Tensor slice_assign(const Tensor& x, const std::vector<Slice>& slices, const Tensor& src);

}  // namespace wick
