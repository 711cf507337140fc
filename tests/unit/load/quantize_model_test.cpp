#include <cmath>

#include "../exact_activations.h"
#include "../expect.h"
#include "../temporary_folder.h"
#include "wick/io/gguf.h"
#include "wick/io/safetensors.h"
#include "wick/load/load_model.h"
#include "wick/load/quantize.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

using test::TemporaryFolder;

/// A file of a model whose rows are 256 long.
class QuantizeModel : public ::testing::Test {
 protected:
  const TemporaryFolder folder;
  NamedTensors tensors;
  std::vector<GgufField> fields = {{"general.architecture", "llama", GgufType::kText},
                                   {"general.file_type", 1, GgufType::kU32},
                                   {"llama.block_count", 1, GgufType::kU32},
                                   {"split.count", 1, GgufType::kU16},
                                   {"tokens", Setting::List{"a", "b"}, GgufType::kText}};

  QuantizeModel() {
    std::vector<float> values(512);
    for (size_t i = 0; i < values.size(); i++) values[i] = std::sin(float(i) * 0.37f);
    const Tensor matrix = cast(Tensor::from(values, {2, 256}), DType::kF16);
    for (const char* name : {"token_embd.weight", "blk.0.attn_q.weight", "blk.0.ffn_up.weight"})
      tensors[name] = matrix;
    tensors["output_norm.weight"] = Tensor::from(std::vector<float>(256, 1.f), {256});
  }
  std::string save() const {
    save_gguf(folder.file("in.gguf"), fields, source_of(tensors, "test"));
    return folder.file("in.gguf");
  }
};

TEST_F(QuantizeModel, WritesTheTypesAndTheMetadata) {
  std::vector<int64_t> progress;
  const QuantizeReport report =
      quantize_model(save(), folder.file("out.gguf"), "Q4_0",
                     {.progress = [&](int64_t done, int64_t) { progress.push_back(done); }});
  const GgufReader out(folder.file("out.gguf"));
  EXPECT_EQ(out.tensors().at("blk.0.attn_q.weight").type, "q4_0");
  EXPECT_EQ(out.tensors().at("token_embd.weight").type, "q6_k");
  EXPECT_EQ(out.tensors().at("output_norm.weight").type, "f32");
  EXPECT_EQ(out.metadata().integer("general.file_type"), 2);
  EXPECT_EQ(out.metadata().integer("general.quantization_version"), 2);
  EXPECT_EQ(out.metadata().texts("tokens"), (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(out.metadata().has("split.count"));
  EXPECT_EQ(out.fields().back().key, "general.file_type");
  EXPECT_EQ(report.tensors, 4);
  EXPECT_EQ(report.bytes_before, 3 * 1024 + 1024);
  EXPECT_EQ(report.bytes_after, 2 * 288 + 420 + 1024);
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_EQ(progress, (std::vector<int64_t>{1024, 1024 + 420, 1444 + 288, 1444 + 2 * 288}));
}

TEST_F(QuantizeModel, EveryTypeKeepsTheWeightsNearby) {
  tensors["blk.0.ffn_up_exps.weight"] =
      reshape(tensors.at("blk.0.ffn_up.weight"), {2, 1, 256});  // of two experts
  const std::string in = save(), out = folder.file("out.gguf");
  for (const std::string& type : quantized_file_types()) {
    if (type.starts_with("tq")) continue;  // three weights are near few others
    SCOPED_TRACE(type);
    quantize_model(in, out, type);
    const GgufReader reader(out);
    for (const auto& [name, x] : tensors) {
      const Tensor whole = cast(x, DType::kF32), y = cast(reader.load(name), DType::kF32);
      EXPECT_LT(sum(square(y - whole)).item<float>(), 0.05f * sum(square(whole)).item<float>())
          << name;
    }
    if (type == "mxfp4_moe") {
      EXPECT_EQ(reader.tensors().at("blk.0.ffn_up_exps.weight").type, "mxfp4");
    }
  }
}

TEST_F(QuantizeModel, RoundedTypesAreThoseOfCast) {
  const Tensor x = tensors.at("blk.0.ffn_up.weight");
  for (const DType dtype : {DType::kQ8_0, DType::kTQ1_0, DType::kTQ2_0}) {
    quantize_model(save(), folder.file("out.gguf"), dtype_name(dtype));
    const Tensor y = GgufReader(folder.file("out.gguf")).load("blk.0.ffn_up.weight");
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(cast(y, DType::kF32).to_vector<float>(),
              cast(cast(x, dtype), DType::kF32).to_vector<float>());
  }
}

TEST_F(QuantizeModel, QuantizedWeightsAreTakenOnlyWhenAllowed) {
  tensors["blk.0.attn_q.weight"] = cast(tensors.at("blk.0.attn_q.weight"), DType::kQ8_0);
  const std::string in = save(), out = folder.file("out.gguf");
  EXPECT_ERROR(quantize_model(in, out, "q4_0"), kInvalidArgument,
               "tensor \"blk.0.attn_q.weight\" is quantized already (q8_0)");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"in.gguf"});
  quantize_model(in, out, "q4_0", {.requantize = true});
  EXPECT_EQ(GgufReader(out).tensors().at("blk.0.attn_q.weight").type, "q4_0");
  quantize_model(in, out, "q8_0");  // has the type already
  quantize_model(in, out, "f16");
  EXPECT_EQ(GgufReader(out).tensors().at("blk.0.attn_q.weight").type, "f16");
}

TEST_F(QuantizeModel, AnElementThatIsNotFiniteIsAnErrorAndLeavesNoFile) {
  for (const float bad : {NAN, INFINITY}) {
    std::vector<float> values(256, 1.f);
    values[3] = bad;
    tensors["blk.0.ffn_up.weight"] = Tensor::from(values, {1, 256});
    tensors["blk.0.ffn_down.weight"] = Tensor::from(std::vector<float>(512, bad), {2, 256});
    EXPECT_ERROR(quantize_model(save(), folder.file("out.gguf"), "q4_k_m"), kFormat,
                 "tensor \"blk.0.ffn_down.weight\": element 0 is not finite");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in.gguf"});
  }
}

TEST_F(QuantizeModel, RowsThatAreNoWholeBlocksAreAWarning) {
  tensors["blk.0.ffn_up.weight"] = Tensor::from(std::vector<float>(96), {2, 48});
  const QuantizeReport report = quantize_model(save(), folder.file("out.gguf"), "q4_k_s");
  EXPECT_EQ(GgufReader(folder.file("out.gguf")).tensors().at("blk.0.ffn_up.weight").type, "f16");
  ASSERT_EQ(report.warnings.size(), 1u);
}

/// A file type and a device.
class QuantizedExperts : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(QuantizedExperts, GiveTheLogitsOfTheirElementsAsFloats) {
  const ExactActivations unrounded;
  const auto [type, device_name] = GetParam();
  const Device device = Device::parse(device_name);
  const std::string golden = std::string(WICK_GOLDEN) + "/decoders/qwen2_moe";
  const TemporaryFolder folder;
  const std::string blocks = folder.file("blocks.gguf"), floats = folder.file("floats.gguf");
  quantize_model(golden + "/model.gguf", blocks, type);
  quantize_model(blocks, floats, "f32");
  const auto tensors = GgufReader(blocks).tensors();
  for (const char* name : {"gate_exps", "up_exps", "down_exps", "gate_shexp", "down_shexp"})
    EXPECT_EQ(tensors.at("blk.1.ffn_" + std::string(name) + ".weight").type, type) << name;
  for (const char* kept : {"gate_inp", "gate_inp_shexp"})
    EXPECT_EQ(tensors.at("blk.1.ffn_" + std::string(kept) + ".weight").type, "f32") << kept;

  const Tensor ids = load_safetensors(golden + "/expected.safetensors").at("ids.1").to(device);
  const auto logits = [&](const std::string& file) {
    const LanguageModel model = load_model(file, {.device = device, .dtype = DType::kF32});
    return model.model->forward(reshape(ids, {1, ids.numel()}),
                                positions_from_0(1, ids.numel(), device));
  };
  const auto difference = [&](const std::string& a, const std::string& b) {
    return max(abs(sub(logits(a), logits(b)))).item<float>();
  };
  EXPECT_LT(difference(blocks, floats), 1e-4f);
  EXPECT_GT(difference(blocks, golden + "/model.gguf"), 1e-3f);
}

INSTANTIATE_TEST_SUITE_P(TypesAndDevices, QuantizedExperts,
                         ::testing::Combine(::testing::Values("q8_0", "q4_0"),
                                            ::testing::Values("cpu", "emu:32")));

TEST_F(QuantizeModel, ErrorsNameTheInput) {
  EXPECT_ERROR(quantize_model(save(), folder.file("out.gguf"), "q9"), kInvalidArgument, "got q9");
  EXPECT_ERROR(quantize_model(folder.file("none.gguf"), folder.file("out.gguf"), "q8_0"), kIo,
               "none.gguf");
}

}  // namespace
}  // namespace wick
