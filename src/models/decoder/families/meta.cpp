// Decoders by Meta.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> meta_families() {
  static const Family families[] = {{.model_type = "llama",
                                     .architecture = "LlamaForCausalLM",
                                     .gguf = "llama",
                                     .gguf_pairs = RopePairs::kAdjacent,
                                     .gguf_keys = {"vocab_size", "rope.dimension_count"},
                                     .keys = {"hidden_act", "attention_bias", "mlp_bias"}}};
  return families;
}

}  // namespace wick
