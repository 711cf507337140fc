#include "wick/models/forward.h"

#include <algorithm>

#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

constexpr std::string_view kInputs[] = {"input_ids", "inputs_embeds", "attention_mask"};

void require_names(const ModelFacts& facts, const NamedTensors& inputs) {
  for (const auto& [name, tensor] : inputs)
    check(std::find(std::begin(kInputs), std::end(kInputs), name) != std::end(kInputs),
          ErrorCode::kInvalidArgument, "forward", "a model of type ", facts.model_type,
          " does not read \"", name, "\"; expected input_ids or inputs_embeds, and attention_mask");
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
  std::vector<int64_t> mask;
  if (const auto found = inputs.find("attention_mask"); found != inputs.end()) {
    const Tensor& x = found->second;
    check(x.shape() == Shape({batch, length}), ErrorCode::kShapeMismatch, "forward",
          "attention_mask: expected ", Shape({batch, length}), ", got ", x.shape());
    check(!is_floating(x.dtype()) && !is_block(x.dtype()), ErrorCode::kDTypeMismatch, "forward",
          "attention_mask: expected integers or bool, got ", dtype_name(x.dtype()));
    mask = cast(x, DType::kI64).to_vector<int64_t>();
  }

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
  outputs["logits"] = padded(model.logits(hidden));
  if (options.hidden) {
    outputs["last_hidden_state"] = padded(hidden);
    for (size_t i = 0; i < layers.size(); i++)
      outputs["hidden_states." + std::to_string(i)] = padded(layers[i]);
  }
  return outputs;
}

}  // namespace wick
