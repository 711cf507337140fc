#include "wick/load/convert.h"

#include "load/gguf_of_folder.h"

namespace wick {

ConvertReport convert_to_gguf(const std::string& folder, const std::string& out,
                              const ConvertOptions& options) {
  const DType dtype = options.dtype.value_or(DType::kF32);
  check(dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16,
        ErrorCode::kInvalidArgument, "convert", "expected f32, f16 or bf16, got ",
        dtype_name(dtype));
  GgufModel model = gguf_of_folder(folder, options.dtype);
  save_gguf(out, model.fields, model.tensors, options.progress);
  ConvertReport report{.tensors = int64_t(model.tensors.tensors.size()),
                       .bytes = 0,
                       .warnings = std::move(model.warnings)};
  for (const auto& [name, info] : model.tensors.tensors)
    report.bytes += bytes_of(info.dtype, numel(info.shape));
  return report;
}

}  // namespace wick
