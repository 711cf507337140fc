// The names of a Decoder's tensors.
#include "../expect.h"
#include "../small_config.h"
#include "wick/models/decoder.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/shape.h"

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
  DecoderConfig config = test::small_config();
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
  DecoderConfig gemma = test::small_config();
  gemma.norm_places = NormPlaces::kBoth;
  EXPECT_EQ(names_of(decoder_tensors(
                source_with({"token_embd.weight", "blk.3.ffn_norm.weight",
                             "blk.3.post_attention_norm.weight", "blk.3.post_ffw_norm.weight"}),
                gemma)),
            (Names{"model.embed_tokens.weight", "model.layers.3.post_attention_layernorm.weight",
                   "model.layers.3.post_feedforward_layernorm.weight",
                   "model.layers.3.pre_feedforward_layernorm.weight"}));
}

/// A config of 2 query heads and 1 key head of 2 elements, and an MLP of 3.
DecoderConfig small(const std::string& model_type) {
  DecoderConfig config = test::small_config();
  config.model_type = model_type, config.num_hidden_layers = 1, config.hidden_size = 4;
  config.num_attention_heads = 2, config.num_key_value_heads = 1, config.head_dim = 2;
  config.intermediate_size = 3;
  return config;
}

TEST(DecoderTensors, OfSeveralLayersInOneAreViewsOfItsRows) {
  const std::string layer = "model.layers.0.";
  NamedTensors tensors;
  tensors[layer + "self_attn.qkv_proj.weight"] = reshape(arange(32), {8, 4});
  tensors[layer + "self_attn.qkv_proj.bias"] = arange(8);
  tensors[layer + "mlp.gate_up_proj.weight"] = reshape(arange(24), {6, 4});
  const TensorSource source = decoder_tensors(source_of(tensors, "m"), small("phi3"));
  EXPECT_EQ(names_of(source),
            (Names{layer + "mlp.gate_proj.weight", layer + "mlp.up_proj.weight",
                   layer + "self_attn.k_proj.bias", layer + "self_attn.k_proj.weight",
                   layer + "self_attn.q_proj.bias", layer + "self_attn.q_proj.weight",
                   layer + "self_attn.v_proj.bias", layer + "self_attn.v_proj.weight"}));
  EXPECT_EQ(source.tensors.at(layer + "self_attn.q_proj.weight").shape, (Shape{4, 4}));
  EXPECT_EQ(source.tensors.at(layer + "self_attn.v_proj.bias").shape, (Shape{2}));
  const auto first = [&](const std::string& name) {
    const Tensor tensor = source.load(layer + name, Device::cpu());
    return flatten(tensor).to_vector<int64_t>()[0];
  };
  for (int times = 0; times < 2; times++) {
    EXPECT_EQ(first("self_attn.q_proj.weight"), 0);
    EXPECT_EQ(first("self_attn.k_proj.weight"), 16);
    EXPECT_EQ(first("self_attn.v_proj.weight"), 24);
    EXPECT_EQ(first("mlp.up_proj.weight"), 12);
    EXPECT_EQ(first("self_attn.v_proj.bias"), 6);
  }
  const Tensor view = source.load(layer + "self_attn.k_proj.weight", Device::cpu());
  const auto* whole =
      static_cast<const char*>(tensors.at(layer + "self_attn.qkv_proj.weight").data());
  EXPECT_EQ(static_cast<const char*>(view.data()), whole + 16 * sizeof(int64_t));
}

TEST(DecoderTensors, OfSeveralLayersInOneMustHaveTheirRows) {
  NamedTensors tensors;
  tensors["model.layers.0.self_attn.qkv_proj.weight"] = ones({9, 4});
  EXPECT_ERROR(decoder_tensors(source_of(tensors, "m"), small("phi3")), kFormat,
               "m: tensor \"model.layers.0.self_attn.qkv_proj.weight\": expected 8 rows, got shape "
               "[9, 4]");
  tensors["model.layers.0.self_attn.qkv_proj.weight"] = ones({});
  EXPECT_ERROR(decoder_tensors(source_of(tensors, "m"), small("phi3")), kFormat, "got shape []");
  tensors["model.layers.0.self_attn.qkv_proj.weight"] = ones({8, 4});
  tensors["model.layers.0.self_attn.k_proj.weight"] = ones({2, 4});
  EXPECT_ERROR(decoder_tensors(source_of(tensors, "m"), small("phi3")), kFormat,
               "have one meaning");
}

TEST(DecoderTensors, OfGgufMayHaveTheGateInFront) {
  NamedTensors tensors;
  tensors["token_embd.weight"] = ones({2});
  tensors["blk.0.ffn_up.weight"] = ones({6, 4});
  EXPECT_EQ(names_of(decoder_tensors(source_of(tensors, "m"), small("glm4"))),
            (Names{"model.embed_tokens.weight", "model.layers.0.mlp.gate_proj.weight",
                   "model.layers.0.mlp.up_proj.weight"}));
}

TEST(DecoderTensors, OfGpt2AreTransposed) {
  NamedTensors tensors;
  tensors["h.0.attn.c_attn.weight"] = reshape(arange(32), {4, 8});
  tensors["h.0.attn.bias"] = ones({1, 1, 5, 5});
  tensors["transformer.h.0.mlp.c_proj.weight"] = reshape(arange(12), {3, 4});
  tensors["wte.weight"] = ones({5, 4});
  const TensorSource source = decoder_tensors(source_of(tensors, "m"), small("gpt2"));
  EXPECT_EQ(
      names_of(source),
      (Names{"model.embed_tokens.weight", "model.layers.0.mlp.down_proj.weight",
             "model.layers.0.self_attn.k_proj.weight", "model.layers.0.self_attn.q_proj.weight",
             "model.layers.0.self_attn.v_proj.weight"}));
  EXPECT_EQ(source.tensors.at("model.layers.0.mlp.down_proj.weight").shape, (Shape{4, 3}));
  EXPECT_EQ(flatten(source.load("model.layers.0.self_attn.k_proj.weight", Device::cpu()))
                .to_vector<int64_t>(),
            (std::vector<int64_t>{4, 12, 20, 28, 5, 13, 21, 29}));
}

TEST(DecoderTensors, OfHeadsNormsAreStacked) {
  DecoderConfig config = small("stablelm");
  config.qk_norm = QkNorm::kEachHead;
  NamedTensors tensors;
  const std::string attention = "model.layers.0.self_attn.";
  tensors[attention + "q_layernorm.norms.0.weight"] = ones({2});
  EXPECT_ERROR(decoder_tensors(source_of(tensors, "m"), config), kFormat,
               "m: expected 2 tensors \"model.layers.0.self_attn.q_norm.norms.N.weight\", got 1");
  tensors[attention + "q_layernorm.norms.1.weight"] = zeros({2});
  const TensorSource source = decoder_tensors(source_of(tensors, "m"), config);
  EXPECT_EQ(names_of(source), (Names{attention + "q_norm.weight"}));
  EXPECT_EQ(flatten(source.load(attention + "q_norm.weight", Device::cpu())).to_vector<float>(),
            (std::vector<float>{1, 1, 0, 0}));
}

TEST(DecoderTensors, OfExpertsAreStacked) {
  DecoderConfig config = small("mixtral");
  config.num_experts = 2;
  const std::string file = "model.layers.0.block_sparse_moe.", mlp = "model.layers.0.mlp.";
  NamedTensors tensors;
  tensors[file + "gate.weight"] = ones({2, 3});
  tensors[file + "experts.0.w2.weight"] = ones({3, 1});
  tensors[file + "experts.1.w2.weight"] = ones({3, 2});
  EXPECT_ERROR(
      decoder_tensors(source_of(tensors, "m"), config), kFormat,
      "m: tensor \"model.layers.0.mlp.experts.1.down_proj.weight\": expected f32 [3, 1] as "
      "\"model.layers.0.mlp.experts.0.down_proj.weight\" has, got f32 [3, 2]");
  tensors[file + "experts.1.w2.weight"] = zeros({3, 1});
  const TensorSource source = decoder_tensors(source_of(tensors, "m"), config);
  EXPECT_EQ(names_of(source), (Names{mlp + "experts.down_proj.weight", mlp + "gate.weight"}));
  EXPECT_EQ(source.tensors.at(mlp + "experts.down_proj.weight").shape, (Shape{2, 3, 1}));
  EXPECT_EQ(
      flatten(source.load(mlp + "experts.down_proj.weight", Device::cpu())).to_vector<float>(),
      (std::vector<float>{1, 1, 1, 0, 0, 0}));
}

/// A config of 2 experts with rows of 4 elements and an MLP of 3.
DecoderConfig of_experts(const std::string& model_type) {
  DecoderConfig config = small(model_type);
  config.num_experts = 2, config.moe_intermediate_size = 3;
  return config;
}

TEST(DecoderTensors, OfAllExpertsGatesAreViewsOfTheirRows) {
  const std::string moe = "model.layers.0.block_sparse_moe.",
                    experts = "model.layers.0.mlp.experts.";
  const Tensor rows = reshape(arange(48), {2, 6, 4});
  const Names names{experts + "down_proj.weight", experts + "gate_proj.weight",
                    experts + "up_proj.weight", "model.layers.0.mlp.gate.weight"};
  const auto expect_parts = [&](const NamedTensors& tensors, const std::string& model_type) {
    const TensorSource source = decoder_tensors(source_of(tensors, "m"), of_experts(model_type));
    EXPECT_EQ(names_of(source), names);
    EXPECT_EQ(source.tensors.at(names[1]).shape, (Shape{2, 3, 4}));
    const auto first_of_each_expert = [&](const std::string& name) {
      const Tensor part = source.load(name, Device::cpu());
      EXPECT_EQ(part.shape(), (Shape{2, 3, 4}));
      return narrow(narrow(part, 1, 0, 1), 2, 0, 1).contiguous().to_vector<int64_t>();
    };
    EXPECT_EQ(first_of_each_expert(names[1]), (std::vector<int64_t>{0, 24}));
    EXPECT_EQ(first_of_each_expert(names[2]), (std::vector<int64_t>{12, 36}));
  };
  const Tensor down = ones({2, 4, 3}), gate = ones({2, 4});
  expect_parts({{moe + "input_linear.weight", rows},
                {moe + "output_linear.weight", down},
                {moe + "router.layer.weight", gate}},
               "granitemoe");
  expect_parts({{moe + "experts.gate_up_proj", rows},
                {moe + "experts.down_proj", down},
                {moe + "router.weight", gate}},
               "granitemoe");
  expect_parts({{experts + "gate_up_proj", rows}, {experts + "down_proj", down}, {names[3], gate}},
               "qwen3_moe");
  EXPECT_ERROR(decoder_tensors(source_of({{experts + "gate_up_proj", ones({2, 5, 4})}}, "m"),
                               of_experts("mixtral")),
               kFormat, "gate_up_proj.weight\": expected 6 rows, got shape [2, 5, 4]");
}

TEST(DecoderTensors, OfGgufHaveExperts) {
  NamedTensors tensors;
  tensors["token_embd.weight"] = ones({2});
  for (const char* name :
       {"ffn_gate_inp", "ffn_down_exps", "ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"})
    tensors["blk.0." + std::string(name) + ".weight"] = ones({2});
  tensors["blk.0.ffn_gate_up_exps.weight"] = ones({2, 6, 4});
  tensors["blk.0.ffn_gate_inp_shexp.weight"] = ones({4});
  const TensorSource source = decoder_tensors(source_of(tensors, "m"), of_experts("qwen2_moe"));
  const std::string mlp = "model.layers.0.mlp.";
  EXPECT_EQ(
      names_of(source),
      (Names{"model.embed_tokens.weight", mlp + "experts.down_proj.weight",
             mlp + "experts.gate_proj.weight", mlp + "experts.up_proj.weight", mlp + "gate.weight",
             mlp + "shared_expert.down_proj.weight", mlp + "shared_expert.gate_proj.weight",
             mlp + "shared_expert.up_proj.weight", mlp + "shared_expert_gate.weight"}));
  const std::string gate = mlp + "shared_expert_gate.weight";
  EXPECT_EQ(source.tensors.at(gate).shape, (Shape{1, 4}));
  EXPECT_EQ(source.load(gate, Device::cpu()).shape(), (Shape{1, 4}));
}

// The elements of the format in the order of their codes, as OCP's MX 1.0 has them.
TEST(DecoderTensors, OfMxfp4AreReorderedNotExpanded) {
  const DecoderConfig config = of_experts("gpt_oss");
  std::vector<uint8_t> codes;
  for (int64_t i = 0; i < 16; i++) codes.push_back(uint8_t((2 * i) % 16 | (2 * i + 1) % 16 << 4));
  const std::string experts = "model.layers.0.mlp.experts.";
  const auto made = [&](const Tensor& blocks, const Tensor& scales) {
    return decoder_tensors(
        source_of({{experts + "down_proj_blocks", blocks}, {experts + "down_proj_scales", scales}},
                  "m"),
        config);
  };
  const Tensor blocks = Tensor::from(codes, {1, 1, 1, 16}),
               scales = Tensor::from(std::vector<uint8_t>{128}, {1, 1, 1});
  const std::string name = experts + "down_proj.weight";
  const TensorSource source = made(blocks, scales);
  EXPECT_EQ(source.tensors.at(name).dtype, DType::kMXFP4);
  const Tensor weight = source.load(name, Device::cpu());
  EXPECT_EQ(weight.dtype(), DType::kMXFP4);
  EXPECT_EQ(weight.shape(), (Shape{1, 1, 32}));
  std::vector<float> expected;
  for (int half = 0; half < 2; half++)
    for (const float sign : {1.0F, -1.0F})
      for (const float x : {0.0F, 1.0F, 2.0F, 3.0F, 4.0F, 6.0F, 8.0F, 12.0F})
        expected.push_back(sign * x);
  EXPECT_EQ(cast(weight, DType::kF32).to_vector<float>(), expected);
  EXPECT_ERROR(made(blocks, scales.to(DType::kF32)), kFormat,
               "expected u8 [..., blocks, 16] and [..., blocks], got u8 [1, 1, 1, 16] and f32");
  EXPECT_ERROR(made(reshape(blocks, {1, 1, 2, 8}), scales), kFormat, "got u8 [1, 1, 2, 8]");
}

TEST(DecoderTensors, OfLayersThatPredictFurtherTokensAreLeftOut) {
  DecoderConfig config = of_experts("glm4_moe");
  config.num_hidden_layers = 2;
  const std::string kept = "model.layers.1.input_layernorm.weight";
  EXPECT_EQ(names_of(decoder_tensors(source_with({kept, "model.layers.2.eh_proj.weight",
                                                  "model.layers.10.input_layernorm.weight"}),
                                     config)),
            Names{kept});
  EXPECT_EQ(names_of(decoder_tensors(source_with({"token_embd.weight", "blk.1.attn_norm.weight",
                                                  "blk.2.nextn.eh_proj.weight"}),
                                     config)),
            (Names{"model.embed_tokens.weight", kept}));
  EXPECT_EQ(names_of(decoder_tensors(source_with({kept, "model.mtp_block.0.norm.weight"}),
                                     of_experts("ernie4_5_moe"))),
            Names{kept});
}

TEST(DecoderTensors, OfFormerGgufHaveExpertsApart) {
  NamedTensors tensors;
  tensors["token_embd.weight"] = ones({2});
  const auto expert = [](int64_t e) {
    return cast(full({1, 32}, 127.0 * double(e + 1)), DType::kQ8_0);
  };
  for (const std::string projection : {"gate", "up", "down"})
    for (int64_t e = 0; e < 2; e++)
      tensors["blk.0.ffn_" + projection + "." + std::to_string(e) + ".weight"] = expert(e);
  const TensorSource source = decoder_tensors(source_of(tensors, "m"), of_experts("mixtral"));
  const std::string experts = "model.layers.0.mlp.experts.";
  EXPECT_EQ(names_of(source), (Names{"model.embed_tokens.weight", experts + "down_proj.weight",
                                     experts + "gate_proj.weight", experts + "up_proj.weight"}));
  const Tensor up = source.load(experts + "up_proj.weight", Device::cpu());
  EXPECT_EQ(up.dtype(), DType::kQ8_0);
  EXPECT_EQ(up.shape(), (Shape{2, 1, 32}));
  const Tensor floats = narrow(cast(up, DType::kF32), 2, 0, 1);
  EXPECT_EQ(flatten(floats).to_vector<float>(), (std::vector<float>{127, 254}));
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
