// Decoders by LG.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> lg_families() {
  static const Family families[] = {
      {.model_type = "exaone4",
       .architecture = "Exaone4ForCausalLM",
       .defaults = {.vocab_size = 102400,
                    .num_attention_heads = 32,
                    .num_key_value_heads = 32,
                    .rms_norm_eps = 1e-5,
                    .sliding_window = 4096,
                    .norm_places = NormPlaces::kOutputs,
                    .qk_norm = QkNorm::kHead},
       .sliding = Sliding::kPattern,
       .sliding_window_pattern = 4,
       .only_sliding_rotate = true,
       .gguf = "exaone4",
       .gguf_keys = {"vocab_size", "attention.sliding_window", "attention.sliding_window_pattern"},
       .keys = {"hidden_act", "sliding_window", "sliding_window_pattern", "layer_types"}}};
  return families;
}

}  // namespace wick
