// Inputs that every layer has of its own, made from the tokens' ids and embeddings.
#pragma once
#include <string>

#include "models/parts/mlp.h"
#include "models/parts/norm.h"

// Shapes: B sequences, T tokens each, L layers, P numbers for each layer.
namespace wick {

struct PerLayerOptions {
  int64_t layers = 0, hidden_size = 0, size = 0, vocab_size = 0;
  HiddenAct act = HiddenAct::kSilu;
  NormKind norm = {};
  double deviation = 0.02, output_deviation = 0.02;  // of initial weights
};

/// x = (sqrt(P) embedding(id) + rms_norm(projection(e) / sqrt(hidden))) / sqrt(2) of a token's id
/// and embedding e. Source: Google 2025, Gemma 3n (per-layer embeddings).
struct PerLayerInputs {
  const PerLayerOptions options;
  const Embedding embedding;   // to [B, T, L P]
  const Linear projection;     // the same
  const Norm projection_norm;  // of the P numbers of a layer

  PerLayerInputs(const PerLayerOptions& options, Parameters& p);
  /// ids [B, T], embeddings [B, T, hidden] -> [B, T, L, P].
  Tensor operator()(const Tensor& ids, const Tensor& embeddings) const;
};

/// A layer's use of its inputs: norm(projection(act(gate(x)) inputs)).
struct PerLayerPart {
  const int64_t layer;
  const Glu glu;
  const Linear gate, projection;
  const Norm norm;

  PerLayerPart(const PerLayerOptions& options, Parameters& p, const std::string& name,
               int64_t layer);
  /// x [B, T, hidden], inputs [B, T, L, P] -> [B, T, hidden].
  Tensor operator()(const Tensor& x, const Tensor& inputs) const;
};

}  // namespace wick
