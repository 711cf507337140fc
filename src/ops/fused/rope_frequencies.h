// The frequencies of rope's tables, and tables of texts of several lengths.
#pragma once
#include <cstdint>
#include <vector>

#include "wick/ops/rope.h"

namespace wick {

/// The angle per position of each of the head_dim / 2 pairs, in a text of `positions` positions.
/// rounds: to f32 in each step, as rope_tables does in f32. Errors: kInvalidArgument.
std::vector<double> rope_frequencies(int64_t positions, int64_t head_dim, double theta, bool rounds,
                                     const RopeScaling& scaling);

/// Tables as rope_tables makes them, but that row p is of a text of p + 1 positions: it rotates
/// such a text's last token. Errors: kInvalidArgument.
RopeTables rope_tables_of_last(int64_t positions, int64_t head_dim, double theta,
                               const TensorOptions& options, const RopeScaling& scaling);

}  // namespace wick
