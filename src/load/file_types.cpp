#include "load/file_types.h"

#include <algorithm>
#include <string_view>

#include "io/gguf_format.h"

namespace wick {
namespace {

/// Parts of the names of weights that are not quantized: small ones, and those that choose.
constexpr std::string_view kKept[] = {
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
};
constexpr std::string_view kKeptNames[] = {"position_embd.weight", "token_types.weight"};

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

bool is_quantized(const std::string& name, const TensorInfo& info) {
  const auto larger = [](int64_t size) { return size > 1; };
  const int outer = std::max(0, info.shape.size() - 1);
  const bool is_matrix =
      std::any_of(info.shape.begin(), info.shape.begin() + outer, larger);  // as ggml counts dims
  if (!is_matrix || !name.ends_with("weight")) return false;
  if (std::find(std::begin(kKeptNames), std::end(kKeptNames), name) != std::end(kKeptNames))
    return false;
  return std::none_of(std::begin(kKept), std::end(kKept),
                      [&](std::string_view part) { return has(name, part); });
}

/// The parts of a model that a mixture treats apart.
enum class Part { kOther, kEmbedding, kOutput, kValues, kKeys, kAttentionOutput, kDown };

Part part_of(const std::string& name) {
  if (name == "output.weight") return Part::kOutput;
  if (name == "token_embd.weight" || name == "per_layer_token_embd.weight") return Part::kEmbedding;
  for (const char* values : {"attn_qkv.weight", "attn_kv_b.weight", "attn_v.weight"})
    if (has(name, values)) return Part::kValues;
  if (has(name, "attn_k.weight")) return Part::kKeys;
  if (has(name, "attn_output.weight")) return Part::kAttentionOutput;
  return has(name, "ffn_down") ? Part::kDown : Part::kOther;
}

/// The sizes of a model that the rules ask for.
struct Model {
  int64_t layers = 0, experts = 0;
  int64_t heads_per_value = 0;  // that share one of attn_v
  bool shares_values = false;   // of 70 billion parameters: 8 heads share one attn_v
  bool is_tied = false;

  Model(const Settings& metadata, const std::map<std::string, TensorInfo>& tensors) {
    const std::string architecture = metadata.text_or("general.architecture", "");
    const auto size = [&](const char* key) {
      const std::vector<int64_t> sizes = metadata.integers(architecture + "." + key);
      return sizes.empty() ? 0 : sizes.front();
    };
    layers = size("block_count");
    experts = size("expert_count");
    const int64_t heads = size("attention.head_count"), values = size("attention.head_count_kv");
    const bool grouped = heads != values && values != 0;
    heads_per_value = values == 0 ? 1 : heads / values;
    shares_values = layers == 80 && ((architecture == "llama" && grouped) ||
                                     architecture == "qwen2" || architecture == "olmo");
    is_tied = tensors.count("output.weight") == 0;
  }
};

/// Chooses the types of the tensors in their order.
class Mixture {
 public:
  Mixture(const FileType& type, const Model& model, int64_t values)
      : type_(type), name_(type.name), model_(model), values_(values) {}

  DType choose(const std::string& name, const TensorInfo& info) {
    const DType plain = type_.dtype;
    const Part part = part_of(name);
    if (part == Part::kOutput || (part == Part::kEmbedding && model_.is_tied)) return output(info);
    if (part == Part::kEmbedding && type_.is_ternary) return DType::kQ4_K;
    if (plain == DType::kMXFP4) return is_stack(info) ? plain : DType::kQ8_0;
    switch (part) {
      case Part::kValues:
        return value(value_++);
      case Part::kKeys:
        return model_.experts == 8 ? DType::kQ8_0 : plain;
      case Part::kAttentionOutput:
        return attention_output();
      case Part::kDown: {
        const int64_t counted = down_++;
        return down(model_.experts > 1 ? gguf::layer_of(name) : counted);
      }
      default:
        return plain;
    }
  }

 private:
  /// The first and last eighth of the layers, and every third between.
  static bool counts_more(int64_t layer, int64_t layers) {
    return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
  }
  /// Whether a tensor is a stack of matrices, as experts have.
  static bool is_stack(const TensorInfo& info) {
    return info.shape.size() >= 3 && info.shape[info.shape.size() - 3] > 1;
  }
  bool is(std::string_view name) const { return name_ == name; }
  /// Whether most tensors are of iq4_nl or iq4_xs.
  bool is_nonlinear() const { return is("iq4_nl") || is("iq4_xs"); }
  /// Whether more important layers get q6_k.
  bool has_q6_k() const { return is("q4_k_m") || is("q5_k_m"); }

  DType output(const TensorInfo& info) const {
    const bool fits = info.shape.back() % facts_of(type_.dtype).block_elements == 0;
    const bool is_larger = type_.dtype == DType::kQ8_0 || type_.dtype == DType::kMXFP4;
    return fits && !is_larger ? DType::kQ6_K : DType::kQ8_0;
  }
  DType value(int64_t index) const {
    const bool is_shared = model_.heads_per_value >= 4;
    DType dtype = type_.dtype;
    if (is("q2_k")) dtype = is_shared ? DType::kQ4_K : DType::kQ3_K;
    if (is("q3_k_m")) dtype = index < 2 ? DType::kQ5_K : DType::kQ4_K;
    if (is("q3_k_l") || (is_nonlinear() && is_shared) || (is("q4_k_s") && index < 4))
      dtype = DType::kQ5_K;
    if (has_q6_k() && counts_more(index, values_)) dtype = DType::kQ6_K;
    const bool is_small = dtype == DType::kQ3_K || dtype == DType::kQ4_K;
    if (model_.shares_values && is_small) dtype = DType::kQ5_K;
    return model_.experts == 8 ? DType::kQ8_0 : dtype;
  }
  DType attention_output() const {
    if (model_.experts == 8) {
      const bool grows = is("q2_k") || is("q3_k_s") || is("q3_k_m") || is("q4_k_s") ||
                         is("q4_k_m") || is_nonlinear();
      return grows ? DType::kQ5_K : type_.dtype;
    }
    return is("q2_k")     ? DType::kQ3_K
           : is("q3_k_m") ? DType::kQ4_K
           : is("q3_k_l") ? DType::kQ5_K
                          : type_.dtype;
  }
  DType down(int64_t layer) const {
    const int64_t layers = model_.layers;
    if (is("q2_k")) return DType::kQ3_K;
    if (is("q3_k_m")) return layer < layers / 16 ? DType::kQ5_K : DType::kQ4_K;
    if (is("q3_k_l")) return DType::kQ5_K;
    if ((is_nonlinear() || is("q4_k_s")) && layer < layers / 8) return DType::kQ5_K;
    return has_q6_k() && counts_more(layer, layers) ? DType::kQ6_K : type_.dtype;
  }

  const FileType& type_;
  const std::string_view name_;
  const Model& model_;
  const int64_t values_;
  int64_t value_ = 0, down_ = 0;
};

/// The type for rows that are no whole blocks of `dtype`.
DType fallback_of(DType dtype, int64_t row) {
  DType smaller = dtype;
  if (dtype == DType::kQ2_K || dtype == DType::kQ3_K || dtype == DType::kTQ1_0 ||
      dtype == DType::kTQ2_0)
    smaller = DType::kQ4_0;
  if (dtype == DType::kQ4_K) smaller = DType::kQ5_0;
  if (dtype == DType::kQ5_K) smaller = DType::kQ5_1;
  if (dtype == DType::kQ6_K) smaller = DType::kQ8_0;
  if (dtype == DType::kIQ4_XS) smaller = DType::kIQ4_NL;
  return row % facts_of(smaller).block_elements == 0 ? smaller : DType::kF16;
}

}  // namespace

const FileType& file_type_of(const std::string& name) {
  std::string lower = name, known;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return 'A' <= c && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  if (lower == "q3_k" || lower == "q4_k" || lower == "q5_k") lower += "_m";
  for (const FileType& type : kFileTypes) {
    if (lower == type.name) return type;
    known += (known.empty() ? "" : ", ") + std::string(type.name);
  }
  fail(ErrorCode::kInvalidArgument, "quantize", "expected a type of ", known, "; got ", name);
}

TensorTypes tensor_types(const FileType& type, const Settings& metadata,
                         const std::map<std::string, TensorInfo>& tensors) {
  const std::vector<std::string> names = gguf::names_by_layer(tensors);
  const int64_t values = std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return part_of(name) == Part::kValues;
  });
  const Model model(metadata, tensors);
  Mixture mixture(type, model, values);
  TensorTypes result;
  for (const std::string& name : names) {
    const TensorInfo& info = tensors.at(name);
    DType dtype = info.dtype;
    if (is_quantized(name, info) && (is_floating(dtype) || is_block(dtype))) {
      dtype = is_block(type.dtype) ? mixture.choose(name, info) : type.dtype;
      if (info.shape.back() % facts_of(dtype).block_elements != 0) {
        dtype = fallback_of(dtype, info.shape.back());
        result.fallbacks++;
      }
    }
    result.dtypes[name] = dtype;
  }
  return result;
}

}  // namespace wick
