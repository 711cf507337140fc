// GGUF's file types: mixtures of tensor types, and the rules that choose each tensor's.
// Source: https://github.com/ggml-org/llama.cpp (MIT).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "wick/base/settings.h"
#include "wick/core/tensor_source.h"

namespace wick {

struct FileType {
  const char* name;
  int number;               // "general.file_type"
  DType dtype;              // of most tensors
  bool is_ternary = false;  // for models that are trained to have three weights alone
};
/// Of types whose dtypes have equally many bits, the one to recommend is the last.
inline constexpr FileType kFileTypes[] = {{"f32", 0, DType::kF32},
                                          {"f16", 1, DType::kF16},
                                          {"bf16", 32, DType::kBf16},
                                          {"q4_0", 2, DType::kQ4_0},
                                          {"q4_1", 3, DType::kQ4_1},
                                          {"q5_0", 8, DType::kQ5_0},
                                          {"q5_1", 9, DType::kQ5_1},
                                          {"q8_0", 7, DType::kQ8_0},
                                          {"mxfp4_moe", 38, DType::kMXFP4},
                                          {"iq4_xs", 30, DType::kIQ4_XS},
                                          {"iq4_nl", 25, DType::kIQ4_NL},
                                          {"q2_k", 10, DType::kQ2_K},
                                          {"q3_k_s", 11, DType::kQ3_K},
                                          {"q3_k_l", 13, DType::kQ3_K},
                                          {"q3_k_m", 12, DType::kQ3_K},
                                          {"q4_k_s", 14, DType::kQ4_K},
                                          {"q4_k_m", 15, DType::kQ4_K},
                                          {"q5_k_s", 16, DType::kQ5_K},
                                          {"q5_k_m", 17, DType::kQ5_K},
                                          {"q6_k", 18, DType::kQ6_K},
                                          {"tq1_0", 36, DType::kTQ1_0, true},
                                          {"tq2_0", 37, DType::kTQ2_0, true}};

/// The file type with this name, in either case. Errors: kInvalidArgument, naming those that exist.
const FileType& file_type_of(const std::string& name);

struct TensorTypes {
  std::map<std::string, DType> dtypes;  // by the tensors' names
  int64_t fallbacks = 0;                // tensors whose rows are no whole blocks of their type
};

/// The dtypes of a model's tensors, which have GGUF's names, in a file of this type.
TensorTypes tensor_types(const FileType& type, const Settings& metadata,
                         const std::map<std::string, TensorInfo>& tensors);

}  // namespace wick
