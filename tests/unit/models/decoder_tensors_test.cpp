// The names of a Decoder's tensors.
#include "../expect.h"
#include "wick/models/decoder.h"
#include "wick/ops/create.h"

namespace wick {
namespace {

using Names = std::vector<std::string>;

/// A source of tensors with these names.
TensorSource source_with(const Names& names) {
  NamedTensors tensors;
  for (const std::string& name : names) tensors[name] = ones({2});
  return source_of(tensors, "m");
}
Names names_of(const TensorSource& source) {
  Names names;
  for (const auto& [name, info] : source.tensors) names.push_back(name);
  return names;
}
DecoderConfig tied() {
  DecoderConfig config;
  config.tie_word_embeddings = true;
  return config;
}

TEST(DecoderTensors, AreThoseOfTheText) {
  const TensorSource source =
      decoder_tensors(source_with({"language_model.model.norm.weight", "vision_tower.x.weight",
                                   "language_model.model.layers.0.mlp.up_proj.weight",
                                   "multi_modal_projector.y", "language_model.lm_head.weight",
                                   "language_model.model.layers.0.self_attn.rotary_emb.inv_freq"}),
                      tied());
  EXPECT_EQ(names_of(source), (Names{"model.layers.0.mlp.up_proj.weight", "model.norm.weight"}));
  EXPECT_EQ(source.load("model.norm.weight", Device::cpu()).numel(), 2);
}

TEST(DecoderTensors, OfGgufHaveTheHubsNames) {
  const Names names = {"token_embd.weight",
                       "output_norm.weight",
                       "blk.12.ffn_norm.weight",
                       "blk.12.attn_q.bias",
                       "blk.12.what.weight",
                       "blk.x",
                       "rope_freqs.weight",
                       "blk.",
                       "output.weight",
                       "blk.12.attn_q.weight",
                       "blk..weight"};
  EXPECT_EQ(names_of(decoder_tensors(source_with(names), {})),
            (Names{"blk.", "blk..weight", "blk.12.what.weight", "blk.x", "lm_head.weight",
                   "model.embed_tokens.weight", "model.layers.12.post_attention_layernorm.weight",
                   "model.layers.12.self_attn.q_proj.bias",
                   "model.layers.12.self_attn.q_proj.weight", "model.norm.weight"}));
  DecoderConfig gemma;
  gemma.output_norms = true;
  EXPECT_EQ(names_of(decoder_tensors(
                source_with({"token_embd.weight", "blk.3.ffn_norm.weight",
                             "blk.3.post_attention_norm.weight", "blk.3.post_ffw_norm.weight"}),
                gemma)),
            (Names{"model.embed_tokens.weight", "model.layers.3.post_attention_layernorm.weight",
                   "model.layers.3.post_feedforward_layernorm.weight",
                   "model.layers.3.pre_feedforward_layernorm.weight"}));
}

TEST(DecoderTensors, OfOneMeaningAreAnError) {
  EXPECT_ERROR(decoder_tensors(source_with({"language_model.model.norm.weight",
                                            "model.language_model.norm.weight"}),
                               {}),
               kFormat,
               "m: tensors \"language_model.model.norm.weight\" and "
               "\"model.language_model.norm.weight\" have one meaning");
}

}  // namespace
}  // namespace wick
