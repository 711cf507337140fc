#include "wick/load/convert.h"

#include <filesystem>

#include "load/folder_of_gguf.h"
#include "load/gguf_of_folder.h"
#include "load/own_inputs.h"
#include "wick/io/file.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"

namespace wick {

namespace {

void require_dtype(std::optional<DType> dtype) {
  const DType asked = dtype.value_or(DType::kF32);
  check(asked == DType::kF32 || asked == DType::kF16 || asked == DType::kBf16,
        ErrorCode::kInvalidArgument, "convert", "expected f32, f16 or bf16, got ",
        dtype_name(asked));
}

ConvertReport report_of(const TensorSource& tensors, std::vector<std::string> warnings) {
  ConvertReport report{
      .tensors = int64_t(tensors.tensors.size()), .bytes = 0, .warnings = std::move(warnings)};
  for (const auto& [name, info] : tensors.tensors)
    report.bytes += bytes_of(info.dtype, numel(info.shape));
  return report;
}

/// A folder that is made if it is missing, and removed again unless it is kept.
class NewFolder {
 public:
  explicit NewFolder(const std::string& path) : path_(path) {
    std::error_code error;
    is_new_ = std::filesystem::create_directory(path, error);
    if (error) fail_file(error.value(), path, error.message());
  }
  ~NewFolder() {
    std::error_code ignored;
    if (is_new_) std::filesystem::remove_all(path_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  std::string file(const char* name) const { return path_ + "/" + name; }
  void keep() { is_new_ = false; }

 private:
  std::string path_;
  bool is_new_ = false;
};

}  // namespace

ConvertReport convert_to_gguf(const std::string& folder, const std::string& out,
                              const ConvertOptions& options) {
  require_dtype(options.dtype);
  require_other_files(folder, {out});
  GgufModel model = gguf_of_folder(folder, options.dtype, options.allow_overflow);
  save_gguf(out, model.fields, model.tensors, options.progress);
  return report_of(model.tensors, std::move(model.warnings));
}

ConvertReport convert_to_folder(const std::string& gguf, const std::string& out,
                                const ConvertOptions& options) {
  require_dtype(options.dtype);
  FolderModel model = folder_of_gguf(gguf, options.dtype, options.allow_overflow);
  std::vector<std::string> outs = {out + "/model.safetensors"};
  for (const auto& [name, content] : model.files) outs.push_back(out + "/" + name);
  require_other_files(gguf, outs);
  NewFolder folder(out);
  std::vector<FileSize> files = {{folder.file("model.safetensors"), 0}};
  for (const auto& [name, content] : model.files) files.push_back({folder.file(name), 0});
  require_writable(files);  // before the tensors, which take long
  save_safetensors_from(folder.file("model.safetensors"), model.tensors, {{"format", "pt"}},
                        options.progress);
  for (const auto& [name, content] : model.files) write_json(folder.file(name), content);
  folder.keep();
  return report_of(model.tensors, std::move(model.warnings));
}

}  // namespace wick
