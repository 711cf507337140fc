// The numbers and limits of GGUF files that reader and writer share. Source of the numbers: ggml
// (MIT).
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_text.h"
#include "wick/core/tensor_source.h"

namespace wick::gguf {

/// A type of tensors. The names are those of wick's dtypes.
struct TensorType {
  uint32_t number;
  const char* name;
  int64_t block_elements;  // 0 if ggml has removed the type
  int64_t block_bytes;
};
inline constexpr TensorType kTensorTypes[] = {
    {0, "f32", 1, 4},         {1, "f16", 1, 2},         {2, "q4_0", 32, 18},
    {3, "q4_1", 32, 20},      {4, "q4_2", 0, 0},        {5, "q4_3", 0, 0},
    {6, "q5_0", 32, 22},      {7, "q5_1", 32, 24},      {8, "q8_0", 32, 34},
    {9, "q8_1", 32, 36},      {10, "q2_k", 256, 84},    {11, "q3_k", 256, 110},
    {12, "q4_k", 256, 144},   {13, "q5_k", 256, 176},   {14, "q6_k", 256, 210},
    {15, "q8_k", 256, 292},   {16, "iq2_xxs", 256, 66}, {17, "iq2_xs", 256, 74},
    {18, "iq3_xxs", 256, 98}, {19, "iq1_s", 256, 50},   {20, "iq4_nl", 32, 18},
    {21, "iq3_s", 256, 110},  {22, "iq2_s", 256, 82},   {23, "iq4_xs", 256, 136},
    {24, "i8", 1, 1},         {25, "i16", 1, 2},        {26, "i32", 1, 4},
    {27, "i64", 1, 8},        {28, "f64", 1, 8},        {29, "iq1_m", 256, 56},
    {30, "bf16", 1, 2},       {31, "q4_0_4_4", 0, 0},   {32, "q4_0_4_8", 0, 0},
    {33, "q4_0_8_8", 0, 0},   {34, "tq1_0", 256, 54},   {35, "tq2_0", 256, 66},
    {36, "iq4_nl_4_4", 0, 0}, {37, "iq4_nl_4_8", 0, 0}, {38, "iq4_nl_8_8", 0, 0},
    {39, "mxfp4", 32, 17},    {40, "nvfp4", 64, 36},    {41, "q1_0", 128, 18},
    {42, "q2_0", 64, 18}};

inline constexpr uint32_t kNewestVersion = 3;
inline constexpr int64_t kDefaultAlignment = 32;
// Same limit as ggml.
inline constexpr uint32_t kMaxDims = 4;
// The format limits keys to this size. Tensor names have 64 bytes in ggml, more in other programs.
inline constexpr uint64_t kMaxName = 65535;

/// The dtype with the name and the block of a type, if there is one.
inline std::optional<DType> dtype_of(const TensorType& type) {
  for (int d = 0; d < kNumDTypes; d++) {
    const DTypeFacts& facts = facts_of(DType(d));
    if (std::string_view(facts.name) == type.name && facts.block_elements == type.block_elements &&
        facts.block_bytes == type.block_bytes)
      return DType(d);
  }
  return std::nullopt;
}

/// Quotes a key or name for an error text; long ones are cut.
inline std::string shown(std::string_view name) {
  constexpr size_t kShown = 100;
  return json_quote(name.substr(0, kShown)) + (name.size() > kShown ? "..." : "");
}

/// The N of "blk.N.", or -1.
inline int64_t layer_of(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  int64_t layer = -1;
  if (name.starts_with(kPrefix))
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  return layer;
}

/// The tensors' names by layer, then by name: the order in which llama.cpp counts and writes them.
inline std::vector<std::string> names_by_layer(const std::map<std::string, TensorInfo>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, info] : tensors) names.push_back(name);
  std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return layer_of(a) < layer_of(b);
  });
  return names;
}

}  // namespace wick::gguf
