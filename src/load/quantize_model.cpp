#include <algorithm>
#include <cmath>

#include "load/block_search.h"
#include "load/file_types.h"
#include "load/gguf_of_folder.h"
#include "load/gguf_tokenizer.h"
#include "load/overflow.h"
#include "load/own_inputs.h"
#include "wick/io/file.h"
#include "wick/load/quantize.h"
#include "wick/ops/cast.h"

namespace wick {
namespace {

constexpr int64_t kQuantizationVersion = 2;  // of ggml's block formats

GgufModel open_model(const std::string& path, bool allow_overflow) {
  if (is_there(path) && is_folder(path)) return gguf_of_folder(path, std::nullopt, allow_overflow);
  const GgufReader reader(path);
  return {.fields = reader.fields(), .tensors = reader.source(), .warnings = {}};
}

/// Sets a key, which becomes the last, as llama.cpp's quantizer has it.
void set_field(std::vector<GgufField>& fields, const char* key, int64_t value) {
  std::erase_if(fields, [&](const GgufField& field) { return field.key == key; });
  fields.push_back({key, value, GgufType::kU32});
}

void require_finite(const Tensor& x, const std::string& where, const std::string& name) {
  const float* const data = static_cast<const float*>(x.data());
  for (int64_t i = 0; i < x.numel(); i++)
    if (!std::isfinite(data[i]))
      fail(ErrorCode::kFormat, where, "tensor \"", name, "\": element ", i,
           " is not finite, so it cannot be quantized");
}

Tensor quantized(const Tensor& x, DType dtype, const std::string& where, const std::string& name,
                 bool allow_overflow) {
  const Tensor whole = cast_weights(x, DType::kF32, where, name, allow_overflow).contiguous();
  if (!is_block(dtype)) return cast_weights(whole, dtype, where, name, allow_overflow);
  require_finite(whole, where, name);
  const Tensor blocks = is_searched(dtype) ? quantize_by_search(whole, dtype) : cast(whole, dtype);
  if (!allow_overflow) require_no_overflow(whole, blocks, where, name);
  return blocks;
}

/// The source with its tensors in other dtypes, quantized as they are loaded.
TensorSource quantized(const TensorSource& source, const std::map<std::string, DType>& dtypes,
                       bool allow_overflow) {
  TensorSource result = source;
  for (auto& [name, info] : result.tensors) info.dtype = dtypes.at(name);
  result.load = [source, dtypes, allow_overflow](const std::string& name, const Device& device) {
    const Tensor x = source.load(name, Device::cpu());
    const DType dtype = dtypes.at(name);
    const bool is_kept = x.dtype() == dtype;
    return (is_kept ? x : quantized(x, dtype, source.where, name, allow_overflow)).to(device);
  };
  return result;
}

int64_t bytes_of_all(const TensorSource& source) {
  int64_t bytes = 0;
  for (const auto& [name, info] : source.tensors) bytes += bytes_of(info.dtype, numel(info.shape));
  return bytes;
}

}  // namespace

std::vector<std::string> quantized_file_types() {
  std::vector<std::string> names;
  for (const FileType& type : kFileTypes) names.push_back(type.name);
  return names;
}

QuantizeReport quantize_model(const std::string& in, const std::string& out,
                              const std::string& type, const QuantizeOptions& options) {
  const FileType& file_type = file_type_of(type);
  require_other_files(in, {out});
  GgufModel model = open_model(in, options.allow_overflow);
  const TensorSource& source = model.tensors;
  const TensorTypes types = tensor_types(file_type, settings_of(model.fields, in), source.tensors);
  if (!options.requantize && is_block(file_type.dtype))
    for (const auto& [name, info] : source.tensors)
      check(!is_block(info.dtype) || types.dtypes.at(name) == info.dtype,
            ErrorCode::kInvalidArgument, in, "tensor \"", name, "\" is quantized already (",
            dtype_name(info.dtype),
            "); quantize from f32, f16 or bf16, or allow it by --requantize, at the "
            "cost of both errors");

  std::vector<GgufField> fields = std::move(model.fields);
  std::erase_if(fields, [](const GgufField& field) { return field.key.starts_with("split."); });
  set_field(fields, "general.quantization_version", kQuantizationVersion);
  set_field(fields, "general.file_type", file_type.number);

  const TensorSource result = quantized(source, types.dtypes, options.allow_overflow);
  save_gguf(out, fields, result, options.progress);
  QuantizeReport report{.tensors = int64_t(result.tensors.size()),
                        .bytes_before = bytes_of_all(source),
                        .bytes_after = bytes_of_all(result),
                        .warnings = std::move(model.warnings)};
  if (types.fallbacks > 0)
    report.warnings.push_back(
        in +
        ": tensors whose rows are no whole blocks of their type, and that have a larger one: " +
        std::to_string(types.fallbacks));
  return report;
}

}  // namespace wick
