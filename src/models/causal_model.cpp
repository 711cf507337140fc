#include "wick/models/causal_model.h"

#include <algorithm>

#include "wick/core/graph.h"
#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

void require_causal(const CausalModel& model, const ModelCache* cache) {
  check(model.facts().is_causal || !cache, ErrorCode::kUnsupported, "model",
        "a model that is not causal gives embeddings, and continues no text");
}

void require_batch(const CausalModel& model, const TokenBatch& batch, const ModelCache* cache) {
  const int64_t sequences = int64_t(batch.offsets.size()) - 1;
  check(sequences > 0 && int64_t(batch.starts.size()) == sequences, ErrorCode::kShapeMismatch,
        "model", "expected offsets [B + 1] and starts [B], got ", batch.offsets.size(), " and ",
        batch.starts.size());
  check(batch.lengths.empty() || int64_t(batch.lengths.size()) == sequences,
        ErrorCode::kShapeMismatch, "model", "expected a length for each of ", sequences,
        " sequences, got ", batch.lengths.size());
  check(batch.offsets[0] == 0, ErrorCode::kInvalidArgument, "model",
        "offsets: expected 0 at first, got ", batch.offsets[0]);
  for (int64_t b = 0; b < sequences; b++) {
    check(batch.offsets[size_t(b)] < batch.offsets[size_t(b) + 1], ErrorCode::kInvalidArgument,
          "model", "sequence ", b, " has no tokens");
    check(cache || batch.starts[size_t(b)] == 0, ErrorCode::kInvalidArgument, "model", "sequence ",
          b, ": expected position 0 without a cache, got ", batch.starts[size_t(b)]);
  }
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
  if (batch.seen_from) require(batch.seen_from, ids, "seen_from");
  require_causal(model, cache);
  check(!cache || cache->sequences() == sequences, ErrorCode::kShapeMismatch, "model", "expected ",
        cache ? cache->sequences() : 0, " sequences, as the cache has, got ", sequences);
}

int64_t tokens_of(const TokenBatch& batch, size_t sequence) {
  return batch.offsets[sequence + 1] - batch.offsets[sequence];
}

/// The tokens [first, first + most) of each sequence, or its last one if it has no more.
struct Part {
  std::vector<int64_t> rows;          // of the batch, [B, T]
  std::vector<int64_t> own;           // [B]: tokens of its own; the others repeat its last one
  std::vector<int64_t> starts, ends;  // [B]: positions
  std::vector<int64_t> lengths;       // [B]: as TokenGrid has them
  int64_t first, tokens = 0;          // T
};
Part part_of(const TokenBatch& batch, int64_t first, int64_t most) {
  Part part{
      .rows = {}, .own = {}, .starts = {}, .ends = {}, .lengths = batch.lengths, .first = first};
  const size_t sequences = batch.starts.size();
  for (size_t b = 0; b < sequences; b++) {
    part.own.push_back(std::clamp<int64_t>(tokens_of(batch, b) - first, 0, most));
    part.tokens = std::max(part.tokens, part.own.back());
  }
  for (size_t b = 0; b < sequences; b++) {
    const int64_t count = tokens_of(batch, b), start = batch.starts[b];
    for (int64_t t = first; t < first + part.tokens; t++)
      part.rows.push_back(batch.offsets[b] + std::min(t, count - 1));
    part.starts.push_back(start + std::min(first, count - 1));
    part.ends.push_back(start + std::min(first + part.tokens, count));
    if (batch.lengths.empty()) part.lengths.push_back(start + count);
  }
  return part;
}

/// The part's tokens. is_batch: whether these are all of the batch, in its order.
TokenGrid grid_of(const TokenBatch& batch, const Part& part, bool is_batch) {
  const int64_t sequences = int64_t(batch.starts.size());
  const auto grid = [&](const Tensor& x) {  // [N, ...] -> [B, T, ...]
    if (!x) return x;
    Shape shape = x.shape();
    shape[0] = part.tokens;
    shape.insert(0, sequences);
    return reshape(is_batch ? x : index_select(x, 0, Tensor::from(part.rows, x.device())), shape);
  };
  const Tensor positions = grid(batch.positions);
  return {.ids = batch.embeddings ? Tensor() : grid(batch.ids),
          .embeddings = grid(batch.embeddings),
          .positions = positions,
          .visible = batch.visible ? grid(batch.visible) : positions,
          .seen_from = batch.seen_from ? grid(batch.seen_from)
                       : batch.visible ? positions
                                       : Tensor(),
          .lengths = part.lengths};
}

/// The batch with embeddings in place of its ids and features.
TokenBatch with_features(const CausalModel& model, TokenBatch batch) {
  check(!batch.embeddings, ErrorCode::kInvalidArgument, "model",
        "expected ids beside features, got embeddings");
  const Shape expected = {int64_t(batch.places.size()), model.facts().hidden_size};
  check(batch.features.shape() == expected, ErrorCode::kShapeMismatch, "model",
        "features: expected ", expected, ", got ", batch.features.shape());
  const Tensor embeddings = model.embed(batch.ids);
  const Device device = embeddings.device();
  batch.embeddings = index_copy(embeddings, 0, Tensor::from(batch.places, device),
                                cast(batch.features.to(device), model.options().dtype));
  batch.features = {};
  return batch;
}

/// The rows of a batch's tokens among the results of its parts, [B, T, hidden] of each.
std::vector<int64_t> rows_of(const TokenBatch& batch, const std::vector<Part>& parts) {
  std::vector<int64_t> rows(size_t(batch.offsets.back()));
  int64_t before = 0;
  for (const Part& part : parts)
    for (size_t b = 0; b < part.own.size(); b++, before += part.tokens)
      for (int64_t t = 0; t < part.own[b]; t++)
        rows[size_t(batch.offsets[b] + part.first + t)] = before + t;
  return rows;
}

}  // namespace

Tensor CausalModel::hidden(const TokenBatch& batch, ModelCache* cache,
                           std::vector<Tensor>* all) const {
  require_batch(*this, batch, cache);
  if (batch.features) return hidden(with_features(*this, batch), cache, all);
  int64_t longest = 0;
  bool is_even = true;
  for (size_t b = 0; b < batch.starts.size(); b++) {
    const int64_t count = tokens_of(batch, b);
    is_even = is_even && (b == 0 || count == longest);
    longest = std::max(longest, count);
  }
  const int64_t chunk = cache ? std::min(cache->chunk(), longest) : longest;
  const bool is_one = is_even && chunk == longest;  // one part, which has the batch's tokens
  std::vector<Part> parts;
  std::vector<Tensor> results;  // of each part
  std::vector<std::vector<Tensor>> of_layers;
  for (int64_t first = 0; first < longest; first += chunk) {
    parts.push_back(part_of(batch, first, chunk));
    if (cache) cache->prepare(parts.back().starts, parts.back().ends);
    std::vector<Tensor> layers;
    results.push_back(
        hidden_of(grid_of(batch, parts.back(), is_one), cache, all ? &layers : nullptr));
    of_layers.push_back(std::move(layers));
  }
  const Tensor index = is_one ? Tensor() : Tensor::from(rows_of(batch, parts), options().device);
  const auto joined = [&](std::vector<Tensor> of_parts) {  // [N, hidden]
    for (Tensor& x : of_parts) x = reshape(x, {x.size(0) * x.size(1), x.size(2)});
    const Tensor rows = of_parts.size() == 1 ? of_parts[0] : cat(of_parts, 0);
    return is_one ? rows : index_select(rows, 0, index);
  };
  if (all) {
    all->clear();
    for (size_t layer = 0; layer < of_layers[0].size(); layer++) {
      std::vector<Tensor> of_parts;
      for (const std::vector<Tensor>& part : of_layers) of_parts.push_back(part[layer]);
      all->push_back(joined(std::move(of_parts)));
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
  require_causal(*this, cache);
  check(lengths.empty() || int64_t(lengths.size()) == ids.size(0), ErrorCode::kShapeMismatch,
        "model", "expected a length for each of ", ids.size(0), " rows, got ", lengths.size());
  TokenGrid grid{.ids = ids,
                 .embeddings = {},
                 .positions = positions,
                 .visible = positions,
                 .seen_from = {},
                 .lengths = lengths};
  if (lengths.empty() && !cache) grid.lengths.assign(size_t(ids.size(0)), ids.size(1));
  return hidden_of(grid, cache, nullptr);
}

namespace {

class CapturedGraph final : public CapturedWork {
 public:
  explicit CapturedGraph(Graph graph) : graph_(std::move(graph)) {}
  void launch() override { graph_.launch(); }

 private:
  const Graph graph_;
};

}  // namespace

std::unique_ptr<CapturedWork> CausalModel::capture(const std::function<void()>& work) const {
  return std::make_unique<CapturedGraph>(Graph::capture(options().device, work));
}

Tensor CausalModel::image_features(const Tensor&) const {
  fail(ErrorCode::kUnsupported, "image_features", "a model of type ", facts().model_type,
       " reads no images");
}

Tensor CausalModel::token_embeddings(const Tensor&) const {
  fail(ErrorCode::kUnsupported, "token_embeddings", "a model of type ", facts().model_type,
       " has no vector for each token");
}

std::vector<int64_t> image_places(const CausalModel& model, const std::vector<int64_t>& ids,
                                  int64_t images) {
  const std::optional<ImageReading>& reading = model.facts().images;
  check(reading.has_value(), ErrorCode::kUnsupported, "model", "a model of type ",
        model.facts().model_type, " reads no images");
  std::vector<int64_t> places;
  for (size_t i = 0; i < ids.size(); i++)
    if (ids[i] == reading->token_id) places.push_back(int64_t(i));
  check(int64_t(places.size()) == images * reading->tokens, ErrorCode::kInvalidArgument, "model",
        "expected ", reading->tokens, " placeholders (id ", reading->token_id, ") for each of ",
        images, " images, got ", places.size());
  return places;
}

void see_prefixes(TokenBatch& batch, const std::vector<int64_t>& prefixes) {
  check(prefixes.size() == batch.starts.size(), ErrorCode::kShapeMismatch, "see_prefixes",
        "expected a prefix for each of ", batch.starts.size(), " sequences, got ", prefixes.size());
  std::vector<int64_t> visible, seen_from;
  for (size_t b = 0; b < prefixes.size(); b++) {
    const int64_t start = batch.starts[b], end = start + tokens_of(batch, b);
    for (int64_t at = start; at < end; at++) {
      const bool is_inside = at < prefixes[b];
      visible.push_back(is_inside ? prefixes[b] - 1 : at);
      seen_from.push_back(is_inside ? 0 : at);
    }
  }
  batch.visible = Tensor::from(visible, batch.positions.device());
  batch.seen_from = Tensor::from(seen_from, batch.positions.device());
}

Tensor positions_from_0(int64_t batch, int64_t length, const Device& device) {
  const Tensor one = arange(length, {.dtype = DType::kI64, .device = device});
  return broadcast_to(one, {batch, length}).contiguous();
}

}  // namespace wick
