// The model types that one Decoder serves: a row each, in families/, with its differences from
// llama.
#pragma once
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "wick/models/decoder.h"

namespace wick {

/// The layers that slide where config.json has no "layer_types".
enum class Sliding {
  kNever,
  kEvery,      // every layer
  kFromLayer,  // those from "max_window_layers" on, if "use_sliding_window"
  kPattern,    // all but each "sliding_window_pattern"-th
  kUnrotated,  // those without rope, if "use_sliding_window"
  kRotated,    // those with rope
  kEven,       // those at even indices below "max_window_layers", if "use_sliding_window"
};

/// The factor of embeddings: the config's, the root of hidden_size, or that rounded to bf16.
enum class EmbeddingScale { kOfConfig, kRoot, kRootInBf16 };

/// The layers whose attention has a bias of o.
enum class OutputBias { kAsQueries, kNever, kAlways };

/// The name that a family's files have for a kind of layer.
struct LayerName {
  std::string_view name;
  LayerType type = LayerType::kFull;
};

/// A name in the files of a family, and the name that wick gives it.
struct Rename {
  std::string_view file, wick;
};

struct Family {
  std::string_view model_type;
  const char* architecture;  // "architectures" of config.json

  /// The values of keys that config.json lacks, as in transformers' config class, and the switches
  /// that no key sets. A size of 0 must be there.
  DecoderConfig defaults = {};
  int64_t intermediate_factor = 0;   // of intermediate_size over hidden_size
  int64_t intermediate_divisor = 1;  // of files' intermediate_size over the MLP's
  double partial_rotary_factor = 1;
  /// The share of pairs that full layers rotate, where folders do not state rope: rope_type
  /// "proportional", whose other pairs have a frequency of 0. 0: the family has no such rope.
  double proportional_rope = 0;
  Sliding sliding = Sliding::kNever;
  /// Kinds of layers besides "full_attention" and "sliding_attention" in the lists of its files.
  std::array<LayerName, 3> layer_names = {};
  LayerType layer_type = LayerType::kFull;  // of layers that do not slide, without such lists
  int64_t sliding_window_pattern = 6;
  int64_t no_rope_layer_interval = 0;  // every n-th layer has no rope; 0: all have it
  bool only_sliding_rotate = false;    // layers without a window have no rope, if others have one
  OutputBias output_bias = OutputBias::kAsQueries;
  EmbeddingScale embedding_scale = EmbeddingScale::kOfConfig;
  int64_t n_shared_experts = 0;       // the default of that key
  int64_t first_k_dense_replace = 0;  // the default of that key

  /// "general.architecture" of GGUF files; "": there are no such files. The first of several
  /// families with one reads them. Their weights have the pairs gguf_pairs.
  std::string_view gguf = "";
  RopePairs gguf_pairs = RopePairs::kHalves;
  /// Keys under which files may list a number for each layer that differs by the layer's type.
  std::array<std::string_view, 2> gguf_layer_lists = {};
  bool gguf_fused_experts = false;   // files have the gates and ups of experts in one tensor
  bool gguf_heads_by_layer = false;  // files list key-value heads by layer: 0 without attention
  bool gguf_tiled_heads = false;     // files have linear_heads_tiled
  std::string_view gguf_output_norm = "output_norm";  // the files' name of the last norm
  std::string_view gguf_mlp_norm = "ffn_norm";        // of the norm of an MLP's input
  int64_t gguf_share_layers = 0;  // files with this many layers scale scores by hidden_size / heads
  bool gguf_norm_topk_prob = false;  // norm_topk_prob of files, which do not say it
  bool gguf_qk_norm = true;          // files may have the norms of "qk_layernorm"
  /// Keys of files, after "ARCHITECTURE.", that not every family's have, and which of
  /// "rope.freq_base" and "attention.head_count_kv" that files leave out at the reader's default.
  std::array<std::string_view, 12> gguf_keys = {};
  std::array<std::string_view, 3> gguf_implied = {};

  /// The keys that it reads besides those that every family reads. With "rope_parameters" its
  /// folders state rope by the type of layer; every family reads such.
  std::array<std::string_view, 24> keys = {};
  /// Keys of every family that its files lack.
  std::array<std::string_view, 8> lacks_keys = {};
  /// Keys that it has under names of its own; wick's names need not be in `keys`.
  std::array<Rename, 10> renamed_keys = {};
  /// Parts of the names of tensors in folders, between dots, replaced in this order. Of several
  /// for one of wick's, wick writes the first.
  std::array<Rename, 12> renamed_tensors = {};
  /// Layers whose rows folders and GGUF files have in one tensor; the MLPs of families that fuse
  /// experts, only folders.
  std::array<std::string_view, 3> fused_tensors = {};
  bool may_lack_experts = false;  // a number of experts of 0: layers have one MLP
  /// Layers of linear attention whose rows folders and GGUF files have by key head, "in_proj_qkvz"
  /// and "in_proj_ba".
  std::array<std::string_view, 2> grouped_delta = {}, gguf_grouped_delta = {};
  bool transposed_weights = false;   // folders have the weights of layers as [in, out]
  bool derives_head_dim = false;     // transformers takes no head_dim
  bool grouped_qkv = false;          // folders have the rows of self_attn.qkv_proj by group
  bool transposed_experts = false;   // folders have the weights of experts as [experts, in, out]
  bool interleaved_experts = false;  // folders have the rows of experts' gates and ups in turn
  bool correction_has_row = false;   // files have a router's correction as [1, experts]
};

#define WICK_VENDOR(vendor) std::span<const Family> vendor##_families();
#include "models/decoder/families/vendors.def"
#undef WICK_VENDOR

/// Of all vendors.
const std::vector<const Family*>& families();
/// The row of a model_type; nullptr if it is unknown.
const Family* find_family(std::string_view model_type);
/// Whether attention has a bias of o.
inline bool has_output_bias(const Family& family, bool of_queries) {
  return family.output_bias == OutputBias::kAlways ||
         (family.output_bias == OutputBias::kAsQueries && of_queries);
}
/// Whether the family lists the key among those that not every family's GGUF files have.
bool has_gguf_key(const Family& family, std::string_view key);

}  // namespace wick
