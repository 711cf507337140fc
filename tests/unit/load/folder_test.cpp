// What the files of a folder say beside the weights: a head of their own, how to sample, what ends a
// text; and what a conversion may neither overwrite nor make infinite.
#include <algorithm>
#include <filesystem>

#include "../expect.h"
#include "../temporary_folder.h"
#include "wick/io/file.h"
#include "wick/io/gguf.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/load/convert.h"
#include "wick/load/load_model.h"
#include "wick/load/quantize.h"
#include "wick/ops/binary.h"
#include "wick/ops/create.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

const std::string kModel = std::string(WICK_GOLDEN) + "/llama/grouped";

class Folder : public ::testing::Test {
 protected:
  const TemporaryFolder folder;
  Folder() {
    for (const char* name : {"config.json", "model.safetensors"})
      folder.write(name, read_file(kModel + "/" + name));
  }
  LanguageModel load() const { return load_model(folder.path(), {.device = Device::cpu()}); }
  NamedTensors tensors() const {
    const TensorSource source = SafetensorsReader(folder.file("model.safetensors")).source();
    NamedTensors all;
    for (const auto& [name, info] : source.tensors) {
      const Tensor mapped = source.load(name, Device::cpu());
      all[name] = mapped + zeros_like(mapped);  // not in the file, which is written anew
    }
    return all;
  }
  void save(const NamedTensors& all) const {
    save_safetensors(folder.file("model.safetensors"), all);
  }
  void configure(const std::string& key, const Setting& value) const {
    Settings config = read_json(folder.file("config.json"));
    config.set(key, value);
    folder.write("config.json", to_json(config, 2));
  }
};

std::vector<float> logits_of(const LanguageModel& model) {
  return model.model
      ->forward(Tensor::from({3, 5, 7}, {1, 3}), positions_from_0(1, 3, Device::cpu()))
      .to_vector<float>();
}
bool any_has(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != line.npos; });
}

TEST_F(Folder, AHeadThatDiffersFromTheEmbeddingIsKeptThoughTheConfigTies) {
  NamedTensors all = tensors();
  all["lm_head.weight"] = all.at("model.embed_tokens.weight") * 2;
  configure("tie_word_embeddings", false);
  save(all);
  const std::vector<float> own = logits_of(load());
  configure("tie_word_embeddings", true);
  const LanguageModel model = load();
  EXPECT_EQ(logits_of(model), own);
  EXPECT_TRUE(any_has(model.warnings, "lm_head.weight differs from the embedding"));
  const std::string gguf = folder.file("out.gguf");
  EXPECT_TRUE(any_has(convert_to_gguf(folder.path(), gguf).warnings, "lm_head.weight differs"));
  EXPECT_EQ(GgufReader(gguf).tensors().count("output.weight"), 1u);

  all["lm_head.weight"] = all.at("model.embed_tokens.weight");
  save(all);
  EXPECT_FALSE(any_has(load().warnings, "lm_head"));
}

TEST_F(Folder, AWeightThatOverflowsStopsTheConversionUnlessAllowed) {
  NamedTensors all = tensors();
  const std::string name = "model.layers.0.mlp.up_proj.weight";
  all[name] = full(all.at(name).shape(), 70000);
  save(all);
  const std::string out = folder.file("out.gguf");
  EXPECT_ERROR(convert_to_gguf(folder.path(), out, {.dtype = DType::kF16}), kFormat,
               "element 0 is 70000, which overflows f16");
  EXPECT_FALSE(is_there(out));
  EXPECT_GT(
      convert_to_gguf(folder.path(), out, {.dtype = DType::kF16, .allow_overflow = true}).tensors,
      0);
  all[name] = full(all.at(name).shape(), 3e38);
  save(all);
  EXPECT_ERROR(quantize_model(folder.path(), folder.file("q.gguf"), "q8_0"), kFormat,
               "which overflows f16");
  EXPECT_FALSE(is_there(folder.file("q.gguf")));
}

TEST_F(Folder, AnOutputReplacesNoFileOfTheInput) {
  const std::string weights = folder.file("model.safetensors"), before = read_file(weights);
  EXPECT_ERROR(convert_to_gguf(folder.path(), weights), kInvalidArgument,
               "expected a place other than the files of the input");
  fs::create_symlink(weights, folder.file("link"));
  fs::create_hard_link(weights, folder.file("hard"));
  for (const char* name : {"link", "hard", "config.json"})
    EXPECT_ERROR(quantize_model(folder.path(), folder.file(name), "q8_0"), kInvalidArgument,
                 "expected a place other than the files of the input");
  EXPECT_EQ(read_file(weights), before);

  const std::string gguf = folder.file("in.gguf"), inside = folder.file("f");
  convert_to_gguf(folder.path(), gguf);
  fs::create_directory(inside);
  fs::create_symlink(gguf, inside + "/model.safetensors");
  EXPECT_ERROR(convert_to_folder(gguf, inside), kInvalidArgument,
               "expected a place other than the files of the input");
}

TEST_F(Folder, GenerationConfigSaysHowToSample) {
  const auto sampling = [&](const std::string& text) {
    folder.write("generation_config.json", text);
    return load().sampling;
  };
  EXPECT_FALSE(sampling(R"({"eos_token_id": 2, "max_length": 9})").has_value());
  const Sampling off = sampling(R"({"do_sample": true, "top_k": -1})").value();
  EXPECT_EQ(off.top_k, 0);
  EXPECT_EQ(off.temperature, 1);
  // Without do_sample transformers is greedy, and heeds the penalty.
  for (const char* text :
       {R"({"repetition_penalty": 1.5})", R"({"do_sample": false, "repetition_penalty": 1.5})"}) {
    const Sampling greedy = sampling(text).value();
    EXPECT_EQ(greedy.temperature, 0);
    EXPECT_EQ(greedy.repetition_penalty, 1.5);
  }
}

TEST_F(Folder, AKeyOfGenerationConfigThatWickLacksIsALineOfWarning) {
  folder.write(
      "generation_config.json",
      R"({"do_sample": true, "no_repeat_ngram_size": 3, "num_beams": 1, "stop_strings": ["x"]})");
  const std::vector<std::string> warnings = load().warnings;
  EXPECT_TRUE(any_has(warnings, R"(ignores "no_repeat_ngram_size", "stop_strings")"));
  EXPECT_FALSE(any_has(warnings, "num_beams"));
}

TEST_F(Folder, StopsWhereItsConversionStops) {
  folder.write(
      "tokenizer.json",
      R"({"model": {"type": "BPE", "vocab": {"a": 3, "b": 4, "<|im_end|>": 5}, "merges": []},
                   "added_tokens": [{"id": 5, "content": "<|im_end|>", "special": true}],
                   "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
                   "decoder": {"type": "ByteLevel"}})");
  folder.write("tokenizer_config.json", R"({"eos_token": "<|im_end|>"})");
  const std::vector<int64_t> stops = load().stop_ids;
  EXPECT_EQ(std::count(stops.begin(), stops.end(), 5), 1);
}

}  // namespace
}  // namespace wick
