#include "wick/load/convert.h"

#include "../expect.h"
#include "../small_config.h"
#include "../temporary_folder.h"
#include "wick/io/file.h"
#include "wick/io/gguf.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/load/load_model.h"
#include "wick/load/quantize.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"

namespace wick {
namespace {

using test::TemporaryFolder;

const std::string kDecoders = WICK_GOLDEN "/decoders/";

std::string bytes_of(const Tensor& x) {
  std::string bytes(size_t(bytes_of(x.dtype(), x.numel())), '\0');
  x.read(bytes.data());
  return bytes;
}

/// The golden folders with a model.gguf that llama.cpp's conversion made of them, and its dtype.
constexpr struct {
  const char* model;
  DType dtype;
} kModels[] = {
    {"llama_llama3", DType::kBf16},
    {"llama_yarn", DType::kF32},
    {"llama_linear", DType::kF16},
    {"qwen2", DType::kF32},
    {"qwen3", DType::kF32},
    {"gemma3_bf16", DType::kBf16},
    {"granite", DType::kF32},
    {"olmo2", DType::kF32},
    {"smollm3", DType::kF32},
    {"gemma", DType::kF32},
    {"gemma2", DType::kF32},
    {"phi3", DType::kF32},
    {"phi3_longrope", DType::kF32},
    {"phi3_longrope_long", DType::kF32},
    {"starcoder2", DType::kF32},
    {"ernie4_5", DType::kF32},
    {"stablelm", DType::kF32},
    {"stablelm_parallel", DType::kF32},
    {"glm4", DType::kF32},
    {"olmo", DType::kF32},
    {"phi", DType::kF32},
    {"gpt2", DType::kF32},
    {"mixtral", DType::kF32},
    {"granitemoe", DType::kF32},
    {"qwen2_moe", DType::kBf16},
    {"qwen3_moe_renormalized", DType::kBf16},
    {"chatglm", DType::kF32},
    {"exaone4", DType::kF32},
    {"exaone4_full", DType::kBf16},
    {"olmo3", DType::kF32},
    {"gpt_bigcode", DType::kF32},
    {"falcon", DType::kF32},
    {"falcon_grouped", DType::kF32},
    {"lfm2_bf16", DType::kBf16},
    {"gpt_oss_mxfp4", DType::kF32},
    {"glm4_moe", DType::kF32},
    {"olmoe", DType::kF32},
    {"seed_oss", DType::kF32},
    {"hunyuan_v1_dense", DType::kF32},
    {"cohere2", DType::kF32},
    {"ernie4_5_moe", DType::kF32},
    {"minimax_m2", DType::kF32},
    {"llama4_long", DType::kF32},
    {"gemma4", DType::kF32},
    {"gemma4_moe", DType::kF32},
};

/// A file's fields by their keys, without those of the tokenizer. Their order differs from
/// llama.cpp's, which differs from family to family.
std::map<std::string, GgufField> fields_of(const GgufReader& file) {
  std::map<std::string, GgufField> fields;
  for (const GgufField& field : file.fields())
    if (!field.key.starts_with("tokenizer.")) fields[field.key] = field;
  return fields;
}

TEST(Convert, WritesTheKeysAndTensorsThatLlamaCppsConversionWrites) {
  const TemporaryFolder folder;
  for (const auto& [model, dtype] : kModels) {
    SCOPED_TRACE(model);
    const std::string out = folder.file(std::string(model) + ".gguf");
    const ConvertReport report = convert_to_gguf(kDecoders + model, out, {.dtype = dtype});
    const GgufReader theirs(kDecoders + model + "/model.gguf"), ours(out);
    const std::map<std::string, GgufField> expected = fields_of(theirs), fields = fields_of(ours);
    for (const auto& [key, field] : fields) EXPECT_EQ(expected.count(key), 1u) << key;
    for (const auto& [key, field] : expected) {
      if (fields.count(key) == 0) {
        ADD_FAILURE() << "expected a key " << key;
        continue;
      }
      EXPECT_EQ(fields.at(key).type, field.type) << key;
      EXPECT_EQ(to_json(fields.at(key).value, -1), to_json(field.value, -1)) << key;
    }
    ASSERT_EQ(ours.tensors().size(), theirs.tensors().size());
    EXPECT_EQ(report.tensors, int64_t(ours.tensors().size()));
    for (const auto& [name, entry] : theirs.tensors()) {
      ASSERT_EQ(ours.tensors().count(name), 1u) << name;
      EXPECT_EQ(ours.tensors().at(name).type, entry.type) << name;
      EXPECT_EQ(bytes_of(ours.load(name)), bytes_of(theirs.load(name))) << name;
    }
    EXPECT_FALSE(report.warnings.empty());
    EXPECT_NE(report.warnings.back().find("no tokenizer.json"), std::string::npos);
  }
}

/// Compares a folder that was made of a GGUF file with the folder that this was made of.
void expect_folder(const std::string& out, const std::string& before, DType dtype) {
  DecoderConfig expected = load_config(before), config = load_config(out);
  EXPECT_EQ(config.dtype, dtype);
  expected.dtype = dtype;
  for (DecoderConfig* c : {&expected, &config})
    c->bos_token_ids.clear(), c->eos_token_ids.clear(),
        c->pad_token_id.reset();                          // the file has no tokenizer
  expected.initializer_range = config.initializer_range;  // GGUF files lack it
  for (DecoderConfig* c : {&expected, &config})           // they hold it as an f32
    c->rope_scaling.attention_factor = double(float(c->rope_scaling.attention_factor));
  if (RopeScaling& s = expected.rope_scaling; s.type == RopeScalingType::kLlama3) {
    // Only these quotients count.
    s.original_max_position_embeddings =
        int64_t(double(s.original_max_position_embeddings) / s.low_freq_factor);
    s.high_freq_factor /= s.low_freq_factor;
    s.low_freq_factor = 1;
  }
  EXPECT_EQ(to_json(to_settings(config)), to_json(to_settings(expected)));
  const NamedTensors tensors = load_safetensors(out);
  for (const auto& [name, tensor] : tensors) EXPECT_EQ(tensor.dtype(), dtype) << name;
  for (const auto& [name, info] : SafetensorsReader(before).source().tensors) {
    const Tensor tensor = SafetensorsReader(before).source().load(name, Device::cpu());
    // GPT-2's own files lack the prefix.
    const std::string ours = name.starts_with("transformer.") ? name.substr(12) : name;
    if (tensors.count(ours) == 0 && config.tie_word_embeddings && ours == "lm_head.weight")
      continue;
    ASSERT_EQ(tensors.count(ours), 1u) << ours;
    const Tensor weight = tensors.at(ours);
    if (config.norm_adds_one && ours.ends_with("norm.weight") && dtype == DType::kF32)
      EXPECT_EQ(bytes_of(add(weight, 1.0)), bytes_of(add(tensor, 1.0))) << ours;  // of the file
    else
      EXPECT_EQ(bytes_of(weight), bytes_of(cast(tensor, dtype))) << ours;
  }
}

TEST(Convert, AFolderOfLlamaCppsFileIsTheFolderThatItWasMadeOf) {
  const TemporaryFolder folder;
  for (const auto& [model, dtype] : kModels) {
    if (model == std::string("chatglm")) continue;        // becomes a glm: see below
    if (model == std::string("gpt_oss_mxfp4")) continue;  // has experts of floats: see below
    SCOPED_TRACE(model);
    const std::string out = folder.file(model), theirs = kDecoders + model;
    const ConvertReport report = convert_to_folder(theirs + "/model.gguf", out);
    expect_folder(out, theirs, dtype);
    EXPECT_EQ(report.tensors, int64_t(load_safetensors(out).size()));
    EXPECT_FALSE(report.warnings.empty());
    EXPECT_NE(report.warnings.back().find("no tokenizer"), std::string::npos);
  }
}

TEST(Convert, AFolderOfExpertsInMxfp4HasThemAsFloats) {
  const TemporaryFolder folder;
  const std::string theirs = kDecoders + "gpt_oss_mxfp4", out = folder.file("out");
  convert_to_folder(theirs + "/model.gguf", out, {.dtype = DType::kF32});
  const auto weights = [](const std::string& path) {
    return decoder_tensors(SafetensorsReader(path).source(), load_config(path));
  };
  const TensorSource before = weights(theirs), after = weights(out);
  ASSERT_EQ(before.tensors.size(), after.tensors.size());
  for (const auto& [name, info] : before.tensors)
    EXPECT_EQ(bytes_of(cast(before.load(name, Device::cpu()), DType::kF32)),
              bytes_of(cast(after.load(name, Device::cpu()), DType::kF32)))
        << name;
}

TEST(Convert, AFolderSurvivesTheWayThroughAFile) {
  const TemporaryFolder folder;
  const struct {
    const char* model;
    DType dtype;
  } rows[] = {{"glm", DType::kF32},
              {"olmo3_thetas", DType::kBf16},
              {"gpt_bigcode_heads", DType::kBf16},
              {"falcon_one_norm", DType::kBf16},
              {"qwen2_full", DType::kF32},
              {"yi", DType::kF32},
              {"qwen3_bf16", DType::kBf16}};
  for (const auto& [model, dtype] : rows) {
    SCOPED_TRACE(model);
    const std::string file = folder.file(std::string(model) + ".gguf"), out = folder.file(model);
    convert_to_gguf(kDecoders + model, file);
    convert_to_folder(file, out);
    expect_folder(out, kDecoders + model, dtype);
  }
}

TEST(Convert, AFileHasAnUnusualPatternOfSlidingLayers) {
  const TemporaryFolder folder;
  const std::string golden = kDecoders + "gemma3_f16", file = folder.file("a.gguf");
  const TemporaryFolder model;
  Settings config = read_json(golden + "/config.json");
  write_json(model.file("config.json"), config.set("query_pre_attn_scalar", 8));
  save_safetensors(model.file("model.safetensors"), load_safetensors(golden));
  convert_to_gguf(model.path(), file);
  const Settings metadata = GgufReader(file).metadata();
  EXPECT_EQ(metadata.integer("gemma3.attention.sliding_window_pattern"), 2);
  EXPECT_EQ(metadata.real("gemma3.final_logit_softcapping"), 4);
  convert_to_folder(file, folder.file("b"));
  expect_folder(folder.file("b"), model.path(), DType::kF16);
}

TEST(Convert, AFolderNamesThePaddingThatTransformersWouldElseTakeFromOutsideOfTheVocabulary) {
  const TemporaryFolder folder;
  for (const char* model : {"phi3", "glm4", "smollm3"}) {
    convert_to_folder(kDecoders + model + "/model.gguf", folder.file(model));
    const Settings config = read_json(folder.file(model) + "/config.json");
    const bool is_null = std::any_of(config.entries().begin(), config.entries().end(), [](auto& e) {
      return e.first == "pad_token_id" && std::holds_alternative<std::nullptr_t>(e.second.value);
    });
    EXPECT_TRUE(is_null) << model;
  }
  const GgufReader reader(kDecoders + "phi3/model.gguf");
  std::vector<GgufField> fields = reader.fields();
  fields.push_back({"tokenizer.ggml.padding_token_id", 5, GgufType::kU32});
  save_gguf(folder.file("a.gguf"), fields, reader.source());
  convert_to_folder(folder.file("a.gguf"), folder.file("a"));
  EXPECT_EQ(read_json(folder.file("a/config.json")).integer("pad_token_id"), 5);
}

TEST(Convert, NumbersOfConfigAreOfTheKindThatTransformersExpects) {
  const TemporaryFolder folder;
  convert_to_folder(kDecoders + "gemma2/model.gguf", folder.file("a"));
  const Settings config = read_json(folder.file("a/config.json"));
  EXPECT_TRUE(std::holds_alternative<int64_t>(config.find("query_pre_attn_scalar")->value));
  EXPECT_TRUE(std::holds_alternative<double>(config.find("final_logit_softcapping")->value));
}

TEST(Convert, AFileOfChatGlmBecomesAFolderOfTransformersGlm) {
  const TemporaryFolder folder;
  const std::string theirs = kDecoders + "chatglm", out = folder.file("a");
  convert_to_folder(theirs + "/model.gguf", out);
  const DecoderConfig config = load_config(out);
  EXPECT_EQ(config.model_type, "glm");
  EXPECT_EQ(SafetensorsReader(out).source().tensors.count("model.layers.0.mlp.gate_up_proj.weight"),
            1u);
  const TensorSource before =
      decoder_tensors(SafetensorsReader(theirs).source(), load_config(theirs));
  const TensorSource after = decoder_tensors(SafetensorsReader(out).source(), config);
  EXPECT_EQ(after.tensors.size(), before.tensors.size());
  for (const auto& [name, info] : before.tensors) {
    ASSERT_EQ(after.tensors.count(name), 1u) << name;
    const Tensor weight = before.load(name, Device::cpu());
    EXPECT_EQ(bytes_of(after.load(name, Device::cpu())), bytes_of(cast(weight, DType::kF32)))
        << name;
  }
}

TEST(Convert, QuantizedWeightsBecomeFloatsInAFolder) {
  const TemporaryFolder folder;
  DecoderConfig config = test::small_config();
  config.hidden_size = 32;
  config.intermediate_size = 64;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.num_key_value_heads = 1;
  config.head_dim = 16;
  Parameters parameters({.trainable = true});
  const Decoder decoder(config, parameters);
  NamedTensors weights;
  for (const auto& [name, var] : parameters.vars()) weights[name] = var.tensor();
  save_safetensors(folder.file("model.safetensors"), weights);
  write_json(folder.file("config.json"), to_settings(config));
  quantize_model(folder.path(), folder.file("q8_0.gguf"), "q8_0");
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    const std::string out = folder.file(dtype_name(dtype));
    ConvertOptions options;
    if (dtype == DType::kF32) options.dtype = dtype;  // f16 without
    convert_to_folder(folder.file("q8_0.gguf"), out, options);
    const Tensor weight = load_safetensors(out).at("model.layers.0.mlp.up_proj.weight");
    EXPECT_EQ(weight.dtype(), dtype);
    const Tensor blocks = GgufReader(folder.file("q8_0.gguf")).load("blk.0.ffn_up.weight");
    EXPECT_EQ(blocks.dtype(), DType::kQ8_0);
    EXPECT_EQ(bytes_of(weight), bytes_of(cast(cast(blocks, DType::kF32), dtype)));
  }
}

TEST(Convert, LeavesNoFolderIfItFails) {
  const TemporaryFolder folder;
  const GgufReader reader(kDecoders + "llama_llama3/model.gguf");
  TensorSource tensors = reader.source();
  tensors.load = [load = tensors.load](const std::string& name, const Device& device) {
    const Tensor x = load(name, device);
    return name == "rope_freqs.weight" ? add(x, 0.5) : x;
  };
  const TemporaryFolder other;
  save_gguf(other.file("a.gguf"), reader.fields(), tensors);
  EXPECT_ERROR(convert_to_folder(other.file("a.gguf"), folder.file("a")), kUnsupported,
               "expected Llama 3's scaling of rope");
  EXPECT_ERROR(convert_to_folder(kDecoders + "qwen3", folder.file("a")), kFormat,
               "expected a GGUF file");
  struct Stop {};
  EXPECT_THROW(convert_to_folder(kDecoders + "qwen3/model.gguf", folder.file("a"),
                                 {.progress = [](int64_t, int64_t) { throw Stop(); }}),
               Stop);
  EXPECT_TRUE(folder.names().empty());
}

TEST(Convert, WithoutADTypeKeepsTheFolders) {
  const TemporaryFolder folder;
  convert_to_gguf(kDecoders + "qwen3_bf16", folder.file("a.gguf"));
  const GgufReader reader(folder.file("a.gguf"));
  EXPECT_EQ(reader.tensors().at("blk.0.attn_q.weight").type, "bf16");
  EXPECT_EQ(reader.tensors().at("blk.0.attn_norm.weight").type, "f32");
  EXPECT_EQ(reader.metadata().integer("general.file_type"), 32);
}

TEST(Convert, AWindowThatTheFileCannotHoldIsAWarning) {
  const TemporaryFolder folder;
  const ConvertReport report = convert_to_gguf(kDecoders + "mistral_window", folder.file("a.gguf"));
  EXPECT_EQ(GgufReader(folder.file("a.gguf")).metadata().text("general.architecture"), "llama");
  bool warned = false;
  for (const std::string& warning : report.warnings)
    warned = warned || warning.find("\"sliding_window\" of") != std::string::npos;
  EXPECT_TRUE(warned);
}

TEST(Convert, RefusesWhatItCannotWrite) {
  const TemporaryFolder folder;
  const std::string out = folder.file("a.gguf");
  EXPECT_ERROR(convert_to_gguf(kDecoders + "smollm3_listed", out), kUnsupported,
               "\"no_rope_layers\": a GGUF file of a smollm3 has [1,1], got [0,1]");
  EXPECT_ERROR(convert_to_gguf(kDecoders + "gemma3_f16", out), kUnsupported,
               "\"query_pre_attn_scalar\": a GGUF file of a gemma3_text has 8, got 256");
  EXPECT_ERROR(convert_to_gguf(kDecoders + "qwen3_moe", out), kUnsupported,
               "\"norm_topk_prob\": a GGUF file of a qwen3_moe has true, got false");
  EXPECT_ERROR(convert_to_gguf(kDecoders + "llama_gelu", out), kUnsupported,
               "\"hidden_act\": a GGUF file of a llama has \"silu\", got \"gelu\"");
  EXPECT_ERROR(convert_to_gguf(kDecoders + "falcon_alibi", out), kUnsupported,
               "a GGUF file of a falcon has ");
  EXPECT_ERROR(convert_to_gguf(kDecoders + "llama4", out), kUnsupported,
               "a GGUF file of a llama4_text has ");
  EXPECT_ERROR(convert_to_gguf(kDecoders + "helium", out), kUnsupported,
               "GGUF has no architecture for helium models");
  EXPECT_ERROR(convert_to_gguf(std::string(WICK_GOLDEN) + "/image_prompt/paligemma", out),
               kUnsupported, "expected a decoder of text alone, got a model of type paligemma");
  EXPECT_ERROR(convert_to_gguf(std::string(WICK_GOLDEN) + "/image_prompt/colpali", out),
               kUnsupported, "expected a decoder of text alone, got a model of type colpali");
  EXPECT_ERROR(convert_to_gguf(kDecoders + "phi_qk_layernorm", out), kUnsupported,
               "\"qk_layernorm\": a GGUF file of a phi has false, got true");
  EXPECT_ERROR(convert_to_gguf(kDecoders + "qwen3", out, {.dtype = DType::kI8}), kInvalidArgument,
               "expected f32, f16 or bf16, got i8");
  EXPECT_ERROR(convert_to_gguf(folder.path(), out), kFormat, "expected config.json");
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace wick
