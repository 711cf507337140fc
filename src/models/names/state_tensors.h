// The forms that files have of the tensors of layers that keep a state.
#pragma once
#include <span>
#include <string_view>

#include "models/decoder/family.h"
#include "models/names/tensor_plan.h"

namespace wick {

/// Splits the layers of linear attention whose rows files have by key head, "in_proj_qkvz" and
/// "in_proj_ba", into those that a Decoder has: all queries, all keys, all values; all gates.
/// Errors: kFormat.
void split_groups(TensorPlan& plan, const DecoderConfig& config);
/// The inverse, for the layers that `names` lists.
void join_groups(TensorPlan& plan, const DecoderConfig& config,
                 std::span<const std::string_view> names);
/// GGUF files have -exp(A_log), and convolutions without a dim of 1: from that form, or to it.
void take_states(TensorPlan& plan, bool to_gguf);
/// Orders value heads: those that share a key head are neighbours, or, tiled, as many heads apart
/// as there are key heads (linear_heads_tiled).
void order_value_heads(TensorPlan& plan, const DecoderConfig& config, bool to_tiled);

}  // namespace wick
