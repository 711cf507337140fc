// Models that compare images with texts: a tower of transformer blocks for each, whose features lie
// in one space.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/settings.h"
#include "wick/core/tensor_source.h"
#include "wick/nn/parameters.h"

namespace wick {

/// The function between the layers of a tower's MLPs.
enum class TowerAct {
  kGelu,
  kGeluTanh,
  kQuickGelu,  // x sigmoid(1.702 x)
};

/// Sizes of a tower's blocks, named as in config.json of HuggingFace's transformers.
struct TowerConfig {
  static constexpr int64_t kMaxLayers = 1 << 16;

  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;
  double layer_norm_eps = 1e-5;
  TowerAct hidden_act = TowerAct::kGeluTanh;
};

/// How the hidden states of an image become one vector.
enum class ImagePooling {
  kNone,        // they do not: the tower gives hidden states alone
  kClassToken,  // a learned token before the patches, normalized
  kAttention,   // a learned query attends to all of them, normalized
};

struct ImageTowerConfig {
  static constexpr int64_t kMaxImageSize = 1 << 14;

  TowerConfig blocks = {};
  int64_t num_channels = 3;
  int64_t image_size = 0;  // pixels, of both sides
  int64_t patch_size = 0;  // pixels, of both sides; a rest beside the last whole patch is not read
  bool patch_bias = false;
  bool input_norm = false;  // the blocks' inputs are normalized
  ImagePooling pooling = ImagePooling::kNone;

  int64_t patches() const { return (image_size / patch_size) * (image_size / patch_size); }
  /// Hidden states of an image.
  int64_t tokens() const { return patches() + (pooling == ImagePooling::kClassToken ? 1 : 0); }
};

/// The token of a text whose hidden state stands for the text.
enum class TextPooling {
  kLast,       // the last one, be it padding
  kFirstEnd,   // the first one whose id is eos_token_id; the first of all without such
  kLargestId,  // the first one of the largest id
};

struct TextTowerConfig {
  TowerConfig blocks = {};
  int64_t vocab_size = 0;
  int64_t max_position_embeddings = 0;
  bool is_causal = false;
  TextPooling pooling = TextPooling::kLast;
  int64_t eos_token_id = 0;
  int64_t pad_token_id = 0;
};

/// The linear layers from pooled hidden states to features.
enum class FeatureLayers {
  kText,  // one of texts, with bias: "text_model.head"
  kBoth,  // two without bias: "visual_projection" and "text_projection"
};

/// A SigLIP (Zhai et al. 2023, arXiv:2303.15343) or a CLIP (Radford et al. 2021, arXiv:2103.00020).
struct ImageTextConfig {
  std::string model_type = "siglip";
  ImageTowerConfig image = {};
  TextTowerConfig text = {};
  FeatureLayers feature_layers = FeatureLayers::kText;
  int64_t projection_dim = 0;  // features
  bool logit_bias = false;
  double logit_scale_init_value = 0;
  std::vector<std::string> ignored_keys = {};  // unknown keys of config.json; worth a warning
};

/// The values of "model_type" in config.json that image_text_config reads.
WICK_API std::vector<std::string_view> image_text_model_types();
/// Reads an ImageTextConfig from the values of config.json. Missing keys have the defaults of
/// transformers. Errors: kFormat, naming file, key, expected and actual value; kUnsupported for
/// quantized weights.
WICK_API ImageTextConfig image_text_config(const Settings& settings);
/// The tensors of a folder without the tables of positions that some files have besides.
/// Errors: kFormat.
WICK_API TensorSource image_text_tensors(const TensorSource& source);

/// The hidden states of a tower.
struct TowerStates {
  Tensor last;  // [N, tokens, hidden_size]: after the tower's last norm, if it has one
                // for all tokens
  std::vector<Tensor> layers;  // inputs of each block and outputs of the last one, of last's shape
};

/// A model that compares images with texts. Copies share the parameters, which have transformers'
/// names ("vision_model.encoder.layers.0.mlp.fc1.weight").
class WICK_API ImageTextModel {
 public:
  /// Takes its weights from `parameters`.
  ImageTextModel(const ImageTextConfig& config, Parameters& parameters);

  const ImageTextConfig& config() const;
  TensorOptions options() const;  // dtype and device of the computation

  /// The hidden states of images after the last norm (kClassToken: before it), one for each patch
  /// in row-major order, after the class token's.
  ///
  /// pixel_values  [N, channels, image_size, image_size] floating, as the model's processor scales
  ///               them
  /// Returns [N, image.tokens(), hidden_size] in the computation's dtype. Gradients pass.
  /// Errors: kShapeMismatch, also for images of another size: embeddings of positions are not
  /// interpolated; kDTypeMismatch.
  Tensor image_hidden(const Tensor& pixel_values) const;
  /// The features of images [N, projection_dim], not normalized. states: receives the hidden
  /// states; may be nullptr. pixel_values and errors: as of image_hidden.
  Tensor image_features(const Tensor& pixel_values, TowerStates* states = nullptr) const;
  /// The features of texts, not normalized.
  ///
  /// ids   [B, T] integers. A model that pools by kLast was trained on texts that are padded to
  ///       max_position_embeddings, without a mask.
  /// mask  [B, T] integers or bool: 0 for padding, which no token attends to; empty: no padding
  /// Returns [B, projection_dim] in the computation's dtype. Gradients pass.
  /// Errors: kShapeMismatch; kDTypeMismatch; kOutOfRange for more tokens than
  /// max_position_embeddings, or an id outside the vocabulary.
  Tensor text_features(const Tensor& ids, const Tensor& mask = {},
                       TowerStates* states = nullptr) const;
  /// The scaled cosines [N, B] of features of images [N, projection_dim] and of texts
  /// [B, projection_dim], plus the model's bias, if it has one. logits_per_text is the transpose. A
  /// SigLIP's sigmoid of one, a CLIP's softmax of a row is a probability.
  /// Errors: kShapeMismatch; kDTypeMismatch.
  Tensor logits_per_image(const Tensor& image_features, const Tensor& text_features) const;

 private:
  struct Layers;
  std::shared_ptr<const Layers> layers_;
};

}  // namespace wick
