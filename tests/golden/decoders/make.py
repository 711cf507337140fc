#!/usr/bin/env python3
"""Makes the models beside this and their logits. Ran with torch 2.15.0, transformers 5.24.0, safetensors 0.8.0.

    tests/golden/decoders/make.py [NAME ...]

Each folder is a small random model as transformers saves it, with expected.safetensors: three rows of ids (ids.0 ...) and
their logits (logits.0 ...), computed in f32 from the weights as they are stored.
"""
import json
import pathlib
import sys

import safetensors.torch
import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
SIZES = dict(vocab_size=48, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, head_dim=8, max_position_embeddings=64, initializer_range=0.5, bos_token_id=1,
             eos_token_id=2, pad_token_id=None)
LLAMA, MISTRAL, QWEN3, GEMMA3 = ("Llama", "Mistral", "Qwen3", "Gemma3Text")
LONG = dict(rope_type="longrope", rope_theta=100.0, original_max_position_embeddings=2, short_factor=[1.0, 1.5, 2.0],
            long_factor=[1.25, 3.0, 9.0], partial_rotary_factor=0.75)
YARN = dict(rope_type="yarn", rope_theta=100.0, factor=4.0, original_max_position_embeddings=16, beta_fast=4.0, beta_slow=0.25)
LLAMA3 = dict(rope_type="llama3", rope_theta=500.0, factor=8.0, original_max_position_embeddings=16, low_freq_factor=0.5,
              high_freq_factor=2.0)
GPT2 = dict(vocab_size=48, n_embd=16, n_layer=2, n_head=4, n_positions=64, n_ctx=64, initializer_range=0.5, bos_token_id=1,
            eos_token_id=2)
FALCON = dict(vocab_size=48, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, initializer_range=0.5, bos_token_id=1,
              eos_token_id=2)

HYBRID = dict(SIZES, embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.3, logits_scaling=2.0,
              mamba_n_heads=4, mamba_d_state=8, mamba_d_conv=3)
MAMBA2 = dict(vocab_size=48, hidden_size=16, num_hidden_layers=2, num_heads=4, head_dim=8, state_size=8, conv_kernel=3,
              initializer_range=0.5, bos_token_id=1, eos_token_id=2, pad_token_id=None, chunk_size=8)
DELTA = dict(SIZES, initializer_range=0.2, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=4)

LATENT = dict(head_dim=None, num_key_value_heads=4, q_lora_rank=12, kv_lora_rank=8, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=10)
DENSE = dict(LATENT, first_k_dense_replace=2)
SPARSE = dict(LATENT, num_hidden_layers=3, first_k_dense_replace=1, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=8,
              n_shared_experts=2, n_group=4, topk_group=2, routed_scaling_factor=1.5)

LLAMA4 = dict(SIZES, initializer_range=0.3, intermediate_size=8, intermediate_size_mlp=20, num_local_experts=4)
GEMMA4 = dict(SIZES, initializer_range=0.3, head_dim=8, global_head_dim=12, sliding_window=6, rope_parameters={
    "full_attention": dict(rope_type="proportional", rope_theta=1000.0, partial_rotary_factor=0.5),
    "sliding_attention": dict(rope_type="default", rope_theta=100.0)})

# name: family, dtype in the file, options of the config
MODELS = {
    "llama_linear": (LLAMA, "float16", dict(rope_parameters=dict(rope_type="linear", rope_theta=500.0, factor=3.0))),
    "llama_yarn": (LLAMA, "float32", dict(rope_parameters=YARN)),
    "llama_llama3": (LLAMA, "bfloat16", dict(rope_parameters=LLAMA3, tie_word_embeddings=True)),
    "mistral_window": (MISTRAL, "float32", dict(sliding_window=5)),
    "qwen3": (QWEN3, "float32", dict(tie_word_embeddings=True)),
    "qwen3_bf16": (QWEN3, "bfloat16", dict(attention_bias=True)),
    "qwen3_f16": (QWEN3, "float16", dict(use_sliding_window=True, sliding_window=6, max_window_layers=1)),
    "gemma3": (GEMMA3, "float32", dict(num_hidden_layers=3, sliding_window=6, sliding_window_pattern=3, query_pre_attn_scalar=20)),
    "gemma3_bf16": (GEMMA3, "bfloat16", dict(num_hidden_layers=7, sliding_window=4, query_pre_attn_scalar=8, rope_parameters={
        "full_attention": dict(rope_type="linear", rope_theta=1000.0, factor=8.0),
        "sliding_attention": dict(rope_type="default", rope_theta=100.0)})),
    "gemma3_f16": (GEMMA3, "float16", dict(sliding_window=6, sliding_window_pattern=2, final_logit_softcapping=4.0)),
    "qwen2": ("Qwen2", "float32", dict()),
    "qwen2_window": ("Qwen2", "bfloat16", dict(use_sliding_window=True, sliding_window=6, max_window_layers=1)),
    "qwen2_full": ("Qwen2", "float32", dict(is_causal=False)),
    "llama_gelu": (LLAMA, "float32", dict(hidden_act="gelu")),
    "yi": (LLAMA, "float32", dict(rope_parameters=dict(rope_type="default", rope_theta=5e6), num_key_value_heads=1)),
    "smollm3": ("SmolLM3", "float32", dict(num_hidden_layers=4, head_dim=None)),
    "smollm3_listed": ("SmolLM3", "bfloat16", dict(no_rope_layers=[0, 1], use_sliding_window=True, sliding_window=5, head_dim=None)),
    "gemma": ("Gemma", "float32", dict()),
    "gemma2": ("Gemma2", "float32", dict(sliding_window=6, query_pre_attn_scalar=8, attn_logit_softcapping=2.0,
                                         final_logit_softcapping=4.0)),
    "granite": ("Granite", "float32", dict(head_dim=None, embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.3,
                                           logits_scaling=2.0)),
    "olmo": ("Olmo", "float32", dict(head_dim=None, clip_qkv=1.5)),
    "olmo2": ("Olmo2", "float32", dict(head_dim=None)),
    "olmo3": ("Olmo3", "float32", dict(head_dim=None, num_hidden_layers=4, sliding_window=6, rope_parameters={
        "full_attention": YARN, "sliding_attention": dict(rope_type="default", rope_theta=100.0)})),
    "olmo3_thetas": ("Olmo3", "bfloat16", dict(head_dim=None, attention_bias=True, sliding_window=5, rope_parameters={
        "full_attention": dict(rope_type="default", rope_theta=1000.0),
        "sliding_attention": dict(rope_type="default", rope_theta=50.0)}, layer_types=["full_attention", "sliding_attention"])),
    "exaone4": ("Exaone4", "float32", dict(num_hidden_layers=4, sliding_window=6)),  # the last layer has no rope
    "exaone4_full": ("Exaone4", "bfloat16", dict(sliding_window=None, layer_types=["full_attention"] * 2, rope_parameters=LLAMA3,
                                                 tie_word_embeddings=True)),
    "helium": ("Helium", "float32", dict(head_dim=4, attention_bias=True, mlp_bias=True)),
    "phi3": ("Phi3", "float32", dict(head_dim=None, hidden_size=32, sliding_window=7)),
    "phi3_longrope": ("Phi3", "float32", dict(head_dim=None, hidden_size=32, rope_parameters=LONG)),
    # Rows are longer than the trained context: the long factors, and a factor of attention above 1.
    "phi3_longrope_long": ("Phi3", "float32", dict(head_dim=None, hidden_size=32, initializer_range=0.25, rope_parameters=LONG,
                                                   original_max_position_embeddings=2)),
    "starcoder2": ("Starcoder2", "float32", dict(head_dim=None)),
    "starcoder2_window": ("Starcoder2", "float16", dict(head_dim=None, sliding_window=7, use_bias=False)),
    "ernie4_5": ("Ernie4_5", "float32", dict(use_bias=True)),
    "stablelm": ("StableLm", "float32", dict(head_dim=None, hidden_size=32, initializer_range=0.25, use_qkv_bias=True)),
    "stablelm_parallel": ("StableLm", "float32", dict(head_dim=None, hidden_size=32, initializer_range=0.25,
                                                      use_parallel_residual=True, qk_layernorm=True)),
    "glm4": ("Glm4", "float32", dict()),
    "glm": ("Glm", "float32", dict()),
    "chatglm": ("Glm", "bfloat16", dict(head_dim=4, rope_parameters=dict(rope_type="default", rope_theta=20000.0,
                                                                         partial_rotary_factor=0.5))),
    "phi": ("Phi", "float32", dict(head_dim=None, hidden_size=32, intermediate_size=128, num_key_value_heads=4)),
    "phi_qk_layernorm": ("Phi", "float32", dict(head_dim=None, hidden_size=32, intermediate_size=128, qk_layernorm=True)),
    "gpt2": ("GPT2", "float32", GPT2),
    "gpt_bigcode": ("GPTBigCode", "float32", GPT2),
    "gpt_bigcode_heads": ("GPTBigCode", "bfloat16", dict(GPT2, multi_query=False)),
    "falcon": ("Falcon", "float32", dict(FALCON, num_kv_heads=1)),
    "falcon_grouped": ("Falcon", "float32", dict(FALCON, new_decoder_architecture=True, num_kv_heads=2)),
    "falcon_one_norm": ("Falcon", "bfloat16", dict(FALCON, new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1,
                                                   ffn_hidden_size=24, tie_word_embeddings=False, rope_parameters=dict(
                                                       rope_type="default", rope_theta=500.0))),
    "falcon_alibi": ("Falcon", "float32", dict(FALCON, hidden_size=24, num_attention_heads=6, alibi=True, multi_query=False,
                                               parallel_attn=False, bias=True)),
    "mixtral": ("Mixtral", "float32", dict(num_local_experts=5, num_experts_per_tok=2)),
    "qwen2_moe": ("Qwen2Moe", "bfloat16", dict(head_dim=None, hidden_size=32, initializer_range=0.25, num_experts=6,
                                               num_experts_per_tok=3, moe_intermediate_size=32, shared_expert_intermediate_size=64)),
    "qwen2_moe_window": ("Qwen2Moe", "float32", dict(head_dim=None, num_hidden_layers=3, num_experts=4, num_experts_per_tok=2,
                                                     moe_intermediate_size=8, shared_expert_intermediate_size=12, qkv_bias=False,
                                                     mlp_only_layers=[1], norm_topk_prob=True, use_sliding_window=True, sliding_window=6,
                                                     max_window_layers=2)),
    "recurrent_gemma": ("RecurrentGemma", "float32", dict(head_dim=None, hidden_size=24, num_attention_heads=2, num_key_value_heads=1,
                                                          num_hidden_layers=3, intermediate_size=40, lru_width=32, conv1d_width=3,
                                                          attention_window_size=6, logits_soft_cap=5.0, attention_bias=True,
                                                          rope_parameters=dict(rope_type="default", rope_theta=100.0,
                                                                               partial_rotary_factor=0.5))),
    "recurrent_gemma_bf16": ("RecurrentGemma", "bfloat16", dict(head_dim=None, num_hidden_layers=4, intermediate_size=48,
                                                                block_types=["attention", "recurrent"],
                                                                attention_window_size=5)),
    "lfm2": ("Lfm2", "float32", dict(head_dim=None, num_hidden_layers=3, intermediate_size=40, conv_bias=True, norm_eps=1e-3,
                                     block_multiple_of=8, block_ffn_dim_multiplier=1.3, tie_word_embeddings=False,
                                     layer_types=["conv", "full_attention", "conv"],
                                     rope_parameters=dict(rope_type="default", rope_theta=100.0))),
    "lfm2_bf16": ("Lfm2", "bfloat16", dict(head_dim=None, num_hidden_layers=3, conv_L_cache=4, block_auto_adjust_ff_dim=False,
                                           full_attn_idxs=[0, 2])),
    "qwen3_next": ("Qwen3Next", "float32", dict(DELTA, num_hidden_layers=4, num_experts=4, num_experts_per_tok=2,
                                                moe_intermediate_size=8, shared_expert_intermediate_size=12)),
    "qwen3_next_bf16": ("Qwen3Next", "bfloat16", dict(DELTA, num_hidden_layers=3, num_experts=5, num_experts_per_tok=3,
                                                      moe_intermediate_size=8, shared_expert_intermediate_size=12,
                                                      norm_topk_prob=False, linear_conv_kernel_dim=3, linear_num_key_heads=4,
                                                      attention_bias=True, mlp_only_layers=[1], decoder_sparse_step=1,
                                                      layer_types=["full_attention", "linear_attention", "linear_attention"])),
    "qwen3_5": ("Qwen3_5Text", "float32", dict(DELTA, num_hidden_layers=4, tie_word_embeddings=True, rope_parameters=dict(
        rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5, mrope_section=[1, 1, 0], mrope_interleaved=True))),
    # As the text part of a model of text and images.
    "qwen3_5_images": ("Qwen3_5Text", "bfloat16", dict(DELTA, num_hidden_layers=2, full_attention_interval=2)),
    "qwen3_5_moe": ("Qwen3_5MoeText", "float32", dict(DELTA, num_hidden_layers=2, full_attention_interval=2, num_experts=4,
                                                      num_experts_per_tok=2, moe_intermediate_size=8,
                                                      shared_expert_intermediate_size=12)),
    "granitemoe": ("GraniteMoe", "float32", dict(head_dim=None, embedding_multiplier=3.0, residual_multiplier=0.5,
                                                 attention_multiplier=0.3, logits_scaling=2.0, num_local_experts=5,
                                                 num_experts_per_tok=2)),
    "granitemoehybrid": ("GraniteMoeHybrid", "float32", dict(
        HYBRID, head_dim=None, num_hidden_layers=3, intermediate_size=12, num_local_experts=5, num_experts_per_tok=2,
        shared_intermediate_size=20, layer_types=["mamba", "attention", "mamba"], mamba_n_groups=2)),
    "granitemoehybrid_dense": ("GraniteMoeHybrid", "bfloat16", dict(
        HYBRID, head_dim=None, num_local_experts=0, shared_intermediate_size=20, layer_types=["attention", "mamba"],
        position_embedding_type="rope", attention_bias=True, mamba_proj_bias=True, mamba_conv_bias=False,
        time_step_limit=[0.7, 1.5], rope_parameters=dict(rope_type="default", rope_theta=100.0))),
    "granitemoehybrid_nope": ("GraniteMoeHybrid", "float32", dict(
        HYBRID, head_dim=None, num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=20,
        layer_types=["mamba", "attention"])),
    "mamba2": ("Mamba2", "float32", dict(MAMBA2, n_groups=2)),
    "mamba2_limited": ("Mamba2", "bfloat16", dict(MAMBA2, n_groups=1, use_bias=True, use_conv_bias=False, chunk_size=4,
                                                  time_step_limit=[0.7, 1.5], tie_word_embeddings=True)),
    "qwen3_moe": ("Qwen3Moe", "float32", dict(num_hidden_layers=4, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=12,
                                              norm_topk_prob=False, decoder_sparse_step=2, mlp_only_layers=[3])),
    "qwen3_moe_renormalized": ("Qwen3Moe", "bfloat16", dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
                                                            norm_topk_prob=True)),
    "gpt_oss": ("GptOss", "float32", dict(num_local_experts=4, num_experts_per_tok=2, sliding_window=6, swiglu_limit=1.5, swiglu_alpha=1.3,
                                          rope_parameters=dict(YARN, truncate=False))),
    # Experts lie in the file as MXFP4.
    "gpt_oss_mxfp4": ("GptOss", "bfloat16", dict(hidden_size=32, intermediate_size=32, num_local_experts=4, num_experts_per_tok=2,
                                                 sliding_window=6, rope_parameters=dict(YARN, truncate=False))),
    "glm4_moe": ("Glm4Moe", "float32", dict(num_hidden_layers=3, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=8,
                                            n_shared_experts=2, n_group=4, topk_group=2, routed_scaling_factor=1.5, use_qk_norm=True,
                                            num_mtp_layers=0, attention_bias=True)),
    "glm4_moe_plain": ("Glm4Moe", "bfloat16", dict(n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=8,
                                                   n_shared_experts=1, norm_topk_prob=False, num_mtp_layers=0)),
    "olmoe": ("Olmoe", "float32", dict(head_dim=None, num_experts=5, num_experts_per_tok=2)),
    "olmoe_clip": ("Olmoe", "bfloat16", dict(head_dim=None, num_experts=5, num_experts_per_tok=2, clip_qkv=0.75, norm_topk_prob=True)),
    "seed_oss": ("SeedOss", "float32", dict(attention_out_bias=True, mlp_bias=True)),
    "hunyuan_v1_dense": ("HunYuanDenseV1", "float32", dict()),
    # Theta grows with alpha.
    "hunyuan_v1_dense_alpha": ("HunYuanDenseV1", "bfloat16", dict(attention_bias=True, tie_word_embeddings=True, rope_parameters=dict(
        rope_type="dynamic", rope_theta=50.0, alpha=20.0, factor=1.0))),
    "cohere2": ("Cohere2", "float32", dict(head_dim=None, num_hidden_layers=4, sliding_window=6, logit_scale=0.25, rotary_pct=1.0)),
    "ernie4_5_moe": ("Ernie4_5_Moe", "float32", dict(head_dim=None, num_hidden_layers=4, intermediate_size=32, moe_num_experts=6, moe_k=2,
                                                     moe_intermediate_size=8, moe_num_shared_experts=2, moe_layer_interval=2)),
    "ernie4_5_moe_bias": ("Ernie4_5_Moe", "float32", dict(head_dim=None, num_hidden_layers=4, moe_num_experts=6, moe_k=2,
                                                          moe_intermediate_size=8, moe_num_shared_experts=2, moe_layer_start_index=1,
                                                          moe_layer_end_index=2, moe_norm_min=0.5, use_bias=True)),
    "minimax_m2": ("MiniMaxM2", "float32", dict(num_local_experts=6, num_experts_per_tok=2, rotary_dim=4,
                                               scoring_func="sigmoid", use_qk_norm=True)),
    "deepseek_v2_dense": ("DeepseekV2", "float32", dict(DENSE, rope_parameters=dict(YARN, mscale=0.9, mscale_all_dim=0.5))),
    "deepseek_v2_lite_dense": ("DeepseekV2", "float32", dict(DENSE, q_lora_rank=None, rope_parameters=dict(YARN, mscale=0.75,
                                                                                                        mscale_all_dim=0.75))),
    "deepseek_v3_dense": ("DeepseekV3", "bfloat16", dict(DENSE, rope_interleave=False, attention_bias=True)),
    "deepseek_v2": ("DeepseekV2", "float32", dict(SPARSE, topk_method="group_limited_greedy")),
    "deepseek_v2_greedy": ("DeepseekV2", "bfloat16", dict(SPARSE, n_group=1, topk_group=1, q_lora_rank=None)),
    "deepseek_v3": ("DeepseekV3", "float32", dict(SPARSE, num_mtp_layers=0)),
    "mistral4": ("Mistral4", "bfloat16", dict(SPARSE, n_group=1, topk_group=1, rope_parameters=dict(
        YARN, original_max_position_embeddings=8, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.1))),
    "llama4": ("Llama4Text", "float32", dict(LLAMA4, num_hidden_layers=4, attention_chunk_size=6, interleave_moe_layer_step=2,
                                             floor_scale=4, attn_scale=0.3, attention_bias=True)),
    # As the text part of a model of text and images.
    "llama4_images": ("Llama4Text", "bfloat16", dict(LLAMA4, attention_chunk_size=5, no_rope_layers=[1, 0], use_qk_norm=False,
                                                     attn_temperature_tuning=False, num_experts_per_tok=2)),
    # GGUF files do not say the sizes of chunks and of the scale's floor; these are the defaults.
    "llama4_long": ("Llama4Text", "float32", dict(LLAMA4, num_hidden_layers=4, interleave_moe_layer_step=2, rope_parameters=dict(
        rope_type="llama3", rope_theta=500.0, factor=16.0, original_max_position_embeddings=16, low_freq_factor=1.0,
        high_freq_factor=1.0))),
    "gemma4": ("Gemma4Text", "float32", dict(GEMMA4, num_hidden_layers=7, num_kv_shared_layers=3, use_double_wide_mlp=True,
                                             vocab_size_per_layer_input=48, hidden_size_per_layer_input=4,
                                             layer_types=["sliding_attention", "full_attention"] * 3 + ["full_attention"],
                                             final_logit_softcapping=4.0)),
    "gemma4_moe": ("Gemma4Text", "float32", dict(GEMMA4, num_hidden_layers=3, hidden_size_per_layer_input=0, attention_k_eq_v=True,
                                                 num_global_key_value_heads=1, enable_moe_block=True, num_experts=5,
                                                 top_k_experts=2, moe_intermediate_size=8, tie_word_embeddings=False,
                                                 layer_types=["sliding_attention", "sliding_attention", "full_attention"])),
    # As the text part of a model of text, images and sound, as published.
    "gemma4_images": ("Gemma4Text", "bfloat16", dict(GEMMA4, num_hidden_layers=4, num_kv_shared_layers=2, attention_k_eq_v=True,
                                                     num_global_key_value_heads=1, vocab_size_per_layer_input=48,
                                                     hidden_size_per_layer_input=6, attention_bias=True,
                                                     use_bidirectional_attention="vision",
                                                     layer_types=["full_attention", "sliding_attention", "sliding_attention",
                                                                  "full_attention"])),
    # GGUF files do not say llama_4_scaling_beta; this is the default.
    "mistral4_dense": ("Mistral4", "float32", dict(DENSE, tie_word_embeddings=True, rope_parameters=dict(
        YARN, original_max_position_embeddings=8, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.1))),
}
NAMED_OTHERWISE = {"GPT2": "GPT2LMHeadModel"}
LENGTHS = (3, 21, 12)
SHARDED = "qwen3_bf16"                   # in several files
FORMER = ("llama_llama3", "gemma3_f16")  # with a config.json as transformers 4 wrote it

FORMER_LAYERS = ("granitemoehybrid", "granitemoehybrid_nope")


def respell(path):
    """From transformers 5's keys to those of transformers 4."""
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    if "full_attention" in rope:
        config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
        del config["layer_types"], config["_sliding_window_pattern"]
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = rope if rope["rope_type"] != "default" else None
    config["torch_dtype"] = config.pop("dtype")
    path.write_text(json.dumps(config, indent=2) + "\n")


def rename_layers(path):
    """From transformers 5's names of layers to those that published models have."""
    config = json.loads(path.read_text())
    former = {"linear_attention": "mamba", "full_attention": "attention"}
    config["layer_types"] = [former[name] for name in config["layer_types"]]
    path.write_text(json.dumps(config, indent=2) + "\n")


def as_dense(path):
    """Takes the keys of experts away, which transformers writes for a model whose layers have none, too."""
    config = json.loads(path.read_text())
    for key in ("n_routed_experts", "n_shared_experts", "n_group", "topk_group", "topk_method", "routed_scaling_factor",
                "norm_topk_prob", "num_experts_per_tok", "moe_intermediate_size"):
        config.pop(key, None)
    path.write_text(json.dumps(config, indent=2) + "\n")


def as_chatglm(folder):
    """From the layout of GLM-4 that transformers has to the former one, of the code that the models bring along."""
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(dict(
        model_type="chatglm", architectures=["ChatGLMModel"], torch_dtype=config["dtype"], hidden_size=config["hidden_size"],
        num_layers=config["num_hidden_layers"], num_hidden_layers=config["num_hidden_layers"], padded_vocab_size=config["vocab_size"],
        ffn_hidden_size=config["intermediate_size"], kv_channels=config["head_dim"], num_attention_heads=config["num_attention_heads"],
        multi_query_attention=True, multi_query_group_num=config["num_key_value_heads"], layernorm_epsilon=config["rms_norm_eps"],
        seq_length=config["max_position_embeddings"], rope_ratio=2, original_rope=True, add_qkv_bias=True, add_bias_linear=False,
        rmsnorm=True, post_layer_norm=True, apply_residual_connection_post_layernorm=False, tie_word_embeddings=False,
        eos_token_id=config["eos_token_id"]), indent=2) + "\n")
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    for ending in ("weight", "bias"):
        for layer in range(config["num_hidden_layers"]):
            attention = f"model.layers.{layer}.self_attn."
            weights[f"{attention}query_key_value.{ending}"] = torch.cat(
                [weights.pop(f"{attention}{part}_proj.{ending}") for part in "qkv"])
    names = {"model.embed_tokens": "transformer.embedding.word_embeddings", "model.layers": "transformer.encoder.layers",
             "model.norm": "transformer.encoder.final_layernorm", "lm_head": "transformer.output_layer",
             "self_attn": "self_attention", "o_proj": "dense", "gate_up_proj": "dense_h_to_4h", "down_proj": "dense_4h_to_h"}
    former = {}
    for name, weight in weights.items():
        for new, old in names.items():
            name = name.replace(new, old)
        former[name] = weight
    former["transformer.rotary_pos_emb.inv_freq"] = torch.ones(config["head_dim"] // 4)
    safetensors.torch.save_file(former, folder / "model.safetensors", {"format": "pt"})


def name_full_heads(path):
    """From the sizes of each full layer's heads, as transformers 5 has them, to the keys of all that published models have."""
    config = json.loads(path.read_text())
    full = next(iter(config.pop("per_layer_config").values()))
    config["global_head_dim"], config["num_global_key_value_heads"] = full["head_dim"], full["num_key_value_heads"]
    path.write_text(json.dumps(config, indent=2) + "\n")


def as_text_part(folder):
    """From a text model to one of text and images, of which the part for images and the guessing layers are no more than a tensor."""
    config = json.loads((folder / "config.json").read_text())
    architecture = config["architectures"][0].replace("CausalLM", "ConditionalGeneration")
    (folder / "config.json").write_text(json.dumps(dict(
        model_type=config["model_type"].removesuffix("_text"), architectures=[architecture], text_config=config,
        vision_config={}, image_token_id=40, tie_word_embeddings=config["tie_word_embeddings"]), indent=2) + "\n")
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    if config["model_type"] == "llama4_text":
        former = {"language_model." + name: weight for name, weight in weights.items()}
        former["vision_model.patch_embedding.linear.weight"] = torch.ones(2, 2)
    elif config["model_type"] == "gemma4_text":
        former = {name.replace("model.", "model.language_model.", 1): weight for name, weight in weights.items()}
        for layer in range(config["num_hidden_layers"] - config["num_kv_shared_layers"], config["num_hidden_layers"]):
            attention = f"model.language_model.layers.{layer}.self_attn."
            for part in ("k_proj", "v_proj", "k_norm"):  # of layers that read the keys and values of others
                former[f"{attention}{part}.weight"] = torch.ones(2, 2)
        for part in ("vision_tower.patch_embedder.input_proj", "audio_tower.output_proj", "embed_vision.embedding_projection",
                     "embed_audio.embedding_projection"):
            former[f"model.{part}.weight"] = torch.ones(2, 2)
    else:
        former = {name.replace("model.", "model.language_model.", 1) if "language_model" not in name else name: weight
                  for name, weight in weights.items()}
        former["model.visual.patch_embed.proj.weight"], former["mtp.fc.weight"] = torch.ones(2, 2), torch.zeros(2, 2)
    safetensors.torch.save_file(former, folder / "model.safetensors", {"format": "pt"})


def pack_experts(folder):
    """Rounds a gpt-oss's experts to MXFP4, in the layout of its published files: the elements 2i and 2i + 1 of a row in the low
    and the high half of a byte, and an exponent for 32 elements."""
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    for name in [name for name in weights if name.endswith(("gate_up_proj", "down_proj"))]:
        rows = weights.pop(name).float().transpose(1, 2)  # [experts, out, in]
        blocks = rows.reshape(*rows.shape[:2], -1, 32)
        exponents = blocks.abs().amax(-1).log2().floor() - 2
        scaled = blocks / exponents.exp2()[..., None]
        codes = (scaled.abs()[..., None] - values).abs().argmin(-1) + 8 * (scaled < 0)
        weights[name + "_blocks"] = (codes[..., ::2] + 16 * codes[..., 1::2]).to(torch.uint8)
        weights[name + "_scales"] = (exponents + 127).to(torch.uint8)
    safetensors.torch.save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = dict(quant_method="mxfp4", modules_to_not_convert=["model.layers.*.self_attn", "model.layers.*.mlp.router",
                                                                                       "model.embed_tokens", "lm_head"])
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    return dict(quantization_config=transformers.Mxfp4Config(dequantize=True))


for name, (family, dtype, options) in MODELS.items():
    if sys.argv[1:] and name not in sys.argv[1:]:
        continue
    torch.manual_seed(7)
    sizes = {} if "vocab_size" in options else SIZES
    options = {key: value for key, value in {**sizes, **options}.items() if key != "head_dim" or value}
    config = getattr(transformers, family + "Config")(**options)
    model = getattr(transformers, NAMED_OTHERWISE.get(family, family.removesuffix("Text") + "ForCausalLM"))(config)
    for of_part, parameter in model.named_parameters():  # norms' weights and biases are not ones and zeros
        if of_part.endswith("A_log"):  # states last for some tokens
            torch.nn.init.normal_(parameter, -2.0, 1.0)
        elif parameter.dim() == 1:
            torch.nn.init.normal_(parameter, parameter.mean().item(), 0.2)
    for tensor_name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if tensor_name.endswith("_bias") and tensor.dim() == 2 or tensor_name.endswith("e_score_correction_bias"):
            torch.nn.init.normal_(tensor, 0, 0.2)  # of experts, and of the choice of experts
        if tensor_name.endswith("layer_scalar"):
            torch.nn.init.uniform_(tensor, 0.5, 1.5)
    folder = HERE / name
    model.to(getattr(torch, dtype)).save_pretrained(folder, **(dict(max_shard_size="4KB") if name == SHARDED else {}))
    (folder / "generation_config.json").unlink(missing_ok=True)
    if name in FORMER:
        respell(folder / "config.json")
    if name in FORMER_LAYERS:
        rename_layers(folder / "config.json")
    # Eager attention has no kernel of its own, but Falcon's adds the biases of ALiBi twice.
    attention = "sdpa" if options.get("alibi") else "eager"
    more = pack_experts(folder) if name == "gpt_oss_mxfp4" else {}
    model = type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation=attention, **more).eval()
    expected = {}
    for row, length in enumerate(LENGTHS):
        ids = torch.randint(0, 48, (1, length))
        with torch.no_grad():
            # transformers' own models are causal, unless a mask of 4 dims says otherwise.
            mask = None if options.get("is_causal", True) else torch.zeros(1, 1, length, length)
            logits = model(ids, attention_mask=mask).logits
            expected[f"ids.{row}"], expected[f"logits.{row}"] = ids[0], logits[0].contiguous()
    safetensors.torch.save_file(expected, folder / "expected.safetensors")
    if "kv_lora_rank" in options and name.endswith("_dense"):
        as_dense(folder / "config.json")
    if name == "chatglm":
        as_chatglm(folder)
    if name == "gemma4_images":
        name_full_heads(folder / "config.json")
    if name.endswith("_images"):
        as_text_part(folder)
    for file in folder.iterdir():
        file.chmod(0o644)
