// The parts of a block that each of several ranks computes, and the sums of their outputs.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "wick/nn/layers.h"
#include "wick/ops/arrange.h"

namespace wick {

struct Range {
  int64_t begin = 0, count = 0;
};

/// The rank's range of `units` things in a row: ranges differ by one unit at most, and the first
/// ranks have the larger ones. All of them without ranks.
Range range_of(int64_t units, const Ranks* ranks);

/// The heads of attention that a rank computes, all of them without ranks. Each of its key heads
/// serves as many of its query heads. Ranks have key heads of their own if there are enough, else
/// several ranks compute one, for query heads of their own.
struct HeadsPart {
  Range queries, keys;
  bool counts_keys = true;  // the first of the ranks that compute these key heads
};
/// Errors: kInvalidArgument, naming the layer's attention, if a rank would have no heads.
HeadsPart heads_part(const std::string& name, int64_t heads, int64_t key_value_heads,
                     const Ranks* ranks);

/// The part of `size` inner values of an MLP that a rank computes, which begins and ends at whole
/// blocks of the matrix `name` that reads them. Errors: kInvalidArgument if a rank would have no
/// values.
Range inner_part(const Parameters& p, const std::string& name, int64_t size);

/// The range of a dim as a ParameterPart; the whole parameter without ranks.
ParameterPart part_of(int dim, const Range& range, const Ranks* ranks);

/// Adds up the ranks' outputs of a part of a block. Without ranks it changes nothing.
struct RankSum {
  std::shared_ptr<const Ranks> ranks;

  /// x on the rank whose output includes it, else an empty Tensor().
  Tensor once(const Tensor& x) const { return !ranks || ranks->rank() == 0 ? x : Tensor(); }
  Tensor operator()(const Tensor& output) const { return ranks ? ranks->sum(output) : output; }
};

/// The layer from the heads' outputs to hidden states, which adds up the ranks' results. A rank
/// whose columns end inside of a block of the weight takes the whole block, and zeros for the
/// columns beyond.
struct HeadsOutput {
  const Range columns;
  const Linear projection;
  const Padding padding;
  const RankSum sum;

  /// all: the columns that all ranks have; own: this one's. options: without a part.
  HeadsOutput(Parameters& p, const std::string& name, int64_t all, const Range& own,
              int64_t hidden_size, LinearOptions options);
  /// y [..., own columns] -> [..., hidden]; adds the residual of that shape, unless it is empty.
  Tensor operator()(const Tensor& y, const Tensor& residual) const;
};

/// rms_norm over the last dim of x, of which each rank has a part.
struct SplitRmsNorm {
  const std::shared_ptr<const Ranks> ranks;
  const int64_t size;  // of all ranks
  const double eps;
  const bool adds_one;  // multiplies by 1 + weight
  const bool counts;    // false: another rank has the same part of x and counts it
  const Parameter weight;

  SplitRmsNorm(Parameters& p, const std::string& name, int64_t size, const Range& own,
               const NormOptions& options, bool counts);
  Tensor operator()(const Tensor& x) const;
};

}  // namespace wick
