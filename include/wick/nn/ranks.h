// The processes that compute one model together, as its layers see them.
#pragma once
#include <cstdint>
#include <vector>

#include "wick/core/tensor.h"

namespace wick {

/// Processes that hold parts of one model's weights: tensor parallelism. Every rank calls the same
/// functions in the same order, from one thread at a time.
/// Errors of all functions: as of the group that implements them, such as kIo for a rank that
/// has died.
/// Source: Shoeybi et al. 2019, arXiv:1909.08053.
class WICK_API Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int count() const = 0;
  /// The sum of the ranks' tensors, which have one shape and dtype. All get the same bits.
  virtual Tensor sum(const Tensor& x) const = 0;
  /// The ranks' tensors of one shape along the last dim, in the order of the ranks.
  virtual Tensor concatenated(const Tensor& x) const = 0;
  /// Rank 0's tensor. On the others x gives shape, dtype and device.
  virtual Tensor of_first(const Tensor& x) const = 0;
  /// Sends numbers, at least one, from rank 0 to all others.
  virtual void send(const std::vector<int64_t>& numbers) const = 0;
  /// The numbers that rank 0 sends.
  virtual std::vector<int64_t> receive() const = 0;
};

}  // namespace wick
