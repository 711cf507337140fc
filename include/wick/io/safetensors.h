// Safetensors files: a JSON header, then the tensors' bytes. Source:
// https://github.com/huggingface/safetensors, format.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "wick/core/tensor_source.h"

namespace wick {

using Metadata = std::map<std::string, std::string>;

/// Reads a file, or a folder with model.safetensors or shards (model.safetensors.index.json). The
/// constructor checks the header: tensors cover the file without gaps or overlaps. load reads
/// tensors on demand. Errors of all functions: kIo; kFormat, with path, tensor and reason.
class WICK_API SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::string& path);
  ~SafetensorsReader();
  SafetensorsReader(const SafetensorsReader&) = delete;
  SafetensorsReader& operator=(const SafetensorsReader&) = delete;

  const std::map<std::string, TensorInfo>& tensors() const;
  const Metadata& metadata() const;
  /// Reads one tensor. On the CPU the tensor is a view of the mapped file if the file aligns it. A
  /// file that another program cuts short while it is mapped ends this program (SIGBUS). Errors:
  /// kInvalidArgument if there is no tensor with this name.
  Tensor load(const std::string& name, const Device& device = Device::cpu()) const;
  /// All tensors; the source keeps the files open.
  TensorSource source() const;
  NamedTensors load_all(const Device& device = Device::cpu()) const;

 private:
  struct Impl;
  std::string path_;
  std::shared_ptr<const Impl> impl_;
};

/// Reads all tensors of a file or folder.
WICK_API NamedTensors load_safetensors(const std::string& path,
                                       const Device& device = Device::cpu());
/// Writes the tensors in order of decreasing dtype alignment, then name, so that each is aligned.
/// The file appears under its name only when complete. f4 and f6 are packed, lowest bits first.
/// Errors: kIo, as for write_file; kInvalidArgument if a tensor is empty, if its packed elements do
/// not fill their last byte, or if its name is not UTF-8 or is "__metadata__".
WICK_API void save_safetensors(const std::string& path, const NamedTensors& tensors,
                               const Metadata& metadata = {});
/// The same for tensors that are read from the source one at a time. progress, if there is one:
/// called after each tensor with the bytes of the tensors already written and of all; an exception
/// that it throws ends the writing, without a file. Errors: also the source's; kInvalidArgument if
/// it hands out a tensor of another dtype or shape than it declares.
WICK_API void save_safetensors_from(
    const std::string& path, const TensorSource& tensors, const Metadata& metadata = {},
    const std::function<void(int64_t done, int64_t total)>& progress = {});

}  // namespace wick
