#include "wick/models/causal_model.h"

#include <algorithm>

#include "wick/ops/arrange.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

void require_batch(const CausalModel& model, const TokenBatch& batch) {
  const int64_t sequences = int64_t(batch.offsets.size()) - 1;
  check(sequences > 0 && int64_t(batch.starts.size()) == sequences, ErrorCode::kShapeMismatch,
        "model", "expected offsets [B + 1] and starts [B], got ", batch.offsets.size(), " and ",
        batch.starts.size());
  check(batch.lengths.empty() || int64_t(batch.lengths.size()) == sequences,
        ErrorCode::kShapeMismatch, "model", "expected a length for each of ", sequences,
        " sequences, got ", batch.lengths.size());
  check(batch.offsets[0] == 0, ErrorCode::kInvalidArgument, "model",
        "offsets: expected 0 at first, got ", batch.offsets[0]);
  for (int64_t b = 0; b < sequences; b++)
    check(batch.offsets[size_t(b)] < batch.offsets[size_t(b) + 1], ErrorCode::kInvalidArgument,
          "model", "sequence ", b, " has no tokens");
  const Shape ids = {batch.offsets.back()}, rows = {ids[0], model.facts().hidden_size};
  const auto require = [](const Tensor& x, const Shape& shape, const char* name) {
    check(bool(x) && x.shape() == shape, ErrorCode::kShapeMismatch, "model", name, ": expected ",
          shape, ", got ", x ? to_string(x.shape()) : "nothing");
  };
  if (batch.embeddings)
    require(batch.embeddings, rows, "embeddings");
  else
    require(batch.ids, ids, "ids");
  require(batch.positions, ids, "positions");
  if (batch.visible) require(batch.visible, ids, "visible");
}

/// The tokens [first, first + most) of each sequence, or its last one if it has no more.
struct Part {
  std::vector<int64_t> rows;    // of the batch, [B, T]
  std::vector<int64_t> counts;  // [B]: those that are its own; the others repeat its last one
  int64_t tokens = 0;           // T
};
Part part_of(const TokenBatch& batch, int64_t first, int64_t most) {
  Part part;
  const size_t sequences = batch.starts.size();
  for (size_t b = 0; b < sequences; b++) {
    const int64_t count = batch.offsets[b + 1] - batch.offsets[b];
    part.counts.push_back(std::clamp<int64_t>(count - first, 0, most));
    part.tokens = std::max(part.tokens, part.counts.back());
  }
  for (size_t b = 0; b < sequences; b++)
    for (int64_t t = first; t < first + part.tokens; t++)
      part.rows.push_back(std::min(batch.offsets[b] + t, batch.offsets[b + 1] - 1));
  return part;
}

}  // namespace

Tensor CausalModel::hidden(const TokenBatch& batch, ModelCache* cache,
                           std::vector<Tensor>* all) const {
  require_batch(*this, batch);
  const int64_t sequences = int64_t(batch.starts.size());
  check(facts().is_causal || !cache, ErrorCode::kUnsupported, "model",
        "a model that is not causal gives embeddings, and continues no text");
  check(!cache || cache->sequences() == sequences, ErrorCode::kShapeMismatch, "model", "expected ",
        cache ? cache->sequences() : 0, " sequences, as the cache has, got ", sequences);
  int64_t longest = 0;
  bool is_even = true;
  for (int64_t b = 0; b < sequences; b++) {
    const int64_t count = batch.offsets[size_t(b) + 1] - batch.offsets[size_t(b)];
    is_even = is_even && (b == 0 || count == longest);
    longest = std::max(longest, count);
    check(cache || batch.starts[size_t(b)] == 0, ErrorCode::kInvalidArgument, "model", "sequence ",
          b, ": expected position 0 without a cache, got ", batch.starts[size_t(b)]);
  }
  const int64_t chunk = cache ? std::min(cache->chunk(), longest) : longest;
  const Device device = options().device;
  std::vector<Tensor> results;                                // [B, T, hidden] of each part
  std::vector<std::vector<Tensor>> inner;                     // all of each part
  std::vector<int64_t> places(size_t(batch.offsets.back()));  // of each token in the results' rows
  int64_t rows_before = 0;
  for (int64_t first = 0; first < longest; first += chunk) {
    const Part part = part_of(batch, first, chunk);
    const Shape shape = {sequences, part.tokens};
    const bool is_whole = is_even && chunk == longest;
    const Tensor index = is_whole ? Tensor() : Tensor::from(part.rows, device);
    const auto grid_of = [&](const Tensor& x, const Shape& to) {
      if (!x) return Tensor();
      return reshape(is_whole ? x : index_select(x, 0, index), to);
    };
    TokenGrid grid{
        .ids = batch.embeddings ? Tensor() : grid_of(batch.ids, shape),
        .embeddings = grid_of(batch.embeddings, {sequences, part.tokens, facts().hidden_size}),
        .positions = grid_of(batch.positions, shape),
        .visible = grid_of(batch.visible, shape),
        .lengths = batch.lengths};
    if (!grid.visible) grid.visible = grid.positions;
    std::vector<int64_t> starts, ends;
    for (int64_t b = 0; b < sequences; b++) {
      const int64_t start = batch.starts[size_t(b)], count = part.counts[size_t(b)],
                    whole = batch.offsets[size_t(b) + 1] - batch.offsets[size_t(b)];
      starts.push_back(start + std::min(first, whole - 1));
      ends.push_back(start + std::min(first + part.tokens, whole));
      for (int64_t t = 0; t < count; t++)
        places[size_t(batch.offsets[size_t(b)] + first + t)] = rows_before + b * part.tokens + t;
      if (batch.lengths.empty()) grid.lengths.push_back(start + whole);
    }
    if (cache) cache->prepare(starts, ends);
    std::vector<Tensor> layers;
    results.push_back(hidden_of(grid, cache, all ? &layers : nullptr));
    if (all) inner.push_back(std::move(layers));
    rows_before += sequences * part.tokens;
  }
  const bool is_one = results.size() == 1 && is_even;
  const Tensor index = is_one ? Tensor() : Tensor::from(places, device);
  const auto joined = [&](std::vector<Tensor> parts) {
    for (Tensor& x : parts) x = reshape(x, {x.size(0) * x.size(1), x.size(2)});
    const Tensor rows = parts.size() == 1 ? parts[0] : cat(parts, 0);
    return is_one ? rows : index_select(rows, 0, index);
  };
  if (all) {
    all->clear();
    for (size_t layer = 0; layer < inner[0].size(); layer++) {
      std::vector<Tensor> parts;
      for (const std::vector<Tensor>& part : inner) parts.push_back(part[layer]);
      all->push_back(joined(std::move(parts)));
    }
  }
  return joined(std::move(results));
}

Tensor CausalModel::hidden(const Tensor& ids, const Tensor& positions, ModelCache* cache,
                           const std::vector<int64_t>& lengths) const {
  check(bool(ids) && ids.rank() == 2 && bool(positions) && positions.shape() == ids.shape(),
        ErrorCode::kShapeMismatch, "model", "expected ids and positions [B, T], got ",
        ids ? to_string(ids.shape()) : "nothing", " and ",
        positions ? to_string(positions.shape()) : "nothing");
  check(facts().is_causal || !cache, ErrorCode::kUnsupported, "model",
        "a model that is not causal gives embeddings, and continues no text");
  check(lengths.empty() || int64_t(lengths.size()) == ids.size(0), ErrorCode::kShapeMismatch,
        "model", "expected a length for each of ", ids.size(0), " rows, got ", lengths.size());
  TokenGrid grid{.ids = ids,
                 .embeddings = {},
                 .positions = positions,
                 .visible = positions,
                 .lengths = lengths};
  if (lengths.empty() && !cache) grid.lengths.assign(size_t(ids.size(0)), ids.size(1));
  return hidden_of(grid, cache, nullptr);
}

Tensor positions_from_0(int64_t batch, int64_t length, const Device& device) {
  const Tensor one = arange(length, {.dtype = DType::kI64, .device = device});
  return broadcast_to(one, {batch, length}).contiguous();
}

}  // namespace wick
