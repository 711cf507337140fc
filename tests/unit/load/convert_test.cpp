#include "wick/load/convert.h"

#include "../expect.h"
#include "../temporary_folder.h"
#include "wick/io/file.h"
#include "wick/io/gguf.h"
#include "wick/io/json.h"
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
