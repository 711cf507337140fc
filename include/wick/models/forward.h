// A model as named tensors in and named tensors out.
#pragma once
#include "wick/core/named_tensors.h"
#include "wick/models/causal_model.h"

namespace wick {

class ImageTextModel;

struct ForwardOptions {
  bool hidden = false;  // hidden states too
};

/// Runs a model on named tensors, which have the names of transformers' `forward`.
///
/// input_ids       [B, T] integers; or
/// inputs_embeds   [B, T, hidden_size] floating, in place of them
/// attention_mask  [B, T] integers or bool: 0 for padding, to the left or the right of a row's
///                 tokens; missing: no padding
/// pixel_values    [M, channels, height, width] floating, for a model that reads images: the images
///                 whose placeholders are in input_ids, in order
/// token_type_ids  [B, T] integers, for a model whose prompts see each other both ways: 0 for a
///                 row's prompt, 1 from there on; missing: all are prompts
/// Returns logits [B, T, vocab_size] in the computation's dtype, or of a model with a vector for
/// each token embeddings [B, T, embedding_dim] (CausalModel::token_embeddings); with `hidden` also
/// last_hidden_state [B, T, hidden_size] after the final norm and hidden_states.I: layer I's
/// inputs, the last one equal to last_hidden_state. Padding's rows are 0. Positions count a row's
/// own tokens from 0. Gradients pass.
/// Errors: kInvalidArgument for a name that the model does not read, both or neither of input_ids
/// and inputs_embeds, a mask with a hole, token_type_ids that return to 0, and placeholders of more
/// or fewer images; kDTypeMismatch; kShapeMismatch; kOutOfRange for more tokens than the model has
/// positions, or an id outside the vocabulary.
WICK_API NamedTensors forward(const CausalModel& model, const NamedTensors& inputs,
                              const ForwardOptions& options = {});

/// The same for a model that compares images with texts: it reads images, texts or both.
///
/// pixel_values    [N, channels, image_size, image_size] floating
/// input_ids       [B, T] integers
/// attention_mask  [B, T] integers or bool: 0 for padding; missing: no padding
/// Returns image_embeds [N, D] and text_embeds [B, D], features of length 1; for both inputs also
/// logits_per_image [N, B] and logits_per_text [B, N]; with `hidden` also
/// vision_model_output.last_hidden_state [N, tokens, hidden_size],
/// vision_model_output.hidden_states.I: block I's inputs, the last ones the outputs of the last
/// block, and the same of text_model_output. Gradients pass.
/// Errors: kInvalidArgument for a name that the model does not read, no input, or a mask without
/// input_ids; as of ImageTextModel::image_features and text_features.
WICK_API NamedTensors forward(const ImageTextModel& model, const NamedTensors& inputs,
                              const ForwardOptions& options = {});

}  // namespace wick
