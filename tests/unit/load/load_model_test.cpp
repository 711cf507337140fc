#include "wick/load/load_model.h"

#include <cmath>

#include "../core/scripted_backend.h"
#include "../expect.h"
#include "../small_config.h"
#include "../temporary_folder.h"
#include "wick/core/backend.h"
#include "wick/generate/chat_window.h"
#include "wick/io/file.h"
#include "wick/io/gguf.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/ops/autograd.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

using test::TemporaryFolder;

const std::string kModel = std::string(WICK_GOLDEN) + "/llama/grouped";

/// A copy of the model, to which files are added or from which they are taken.
class LoadModel : public ::testing::Test {
 protected:
  const TemporaryFolder folder;
  LoadModel() {
    for (const char* name : {"config.json", "model.safetensors"})
      folder.write(name, read_file(kModel + "/" + name));
  }
  LanguageModel load() const { return load_model(folder.path(), {.device = Device::cpu()}); }
};

TEST_F(LoadModel, OfAFolderGivesTheDecoderAndWhatItsFilesSay) {
  folder.write("generation_config.json",
               R"({"eos_token_id": [3, 5], "do_sample": true, "temperature": 0.5, "top_p": 0.9})");
  folder.write("tokenizer_config.json",
               R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>",
                   "chat_template": "{{ bos_token }}{{ messages[0].content }}"})");
  const LanguageModel model = load();
  EXPECT_EQ(model.facts().vocab_size, 48);
  EXPECT_FALSE(model.tokenizer.has_value());
  EXPECT_TRUE(model.chat_template.has_value());
  EXPECT_EQ(model.bos_token, "<s>");
  EXPECT_EQ(model.eos_token, "</s>");
  EXPECT_EQ(model.stop_ids, (std::vector<int64_t>{2, 3, 5}));
  ASSERT_TRUE(model.sampling.has_value());
  EXPECT_EQ(model.sampling->temperature, 0.5);
  EXPECT_EQ(model.sampling->top_p, 0.9);
  EXPECT_EQ(model.sampling->top_k, 50);
}

TEST_F(LoadModel, GivesTheTemplateToolsAndFurtherVariables) {
  folder.write("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 3, "b": 4, "c": 5},
                                     "merges": []}})");
  folder.write("tokenizer_config.json", R"({"bos_token": "a", "chat_template":
      "{{ bos_token }}{{ tools[0].name if tools }}{{ x }}{{ 'c' if add_generation_prompt }}"})");
  const LanguageModel model = load();
  using Ids = std::vector<int64_t>;
  EXPECT_EQ(model.chat_ids({}), (Ids{3, 5}));
  ChatOptions options{.add_generation_prompt = false, .bos_token = "b"};
  options.tools.push_back(Settings().set("name", "ab"));
  options.more.set("x", "cc");
  EXPECT_EQ(model.chat_ids({}, options), (Ids{4, 3, 4, 5, 5}));
  EXPECT_EQ(chat_window(model, {}, 9, 0, options).ids, (Ids{4, 3, 4, 5, 5}));
}

TEST_F(LoadModel, TextsOfAChatAreNotReadAsSpecialTokens) {
  folder.write(
      "tokenizer.json",
      R"({"model": {"type": "BPE", "vocab": {"<": 0, "a": 1, ">": 2, "b": 3}, "merges": []},
                   "added_tokens": [{"id": 4, "content": "<a>", "special": true,
                                     "normalized": false}]})");
  folder.write("tokenizer_config.json", R"({"bos_token": "<a>", "chat_template":
      "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content|trim }}{% endfor %}{{ x }}"})");
  const LanguageModel model = load();
  using Ids = std::vector<int64_t>;
  const ChatOptions options{.more = Settings().set("x", "<a>")};
  EXPECT_EQ(model.chat_ids({{"a", "b"}}, options), (Ids{4, 4, 3, 4}));
  EXPECT_EQ(model.chat_ids({{"a", " <a>"}, {"b", "a>"}}, options),
            (Ids{4, 4, 0, 1, 2, 0, 3, 2, 1, 2, 4}));
  EXPECT_EQ(model.prompt_ids("<a>b"), (Ids{4, 3}));
}

TEST_F(LoadModel, RefusesADtypeThatModelsDoNotComputeIn) {
  for (const DType dtype : {DType::kQ4_0, DType::kI32, DType::kF8E4M3})
    EXPECT_ERROR(load_model(folder.path(), {.device = Device::cpu(), .dtype = dtype}),
                 kInvalidArgument,
                 std::string("dtype: expected f32, bf16, f16 or f64, got ") + dtype_name(dtype));
}

TEST_F(LoadModel, EmbedsATextByTheTokenThatTheFilesName) {
  folder.write("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 3, "b": 4, "c": 5},
                                     "merges": []}})");
  const LanguageModel last = load();
  EXPECT_EQ(last.pooling, Pooling::kLast);
  const Tensor states = squeeze(
      last.model->hidden(Tensor::from({3, 5, 4}, {1, 3}), positions_from_0(1, 3, Device::cpu())),
      0);
  std::filesystem::create_directory(folder.file("1_Pooling"));
  const struct {
    const char* mode;
    Pooling pooling;
    Tensor state;
  } rows[] = {{"pooling_mode_lasttoken", Pooling::kLast, select(states, 0, 2)},
              {"pooling_mode_cls_token", Pooling::kFirst, select(states, 0, 0)},
              {"pooling_mode_mean_tokens", Pooling::kMean, mean(states, {.dims = {0}})}};
  for (const auto& [mode, pooling, state] : rows) {
    folder.write("1_Pooling/config.json", std::string("{\"") + mode + "\": true}");
    const LanguageModel model = load();
    EXPECT_EQ(model.pooling, pooling);
    const std::vector<float> values = model.embed("acb").to_vector<float>(),
                             expected = state.to_vector<float>();
    double square = 0;
    for (const float value : expected) square += double(value) * double(value);
    for (size_t i = 0; i < values.size(); i++)
      EXPECT_NEAR(values[i], double(expected[i]) / std::sqrt(square), 1e-6);
  }
  EXPECT_ERROR(last.embed(std::string(65, 'a')), kOutOfRange, "expected at most 64 tokens");
  folder.write("1_Pooling/config.json", R"({"pooling_mode_max_tokens": true})");
  EXPECT_ERROR(load(), kUnsupported, "expected pooling by the last token, the first or the mean");
}

TEST(LoadModelOfAGgufFile, PoolsAsTheFileSaysOrRefuses) {
  const TemporaryFolder folder;
  const GgufReader reader(std::string(WICK_GOLDEN) + "/decoders/qwen3/model.gguf");
  const std::string path = folder.file("a.gguf");
  const auto load = [&](int64_t type) {
    std::vector<GgufField> fields = reader.fields();
    fields.push_back({"qwen3.pooling_type", type, GgufType::kI32});
    save_gguf(path, fields, reader.source());
    return load_model(path, {.device = Device::cpu()}).pooling;
  };
  EXPECT_EQ(load(-1), Pooling::kLast);
  EXPECT_EQ(load(0), Pooling::kLast);
  EXPECT_EQ(load(1), Pooling::kMean);
  EXPECT_EQ(load(2), Pooling::kFirst);
  EXPECT_EQ(load(3), Pooling::kLast);
  EXPECT_ERROR(load(4), kUnsupported,
               "a.gguf: \"qwen3.pooling_type\": expected pooling by the mean (1), the first token "
               "(2) or the last (3), got 4, a model that ranks texts");
  EXPECT_ERROR(load(5), kUnsupported, "got 5");
}

TEST(LoadModelOfAGgufFile, HasNoTokenizerIfTheFileSaysNone) {
  const TemporaryFolder folder;
  const GgufReader reader(std::string(WICK_GOLDEN) + "/decoders/qwen3/model.gguf");
  const std::string path = folder.file("a.gguf");
  std::vector<GgufField> fields = reader.fields();
  std::erase_if(fields, [](const GgufField& f) { return f.key == "tokenizer.ggml.model"; });
  fields.push_back({"tokenizer.ggml.model", "none", GgufType::kText});
  save_gguf(path, fields, reader.source());
  EXPECT_FALSE(load_model(path, {.device = Device::cpu()}).tokenizer.has_value());
  EXPECT_ERROR(load_tokenizer(path), kFormat, "a.gguf: the file has no tokenizer");
  fields.back().value = "bert";
  save_gguf(path, fields, reader.source());
  EXPECT_ERROR(load_tokenizer(path), kUnsupported, "wick has no tokenizer \"bert\"");
}

TEST_F(LoadModel, OnlyGgufFilesTakeAPreTokenizer) {
  EXPECT_ERROR(load_model(folder.path(), {.device = Device::cpu(), .tokenizer_pre = "qwen2"}),
               kInvalidArgument, "tokenizer_pre: only GGUF files name pre-tokenizers, not ");
}

TEST_F(LoadModel, SaysWhatAFolderLacks) {
  EXPECT_ERROR(load_model("/nonexistent"), kIo,
               "/nonexistent: no such file or folder; a model of the HuggingFace hub is ORG/NAME");
  std::filesystem::remove(folder.file("model.safetensors"));
  EXPECT_ERROR(load(), kFormat, "expected model.safetensors in the folder");
  std::filesystem::remove(folder.file("config.json"));
  EXPECT_ERROR(load(), kFormat, "expected config.json or a GGUF file in the folder");
  EXPECT_ERROR(load_tokenizer(folder.path()), kFormat,
               "expected tokenizer.json, a SigLIP's spiece.model or a GGUF file in the folder");
}

TEST(LoadModelOfAFolder, ADeviceThatIsTooSmallSaysHowMuchIsMissingAndWhichTypeFits) {
  static const Backend small = test::scripted::table("small");
  test::script = {};
  register_backend(&small);
  const Device device = Device::parse("small:0");
  DecoderConfig config = test::small_config();
  config.hidden_size = 256;
  config.intermediate_size = 512;
  config.head_dim = 64;
  config.num_hidden_layers = 1;
  const TemporaryFolder folder;
  Parameters parameters({.trainable = true});
  const Decoder decoder(config, parameters);
  NamedTensors weights;
  for (const auto& [name, var] : parameters.vars()) weights[name] = var.tensor();
  save_safetensors(folder.file("model.safetensors"), weights);
  write_json(folder.file("config.json"), to_settings(config));
  const int64_t bytes = 4 * num_parameters(config);
  const auto load = [&](int64_t memory) {
    test::script.memory = memory;
    load_model(folder.path(), {.device = device, .dtype = DType::kF32});
  };
  // A weight of q8_0 has 8.5 bits, one of q4_k 4.5, one of iq4_xs 4.25, as one of mxfp4, which serves
  // experts alone, one of q3_k 3.4375.
  EXPECT_ERROR(
      load(bytes * 10 / 32), kOutOfMemory,
      "the weights take 3.00 MiB on small:0, which has 0.94 MiB free: 2.06 MiB are missing; "
      "wick quantize makes them about 0.80 MiB as q8_0");
  EXPECT_ERROR(load(bytes * 5 / 32), kOutOfMemory, "about 0.42 MiB as q4_k_m");
  EXPECT_ERROR(load(bytes * 48 / 320), kOutOfMemory, "about 0.40 MiB as iq4_xs");
  EXPECT_ERROR(load(bytes * 4 / 32), kOutOfMemory, "as q3_k_m");
  EXPECT_ERROR(load(bytes * 25 / 320), kOutOfMemory,
               "no type of wick quantize is small enough");  // tq2_0 fits few models
  EXPECT_ERROR(load(bytes / 100), kOutOfMemory, "no type of wick quantize is small enough");
  EXPECT_EQ(test::script.allocations, 0);
}

TEST(LoadModelOfAFolder, TakesItsOnlyGgufFile) {
  const std::string file = std::string(WICK_GOLDEN) + "/decoders/qwen3/model.gguf";
  const TemporaryFolder folder;
  EXPECT_EQ(model_path(folder.path()), folder.path());
  folder.write("model.gguf", read_file(file));
  folder.write("config.json", read_file(kModel + "/config.json"));
  folder.write("other-00002-of-00002.gguf", "");  // found by the first part of its set
  EXPECT_EQ(model_path(folder.path()), folder.file("model.gguf"));
  EXPECT_EQ(load_config(folder.path()).model_type, "qwen3");
  const LanguageModel model = load_model(folder.path(), {.device = Device::cpu()});
  EXPECT_EQ(model.facts().model_type, "qwen3");
  folder.write("more-00001-of-00002.gguf", "");
  EXPECT_ERROR(load_model(folder.path()), kFormat,
               "expected one GGUF file in the folder, found model.gguf and "
               "more-00001-of-00002.gguf");
  // A folder with the hub's weights is read as such.
  folder.write("model.safetensors", read_file(kModel + "/model.safetensors"));
  EXPECT_EQ(model_path(folder.path()), folder.path());
  EXPECT_EQ(load_config(folder.path()).vocab_size, 48);
}

TEST_F(LoadModel, ATensorThatTheModelHasNoPlaceForIsAnError) {
  NamedTensors tensors = load_safetensors(kModel);
  tensors["model.layers.0.extra"] = tensors.begin()->second;
  save_safetensors(folder.file("model.safetensors"), tensors);
  EXPECT_ERROR(load(), kFormat,
               "tensor \"model.layers.0.extra\" is not part of a model of type llama");
}

TEST_F(LoadModel, WeightsOfTheComputationsDTypeStayWhereTheFileIsMapped) {
  int64_t last = 0, all = 0;
  load_model(folder.path(), {.device = Device::cpu(), .progress = [&](int64_t done, int64_t total) {
                               EXPECT_GT(done, last);
                               last = done;
                               all = total;
                             }});
  EXPECT_EQ(last, all);
  EXPECT_GT(all, 0);
}

TEST_F(LoadModel, APromptNeedsATokenizerAndAChatATemplate) {
  const LanguageModel model = load();
  EXPECT_ERROR(model.prompt_ids("a"), kUnsupported, "the model has no tokenizer");
  EXPECT_ERROR(model.chat_ids({}), kUnsupported, "the model has no chat template");
}

}  // namespace
}  // namespace wick
