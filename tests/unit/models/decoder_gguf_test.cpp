#include "../expect.h"
#include "wick/models/decoder.h"
#include "wick/ops/create.h"

namespace wick {
namespace {

constexpr LayerType kFull = LayerType::kFull, kSliding = LayerType::kSliding;
using LayerTypes = std::vector<LayerType>;

/// The metadata of a small model, with one key's value replaced; nullptr takes the key away.
Settings metadata_with(const std::string& key = "", Setting value = nullptr) {
  Settings s("m.gguf");
  s.set("general.architecture", "llama").set("llama.block_count", 2);
  s.set("llama.context_length", 64).set("llama.embedding_length", 16);
  s.set("llama.feed_forward_length", 24).set("llama.attention.head_count", 4);
  s.set("llama.attention.layer_norm_rms_epsilon", 1e-5);
  if (!key.empty()) s.set(key, std::move(value));
  return s;
}

/// A source of these and the embedding.
TensorSource embedding_and(NamedTensors tensors = {}) {
  tensors["token_embd.weight"] = zeros({48, 16}, {.dtype = DType::kF16});
  return source_of(tensors, "m.gguf");
}

TEST(GgufConfig, HasTheSizesOfMetadataAndTensors) {
  Settings metadata = metadata_with("llama.rope.freq_base", 5e5);
  metadata.set("tokenizer.ggml.bos_token_id", 1).set("tokenizer.ggml.eos_token_id", 2);
  metadata.set("tokenizer.ggml.eot_token_id", 3).set("tokenizer.ggml.eom_token_id", 2);
  metadata.set("llama.attention.head_count_kv", 2).set("llama.some_key", 3);
  const DecoderConfig c = decoder_config_of_gguf(metadata, embedding_and());
  EXPECT_EQ(c.model_type, "llama");
  EXPECT_EQ(c.vocab_size, 48);
  EXPECT_EQ(c.hidden_size, 16);
  EXPECT_EQ(c.intermediate_size, 24);
  EXPECT_EQ(c.num_hidden_layers, 2);
  EXPECT_EQ(c.num_attention_heads, 4);
  EXPECT_EQ(c.num_key_value_heads, 2);
  EXPECT_EQ(c.head_dim, 4);
  EXPECT_EQ(c.max_position_embeddings, 64);
  EXPECT_EQ(c.rms_norm_eps, 1e-5);
  EXPECT_EQ(c.rope_theta, 5e5);
  EXPECT_EQ(c.rope_pairs, RopePairs::kAdjacent);
  EXPECT_TRUE(c.tie_word_embeddings);
  EXPECT_EQ(c.dtype, DType::kF16);
  EXPECT_EQ(c.bos_token_ids, (std::vector<int64_t>{1}));
  EXPECT_EQ(c.eos_token_ids, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(c.ignored_keys, (std::vector<std::string>{"llama.some_key"}));
  const TensorSource with_output = embedding_and({{"output.weight", zeros({48, 16})}});
  EXPECT_FALSE(decoder_config_of_gguf(metadata, with_output).tie_word_embeddings);
}

TEST(GgufConfig, OfAnArchitectureOfTwoFamiliesIsThatOfTheOneWithAWindow) {
  Settings metadata("m.gguf");
  metadata.set("general.architecture", "olmo2").set("olmo2.block_count", 4);
  metadata.set("olmo2.context_length", 64).set("olmo2.embedding_length", 16);
  metadata.set("olmo2.feed_forward_length", 24).set("olmo2.attention.head_count", 4);
  metadata.set("olmo2.attention.layer_norm_rms_epsilon", 1e-5).set("olmo2.rope.freq_base", 1e3);
  EXPECT_EQ(decoder_config_of_gguf(metadata, embedding_and()).model_type, "olmo2");
  metadata.set("olmo2.attention.sliding_window", 7);
  const DecoderConfig c = decoder_config_of_gguf(metadata, embedding_and());
  EXPECT_EQ(c.model_type, "olmo3");
  EXPECT_EQ(c.sliding_window, 7);
  EXPECT_EQ(c.layer_types, (LayerTypes{kSliding, kSliding, kSliding, kFull}));
  EXPECT_EQ(c.rope_local_base_freq, 1e3);  // that of all layers
  metadata.set("olmo2.rope.freq_base_swa", 2e3);
  EXPECT_EQ(decoder_config_of_gguf(metadata, embedding_and()).rope_local_base_freq, 2e3);
}

TEST(GgufConfig, HasTheBiasesThatTheFileHas) {
  const DecoderConfig c = decoder_config_of_gguf(
      metadata_with(),
      embedding_and({{"blk.0.attn_q.bias", zeros({16})}, {"blk.0.ffn_up.bias", zeros({24})}}));
  EXPECT_TRUE(c.attention_bias);
  EXPECT_TRUE(c.mlp_bias);
}

/// The metadata under another architecture's name.
Settings metadata_of(const std::string& architecture) {
  const Settings of_llama = metadata_with();
  Settings metadata("m.gguf");
  for (const auto& [key, value] : of_llama.entries())
    metadata.set(key.starts_with("llama.") ? architecture + key.substr(5) : key, value);
  return metadata.set("general.architecture", architecture);
}

TEST(GgufConfig, OfPhi3HasNoWindowOfZero) {
  Settings metadata = metadata_of("phi3");
  metadata.set("phi3.attention.sliding_window", 0);
  EXPECT_EQ(decoder_config_of_gguf(metadata, embedding_and()).sliding_window, 0);
  metadata.set("phi3.attention.sliding_window", 9);
  EXPECT_EQ(decoder_config_of_gguf(metadata, embedding_and()).sliding_window, 9);
}

TEST(GgufConfig, OfLlama4HasTheChunksOfThePublishedModels) {
  Settings metadata = metadata_of("llama4");
  metadata.set("llama4.expert_count", 4).set("llama4.expert_used_count", 1);
  metadata.set("llama4.expert_feed_forward_length", 8);
  metadata.set("llama4.interleave_moe_layer_step", 2);
  const DecoderConfig c = decoder_config_of_gguf(metadata, embedding_and());
  EXPECT_EQ(c.sliding_window, 8192);
  EXPECT_EQ(c.qk_norm, QkNorm::kRotated);
  EXPECT_EQ(c.sparse_layers, (std::vector<bool>{false, true}));
  metadata.set("llama4.expert_count", 128);
  EXPECT_EQ(decoder_config_of_gguf(metadata, embedding_and()).qk_norm, QkNorm::kNone);
  metadata.set("llama4.attention.sliding_window", 0);
  EXPECT_ERROR(decoder_config_of_gguf(metadata, embedding_and()), kUnsupported,
               "\"llama4.attention.sliding_window\": expected chunks of 8192 positions");
}

TEST(GgufConfig, OfPhi3ReadsTheFactorsOfLongRope) {
  Settings metadata = metadata_of("phi3");
  metadata.set("phi3.rope.scaling.original_context_length", 16);
  metadata.set("phi3.rope.scaling.attn_factor", 1.25);
  const auto factors = [](float a, float b) { return Tensor::from(std::vector<float>{a, b}); };
  const auto with = [&](const Tensor& short_factor) {
    return embedding_and(
        {{"rope_factors_short.weight", short_factor}, {"rope_factors_long.weight", factors(3, 4)}});
  };
  const RopeScaling s = decoder_config_of_gguf(metadata, with(factors(1, 2))).rope_scaling;
  EXPECT_EQ(s.type, RopeScalingType::kLongRope);
  EXPECT_EQ(s.short_factor, (std::vector<double>{1, 2}));
  EXPECT_EQ(s.long_factor, (std::vector<double>{3, 4}));
  EXPECT_EQ(s.original_max_position_embeddings, 16);
  EXPECT_EQ(s.attention_factor, 1.25);
  EXPECT_ERROR(decoder_config_of_gguf(metadata, with(ones({3}))), kFormat,
               "\"short_factor\": expected a list of 2 numbers above 0, got a list");
}

TEST(GgufConfig, OfStablelmHasThePartsThatTheFileHas) {
  Settings metadata = metadata_of("stablelm");
  EXPECT_ERROR(decoder_config_of_gguf(metadata, embedding_and()), kFormat,
               "\"stablelm.attention.layer_norm_epsilon\": expected a number, got nothing");
  metadata.set("stablelm.attention.layer_norm_epsilon", 0.5);
  metadata.set("stablelm.use_parallel_residual", true);  // by default of llama.cpp's conversion
  metadata.set("stablelm.rope.dimension_count", 2);
  const DecoderConfig plain =
      decoder_config_of_gguf(metadata, embedding_and({{"blk.0.ffn_norm.weight", ones({16})}}));
  EXPECT_FALSE(plain.parallel_residual);
  EXPECT_EQ(plain.qk_norm, QkNorm::kNone);
  EXPECT_EQ(plain.rotary_dim, 2);
  const DecoderConfig parallel =
      decoder_config_of_gguf(metadata, embedding_and({{"blk.0.attn_q_norm.weight", ones({4, 4})}}));
  EXPECT_TRUE(parallel.parallel_residual);
  EXPECT_EQ(parallel.qk_norm, QkNorm::kEachHead);
}

TEST(GgufConfig, OfGraniteHasMultipliers) {
  Settings metadata = metadata_of("granite");
  EXPECT_EQ(decoder_config_of_gguf(metadata, embedding_and()).attention_multiplier, 0);
  metadata.set("granite.attention.scale", 0.25).set("granite.logit_scale", 8.0);
  metadata.set("granite.residual_scale", 0.5).set("granite.embedding_scale", 12.0);
  const DecoderConfig c = decoder_config_of_gguf(metadata, embedding_and());
  EXPECT_EQ(c.attention_multiplier, 0.25);
  EXPECT_EQ(c.logits_scaling, 8);
  EXPECT_EQ(c.residual_multiplier, 0.5);
  EXPECT_EQ(c.embedding_scale, 12);
}

TEST(GgufConfig, OfLlamaWithExpertsIsMixtral) {
  Settings metadata = metadata_with("llama.expert_count", 0);
  EXPECT_EQ(decoder_config_of_gguf(metadata, embedding_and()).model_type, "llama");
  metadata.set("llama.expert_count", 8);
  EXPECT_ERROR(decoder_config_of_gguf(metadata, embedding_and()), kFormat,
               "m.gguf: \"llama.expert_used_count\": expected an integer of at least 1");
  metadata.set("llama.expert_used_count", 2);
  const DecoderConfig c = decoder_config_of_gguf(metadata, embedding_and());
  EXPECT_EQ(c.model_type, "mixtral");
  EXPECT_EQ(c.num_experts, 8);
  EXPECT_EQ(c.num_experts_per_tok, 2);
  EXPECT_EQ(c.moe_intermediate_size, 24);
  EXPECT_TRUE(c.norm_topk_prob);
  EXPECT_EQ(c.rope_pairs, RopePairs::kAdjacent);
  EXPECT_TRUE(c.ignored_keys.empty());
  metadata.set("llama.expert_gating_func", 1).set("llama.expert_weights_norm", false);
  EXPECT_FALSE(decoder_config_of_gguf(metadata, embedding_and()).norm_topk_prob);
  EXPECT_EQ(decoder_config_of_gguf(metadata, embedding_and()).router_scores,
            RouterScores::kSoftmax);
  metadata.set("llama.expert_gating_func", 2);
  EXPECT_EQ(decoder_config_of_gguf(metadata, embedding_and()).router_scores,
            RouterScores::kSigmoid);
  metadata.set("llama.expert_gating_func", 3);
  EXPECT_ERROR(decoder_config_of_gguf(metadata, embedding_and()), kUnsupported,
               "m.gguf: \"llama.expert_gating_func\": expected 1, softmax, or 2, sigmoid, got 3");
}

// The first files of Qwen 1.5 with experts lack their sizes.
TEST(GgufConfig, OfExpertsHasTheSizesThatFilesLeaveOut) {
  Settings metadata = metadata_of("qwen2moe");
  EXPECT_ERROR(decoder_config_of_gguf(metadata, embedding_and()), kFormat,
               "\"qwen2moe.expert_count\": expected an integer of at least 1, got nothing");
  metadata.set("qwen2moe.expert_count", 60).set("qwen2moe.expert_used_count", 4);
  const DecoderConfig c = decoder_config_of_gguf(metadata, embedding_and());
  EXPECT_EQ(c.model_type, "qwen2_moe");
  EXPECT_EQ(c.moe_intermediate_size, 6);
  EXPECT_EQ(c.shared_expert_intermediate_size, 24);
  EXPECT_FALSE(c.norm_topk_prob);
  metadata.set("qwen2moe.expert_feed_forward_length", 5);
  metadata.set("qwen2moe.expert_shared_feed_forward_length", 7);
  const DecoderConfig said = decoder_config_of_gguf(metadata, embedding_and());
  EXPECT_EQ(said.moe_intermediate_size, 5);
  EXPECT_EQ(said.shared_expert_intermediate_size, 7);
}

TEST(GgufConfig, OfGemma3KnowsWhatFilesDoNotSay) {
  Settings metadata = metadata_of("gemma3");
  metadata.set("gemma3.block_count", 62).set("gemma3.attention.key_length", 8);
  EXPECT_TRUE(decoder_config_of_gguf(metadata, embedding_and()).layer_types.empty());
  metadata.set("gemma3.attention.sliding_window", 5);
  const DecoderConfig largest = decoder_config_of_gguf(metadata, embedding_and());
  EXPECT_EQ(largest.query_pre_attn_scalar, 4);
  EXPECT_FALSE(largest.norm_adds_one);
  EXPECT_EQ(largest.sliding_window, 5);
  EXPECT_EQ(largest.rope_local_base_freq, 1e4);
  EXPECT_EQ(largest.layer_types[4], kSliding);
  EXPECT_EQ(largest.layer_types[5], kFull);
  metadata.set("gemma3.block_count", 2);
  metadata.set("gemma3.attention.sliding_window_pattern", Setting::List{false, true});
  const DecoderConfig small = decoder_config_of_gguf(metadata, embedding_and());
  EXPECT_EQ(small.query_pre_attn_scalar, 8);
  EXPECT_EQ(small.layer_types, (LayerTypes{kFull, kSliding}));
}

TEST(GgufConfig, ReadsTheScalingOfRope) {
  Settings metadata = metadata_with("llama.rope.scaling.factor", 4.0);
  const auto scaling = [&] {
    return decoder_config_of_gguf(metadata, embedding_and()).rope_scaling;
  };
  EXPECT_EQ(scaling().type, RopeScalingType::kLinear);
  EXPECT_EQ(scaling().factor, 4);
  metadata.set("llama.rope.scaling.type", "none");
  EXPECT_EQ(scaling().type, RopeScalingType::kNone);
  metadata.set("llama.rope.scaling.type", "yarn");
  metadata.set("llama.rope.scaling.original_context_length", 16);
  metadata.set("llama.rope.scaling.yarn_beta_fast", 8.0);
  EXPECT_EQ(scaling().type, RopeScalingType::kYarn);
  EXPECT_EQ(scaling().original_max_position_embeddings, 16);
  EXPECT_EQ(scaling().beta_fast, 8);
  EXPECT_EQ(scaling().beta_slow, 1);
  EXPECT_NEAR(scaling().attention_factor, 1.1386294, 1e-6);
  metadata.set("llama.rope.scaling.yarn_attn_factor", 1.5);
  EXPECT_EQ(scaling().attention_factor, 1.5);
  const TensorSource with_divisors =
      embedding_and({{"rope_freqs.weight", Tensor::from(std::vector<float>{1, 8})}});
  EXPECT_EQ(decoder_config_of_gguf(metadata_with(), with_divisors).rope_scaling.divisors,
            (std::vector<double>{1, 8}));
}

TEST(GgufConfig, AWrongValueIsAnErrorThatNamesFileAndKey) {
  const auto refused = [](const char* key, const Setting& value, const std::string& part) {
    EXPECT_ERROR(decoder_config_of_gguf(metadata_with(key, value), embedding_and()), kFormat, part);
  };
  refused("general.architecture", "mamba",
          "m.gguf: \"general.architecture\": expected \"llama\", \"llama4\", \"mistral4\", ");
  refused("general.architecture", "mamba", "\", got the string \"mamba\"");
  refused("general.architecture", nullptr, "expected a string, got nothing");
  refused("general.architecture", "", "\", got the string \"\"");
  refused("llama.embedding_length", "16",
          "m.gguf: \"llama.embedding_length\": expected an integer of at least 1");
  for (const char* key : {"context_length", "feed_forward_length", "block_count",
                          "attention.head_count", "attention.layer_norm_rms_epsilon"}) {
    const std::string name = std::string("llama.") + key;
    refused(name.c_str(), nullptr, "m.gguf: \"" + name + "\": expected ");
    refused(name.c_str(), "x", "m.gguf: \"" + name + "\": expected ");
  }
  refused("llama.attention.head_count", 0, "\"llama.attention.head_count\"");
  refused("llama.attention.head_count_kv", Setting::List{1, "2"},
          "\"llama.attention.head_count_kv\": expected an integer of at least 1, got a list");
  refused("llama.block_count", Setting::List{2, 2},
          "expected an integer of at least 1, got a list");
}

TEST(GgufConfig, AListOfEqualNumbersIsTheSizeOfAllLayers) {
  Settings metadata = metadata_with("llama.attention.head_count", Setting::List{4, 4});
  metadata.set("llama.attention.head_count_kv", Setting::List{2, 2})
      .set("llama.feed_forward_length", Setting::List{24, 24});
  const DecoderConfig c = decoder_config_of_gguf(metadata, embedding_and());
  EXPECT_EQ(c.num_attention_heads, 4);
  EXPECT_EQ(c.num_key_value_heads, 2);
  EXPECT_EQ(c.intermediate_size, 24);
  EXPECT_TRUE(c.ignored_keys.empty());
  EXPECT_ERROR(
      decoder_config_of_gguf(metadata_with("llama.attention.head_count_kv", Setting::List{2, 2, 1}),
                             embedding_and()),
      kUnsupported,
      "m.gguf: \"llama.attention.head_count_kv\": expected the same number for all layers, "
      "got 2 for layer 0 and 1 for layer 2");
}

TEST(GgufConfig, AKeyThatChangesResultsAndIsNotReadIsAnError) {
  const auto refused = [](const char* key, const Setting& value, const std::string& part) {
    EXPECT_ERROR(decoder_config_of_gguf(metadata_with(key, value), embedding_and()), kUnsupported,
                 part);
  };
  refused("llama.attention.value_length", 8,
          "m.gguf: \"llama.attention.value_length\": expected 4 as for keys, got 8");
  refused("llama.rope.dimension_count", 2, "\"partial_rotary_factor\" is the number 0.5");
  refused("llama.expert_weights_scale", 2.5, "\"routed_scaling_factor\" is the number 2.5");
  refused("llama.leading_dense_block_count", 1, "\"first_k_dense_replace\" is 1");
  refused("llama.attention.sliding_window", 9, "\"sliding_window\" is 9");
  Settings yarn = metadata_with("llama.rope.scaling.type", "yarn");
  yarn.set("llama.rope.scaling.factor", 4.0).set("llama.rope.scaling.yarn_ext_factor", 0.5);
  EXPECT_ERROR(decoder_config_of_gguf(yarn, embedding_and()), kUnsupported,
               "\"llama.rope.scaling.yarn_ext_factor\": expected 1, got 0.5");
  yarn.set("llama.rope.scaling.type", "xpos");
  EXPECT_ERROR(decoder_config_of_gguf(yarn, embedding_and()), kFormat,
               "m.gguf: \"llama.rope.scaling\": \"rope_type\": expected");
}

TEST(GgufConfig, NeedsTheEmbeddingAndFittingDivisors) {
  EXPECT_ERROR(decoder_config_of_gguf(metadata_with(), source_of({}, "m.gguf")), kFormat,
               "m.gguf: expected a tensor \"token_embd.weight\" of 2 dims");
  EXPECT_ERROR(
      decoder_config_of_gguf(metadata_with(), embedding_and({{"rope_freqs.weight", ones({3})}})),
      kFormat, "tensor \"rope_freqs.weight\": expected 2 elements, got 3");
}

}  // namespace
}  // namespace wick
