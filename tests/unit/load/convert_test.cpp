#include "wick/load/convert.h"

#include "../expect.h"
#include "../temporary_folder.h"
#include "wick/io/file.h"
#include "wick/io/gguf.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/load/load_model.h"
#include "wick/load/quantize.h"
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

TEST(Convert, WritesTheKeysAndTensorsThatLlamaCppsConversionWrites) {
  const TemporaryFolder folder;
  const struct {
    const char* model;
    DType dtype;
  } rows[] = {{"llama_llama3", DType::kBf16}, {"llama_yarn", DType::kF32},
              {"llama_linear", DType::kF16},  {"qwen2", DType::kF32},
              {"qwen3", DType::kF32},         {"gemma3_bf16", DType::kBf16}};
  for (const auto& [model, dtype] : rows) {
    SCOPED_TRACE(model);
    const std::string out = folder.file(std::string(model) + ".gguf");
    const ConvertReport report = convert_to_gguf(kDecoders + model, out, {.dtype = dtype});
    const GgufReader theirs(kDecoders + model + "/model.gguf"), ours(out);
    const std::vector<GgufField> expected = theirs.fields(), fields = ours.fields();
    ASSERT_EQ(fields.size(), expected.size());
    for (size_t i = 0; i < fields.size(); i++) {
      EXPECT_EQ(fields[i].key, expected[i].key);
      EXPECT_EQ(fields[i].type, expected[i].type) << fields[i].key;
      EXPECT_EQ(to_json(fields[i].value, -1), to_json(expected[i].value, -1)) << fields[i].key;
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

TEST(Convert, AFolderOfLlamaCppsFileIsTheFolderThatItWasMadeOf) {
  const TemporaryFolder folder;
  const struct {
    const char* model;
    DType dtype;
  } rows[] = {{"llama_llama3", DType::kBf16}, {"llama_yarn", DType::kF32},
              {"llama_linear", DType::kF16},  {"qwen2", DType::kF32},
              {"qwen3", DType::kF32},         {"gemma3_bf16", DType::kBf16}};
  for (const auto& [model, dtype] : rows) {
    SCOPED_TRACE(model);
    const std::string out = folder.file(model), theirs = kDecoders + model;
    const ConvertReport report = convert_to_folder(theirs + "/model.gguf", out);
    DecoderConfig expected = load_config(theirs), config = load_config(out);
    EXPECT_EQ(config.dtype, dtype);
    expected.dtype = dtype;
    for (DecoderConfig* c : {&expected, &config})
      c->bos_token_ids.clear(), c->eos_token_ids.clear();   // their file has no tokenizer
    expected.initializer_range = config.initializer_range;  // GGUF files lack it
    if (RopeScaling& s = expected.rope_scaling; s.type == RopeScalingType::kLlama3) {
      // Only these quotients count.
      s.original_max_position_embeddings =
          int64_t(double(s.original_max_position_embeddings) / s.low_freq_factor);
      s.high_freq_factor /= s.low_freq_factor;
      s.low_freq_factor = 1;
    }
    EXPECT_EQ(to_json(to_settings(config)), to_json(to_settings(expected)));
    const NamedTensors before = load_safetensors(theirs), after = load_safetensors(out);
    EXPECT_EQ(report.tensors, int64_t(after.size()));
    for (const auto& [name, tensor] : after) EXPECT_EQ(tensor.dtype(), dtype) << name;
    for (const auto& [name, tensor] : before) {
      if (after.count(name) == 0 && config.tie_word_embeddings && name == "lm_head.weight")
        continue;
      ASSERT_EQ(after.count(name), 1u) << name;
      EXPECT_EQ(bytes_of(after.at(name)), bytes_of(cast(tensor, dtype))) << name;
    }
    EXPECT_FALSE(report.warnings.empty());
    EXPECT_NE(report.warnings.back().find("no tokenizer"), std::string::npos);
  }
}

TEST(Convert, QuantizedWeightsBecomeFloatsInAFolder) {
  const TemporaryFolder folder;
  DecoderConfig config;
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
  EXPECT_ERROR(convert_to_folder(kDecoders + "gpt2/model.gguf", folder.file("a")), kUnsupported,
               "wick does not write folders of a model of architecture \"gpt2\"");
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
  EXPECT_ERROR(convert_to_gguf(kDecoders + "gpt2", out), kUnsupported,
               "wick does not write GGUF files of a model of type \"gpt2\"");
  EXPECT_ERROR(convert_to_gguf(kDecoders + "qwen3", out, {.dtype = DType::kI8}), kInvalidArgument,
               "expected f32, f16 or bf16, got i8");
  EXPECT_ERROR(convert_to_gguf(folder.path(), out), kFormat, "expected config.json");
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace wick
