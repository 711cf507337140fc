#include "wick/models/decoder.h"

#include <cmath>

#include "../exact_activations.h"
#include "../expect.h"
#include "../small_config.h"
#include "logits.h"
#include "wick/io/gguf.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/nn/optimizer.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/loss.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"

namespace wick {
namespace {

using test::largest_difference;
using test::next_tokens;

// ---- config.json

/// A good config.json, with one key's value replaced; "" takes the key away.
std::string config_text(const std::string& key = "", const std::string& value = "") {
  std::vector<std::pair<std::string, std::string>> entries = {
      {"model_type", "\"llama\""}, {"vocab_size", "48"},       {"hidden_size", "16"},
      {"intermediate_size", "24"}, {"num_hidden_layers", "2"}, {"num_attention_heads", "4"}};
  bool replaced = false;
  std::string text;
  for (auto& [k, v] : entries) {
    if (k == key) v = value, replaced = true;
    if (!v.empty()) text += (text.empty() ? "\"" : ",\"") + k + "\":" + v;
  }
  if (!key.empty() && !replaced) text += ",\"" + key + "\":" + value;
  return "{" + text + "}";
}
DecoderConfig config_with(const std::string& key, const std::string& value) {
  return decoder_config(parse_json(config_text(key, value), "config.json"));
}

TEST(DecoderConfig, OfMoreWeightsThanADeviceHoldsIsAnError) {
  EXPECT_ERROR(config_with("num_hidden_layers", "2147483648"), kFormat, "expected at most 65536");
  DecoderConfig c = test::small_config();
  c.vocab_size = int64_t{1} << 40;
  Parameters parameters(ParameterOptions{});
  EXPECT_ERROR(Decoder(c, parameters), kOutOfMemory, " weights of f32 exceed the ");
  c.vocab_size = int64_t{1} << 55;
  EXPECT_ERROR(num_parameters(c), kInvalidArgument, "more than 2^60 weights");
  c.num_hidden_layers = int64_t{1} << 40;
  EXPECT_ERROR(num_parameters(c), kInvalidArgument, "expected at most 65536, got 1099511627776");
  DecoderConfig wide = test::small_config();
  wide.head_dim = int64_t{1} << 50;  // tables of rope would be as wide
  EXPECT_ERROR(num_parameters(wide), kInvalidArgument, "more than 2^60 weights");
}

/// The config of a model of this type with these keys, and no more than it needs.
DecoderConfig config_of(const std::string& model_type, const std::string& keys) {
  const std::string text = "{\"model_type\": \"" + model_type +
                           "\", \"hidden_size\": 16, \"intermediate_size\": 24, "
                           "\"num_hidden_layers\": 4" +
                           (keys.empty() ? "" : ", " + keys) + "}";
  return decoder_config(parse_json(text, "config.json"));
}
DecoderConfig gemma(const std::string& keys) { return config_of("gemma3_text", keys); }
DecoderConfig qwen(const std::string& keys) {
  return config_of("qwen3", "\"vocab_size\": 48, \"num_attention_heads\": 32, " + keys);
}
DecoderConfig mistral(const std::string& keys) {
  return config_of("mistral",
                   "\"vocab_size\": 48, \"num_attention_heads\": 16, \"head_dim\": 4" + keys);
}

constexpr LayerType kFull = LayerType::kFull, kSliding = LayerType::kSliding;
using LayerTypes = std::vector<LayerType>;

// The text part of gemma-3-4b-it's config.json has no more keys than these.
TEST(DecoderConfig, OfAFamilyHasItsDefaults) {
  const DecoderConfig c = gemma(R"("sliding_window": 1024)");
  EXPECT_EQ(c.vocab_size, 262208);
  EXPECT_EQ(c.num_attention_heads, 8);
  EXPECT_EQ(c.num_key_value_heads, 4);
  EXPECT_EQ(c.head_dim, 256);
  EXPECT_EQ(c.rope_theta, 1e6);
  EXPECT_EQ(c.rope_local_base_freq, 1e4);
  EXPECT_EQ(c.query_pre_attn_scalar, 256);
  EXPECT_EQ(c.embedding_scale, 4);
  EXPECT_TRUE(c.tie_word_embeddings);
  EXPECT_EQ(c.qk_norm, QkNorm::kHead);
  EXPECT_EQ(c.norm_places, NormPlaces::kBoth);
  EXPECT_TRUE(c.norm_adds_one);
  EXPECT_EQ(c.hidden_act, HiddenAct::kGeluTanh);
  EXPECT_EQ(mistral("").num_key_value_heads, 8);
  EXPECT_EQ(mistral(R"(, "num_key_value_heads": null)").num_key_value_heads, 16);
  EXPECT_EQ(qwen(R"("attention_bias": true)").head_dim, 128);
}

TEST(DecoderConfig, KnowsTheSwitchesOfItsFamily) {
  const DecoderConfig qwen2 = config_of("qwen2", R"("vocab_size": 48, "num_attention_heads": 4,
                                                     "num_key_value_heads": 2)");
  EXPECT_TRUE(qwen2.attention_bias);
  EXPECT_FALSE(qwen2.attention_output_bias || qwen2.mlp_bias);
  EXPECT_EQ(config_of("gemma2", "").final_logit_softcapping, 30);
  EXPECT_EQ(config_of("gemma2", R"("final_logit_softcapping": null)").final_logit_softcapping, 0);
  EXPECT_EQ(config_of("gemma2", "").layer_types, (LayerTypes{kSliding, kFull, kSliding, kFull}));
  const std::string heads = R"("vocab_size": 48, "num_attention_heads": 4)";
  EXPECT_EQ(config_of("granite", heads).attention_multiplier, 1);
  EXPECT_EQ(config_of("granite", heads + R"(, "embedding_multiplier": 12.5)").embedding_scale,
            12.5);
  EXPECT_EQ(config_of("olmo", heads + R"(, "clip_qkv": 8)").clip_qkv, 8);
  EXPECT_EQ(config_of("olmo", heads).norm_type, NormType::kLayerPlain);
  EXPECT_EQ(config_of("olmo2", heads).qk_norm, QkNorm::kProjection);
  const DecoderConfig starcoder2 =
      config_of("starcoder2", heads + R"(, "norm_epsilon": 0.25, "use_bias": false)");
  EXPECT_EQ(starcoder2.rms_norm_eps, 0.25);
  EXPECT_FALSE(starcoder2.attention_bias || starcoder2.attention_output_bias ||
               starcoder2.mlp_bias || starcoder2.gated_mlp);
  EXPECT_TRUE(config_of("starcoder2", heads).mlp_bias);
  const std::string eight = R"("num_attention_heads": 2, "num_key_value_heads": 2)";
  EXPECT_EQ(config_of("stablelm", eight).rotary_dim, 2);
  EXPECT_EQ(config_of("stablelm", eight).qk_norm, QkNorm::kNone);
  EXPECT_EQ(config_of("stablelm", eight + R"(, "qk_layernorm": true)").qk_norm, QkNorm::kEachHead);
  EXPECT_TRUE(
      config_of("stablelm", eight + R"(, "use_parallel_residual": true)").parallel_residual);
  EXPECT_EQ(config_of("glm4", "").rotary_dim, 64);
  EXPECT_EQ(config_of("glm4", R"("rope_parameters": {"partial_rotary_factor": 0.25})").rotary_dim,
            32);
  EXPECT_EQ(config_of("glm4", R"("partial_rotary_factor": 1.0)").rotary_dim, 0);
  EXPECT_TRUE(config_of("phi", eight).lm_head_bias);
  EXPECT_EQ(config_of("phi3", eight).pad_token_id, 32000);
  EXPECT_EQ(config_of("phi3", eight + R"(, "vocab_size": 48)").pad_token_id, std::nullopt);
  EXPECT_EQ(config_of("phi3", eight + R"(, "pad_token_id": null)").pad_token_id, std::nullopt);
  EXPECT_EQ(config_of("phi3", eight + R"(, "pad_token_id": -1)").pad_token_id, std::nullopt);
  EXPECT_EQ(config_of("phi3", eight + R"(, "pad_token_id": 7)").pad_token_id, 7);
}

TEST(DecoderConfig, OfGpt2IsReadByGpt2sKeys) {
  const DecoderConfig c = decoder_config(parse_json(
      R"({"model_type": "gpt2", "n_embd": 16, "n_layer": 3, "n_head": 2, "n_positions": 40,
          "n_inner": null, "activation_function": "gelu_new", "n_ctx": 40,
          "layer_norm_epsilon": 0.5, "scale_attn_weights": true, "summary_type": "cls_index"})",
      "config.json"));
  EXPECT_EQ(c.hidden_size, 16);
  EXPECT_EQ(c.intermediate_size, 64);
  EXPECT_EQ(c.num_hidden_layers, 3);
  EXPECT_EQ(c.num_attention_heads, 2);
  EXPECT_EQ(c.max_position_embeddings, 40);
  EXPECT_EQ(c.rms_norm_eps, 0.5);
  EXPECT_TRUE(c.learned_positions && c.tie_word_embeddings && c.attention_output_bias);
  EXPECT_TRUE(c.ignored_keys.empty());
}

TEST(DecoderConfig, OfGptBigCodeHasOneKeyOrOneForEachQuery) {
  const auto keys = [](const std::string& more) {
    return config_of("gpt_bigcode", R"("n_head": 4)" + more).num_key_value_heads;
  };
  EXPECT_EQ(keys(""), 1);
  EXPECT_EQ(keys(R"(, "multi_query": true)"), 1);
  EXPECT_EQ(keys(R"(, "multi_query": false)"), 4);
  EXPECT_ERROR(config_of("gpt2", R"("multi_query": true)"), kUnsupported, "\"multi_query\"");
}

TEST(DecoderConfig, OfFalconHasOneOfThreeArchitectures) {
  const auto falcon = [](const std::string& more) {
    return config_of("falcon", R"("num_attention_heads": 4)" + more);
  };
  const DecoderConfig c = falcon(R"(, "num_kv_heads": 4)");  // does not count
  EXPECT_EQ(c.num_key_value_heads, 1);
  EXPECT_TRUE(c.parallel_residual && !c.parallel_mlp_norm && !c.alibi);
  const std::string grouped =
      R"(, "new_decoder_architecture": true, "num_kv_heads": 2, "parallel_attn": false)";
  EXPECT_EQ(falcon(grouped).num_key_value_heads, 2);
  EXPECT_TRUE(falcon(grouped).parallel_residual && falcon(grouped).parallel_mlp_norm);
  EXPECT_FALSE(falcon(grouped + R"(, "num_ln_in_parallel_attn": 1)").parallel_mlp_norm);
  EXPECT_ERROR(falcon(grouped + R"(, "num_ln_in_parallel_attn": 3)"), kFormat, "expected 1 or 2");
  EXPECT_ERROR(falcon(R"(, "num_ln_in_parallel_attn": 2)"), kFormat, "expected 1, got 2");
  const DecoderConfig rw =
      falcon(R"(, "alibi": true, "multi_query": false, "parallel_attn": false, "bias": true)");
  EXPECT_EQ(rw.num_key_value_heads, 4);
  EXPECT_TRUE(rw.alibi && !rw.parallel_residual && rw.attention_bias && rw.mlp_bias);
  EXPECT_ERROR(config_of("llama", R"("alibi": true)"), kUnsupported, "\"alibi\" is true");
}

TEST(DecoderConfig, KnowsTheLayersThatRopeRotates) {
  const auto layers = [](const std::string& keys) {
    return config_of("smollm3", R"("num_attention_heads": 4)" + keys).rope_layers;
  };
  EXPECT_EQ(layers(""), (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(layers(R"(, "no_rope_layer_interval": 2)"),
            (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(layers(R"(, "no_rope_layers": [0, 1, 1, 0, 1, 1])"),
            (std::vector<bool>{false, true, true, false}));
  EXPECT_ERROR(layers(R"(, "no_rope_layers": [0, 1])"), kFormat,
               "\"no_rope_layers\": expected a list of 4 integers, got a list");
  const DecoderConfig c = config_of(
      "smollm3", R"("num_attention_heads": 4, "use_sliding_window": true, "sliding_window": 7)");
  EXPECT_EQ(c.layer_types, (LayerTypes{kFull, kFull, kFull, kSliding}));
  const auto exaone = [](const std::string& keys) {
    return config_of("exaone4", R"("num_attention_heads": 4, "num_key_value_heads": 2)" + keys);
  };
  EXPECT_EQ(exaone("").rope_layers, (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(exaone(R"(, "sliding_window": null)").rope_layers, std::vector<bool>());
  const std::string full = R"("full_attention")";
  const DecoderConfig none = exaone(", \"layer_types\": [" + full + ", " + full + ", " + full +
                                    ", " + full + "]");  // and still a window
  EXPECT_EQ(none.rope_layers, std::vector<bool>(4, false));
  EXPECT_EQ(to_json(to_settings(decoder_config(to_settings(none)))), to_json(to_settings(none)));
}

TEST(DecoderConfig, OfLlama4HasChunksAndScalesByTheLayersThatRotate) {
  const auto llama4 = [](const std::string& keys) {
    return config_of("llama4_text", R"("intermediate_size_mlp": 40)" + keys);
  };
  const DecoderConfig c = llama4(R"(, "attn_temperature_tuning": 4, "no_rope_layers": [])");
  EXPECT_EQ(c.intermediate_size, 40);
  EXPECT_EQ(c.moe_intermediate_size, 24);
  EXPECT_EQ(c.shared_expert_intermediate_size, 24);
  EXPECT_EQ(c.rope_layers, (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(c.layer_types, (LayerTypes{kSliding, kSliding, kSliding, kFull}));
  EXPECT_TRUE(c.chunked_windows && c.scales_expert_inputs && c.sliding_window == 8192);
  EXPECT_EQ(c.attn_scale, 0.1);
  EXPECT_EQ(llama4(R"(, "attn_temperature_tuning": false)").attn_scale, 0);
  EXPECT_EQ(llama4(R"(, "use_qk_norm": false)").qk_norm, QkNorm::kNone);
  EXPECT_TRUE(llama4(R"(, "attention_chunk_size": null)").layer_types.empty());
  EXPECT_EQ(llama4(R"(, "interleave_moe_layer_step": 2, "moe_layers": null)").sparse_layers,
            (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(llama4(R"(, "interleave_moe_layer_step": 2, "moe_layers": [0])").sparse_layers,
            (std::vector<bool>{true, false, false, false}));
  EXPECT_ERROR(config_with("attention_chunk_size", "8192"), kUnsupported,
               "\"attention_chunk_size\" is 8192");
}

/// A model of four layers, two of them full.
DecoderConfig gemma4(const std::string& keys, const std::string& last = "full") {
  return config_of("gemma4_text", R"("num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 8, "layer_types": ["sliding_attention", "full_attention", "sliding_attention", ")" +
                                      last + "_attention\"]" + (keys.empty() ? "" : ", " + keys));
}

TEST(DecoderConfig, KnowsTheFullLayersOfGemma4) {
  const DecoderConfig c = gemma4("");
  EXPECT_EQ(c.full_head_dim, 512);
  EXPECT_EQ(c.full_key_value_heads, 0);
  EXPECT_EQ(c.num_experts, 0);
  EXPECT_EQ(c.hidden_size_per_layer_input, 256);
  EXPECT_EQ(gemma4(R"("hidden_size_per_layer_input": null)").hidden_size_per_layer_input, 0);
  EXPECT_EQ(c.rope_theta, 1e6);
  EXPECT_EQ(c.rope_local_base_freq, 1e4);
  const std::vector<double>& divisors = c.rope_scaling.divisors;
  ASSERT_EQ(divisors.size(), 256u);
  EXPECT_EQ(std::count(divisors.begin(), divisors.end(), 1.0), 64);  // a quarter of the pairs
  const std::string listed =
      R"("per_layer_config": {"1": {"head_dim": 12, "num_key_value_heads": 1},
                                                     "3": {"head_dim": 12, "num_key_value_heads": 1}})";
  for (const std::string& keys :
       {listed, std::string(R"("global_head_dim": 12, "num_global_key_value_heads": 1)")}) {
    const DecoderConfig full = gemma4(keys + R"(, "attention_k_eq_v": true)");
    EXPECT_EQ(full.full_head_dim, 12);
    EXPECT_EQ(full.full_key_value_heads, 1);
    EXPECT_EQ(full.head_dim, 8);
    EXPECT_EQ(full.num_key_value_heads, 2);
  }
  EXPECT_EQ(gemma4(R"("num_global_key_value_heads": 1)").full_key_value_heads, 0);  // gated
  EXPECT_ERROR(gemma4(listed), kFormat, "\"attention_k_eq_v\": expected true");
  EXPECT_ERROR(gemma4(R"("per_layer_config": {"1": {"head_dim": 12}})"), kFormat,
               "\"per_layer_config\": expected one \"head_dim\" of all full layers");
  EXPECT_ERROR(gemma4(R"("per_layer_config": {"0": {"head_dim": 12}})"), kFormat,
               "and none of others");
  EXPECT_ERROR(gemma4(R"("per_layer_config": {"1": {"head_dim": 12, "sliding_window": 3}})"),
               kFormat, "\"sliding_window\": expected only");
  EXPECT_ERROR(gemma4(R"("per_layer_config": {"4": {"head_dim": 12}})"), kFormat,
               "\"4\": expected an object under the number of a layer");
  EXPECT_ERROR(gemma4(R"("global_head_dim": 2000000000)"), kFormat, "expected at most 65536");
  EXPECT_ERROR(gemma4(R"("global_head_dim": 7)"), kFormat, "\"global_head_dim\": expected an even");
  EXPECT_ERROR(gemma4(R"("num_global_key_value_heads": 3, "attention_k_eq_v": true)"), kFormat,
               "\"num_global_key_value_heads\": expected a divisor");
}

TEST(DecoderConfig, ChecksTheLayersOfGemma4) {
  EXPECT_EQ(gemma4(R"("use_bidirectional_attention": "vision")").sliding_window, 512);
  EXPECT_ERROR(gemma4(R"("use_bidirectional_attention": "all")"), kFormat,
               "\"use_bidirectional_attention\": expected \"vision\" or null");
  EXPECT_ERROR(gemma4("", "sliding"), kFormat, "\"full_attention\" as the last");
  EXPECT_ERROR(gemma4(R"("sliding_window": null)"), kFormat, "\"sliding_window\": expected");
  EXPECT_EQ(gemma4(R"("num_kv_shared_layers": 2)").num_kv_shared_layers, 2);
  for (const char* shared : {"3", "4", "5", "-1"})  // 3: no full layer has keys
    EXPECT_ERROR(gemma4("\"num_kv_shared_layers\": " + std::string(shared)), kFormat,
                 "\"num_kv_shared_layers\": expected");
  EXPECT_FALSE(gemma4(R"("use_double_wide_mlp": true)").use_double_wide_mlp);  // no layer shares
  EXPECT_EQ(gemma4(R"("num_experts": 4)").num_experts, 0);
  EXPECT_ERROR(gemma4(R"("num_experts": 4, "enable_moe_block": true)"), kFormat,
               "\"num_experts_per_tok\"");
  const auto rope = [](const std::string& keys) {
    return gemma4(R"("rope_parameters": {"full_attention": {"rope_type": "proportional")" + keys +
                  "}}");
  };
  EXPECT_TRUE(rope("").rope_scaling.divisors.empty());  // all pairs turn
  EXPECT_EQ(rope(R"(, "partial_rotary_factor": 0)").rope_scaling.divisors,
            std::vector<double>(256, double(1e30f)));
  EXPECT_ERROR(rope(R"(, "factor": 2)"), kFormat, "\"factor\": expected 1");
  EXPECT_ERROR(rope(R"(, "partial_rotary_factor": 1.5)"), kFormat, "\"partial_rotary_factor\"");
  EXPECT_ERROR(gemma(R"("rope_parameters": {"full_attention": {"rope_type": "proportional"}})"),
               kFormat, "\"rope_type\"");
}

TEST(DecoderConfig, ReadsLongRope) {
  const std::string scaling =
      R"("rope_scaling": {"type": "su", "short_factor": [1, 2], "long_factor": [3, 4.5]})";
  const std::string sizes = R"("num_attention_heads": 4, "max_position_embeddings": 64,
                               "original_max_position_embeddings": 16, )";
  const DecoderConfig c = config_of("phi3", sizes + scaling);
  EXPECT_EQ(c.rope_scaling.type, RopeScalingType::kLongRope);
  EXPECT_EQ(c.rope_scaling.original_max_position_embeddings, 16);
  EXPECT_EQ(c.rope_scaling.short_factor, (std::vector<double>{1, 2}));
  EXPECT_EQ(c.rope_scaling.long_factor, (std::vector<double>{3, 4.5}));
  EXPECT_DOUBLE_EQ(c.rope_scaling.attention_factor, std::sqrt(1.5));  // ln 4 / ln 16 = 1 / 2
}

TEST(DecoderConfig, OfAModelOfTextAndImagesIsThatOfItsText) {
  const std::string text = R"({"architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3", "eos_token_id": [1, 106], "torch_dtype": "bfloat16",
    "vision_config": {"hidden_size": 1152}, "image_token_index": 262144,
    "text_config": {"model_type": "gemma3_text", "hidden_size": 16, "intermediate_size": 24,
                    "num_hidden_layers": 4, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}})";
  const DecoderConfig c = decoder_config(parse_json(text, "config.json"));
  EXPECT_EQ(c.model_type, "gemma3_text");
  EXPECT_EQ(c.dtype, DType::kBf16);
  EXPECT_EQ(c.eos_token_ids, (std::vector<int64_t>{1, 106}));
  EXPECT_EQ(c.rope_scaling.factor, 8);
  EXPECT_TRUE(c.ignored_keys.empty());
}

TEST(DecoderConfig, KnowsTheLayersThatSlide) {
  EXPECT_EQ(gemma(R"("sliding_window_pattern": 2)").layer_types,
            (LayerTypes{kSliding, kFull, kSliding, kFull}));
  EXPECT_EQ(gemma(R"("num_attention_heads": 8)").layer_types, LayerTypes(4, kSliding));
  const DecoderConfig listed = gemma(R"("sliding_window": 9, "layer_types": [
    "full_attention", "full_attention", "sliding_attention", "full_attention"])");
  EXPECT_EQ(listed.layer_types, (LayerTypes{kFull, kFull, kSliding, kFull}));
  EXPECT_EQ(listed.sliding_window, 9);
  EXPECT_EQ(mistral("").sliding_window, 4096);
  EXPECT_EQ(mistral("").layer_types, LayerTypes(4, kSliding));
  EXPECT_EQ(mistral(R"(, "sliding_window": null)").sliding_window, 0);
  EXPECT_TRUE(mistral(R"(, "sliding_window": null)").layer_types.empty());
  const std::string window = R"("sliding_window": 7, "max_window_layers": 3)";
  EXPECT_EQ(qwen(window).sliding_window, 0);
  EXPECT_EQ(qwen(window + R"(, "use_sliding_window": true)").layer_types,
            (LayerTypes{kFull, kFull, kFull, kSliding}));
  EXPECT_EQ(qwen(R"("use_sliding_window": true, "max_window_layers": 4)").sliding_window, 0);
  const auto of_experts = [](const std::string& keys) { return config_of("qwen2_moe", keys); };
  const std::string heads = R"("num_attention_heads": 2, "num_key_value_heads": 2, )";
  EXPECT_EQ(of_experts(heads + R"("use_sliding_window": true, "max_window_layers": 3)").layer_types,
            (LayerTypes{kSliding, kFull, kSliding, kFull}));
  EXPECT_EQ(of_experts(heads + R"("use_sliding_window": true, "max_window_layers": 2)").layer_types,
            (LayerTypes{kSliding, kFull, kFull, kFull}));
  EXPECT_EQ(of_experts(heads + R"("sliding_window": 0)").sliding_window, 0);
  EXPECT_EQ(config_of("mixtral", heads + R"("sliding_window": 7)").layer_types,
            LayerTypes(4, kSliding));
}

TEST(DecoderConfig, KnowsTheExpertsOfItsFamily) {
  const std::string heads = R"("num_attention_heads": 2, "num_key_value_heads": 2)";
  const DecoderConfig qwen = config_of("qwen2_moe", heads);
  EXPECT_EQ(qwen.num_experts, 60);
  EXPECT_EQ(qwen.num_experts_per_tok, 4);
  EXPECT_EQ(qwen.moe_intermediate_size, 1408);
  EXPECT_EQ(qwen.shared_expert_intermediate_size, 5632);
  EXPECT_TRUE(qwen.attention_bias && !qwen.attention_output_bias && !qwen.norm_topk_prob);
  EXPECT_EQ(config_of("qwen2_moe", heads + R"(, "decoder_sparse_step": 2, "mlp_only_layers": [3])")
                .sparse_layers,
            (std::vector<bool>{false, true, false, false}));
  const DecoderConfig granite = config_of("granitemoe", heads + R"(, "num_local_experts": 40)");
  EXPECT_EQ(granite.num_experts, 40);
  EXPECT_EQ(granite.moe_intermediate_size, 24);
  EXPECT_EQ(granite.shared_expert_intermediate_size, 0);
  EXPECT_TRUE(granite.norm_topk_prob);
  EXPECT_ERROR(config_of("granitemoe", heads + R"(, "shared_intermediate_size": 8)"), kUnsupported,
               "\"shared_intermediate_size\" is 8");
  EXPECT_ERROR(config_of("mixtral", heads + R"(, "num_experts_per_tok": 9)"), kFormat,
               "\"num_experts_per_tok\": expected at most the number of experts 8, got 9");
}

TEST(DecoderConfig, KnowsTheMambaLayersOfItsFamily) {
  const std::string heads = R"("num_attention_heads": 2, "num_key_value_heads": 2)";
  const auto granite = [&](const std::string& keys) {
    return config_of("granitemoehybrid", heads + ", \"mamba_n_heads\": 4, " + keys);
  };
  const DecoderConfig c = granite(R"("layer_types": ["mamba", "attention", "mamba", "mamba"])");
  EXPECT_EQ(c.layer_types, (std::vector<LayerType>{LayerType::kMamba, LayerType::kFull,
                                                   LayerType::kMamba, LayerType::kMamba}));
  EXPECT_EQ(c.rope_layers, std::vector<bool>(4, false));
  EXPECT_EQ(c.mamba_head_dim, c.hidden_size / 2);
  EXPECT_EQ(c.shared_expert_intermediate_size, 1024);
  EXPECT_EQ(granite("\"mamba_d_state\": 5").layer_types,
            std::vector<LayerType>(4, LayerType::kMamba));
  EXPECT_EQ(granite(R"("num_local_experts": 0, "shared_intermediate_size": 20)").intermediate_size,
            20);
  EXPECT_TRUE(granite(R"("position_embedding_type": "rope")").rope_layers.empty());
  EXPECT_ERROR(granite("\"mamba_d_head\": 1"), kFormat, "\"mamba_d_head\": expected 4 heads");
  EXPECT_ERROR(granite("\"mamba_n_groups\": 3"), kFormat, "\"mamba_n_groups\"");
  EXPECT_ERROR(granite("\"mamba_d_state\": 3000000000"), kFormat, "\"mamba_d_state\"");
  EXPECT_ERROR(granite("\"hidden_act\": \"gelu\""), kFormat, "\"hidden_act\"");
  EXPECT_ERROR(granite("\"time_step_limit\": [1, 0.5]"), kFormat, "\"time_step_limit\"");
  EXPECT_ERROR(granite("\"layer_types\": [\"mamba\"]"), kFormat, "\"layer_types\"");
}

TEST(DecoderConfig, ReadsTheScalingOfRope) {
  const auto scaling = [](const std::string& keys) {
    return config_with("rope_scaling", "{" + keys + "}").rope_scaling;
  };
  const RopeScaling llama3 = scaling(R"("rope_type": "llama3", "factor": 32.0,
    "low_freq_factor": 1.5, "high_freq_factor": 5.0, "original_max_position_embeddings": 8192)");
  EXPECT_EQ(llama3.type, RopeScalingType::kLlama3);
  EXPECT_EQ(llama3.factor, 32);
  EXPECT_EQ(llama3.low_freq_factor, 1.5);
  EXPECT_EQ(llama3.high_freq_factor, 5);
  EXPECT_EQ(llama3.original_max_position_embeddings, 8192);
  const RopeScaling yarn = scaling(R"("type": "yarn", "original_max_position_embeddings": 512,
    "beta_fast": 16, "beta_slow": 2, "truncate": false)");
  EXPECT_EQ(yarn.type, RopeScalingType::kYarn);
  EXPECT_EQ(yarn.factor, 4);  // 2048 positions
  EXPECT_EQ(yarn.beta_fast, 16);
  EXPECT_EQ(yarn.beta_slow, 2);
  EXPECT_FALSE(yarn.truncate);
  EXPECT_DOUBLE_EQ(yarn.attention_factor, 0.1 * std::log(4) + 1);
  EXPECT_EQ(scaling(R"("type": "yarn", "factor": 4, "attention_factor": 2)").attention_factor, 2);
  const RopeScaling dynamic = scaling(R"("type": "dynamic", "factor": 2)");
  EXPECT_EQ(dynamic.type, RopeScalingType::kDynamic);
  EXPECT_EQ(dynamic.original_max_position_embeddings, 2048);
  EXPECT_EQ(scaling("").type, RopeScalingType::kNone);
}

TEST(DecoderConfig, AKeyThatChangesResultsAndIsNotReadIsAnError) {
  const auto refused = [](const std::string& key, const std::string& value,
                          const std::string& part) {
    EXPECT_ERROR(config_with(key, value), kUnsupported, part);
  };
  refused("sliding_window", "4096",
          "config.json: \"sliding_window\" is 4096: it changes a model's results, and llama models "
          "do not support it");
  refused("partial_rotary_factor", "0.5", "\"partial_rotary_factor\" is the number 0.5");
  refused("logits_scaling", "8", "\"logits_scaling\"");
  refused("is_causal", "false", "\"is_causal\" is false");
  refused("rope_scaling", R"({"rope_type": "linear", "factor": 2, "long_factor": [1, 2]})",
          "\"rope_scaling\": \"long_factor\" is a list");
  refused("layer_types", R"(["full_attention"])", "\"layer_types\" is a list");
  refused("quantization_config", R"({"quant_method": "gptq"})", "\"quantization_config\"");
  refused("num_local_experts", "8", "\"num_local_experts\"");
  refused("rope_scaling", R"({"rope_type": "linear", "factor": 2, "partial_rotary_factor": 0.5})",
          "\"rope_scaling\": \"partial_rotary_factor\"");
  EXPECT_ERROR(gemma(R"("use_bidirectional_attention": true)"), kUnsupported,
               "gemma3_text models do not support it");
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"sliding_window", "null"},
                                                        {"partial_rotary_factor", "1.0"},
                                                        {"num_experts", "0"},
                                                        {"is_causal", "true"},
                                                        {"qk_layernorm", "false"},
                                                        {"layer_types", "[]"},
                                                        {"embedding_multiplier", "1"}})
    EXPECT_TRUE(config_with(key, value).ignored_keys.empty()) << key;
}

TEST(DecoderConfig, NotesKeysThatItDoesNotKnow) {
  EXPECT_EQ(config_with("flux_capacitor", "3").ignored_keys,
            std::vector<std::string>{"flux_capacitor"});
  EXPECT_EQ(
      config_with("rope_scaling", R"({"type": "linear", "factor": 2, "warp": 1})").ignored_keys,
      std::vector<std::string>{"warp"});
  for (const char* key : {"attention_dropout", "transformers_version", "pad_token_id"})
    EXPECT_TRUE(config_with(key, "0").ignored_keys.empty()) << key;
}

TEST(DecoderConfig, TakesTransformersDefaultsWhereTheFileIsSilent) {
  const DecoderConfig c = config_with("", "");
  EXPECT_EQ(c.num_key_value_heads, 4);
  EXPECT_EQ(c.head_dim, 4);
  EXPECT_EQ(c.max_position_embeddings, 2048);
  EXPECT_EQ(c.rms_norm_eps, 1e-6);
  EXPECT_EQ(c.rope_theta, 10000);
  EXPECT_FALSE(c.tie_word_embeddings);
  EXPECT_EQ(c.dtype, DType::kF32);
  EXPECT_TRUE(c.eos_token_ids.empty());
}

TEST(DecoderConfig, ReadsWhatTransformers4And5Write) {
  const DecoderConfig five = gemma(R"("rope_parameters": {
    "full_attention": {"rope_type": "linear", "rope_theta": 2e6, "factor": 8.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 5e3}})");
  const DecoderConfig four = gemma(R"("rope_theta": 2e6, "rope_local_base_freq": 5e3,
    "rope_scaling": {"rope_type": "linear", "factor": 8.0})");
  for (const DecoderConfig& c : {four, five}) {
    EXPECT_EQ(c.rope_theta, 2e6);
    EXPECT_EQ(c.rope_local_base_freq, 5e3);
    EXPECT_EQ(c.rope_scaling.type, RopeScalingType::kLinear);
    EXPECT_EQ(c.rope_scaling.factor, 8);
  }
  EXPECT_EQ(config_with("rope_theta", "500000").rope_theta, 500000);
  EXPECT_EQ(
      config_with("rope_parameters", R"({"rope_theta": 500.0, "rope_type": "default"})").rope_theta,
      500);
  EXPECT_EQ(config_with("torch_dtype", "\"bfloat16\"").dtype, DType::kBf16);
  EXPECT_EQ(config_with("dtype", "\"float16\"").dtype, DType::kF16);
  EXPECT_EQ(config_with("eos_token_id", "[1, 2]").eos_token_ids, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(config_with("eos_token_id", "2").eos_token_ids, (std::vector<int64_t>{2}));
  EXPECT_EQ(config_with("rope_scaling", "null").rope_theta, 10000);
}

TEST(DecoderConfig, AWrongValueIsAnErrorThatNamesFileKeyExpectedAndGot) {
  struct Case {
    const char *key, *value, *part;
  };
  const Case cases[] = {
      {"model_type", "\"mamba\"",
       "config.json: \"model_type\": expected \"llama\", \"llama4_text\", \"mistral\", "},
      {"model_type", "\"mamba\"", "\", got the string \"mamba\""},
      {"model_type", "", "\"model_type\": expected a string, got nothing"},
      {"vocab_size", "\"48\"",
       "\"vocab_size\": expected an integer of at least 1, got the string \"48\""},
      {"hidden_size", "16.5",
       "\"hidden_size\": expected an integer of at least 1, got the number 16.5"},
      {"hidden_size", "", "\"hidden_size\": expected an integer of at least 1, got nothing"},
      {"num_hidden_layers", "0", "got 0"},
      {"intermediate_size", "99999999999", "expected at most 2147483647, got 99999999999"},
      {"num_attention_heads", "3",
       "\"num_attention_heads\": expected a divisor of hidden_size 16, got 3"},
      {"num_attention_heads", "16", "\"head_dim\": expected an even number, got 1"},
      {"num_key_value_heads", "3", "expected a divisor of num_attention_heads 4, got 3"},
      {"rms_norm_eps", "0", "\"rms_norm_eps\": expected a number above 0, got 0"},
      {"rms_norm_eps", "\"small\"",
       "\"rms_norm_eps\": expected a number, got the string \"small\""},
      {"hidden_act", "\"relu\"",
       "\"hidden_act\": expected \"silu\", \"gelu\", \"gelu_fast\", \"gelu_new\", "
       "\"gelu_pytorch_tanh\", got the string \"relu\""},
      {"tie_word_embeddings", "1", "\"tie_word_embeddings\": expected true or false, got 1"},
      {"torch_dtype", "\"int8\"", "\"torch_dtype\": expected \"float32\""},
      {"rope_scaling", R"({"rope_type": "xpos"})",
       "config.json: \"rope_scaling\": \"rope_type\": expected \"default\", \"linear\", "
       "\"dynamic\", \"yarn\", \"llama3\", \"su\", \"longrope\", got the string \"xpos\""},
      {"rope_scaling", R"({"rope_type": "longrope", "short_factor": [1, 2]})",
       "\"rope_scaling\": \"long_factor\": expected a list of 2 numbers above 0, got nothing"},
      {"rope_scaling",
       R"({"rope_type": "longrope", "short_factor": [1, 0], "long_factor": [1, 1]})",
       "\"rope_scaling\": \"short_factor\": expected a list of 2 numbers above 0, got a list"},
      {"rope_scaling", R"({"rope_type": "longrope", "original_max_position_embeddings": 1})",
       "\"original_max_position_embeddings\": expected at least 2, got 1"},
      {"rope_scaling", R"({"rope_type": "linear"})",
       "\"rope_scaling\": \"factor\": expected a number, got nothing"},
      {"rope_scaling", R"({"type": "llama3", "factor": 8, "low_freq_factor": 4,
       "high_freq_factor": 3})",
       "\"high_freq_factor\": expected at least low_freq_factor"},
      {"rope_parameters", "5", "\"rope_parameters\": expected an object, got 5"},
      {"eos_token_id", "\"</s>\"", "\"eos_token_id\": expected an integer or a list of integers"},
  };
  for (const Case& c : cases) EXPECT_ERROR(config_with(c.key, c.value), kFormat, c.part);
}

TEST(DecoderConfig, IsTheSameAfterItWasWritten) {
  DecoderConfig c = test::small_config();
  c.num_key_value_heads = 2, c.head_dim = 48, c.rope_theta = 5e5;
  c.attention_bias = c.attention_output_bias = true;
  c.tie_word_embeddings = true, c.dtype = DType::kBf16, c.eos_token_ids = {1, 2},
  c.bos_token_ids = {0};
  const auto again = [](const DecoderConfig& config) {
    const std::string text = to_json(to_settings(config));
    EXPECT_EQ(to_json(to_settings(decoder_config(parse_json(text, "x")))), text);
  };
  again(c);
  c.rope_scaling = {
      .type = RopeScalingType::kLlama3, .factor = 8, .original_max_position_embeddings = 64};
  again(c);
  c.rope_scaling = {.type = RopeScalingType::kYarn,
                    .factor = 8,
                    .original_max_position_embeddings = 64,
                    .truncate = false};
  again(c);
  again(gemma(R"("sliding_window_pattern": 2, "final_logit_softcapping": 30.0)"));
  again(qwen(R"("use_sliding_window": true, "max_window_layers": 3)"));
  again(mistral(R"(, "sliding_window": null)"));
  for (const char* folder : {"llama_gelu",
                             "qwen2_window",
                             "qwen2_full",
                             "smollm3_listed",
                             "gemma2",
                             "granite",
                             "olmo",
                             "olmo2",
                             "olmo3",
                             "olmo3_thetas",
                             "exaone4",
                             "exaone4_full",
                             "helium",
                             "phi3_longrope",
                             "starcoder2_window",
                             "stablelm_parallel",
                             "glm4",
                             "chatglm",
                             "phi",
                             "phi_qk_layernorm",
                             "gpt2",
                             "gpt_bigcode",
                             "gpt_bigcode_heads",
                             "falcon",
                             "falcon_grouped",
                             "falcon_one_norm",
                             "falcon_alibi",
                             "mixtral",
                             "qwen3_moe",
                             "qwen2_moe",
                             "qwen2_moe_window",
                             "granitemoe",
                             "granitemoehybrid",
                             "granitemoehybrid_dense",
                             "granitemoehybrid_nope",
                             "mamba2",
                             "mamba2_limited",
                             "gpt_oss",
                             "gpt_oss_mxfp4",
                             "glm4_moe",
                             "glm4_moe_plain",
                             "olmoe_clip",
                             "seed_oss",
                             "hunyuan_v1_dense_alpha",
                             "cohere2",
                             "ernie4_5_moe",
                             "ernie4_5_moe_bias",
                             "minimax_m2",
                             "deepseek_v2",
                             "deepseek_v2_greedy",
                             "deepseek_v3",
                             "mistral4",
                             "deepseek_v2_dense",
                             "deepseek_v2_lite_dense",
                             "deepseek_v3_dense",
                             "mistral4_dense",
                             "llama4",
                             "llama4_images",
                             "llama4_long",
                             "gemma4",
                             "gemma4_moe",
                             "gemma4_images"})
    again(decoder_config(
        read_json(std::string(WICK_GOLDEN) + "/decoders/" + folder + "/config.json")));
  c.attention_output_bias = false;
  EXPECT_ERROR(to_settings(c), kUnsupported,
               "config: attention_output_bias: expected true in llama models beside an "
               "attention_bias of true");
  c.attention_output_bias = true;
  c.rope_pairs = RopePairs::kAdjacent;
  EXPECT_ERROR(to_settings(c), kUnsupported, "expected weights as in folders of transformers");
}

// ---- against transformers

struct Golden {
  DecoderConfig config = test::small_config();
  TensorSource source;
  NamedTensors expected;
  explicit Golden(const std::string& name) {  // a folder or GGUF file in tests/golden
    const bool is_gguf = name.ends_with(".gguf");
    const std::string path = std::string(WICK_GOLDEN) + "/" + name,
                      folder = is_gguf ? path.substr(0, path.rfind('/')) : path;
    if (is_gguf) {
      const GgufReader reader(path);
      config = decoder_config_of_gguf(reader.metadata(), reader.source());
      source = decoder_tensors(reader.source(), config);
    } else {
      config = decoder_config(read_json(folder + "/config.json"));
      source = decoder_tensors(SafetensorsReader(folder).source(), config);
    }
    EXPECT_TRUE(config.ignored_keys.empty());
    expected = load_safetensors(folder + "/expected.safetensors");
  }
  Decoder decoder(const Device& device = Device::cpu(), DType dtype = DType::kF32) const {
    Parameters parameters(source, {.dtype = dtype, .device = device});
    const Decoder result(config, parameters);
    EXPECT_TRUE(parameters.left().empty());
    return result;
  }
  std::vector<int64_t> ids(int row) const {
    return expected.at("ids." + std::to_string(row)).to_vector<int64_t>();
  }
  Tensor logits(int row) const { return expected.at("logits." + std::to_string(row)); }
};

constexpr double kNear = 1e-4;  // logits are of size 10 to 50

/// Model and device.
class AgainstTransformers : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  const Golden golden{std::get<0>(GetParam())};
  const Device device = Device::parse(std::get<1>(GetParam()));
  const ExactActivations exact = {};
  Tensor ids_of(const std::vector<int64_t>& values, const Shape& shape) const {
    return Tensor::from(values, shape, device);
  }
};

TEST_P(AgainstTransformers, ForwardGivesItsLogits) {
  const Decoder decoder = golden.decoder(device);
  for (int row = 0; row < 3; row++) {
    const auto ids = golden.ids(row);
    const int64_t t = int64_t(ids.size());
    const Tensor logits = decoder.forward(ids_of(ids, {1, t}), positions_from_0(1, t, device));
    EXPECT_LT(largest_difference(squeeze(logits, 0), golden.logits(row)), kNear);
  }
}

TEST(NotCausal, TokensAttendToLaterOnes) {
  const Golden golden("decoders/qwen2_full");
  for (const char* device : {"cpu", "emu:32"}) {
    const Decoder decoder = golden.decoder(Device::parse(device));
    for (int row = 0; row < 3; row++) {
      const auto ids = golden.ids(row);
      const int64_t t = int64_t(ids.size());
      const Tensor logits = decoder.forward(Tensor::from(ids, {1, t}, decoder.options().device),
                                            positions_from_0(1, t, decoder.options().device));
      EXPECT_LT(largest_difference(squeeze(logits, 0), golden.logits(row)), kNear);
    }
    const std::unique_ptr<ModelCache> cache = decoder.make_cache({.capacity = 8});
    EXPECT_ERROR(decoder.forward(Tensor::from({1}, {1, 1}, decoder.options().device),
                                 positions_from_0(1, 1, decoder.options().device), cache.get()),
                 kUnsupported, "a model that is not causal gives embeddings");
  }
}

TEST(VisibleTokens, OfAPrefixSeeAllOfIt) {
  const Golden golden("decoders/qwen2_full");  // transformers' model is not causal
  DecoderConfig config = golden.config;
  config.is_causal = true;
  const auto ids = golden.ids(1);
  const int64_t all = int64_t(ids.size()), prefix = all / 2;
  for (const char* name : {"cpu", "emu:32"}) {
    const Device device = Device::parse(name);
    Parameters parameters(golden.source, {.dtype = DType::kF32, .device = device});
    const Decoder decoder(config, parameters);
    const NoGrad off;
    const auto read = [&](int64_t at, int64_t count, int64_t seen, ModelCache* cache = nullptr) {
      TokenBatch batch = next_tokens({ids}, {at}, {count}, device);
      std::vector<int64_t> visible;
      for (int64_t i = at; i < at + count; i++) visible.push_back(std::max(i, seen - 1));
      batch.visible = Tensor::from(visible, device);
      return decoder.logits(decoder.hidden(batch, cache));
    };
    EXPECT_LT(largest_difference(read(0, all, all), golden.logits(1)), kNear);
    // Later tokens change nothing for the prefix, and see it and those before them.
    const Tensor logits = read(0, all, prefix);
    const auto full = golden.decoder(device);
    EXPECT_LT(
        largest_difference(narrow(logits, 0, 0, prefix),
                           full.logits(full.hidden(next_tokens({ids}, {0}, {prefix}, device)))),
        kNear);
    const std::unique_ptr<ModelCache> cache = decoder.make_cache({.capacity = 64});
    EXPECT_LT(
        largest_difference(read(0, prefix, prefix, cache.get()), narrow(logits, 0, 0, prefix)),
        kNear);
    for (int64_t at = prefix; at < all; at++)
      EXPECT_LT(largest_difference(read(at, 1, prefix, cache.get()), narrow(logits, 0, at, 1)),
                kNear);
    EXPECT_GT(largest_difference(read(0, all, 0), logits), 1e-2);
  }
}

TEST(VisibleTokens, OfABlockSeeAllOfItInLayersWithAWindow) {
  const Golden golden("decoders/gemma2");  // its window is 6
  constexpr int64_t kAll = 640, kFirst = 610, kBlock = 20;
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < kAll; i++) ids.push_back((i * i + 7 * i) % 47);
  const Device device = Device::cpu();  // on the emulator so long a text takes seconds
  Parameters parameters(golden.source, {.dtype = DType::kF32, .device = device});
  const Decoder decoder(golden.config, parameters, kAll);
  const NoGrad off;
  const auto read = [&](int64_t at, int64_t count, bool sees_block, ModelCache* cache = nullptr) {
    TokenBatch batch = next_tokens({ids}, {at}, {count}, device);
    std::vector<int64_t> visible, seen_from;
    for (int64_t i = at; i < at + count; i++) {
      const bool is_inside = sees_block && i >= kFirst && i < kFirst + kBlock;
      visible.push_back(is_inside ? kFirst + kBlock - 1 : i);
      seen_from.push_back(is_inside ? kFirst : i);
    }
    batch.visible = Tensor::from(visible, device);
    batch.seen_from = Tensor::from(seen_from, device);
    return decoder.logits(decoder.hidden(batch, cache));
  };
  const Tensor logits = read(0, kAll, true);
  EXPECT_LT(
      largest_difference(narrow(logits, 0, 0, kFirst),
                         decoder.logits(decoder.hidden(next_tokens({ids}, {0}, {kFirst}, device)))),
      kNear);
  EXPECT_GT(largest_difference(read(0, kAll, false), logits), 1e-2);
  // The cache of the window has moved on by then.
  const std::unique_ptr<ModelCache> cache = decoder.make_cache({.capacity = 1200, .chunk = kBlock});
  EXPECT_LT(largest_difference(read(0, kFirst, true, cache.get()), narrow(logits, 0, 0, kFirst)),
            kNear);
  EXPECT_LT(largest_difference(read(kFirst, kBlock, true, cache.get()),
                               narrow(logits, 0, kFirst, kBlock)),
            kNear);
  EXPECT_LT(largest_difference(read(kFirst + kBlock, 1, true, cache.get()),
                               narrow(logits, 0, kFirst + kBlock, 1)),
            kNear);
}

TEST_P(AgainstTransformers, PrefillThenTokenByTokenOfUnevenRowsGivesItsLogits) {
  const Decoder decoder = golden.decoder(device);
  const NoGrad off;
  // Each row is read up to its half at once; then a token a step, but for rows that have ended.
  std::vector<std::vector<int64_t>> rows;
  std::vector<int64_t> at(3, 0);
  for (int row = 0; row < 3; row++) rows.push_back(golden.ids(row));
  const std::unique_ptr<ModelCache> cache = decoder.make_cache({.sequences = 3, .capacity = 64});
  // The next tokens of each row, of which their logits are compared.
  const auto read = [&](const std::vector<int64_t>& counts) {
    const TokenBatch batch = next_tokens(rows, at, counts, device);
    const Tensor logits = decoder.logits(decoder.hidden(batch, cache.get()));
    for (size_t row = 0; row < 3; row++)
      EXPECT_LT(largest_difference(narrow(logits, 0, batch.offsets[row], counts[row]),
                                   narrow(golden.logits(int(row)), 0, at[row], counts[row])),
                kNear)
          << "row " << row << ", position " << at[row];
  };
  std::vector<int64_t> halves;
  for (const auto& row : rows) halves.push_back(int64_t(row.size()) / 2);
  read(halves);
  at = halves;
  for (int step = 0; step < 12; step++) {
    read({1, 1, 1});
    for (size_t row = 0; row < 3; row++)
      if (at[row] + 1 < int64_t(rows[row].size())) at[row]++;
  }
}

TEST_P(AgainstTransformers, OfF64GivesThemToo) {
  const auto ids = golden.ids(1);
  const int64_t t = int64_t(ids.size());
  const Tensor logits = golden.decoder(device, DType::kF64)
                            .forward(ids_of(ids, {1, t}), positions_from_0(1, t, device));
  EXPECT_EQ(logits.dtype(), DType::kF64);
  EXPECT_LT(largest_difference(squeeze(logits, 0), golden.logits(1)), kNear);
}

// The emulator is slow.
constexpr const char* kModels[] = {
    "llama/grouped",       "llama/biased",          "decoders/llama_linear",
    "decoders/llama_yarn", "decoders/llama_llama3", "decoders/mistral_window",
    "decoders/qwen3",      "decoders/qwen3_bf16",   "decoders/qwen3_f16",
    "decoders/gemma3",     "decoders/gemma3_bf16",  "decoders/gemma3_f16",
};
// Families that differ from these in a few switches.
constexpr const char* kMoreModels[] = {
    "decoders/qwen2",
    "decoders/llama_gelu",
    "decoders/yi",
    "decoders/smollm3",
    "decoders/smollm3_listed",
    "decoders/gemma",
    "decoders/gemma2",
    "decoders/granite",
    "decoders/olmo",
    "decoders/olmo2",
    "decoders/olmo3",
    "decoders/olmo3_thetas",
    "decoders/exaone4",
    "decoders/exaone4_full",
    "decoders/helium",
    "decoders/phi3",
    "decoders/phi3_longrope",
    "decoders/phi3_longrope_long",
    "decoders/starcoder2",
    "decoders/qwen2_window",
    "decoders/starcoder2_window",
    "decoders/ernie4_5",
    "decoders/stablelm",
    "decoders/stablelm_parallel",
    "decoders/glm4",
    "decoders/glm",
    "decoders/chatglm",
    "decoders/phi",
    "decoders/phi_qk_layernorm",
    "decoders/gpt2",
    "decoders/gpt_bigcode",
    "decoders/gpt_bigcode_heads",
    "decoders/falcon",
    "decoders/falcon_grouped",
    "decoders/falcon_one_norm",
    "decoders/falcon_alibi",
    "decoders/mixtral",
    "decoders/qwen3_moe",
    "decoders/qwen3_moe_renormalized",
    "decoders/qwen2_moe",
    "decoders/qwen2_moe_window",
    "decoders/granitemoe",
    "decoders/recurrent_gemma",
    "decoders/recurrent_gemma_bf16",
    "decoders/granitemoehybrid",
    "decoders/granitemoehybrid_dense",
    "decoders/granitemoehybrid_nope",
    "decoders/mamba2",
    "decoders/mamba2_limited",
    "decoders/lfm2",
    "decoders/lfm2_bf16",
    "decoders/qwen3_next",
    "decoders/qwen3_next_bf16",
    "decoders/qwen3_5",
    "decoders/qwen3_5_images",
    "decoders/qwen3_5_moe",
    "decoders/gpt_oss",
    "decoders/gpt_oss_mxfp4",
    "decoders/glm4_moe",
    "decoders/glm4_moe_plain",
    "decoders/olmoe",
    "decoders/olmoe_clip",
    "decoders/seed_oss",
    "decoders/hunyuan_v1_dense",
    "decoders/hunyuan_v1_dense_alpha",
    "decoders/cohere2",
    "decoders/ernie4_5_moe",
    "decoders/ernie4_5_moe_bias",
    "decoders/minimax_m2",
    "decoders/deepseek_v2",
    "decoders/deepseek_v2_greedy",
    "decoders/deepseek_v3",
    "decoders/mistral4",
    "decoders/deepseek_v2_dense",
    "decoders/deepseek_v2_lite_dense",
    "decoders/deepseek_v3_dense",
    "decoders/mistral4_dense",
    "decoders/llama4",
    "decoders/llama4_images",
    "decoders/llama4_long",
    "decoders/gemma4",
    "decoders/gemma4_moe",
    "decoders/gemma4_images",
};
constexpr const char* kGgufModels[] = {
    "decoders/llama_linear/model.gguf",
    "decoders/llama_yarn/model.gguf",
    "decoders/llama_llama3/model.gguf",
    "decoders/qwen3/model.gguf",
    "decoders/gemma3_bf16/model.gguf",
    "decoders/qwen2/model.gguf",
    "decoders/smollm3/model.gguf",
    "decoders/gemma/model.gguf",
    "decoders/gemma2/model.gguf",
    "decoders/granite/model.gguf",
    "decoders/olmo/model.gguf",
    "decoders/olmo2/model.gguf",
    "decoders/olmo3/model.gguf",
    "decoders/exaone4/model.gguf",
    "decoders/exaone4_full/model.gguf",
    "decoders/phi3/model.gguf",
    "decoders/phi3_longrope/model.gguf",
    "decoders/phi3_longrope_long/model.gguf",
    "decoders/starcoder2/model.gguf",
    "decoders/ernie4_5/model.gguf",
    "decoders/stablelm/model.gguf",
    "decoders/stablelm_parallel/model.gguf",
    "decoders/glm4/model.gguf",
    "decoders/chatglm/model.gguf",
    "decoders/phi/model.gguf",
    "decoders/gpt2/model.gguf",
    "decoders/gpt_bigcode/model.gguf",
    "decoders/falcon/model.gguf",
    "decoders/falcon_grouped/model.gguf",
    "decoders/mixtral/model.gguf",
    "decoders/qwen2_moe/model.gguf",
    "decoders/granitemoe/model.gguf",
    "decoders/granitemoehybrid/model.gguf",
    "decoders/granitemoehybrid_nope/model.gguf",
    "decoders/mamba2/model.gguf",
    "decoders/qwen3_moe_renormalized/model.gguf",
    "decoders/lfm2_bf16/model.gguf",
    "decoders/qwen3_next/model.gguf",
    "decoders/qwen3_5/model.gguf",
    "decoders/qwen3_5_moe/model.gguf",
    "decoders/gpt_oss_mxfp4/model.gguf",
    "decoders/glm4_moe/model.gguf",
    "decoders/olmoe/model.gguf",
    "decoders/seed_oss/model.gguf",
    "decoders/hunyuan_v1_dense/model.gguf",
    "decoders/cohere2/model.gguf",
    "decoders/ernie4_5_moe/model.gguf",
    "decoders/minimax_m2/model.gguf",
    "decoders/deepseek_v2_lite_dense/model.gguf",
    "decoders/mistral4_dense/model.gguf",
    "decoders/llama4_long/model.gguf",
    "decoders/gemma4/model.gguf",
    "decoders/gemma4_moe/model.gguf",
    "decoders/gemma4_images/model.gguf",
};
INSTANTIATE_TEST_SUITE_P(Models, AgainstTransformers,
                         ::testing::Combine(::testing::ValuesIn(kModels),
                                            ::testing::Values("cpu", "emu:32")));
INSTANTIATE_TEST_SUITE_P(MoreModels, AgainstTransformers,
                         ::testing::Combine(::testing::ValuesIn(kMoreModels),
                                            ::testing::Values("cpu", "emu:32")));
INSTANTIATE_TEST_SUITE_P(WideWaves, AgainstTransformers,
                         ::testing::Combine(::testing::Values("llama/grouped", "llama/biased"),
                                            ::testing::Values("emu:64")));
INSTANTIATE_TEST_SUITE_P(Gguf, AgainstTransformers,
                         ::testing::Combine(::testing::ValuesIn(kGgufModels),
                                            ::testing::Values("cpu")));

// Former files of llama.cpp have the rows of keys and values together, and their sizes as those of
// heads.
TEST(LatentAttention, OfAFormerGgufFileGivesTheSameLogits) {
  const Golden golden("decoders/deepseek_v2_lite_dense/model.gguf");
  const GgufReader reader(std::string(WICK_GOLDEN) + "/decoders/deepseek_v2_lite_dense/model.gguf");
  Settings metadata("m.gguf");
  for (const auto& [key, value] : reader.metadata().entries())
    if (!key.ends_with("_mla")) metadata.set(key, value);
  const DecoderConfig& c = golden.config;
  metadata.set("deepseek2.attention.key_length", c.qk_nope_head_dim + c.qk_rope_head_dim);
  metadata.set("deepseek2.attention.value_length", c.v_head_dim);
  metadata.set("deepseek2.attention.head_count_kv", c.num_attention_heads);
  NamedTensors tensors;
  for (const auto& [name, info] : reader.source().tensors) {
    const bool is_split = name.find("attn_k_b") != name.npos || name.find("attn_v_b") != name.npos;
    if (!is_split) tensors[name] = reader.load(name);
  }
  for (int64_t i = 0; i < c.num_hidden_layers; i++)
    tensors["blk." + std::to_string(i) + ".attn_kv_b.weight"] = golden.source.load(
        "model.layers." + std::to_string(i) + ".self_attn.kv_b_proj.weight", Device::cpu());
  Golden former = golden;
  const TensorSource file = source_of(tensors, "m.gguf");
  former.config = decoder_config_of_gguf(metadata, file);
  former.source = decoder_tensors(file, former.config);
  EXPECT_EQ(to_json(to_settings(former.config)), to_json(to_settings(c)));
  const std::vector<int64_t> ids = golden.ids(1);
  const int64_t t = int64_t(ids.size());
  const Tensor logits =
      former.decoder().forward(Tensor::from(ids, {1, t}), positions_from_0(1, t, Device::cpu()));
  EXPECT_LT(largest_difference(squeeze(logits, 0), golden.logits(1)), kNear);
}

/// Compares the logits of a text that a model reads at once, in f64, with those from a cache of
/// windows that move on, of blocks of so many positions or of rows.
void expect_long_text(const char* model, int64_t block) {
  const Golden golden(model);
  constexpr int64_t kLength = 560;
  const std::vector<int64_t> some = golden.ids(1);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < kLength; i++) ids.push_back(some[size_t(i * i) % some.size()]);
  Parameters parameters(golden.source, {.dtype = DType::kF64});
  const Decoder decoder(golden.config, parameters, kLength);
  const NoGrad off;
  const TokenBatch whole = next_tokens({ids}, {0}, {kLength}, Device::cpu());
  const Tensor logits = decoder.logits(decoder.hidden(whole));
  const std::unique_ptr<ModelCache> cache =
      decoder.make_cache({.capacity = kLength, .chunk = 16, .block = block});
  EXPECT_LT(cache->bytes(),
            decoder.make_cache({.capacity = kLength, .chunk = 400, .block = block})->bytes());
  EXPECT_LT(largest_difference(decoder.logits(decoder.hidden(whole, cache.get())), logits), kNear);
}

// A cache of windows keeps more keys than those of a query's chunk.
TEST(ChunkedWindows, OfALongTextAreTheSameFromACacheOfTheLastKeys) {
  expect_long_text("decoders/llama4", 0);
}

TEST(SharedKeys, OfALongTextAreTheSameFromACacheOfTheLastKeys) {
  for (const int64_t block : {0, 16}) expect_long_text("decoders/gemma4", block);
}

TEST(SharedKeys, TakeTheMemoryOfTheLayersThatMakeThem) {
  const Golden golden("decoders/gemma4");
  const std::unique_ptr<ModelCache> cache = golden.decoder().make_cache({.capacity = 64});
  // [2 keys and values, 2 heads, positions, D] f32 of 4 layers; the other 3 have no cache.
  EXPECT_EQ(cache->bytes(), 2 * (2 * 2 * 64 * 8 * 4) + 2 * (2 * 2 * 64 * 12 * 4));
}

TEST(SharedKeys, GoBackWithTheLayersThatMakeThem) {
  const Golden golden("decoders/gemma4");
  const Decoder decoder = golden.decoder();
  const NoGrad off;
  const auto ids = golden.ids(1);
  const std::unique_ptr<ModelCache> cache = decoder.make_cache({.sequences = 2, .capacity = 64});
  const auto read = [&](int64_t at, int64_t count) {
    const TokenBatch batch = next_tokens({ids, ids}, {at, at}, {count, count}, Device::cpu());
    const Tensor expected = narrow(golden.logits(1), 0, at, count);
    EXPECT_LT(largest_difference(decoder.logits(decoder.hidden(batch, cache.get())),
                                 cat({expected, expected}, 0)),
              kNear)
        << at;
  };
  read(0, 15);
  for (const int64_t sequence : {0, 1}) EXPECT_EQ(cache->truncate(sequence, 9), 9);
  read(9, 4);
  cache->fork(1, 0);
  read(13, 8);
}

TEST(PerLayerInputs, AreMadeFromIdsAndNotFromEmbeddings) {
  const Golden golden("decoders/gemma4");
  const Decoder decoder = golden.decoder();
  TokenBatch batch = next_tokens({golden.ids(1)}, {0}, {4}, Device::cpu());
  batch.embeddings = decoder.embed(batch.ids);
  batch.ids = {};
  EXPECT_ERROR(decoder.hidden(batch), kUnsupported,
               "a model of type gemma4_text with inputs for each layer reads ids");
}

// Full layers have other heads than those that slide, and layers that share keys wider MLPs.
TEST(GgufOfGemma4, ListsTheSizesOfItsLayers) {
  const GgufReader reader(std::string(WICK_GOLDEN) + "/decoders/gemma4/model.gguf");
  const auto config = [&](const std::string& key, Setting value) {
    Settings metadata("m.gguf");
    for (const auto& [name, old] : reader.metadata().entries())
      metadata.set(name, name == "gemma4." + key ? value : old);
    return decoder_config_of_gguf(metadata, reader.source());
  };
  const auto list = [](std::vector<int64_t> sizes) {
    return Setting::List(sizes.begin(), sizes.end());
  };
  const DecoderConfig c = config("", nullptr);
  EXPECT_EQ(c.head_dim, 8);
  EXPECT_EQ(c.full_head_dim, 12);
  EXPECT_EQ(c.intermediate_size, 24);
  EXPECT_EQ(c.num_kv_shared_layers, 3);
  EXPECT_TRUE(c.use_double_wide_mlp && !c.attention_k_eq_v);
  EXPECT_EQ(config("attention.head_count_kv", list({4, 2, 4, 2, 4, 2, 2})).num_key_value_heads, 4);
  EXPECT_FALSE(config("feed_forward_length", 24).use_double_wide_mlp);
  EXPECT_ERROR(config("feed_forward_length", list({24, 24, 24, 24, 48, 24, 48})), kUnsupported,
               "\"gemma4.feed_forward_length\": expected 48 for layer 5, got 24");
  EXPECT_ERROR(config("feed_forward_length", list({24, 24})), kFormat,
               "expected a number for each of 7 layers, got 2");
  EXPECT_ERROR(config("rope.dimension_count_swa", 4), kUnsupported,
               "\"gemma4.rope.dimension_count_swa\": expected all 8 elements of a head, got 4");
  EXPECT_ERROR(config("attention.value_length_swa", 4), kUnsupported, "expected 8 as for keys");
  TensorSource without = reader.source();
  without.tensors.erase("rope_freqs.weight");
  EXPECT_ERROR(decoder_config_of_gguf(reader.metadata(), without), kFormat,
               "expected a tensor \"rope_freqs.weight\"");
}

// A step attends to latent vectors, where a text that is read at once attends to keys and values.
TEST(LatentAttention, OfATokenKeepsItsRankAndRope) {
  const Golden golden("decoders/deepseek_v2_dense");
  const std::unique_ptr<ModelCache> cache = golden.decoder().make_cache({.capacity = 64});
  EXPECT_EQ(cache->bytes(), 2 * 64 * (8 + 4) * 4);
  const std::unique_ptr<ModelCache> blocks =
      golden.decoder().make_cache({.capacity = 64, .block = 16});
  EXPECT_EQ(blocks->bytes(), 2 * (64 + 16) * (8 + 4) * 4);  // and nobody's block
}

TEST(LatentAttention, ReadsTextsInBlocks) {
  const Golden golden("decoders/deepseek_v2_dense");
  const Decoder decoder = golden.decoder();
  const NoGrad off;
  const auto ids = golden.ids(1);
  const std::unique_ptr<ModelCache> cache = decoder.make_cache({.capacity = 64, .block = 4});
  for (const auto& [at, count] : {std::pair<int64_t, int64_t>(0, 7), {7, 6}, {13, 1}, {14, 7}}) {
    const Tensor logits = decoder.logits(
        decoder.hidden(next_tokens({ids}, {at}, {count}, Device::cpu()), cache.get()));
    EXPECT_LT(largest_difference(logits, narrow(golden.logits(1), 0, at, count)), kNear) << at;
  }
}

/// Blocks lie within rows, so rows of quantized weights are the quantized rows.
class QuantizedRows : public ::testing::TestWithParam<const char*> {
 protected:
  const Device device = Device::parse(GetParam());

  /// The logits of row 1 of a model with these tensors.
  Tensor logits(const Golden& golden, const TensorSource& source) const {
    Parameters parameters(source, {.device = device});
    const std::vector<int64_t> ids = golden.ids(1);
    const int64_t t = int64_t(ids.size());
    return Decoder(golden.config, parameters)
        .forward(Tensor::from(ids, {1, t}, device), positions_from_0(1, t, device));
  }
};

TEST_P(QuantizedRows, OfSeveralLayersInOneGiveTheLogitsOfQuantizedLayers) {
  const Golden golden("decoders/phi3");
  const auto quantized = [](const TensorSource& source) {
    NamedTensors tensors;
    for (const auto& [name, info] : source.tensors) {
      const Tensor tensor = source.load(name, Device::cpu());
      const bool is_layer = name.find("_proj.weight") != std::string::npos;
      tensors[name] = is_layer && info.shape[1] % 32 == 0 ? cast(tensor, DType::kQ8_0) : tensor;
    }
    return source_of(tensors, "m");
  };
  const std::string folder = std::string(WICK_GOLDEN) + "/decoders/phi3";
  const TensorSource fused = quantized(SafetensorsReader(folder).source());
  EXPECT_EQ(fused.tensors.at("model.layers.0.self_attn.qkv_proj.weight").dtype, DType::kQ8_0);
  const Tensor of_rows = logits(golden, decoder_tensors(fused, golden.config));
  EXPECT_EQ(largest_difference(of_rows, logits(golden, quantized(golden.source))), 0);
  EXPECT_GT(largest_difference(squeeze(of_rows, 0), golden.logits(1)), kNear);
}

TEST_P(QuantizedRows, OfAllExpertsGatesAndUpsInOneGiveTheLogitsOfTwo) {
  const Golden golden("decoders/qwen2_moe");
  NamedTensors apart, fused;
  for (const auto& [name, info] : golden.source.tensors) {
    const Tensor x = golden.source.load(name, Device::cpu());
    apart[name] = fused[name] = info.shape.size() == 3 ? cast(x, DType::kQ8_0) : x;
  }
  for (const std::string layer : {"0", "1"}) {
    const std::string experts = "model.layers." + layer + ".mlp.experts.";
    const auto float_of = [&](const std::string& part) {
      fused.erase(experts + part);
      return cast(golden.source.load(experts + part, Device::cpu()), DType::kF32);
    };
    fused[experts + "gate_up_proj"] =
        cast(cat({float_of("gate_proj.weight"), float_of("up_proj.weight")}, 1), DType::kQ8_0);
  }
  const Tensor of_rows = logits(golden, decoder_tensors(source_of(fused, "m"), golden.config));
  EXPECT_EQ(largest_difference(of_rows, logits(golden, source_of(apart, "m"))), 0);
  EXPECT_GT(largest_difference(squeeze(of_rows, 0), golden.logits(1)), kNear);
}

INSTANTIATE_TEST_SUITE_P(Devices, QuantizedRows, ::testing::Values("cpu", "emu:32", "emu:64"));

TEST(Decoder, TakesWhatItsConfigSaysAndNothingElse) {
  Golden golden("llama/grouped");
  golden.source.tensors.erase("model.layers.1.mlp.up_proj.weight");
  Parameters parameters(golden.source, {});
  EXPECT_ERROR(Decoder(golden.config, parameters), kFormat,
               "no tensor is named \"model.layers.1.mlp.up_proj.weight\"");
}

TEST(Decoder, IdsAndPositionsAreOfOneShape) {
  const Decoder decoder = Golden("llama/grouped").decoder();
  const auto ids = [](const Shape& shape) { return zeros(shape, {.dtype = DType::kI64}); };
  const auto refused = [&](const Tensor& of, const Tensor& at, const std::string& got) {
    EXPECT_ERROR(decoder.hidden(of, at, nullptr), kShapeMismatch,
                 "model: expected ids and positions [B, T], got " + got);
  };
  refused(ids({1, 3}), ids({1, 2}), "[1, 3] and [1, 2]");
  refused(ids({3}), ids({3}), "[3] and [3]");
  refused(Tensor(), ids({1, 3}), "nothing and [1, 3]");
  refused(ids({1, 3}), Tensor(), "[1, 3] and nothing");
}

TEST(Decoder, IdsOutsideOfTheVocabularyAreAnError) {
  const Golden golden("llama/grouped");
  EXPECT_ERROR(golden.decoder().forward(Tensor::from(std::vector<int64_t>{48}, {1, 1}),
                                        positions_from_0(1, 1, Device::cpu())),
               kOutOfRange, "48");
}

// ---- training

Decoder fresh(Parameters& parameters) {
  Device::cpu().set_seed(5);
  DecoderConfig config = test::small_config();
  config.vocab_size = 16, config.hidden_size = 16, config.intermediate_size = 24;
  config.num_hidden_layers = 2, config.num_key_value_heads = 2, config.head_dim = 8;
  return Decoder(config, parameters);
}

/// The configs of families that do not only have what Llama has.
TEST(Decoder, OfEachSwitchTrainsEveryParameter) {
  for (const char* folder : {"gemma2",
                             "granite",
                             "olmo",
                             "olmo2",
                             "llama_gelu",
                             "olmo3",
                             "exaone4",
                             "phi3",
                             "starcoder2",
                             "stablelm_parallel",
                             "glm4",
                             "phi",
                             "phi_qk_layernorm",
                             "gpt2",
                             "gpt_bigcode",
                             "falcon_grouped",
                             "falcon_alibi",
                             "mixtral",
                             "qwen3_moe",
                             "qwen2_moe",
                             "granitemoe",
                             "recurrent_gemma",
                             "granitemoehybrid",
                             "mamba2",
                             "lfm2",
                             "qwen3_next",
                             "qwen3_5",
                             "gpt_oss",
                             "glm4_moe",
                             "hunyuan_v1_dense",
                             "cohere2",
                             "ernie4_5_moe_bias",
                             "deepseek_v2",
                             "deepseek_v2_greedy",
                             "deepseek_v3",
                             "mistral4",
                             "deepseek_v2_dense",
                             "deepseek_v2_lite_dense",
                             "deepseek_v3_dense",
                             "llama4",
                             "gemma4",
                             "gemma4_moe"}) {
    DecoderConfig config = Golden("decoders/" + std::string(folder)).config;
    Parameters parameters({.trainable = true});
    const Decoder decoder(config, parameters);
    const Tensor x = Tensor::from(std::vector<int64_t>{1, 2, 3, 4}, {1, 4});
    backward(cross_entropy(squeeze(decoder.forward(x, positions_from_0(1, 4, Device::cpu())), 0),
                           Tensor::from(std::vector<int64_t>{2, 3, 4, 5})));
    int64_t count = 0;
    for (const auto& [name, parameter] : parameters.vars()) {
      ASSERT_TRUE(parameter.grad()) << folder << ": " << name;
      count += parameter.tensor().numel();
    }
    for (const auto& [name, info] : parameters.taken())
      if (name.ends_with(".gate.e_score_correction.bias")) count += numel(info.shape);
    EXPECT_EQ(num_parameters(config), count) << folder;
  }
}

TEST(Decoder, LearnsASequence) {
  Parameters parameters({.trainable = true});
  const Decoder decoder = fresh(parameters);
  AdamW optimizer(parameters.vars(), {});
  std::vector<int64_t> ids, targets;
  for (int64_t i = 0; i < 24; i++)
    ids.push_back(i * i % 16), targets.push_back((i + 1) * (i + 1) % 16);
  const Tensor x = Tensor::from(ids, {2, 12}), y = Tensor::from(targets),
               at = positions_from_0(2, 12, Device::cpu());
  const auto loss = [&] { return cross_entropy(reshape(decoder.forward(x, at), {24, 16}), y); };
  EXPECT_NEAR(loss().item<float>(), std::log(16.0), 0.1);  // it begins by knowing nothing
  for (int i = 0; i < 60; i++) {
    backward(loss());
    optimizer.step(1e-2);
  }
  EXPECT_LT(loss().item<float>(), 0.5);
}

TEST(Decoder, GradientsReachEveryParameter) {
  Parameters parameters({.trainable = true});
  const Decoder decoder = fresh(parameters);
  const Tensor x = Tensor::from(std::vector<int64_t>{1, 2, 3, 4}, {1, 4});
  backward(cross_entropy(squeeze(decoder.forward(x, positions_from_0(1, 4, Device::cpu())), 0),
                         Tensor::from(std::vector<int64_t>{2, 3, 4, 5})));
  for (const auto& [name, parameter] : parameters.vars()) {
    ASSERT_TRUE(parameter.grad()) << name;
    EXPECT_GT(global_norm({parameter.grad()}).item<float>(), 0) << name;
  }
}

}  // namespace
}  // namespace wick
