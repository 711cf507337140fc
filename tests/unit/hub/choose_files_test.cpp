#include "hub/choose_files.h"

#include <gtest/gtest.h>

#include "../expect.h"

namespace wick::hub {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

struct Named {
  const char* path;
  int64_t bytes = 1;
};

Listing listing_of(const std::vector<Named>& files) {
  Listing listing;
  for (const auto& [path, bytes] : files) listing.push_back({path, bytes, std::string(40, 'a')});
  return listing;
}

std::string choose(const std::vector<Named>& files, const ChooseOptions& options = {}) {
  const ChosenFiles chosen = choose_files(listing_of(files), "org/name", options);
  std::string text = chosen.model.empty() ? "folder:" : chosen.model + ":";
  for (const RepositoryFile& file : chosen.files) text += " " + file.path;
  return text;
}

const std::vector<Named> kTypes = {{"README.md"},
                                   {"m-Q2_K.gguf", 1 * kGiB},
                                   {"m-Q4_K_M.gguf", 2 * kGiB},
                                   {"m-Q8_0.gguf", 4 * kGiB},
                                   {"m-BF16.gguf", 8 * kGiB},
                                   {"mmproj-m-F16.gguf", 9 * kGiB},
                                   {"m.imatrix.gguf", 9 * kGiB}};

TEST(ChooseFiles, TakesOfAFolderTheFilesThatWickReads) {
  EXPECT_EQ(choose({{".gitattributes"},
                    {"README.md"},
                    {"config.json"},
                    {"generation_config.json"},
                    {"merges.txt"},
                    {"model.safetensors"},
                    {"onnx/model.onnx"},
                    {"onnx/model.safetensors"},
                    {"original/consolidated.00.pth"},
                    {"pytorch_model.bin"},
                    {"tokenizer.json"},
                    {"tokenizer.model"},
                    {"tokenizer_config.json"},
                    {"chat_template.jinja"},
                    {"1_Pooling/config.json"}}),
            "folder: config.json generation_config.json tokenizer.json tokenizer_config.json "
            "chat_template.jinja 1_Pooling/config.json model.safetensors");
}

TEST(ChooseFiles, TakesAnIndexOnlyWithoutASingleFile) {
  const ChosenFiles shards = choose_files(listing_of({{"config.json"},
                                                      {"model-00001-of-00002.safetensors"},
                                                      {"model-00002-of-00002.safetensors"},
                                                      {"model.safetensors.index.json"}}),
                                          "org/name", {});
  EXPECT_EQ(shards.index, "model.safetensors.index.json");
  EXPECT_EQ(shards.files.back().path, shards.index);
  EXPECT_EQ(choose({{"config.json"}, {"model.safetensors"}, {"model.safetensors.index.json"}}),
            "folder: config.json model.safetensors");
}

TEST(ChooseFiles, LeavesWeightsOut) {
  EXPECT_EQ(
      choose({{"config.json"}, {"model.safetensors"}, {"tokenizer.json"}}, {.with_weights = false}),
      "folder: config.json tokenizer.json");
  EXPECT_EQ(choose({{"a.gguf"}}, {.with_weights = false}), "a.gguf: a.gguf");
}

TEST(ChooseFiles, PrefersSafetensorsUnlessAFileIsNamed) {
  const std::vector<Named> both = {{"config.json"}, {"model.safetensors"}, {"m-Q8_0.gguf"}};
  EXPECT_EQ(choose(both), "folder: config.json model.safetensors");
  EXPECT_EQ(choose(both, {.choice = "q8_0"}), "m-Q8_0.gguf: m-Q8_0.gguf");
}

TEST(ChooseFiles, TakesTheLargestQuantizedTypeThatFits) {
  EXPECT_EQ(choose(kTypes), "m-Q8_0.gguf: m-Q8_0.gguf");
  EXPECT_EQ(choose(kTypes, {.memory_bytes = 100 * kGiB}), "m-Q8_0.gguf: m-Q8_0.gguf");
  EXPECT_EQ(choose(kTypes, {.memory_bytes = 4 * kGiB}), "m-Q4_K_M.gguf: m-Q4_K_M.gguf");
  EXPECT_EQ(choose(kTypes, {.memory_bytes = 2 * kGiB}), "m-Q2_K.gguf: m-Q2_K.gguf");
  EXPECT_ERROR(choose(kTypes, {.memory_bytes = kGiB}), kOutOfMemory,
               "org/name: no type fits the device, which has 1.0 GiB free: the smallest, Q2_K, has "
               "1.0 GiB");
  EXPECT_EQ(choose(kTypes, {.choice = "Q8_0", .memory_bytes = kGiB}), "m-Q8_0.gguf: m-Q8_0.gguf");
  EXPECT_EQ(choose_files(listing_of(kTypes), "org/name", {}).types, 4u);
}

TEST(ChooseFiles, TakesTheSmallestOfFloatTypes) {
  EXPECT_EQ(choose({{"m-f32.gguf", 4}, {"m-f16.gguf", 2}}), "m-f16.gguf: m-f16.gguf");
  EXPECT_EQ(choose({{"m.gguf"}}), "m.gguf: m.gguf");
}

TEST(ChooseFiles, PrefersATypeThatTheCacheHas) {
  const auto cached = [](const char* path) {
    return [path](const RepositoryFile& file) { return file.path == path; };
  };
  EXPECT_EQ(choose(kTypes, {.is_cached = cached("m-Q2_K.gguf")}), "m-Q2_K.gguf: m-Q2_K.gguf");
  EXPECT_EQ(choose(kTypes, {.is_cached = cached("m-BF16.gguf")}), "m-BF16.gguf: m-BF16.gguf");
  EXPECT_EQ(choose(kTypes, {.memory_bytes = 4 * kGiB, .is_cached = cached("m-Q8_0.gguf")}),
            "m-Q4_K_M.gguf: m-Q4_K_M.gguf");
}

TEST(ChooseFiles, TakesAllPartsOfASplitFile) {
  const std::vector<Named> split = {{"Q4_K_M/m-Q4_K_M-00002-of-00002.gguf", 2},
                                    {"Q4_K_M/m-Q4_K_M-00001-of-00002.gguf", 2},
                                    {"Q8_0/m-Q8_0-00001-of-00003.gguf", 3},
                                    {"Q8_0/m-Q8_0-00003-of-00003.gguf", 3}};
  const std::string q4 =
      "Q4_K_M/m-Q4_K_M-00001-of-00002.gguf: Q4_K_M/m-Q4_K_M-00001-of-00002.gguf "
      "Q4_K_M/m-Q4_K_M-00002-of-00002.gguf";
  for (const char* choice :
       {"Q4_K_M", "q4_k_m", "m-Q4_K_M-00001-of-00002.gguf", "Q4_K_M/m-Q4_K_M-00002-of-00002.gguf"})
    EXPECT_EQ(choose(split, {.choice = choice}), q4) << choice;
  EXPECT_ERROR(choose(split, {.choice = "Q8_0"}), kFormat,
               "the repository has 2 of the 3 parts of Q8_0/m-Q8_0-00001-of-00003.gguf");
}

TEST(ChooseFiles, NamesWhatThereIsToChoose) {
  EXPECT_ERROR(choose(kTypes, {.choice = "Q3_K"}), kInvalidArgument,
               "org/name: the repository has no file or type \"Q3_K\"; it has Q2_K, Q4_K_M, Q8_0, "
               "BF16");
  EXPECT_ERROR(choose({{"a-Q8_0.gguf"}, {"b-Q8_0.gguf"}}, {.choice = "Q8_0"}), kInvalidArgument,
               "several files are \"Q8_0\": a-Q8_0.gguf, b-Q8_0.gguf");
  EXPECT_ERROR(choose({{"a-Q8_0.gguf"}, {"b-Q4_0.gguf"}}), kInvalidArgument,
               "GGUF files of several models: a-Q8_0.gguf, b-Q4_0.gguf");
  EXPECT_ERROR(choose({{"config.json"}, {"model.safetensors"}}, {.choice = "Q8_0"}),
               kInvalidArgument, "has no GGUF files for \"Q8_0\" to choose from; wick quantize");
  EXPECT_ERROR(choose({{"config.json"}, {"pytorch_model.bin"}}), kUnsupported,
               "org/name: the repository has neither GGUF files nor config.json with "
               "model.safetensors; wick does not read pytorch_model.bin");
  EXPECT_ERROR(choose({}), kUnsupported, "has neither GGUF files");
  EXPECT_ERROR(choose({{"mmproj-f16.gguf"}}), kUnsupported, "no GGUF file of a language model");
}

TEST(ChooseFiles, FindsTheTypeInAName) {
  const std::pair<const char*, const char*> types[] = {
      {"SmolLM2-135M-Instruct-Q4_K_M.gguf", "Q4_K_M"},
      {"llama-2-7b.Q5_K_S.gguf", "Q5_K_S"},
      {"qwen2.5-0.5b-instruct-q4_0.gguf", "Q4_0"},
      {"model_q8_0.gguf", "Q8_0"},
      {"Phi-3-mini-4k-instruct-q4.gguf", "Q4"},
      {"gemma-3-270m-it-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"},
      {"m-IQ2_XXS-00001-of-00002.gguf", "IQ2_XXS"},
      {"gpt-oss-20b-mxfp4.gguf", "MXFP4"},
      {"m-TQ1_0.gguf", "TQ1_0"},
      {"m.f16.gguf", "F16"},
      {"m-bf16.gguf", "BF16"},
      {"m-Q4_K_M-v2.gguf", "Q4_K_M"},
      {"Q6_K/model-00001-of-00002.gguf", "Q6_K"},
      {"m-Q4_0_4_4.gguf", ""},
      {"m.gguf", ""},
      {"Qwen2-7B.gguf", ""},
      {"m-Q8_0.bin", ""}};
  for (const auto& [path, type] : types) EXPECT_EQ(gguf_type(path), type) << path;
}

}  // namespace
}  // namespace wick::hub
