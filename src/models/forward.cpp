#include "wick/models/forward.h"

#include <algorithm>

#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

void require_names(const ModelFacts& facts, const NamedTensors& inputs) {
  std::vector<std::string_view> names = {"input_ids", "inputs_embeds", "attention_mask"};
  if (facts.images) names.push_back("pixel_values");
  if (facts.images && facts.images->prompt_is_prefix) names.push_back("token_type_ids");
  std::string more;
  for (size_t i = 3; i < names.size(); i++)
    more += (i + 1 == names.size() ? " and " : ", ") + std::string(names[i]);
  for (const auto& [name, tensor] : inputs)
    check(std::find(names.begin(), names.end(), name) != names.end(), ErrorCode::kInvalidArgument,
          "forward", "a model of type ", facts.model_type, " does not read \"", name,
          "\"; expected input_ids or inputs_embeds, ", more.empty() ? "and " : "", "attention_mask",
          more);
  check(inputs.count("pixel_values") == 0 || inputs.count("input_ids") > 0,
        ErrorCode::kInvalidArgument, "forward", "pixel_values: expected input_ids beside it");
  check(inputs.count("input_ids") + inputs.count("inputs_embeds") == 1, ErrorCode::kInvalidArgument,
        "forward", "expected either input_ids or inputs_embeds, got ",
        inputs.count("input_ids") > 0 ? "both" : "neither");
}

/// The tokens of a batch that are no padding.
struct Tokens {
  std::vector<int64_t> at;       // in [B T], of each token
  std::vector<int64_t> offsets;  // [B' + 1], of rows that have tokens
  std::vector<int64_t> positions;
};

/// Errors: kInvalidArgument if padding stands between a row's tokens.
Tokens tokens_of(int64_t batch, int64_t length, const std::vector<int64_t>& mask) {
  Tokens tokens;
  tokens.offsets = {0};
  for (int64_t b = 0; b < batch; b++) {
    const auto is_token = [&](int64_t t) {
      return mask.empty() || mask[size_t(b * length + t)] != 0;
    };
    int64_t count = 0, last = -1;
    for (int64_t t = 0; t < length; t++) {
      if (!is_token(t)) continue;
      check(count == 0 || last == t - 1, ErrorCode::kInvalidArgument, "forward",
            "attention_mask: expected padding to the left or the right of row ", b,
            "'s tokens, got a 0 before column ", t);
      tokens.at.push_back(b * length + t);
      tokens.positions.push_back(count++);
      last = t;
    }
    if (count > 0) tokens.offsets.push_back(int64_t(tokens.at.size()));
  }
  return tokens;
}

/// The integers of an optional input [B, T], row by row; empty without it.
std::vector<int64_t> integers_of(const NamedTensors& inputs, const char* name, const Shape& shape) {
  const auto found = inputs.find(name);
  if (found == inputs.end()) return {};
  const Tensor& x = found->second;
  check(x.shape() == shape, ErrorCode::kShapeMismatch, "forward", name, ": expected ", shape,
        ", got ", x.shape());
  check(!is_floating(x.dtype()) && !is_block(x.dtype()), ErrorCode::kDTypeMismatch, "forward", name,
        ": expected integers or bool, got ", dtype_name(x.dtype()));
  return cast(x, DType::kI64).to_vector<int64_t>();
}

/// The tokens of each row that see each other: those before the first one of a type other than 0.
std::vector<int64_t> prefixes_of(const Tokens& tokens, const std::vector<int64_t>& types) {
  std::vector<int64_t> prefixes;
  for (size_t row = 0; row + 1 < tokens.offsets.size(); row++) {
    const int64_t first = tokens.offsets[row], end = tokens.offsets[row + 1];
    const auto is_prefix = [&](int64_t i) {
      return types.empty() || types[size_t(tokens.at[size_t(i)])] == 0;
    };
    int64_t count = 0;
    while (first + count < end && is_prefix(first + count)) count++;
    for (int64_t i = first + count; i < end; i++)
      check(!is_prefix(i), ErrorCode::kInvalidArgument, "forward",
            "token_type_ids: expected 0 for a row's first tokens, the prefix, and 1 from there on, "
            "got a 0 after a 1");
    prefixes.push_back(count);
  }
  return prefixes;
}

}  // namespace

NamedTensors forward(const CausalModel& model, const NamedTensors& inputs,
                     const ForwardOptions& options) {
  const ModelFacts& facts = model.facts();
  const Device device = model.options().device;
  require_names(facts, inputs);
  const bool has_ids = inputs.count("input_ids") > 0;
  const std::string name = has_ids ? "input_ids" : "inputs_embeds";
  const Tensor& given = inputs.at(name);
  check(given.rank() == (has_ids ? 2 : 3) && (has_ids || given.size(2) == facts.hidden_size),
        ErrorCode::kShapeMismatch, "forward", name, ": expected [B, T",
        has_ids ? "" : ", " + std::to_string(facts.hidden_size), "], got ", given.shape());
  check(has_ids ? is_integer(given.dtype()) : is_floating(given.dtype()), ErrorCode::kDTypeMismatch,
        "forward", name, ": expected ", has_ids ? "integers" : "a floating dtype", ", got ",
        dtype_name(given.dtype()));
  const int64_t batch = given.size(0), length = given.size(1);
  const std::vector<int64_t> mask = integers_of(inputs, "attention_mask", {batch, length});
  const Tokens tokens = tokens_of(batch, length, mask);
  const int64_t count = int64_t(tokens.at.size());
  const bool is_whole = count == batch * length;
  const Tensor at = is_whole ? Tensor() : Tensor::from(tokens.at, device);
  TokenBatch read;
  const Tensor moved = given.to(device);
  const Tensor flat =
      has_ids ? reshape(cast(moved, DType::kI64), {batch * length})
              : reshape(cast(moved, model.options().dtype), {batch * length, facts.hidden_size});
  (has_ids ? read.ids : read.embeddings) = is_whole ? flat : index_select(flat, 0, at);
  read.positions = Tensor::from(tokens.positions, device);
  read.offsets = tokens.offsets;
  read.starts.assign(tokens.offsets.size() - 1, 0);
  if (const auto pixels = inputs.find("pixel_values"); pixels != inputs.end()) {
    const Tensor features = model.image_features(pixels->second);
    read.places = image_places(model, read.ids.to_vector<int64_t>(), features.size(0));
    read.features = reshape(features, {features.size(0) * features.size(1), facts.hidden_size});
  }
  if (facts.images && facts.images->prompt_is_prefix)
    see_prefixes(read, prefixes_of(tokens, integers_of(inputs, "token_type_ids", {batch, length})));

  // Padding takes the row of zeros after the tokens' rows.
  std::vector<int64_t> from(size_t(batch * length), count);
  for (int64_t i = 0; i < count; i++) from[size_t(tokens.at[size_t(i)])] = i;
  const Tensor places = is_whole ? Tensor() : Tensor::from(from, device);
  const auto padded = [&](const Tensor& rows) {
    const int64_t width = rows.size(1);
    const Tensor zero =
        is_whole ? Tensor() : zeros({1, width}, {.dtype = rows.dtype(), .device = device});
    return reshape(is_whole ? rows : index_select(cat({rows, zero}, 0), 0, places),
                   {batch, length, width});
  };
  NamedTensors outputs;
  std::vector<Tensor> layers;
  const Tensor hidden = count > 0 ? model.hidden(read, nullptr, options.hidden ? &layers : nullptr)
                                  : zeros({0, facts.hidden_size}, model.options());
  if (facts.embedding_dim > 0)
    outputs["embeddings"] = padded(model.token_embeddings(hidden));
  else
    outputs["logits"] = padded(model.logits(hidden));
  if (options.hidden) {
    outputs["last_hidden_state"] = padded(hidden);
    for (size_t i = 0; i < layers.size(); i++)
      outputs["hidden_states." + std::to_string(i)] = padded(layers[i]);
  }
  return outputs;
}

}  // namespace wick
