// Writes models in GGUF files with smaller weights.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "wick/base/export.h"

namespace wick {

struct QuantizeOptions {
  /// Takes weights that are quantized already; their errors add up.
  bool requantize = false;
  /// Weights too large for their type, or for the scales of its blocks, become infinite.
  bool allow_overflow = false;
  /// Called after each tensor with the bytes written and the bytes of all tensors; may throw
  /// to stop, which leaves no file.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

struct QuantizeReport {
  int64_t tensors = 0;
  int64_t bytes_before = 0, bytes_after = 0;  // of all tensors
  std::vector<std::string> warnings;          // one line each
};

/// The file types that quantize_model writes: "f32", "f16", "bf16", "q4_0", "q4_k_m" and so on.
WICK_API std::vector<std::string> quantized_file_types();

/// Writes the model of a GGUF file, or of a folder (as convert_to_gguf), to a GGUF file whose
/// weights have the file type `type`, in upper or lower case; "q3_k", "q4_k" and "q5_k" stand for
/// "q3_k_m", "q4_k_m" and "q5_k_m".
///
/// A file type is a mixture: llama.cpp's rules choose each tensor's type, but for those that it has
/// for falcon, glm5-next and bailingmoe3 alone. Norms, vectors and small tables stay as they are.
/// q4_0, q4_1, q5_0, q5_1, q8_0, mxfp4, tq1_0 and tq2_0 have ggml's bytes; q2_k to q6_k, iq4_nl and
/// iq4_xs are searched for the least sum of squared differences. The metadata is the input's, with
/// "general.file_type" and "general.quantization_version" set.
///
/// Only one tensor is in memory at a time. The file appears under its name only when complete.
/// Errors: as of GgufReader, convert_to_gguf and save_gguf; kInvalidArgument for an unknown
/// type, or for quantized weights without `requantize`, and if `out` is a file of the input;
/// kFormat for a tensor with an element that is not finite, and for a finite weight that would
/// become infinite, unless allow_overflow.
/// Source: https://github.com/ggml-org/llama.cpp (MIT).
WICK_API QuantizeReport quantize_model(const std::string& in, const std::string& out,
                                       const std::string& type,
                                       const QuantizeOptions& options = {});

}  // namespace wick
