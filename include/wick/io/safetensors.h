// Safetensors files: a JSON header, then the tensors' bytes. Source:
// https://github.com/huggingface/safetensors, format.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "wick/core/named_tensors.h"

namespace wick {

using Metadata = std::map<std::string, std::string>;

/// A file, or a folder's model.safetensors or shards (model.safetensors.index.json), whose header
/// has been checked: the tensors fill the file without a hole, and no two overlap. Tensors are read
/// when asked for. Errors, of all: kIo; kFormat, which says the path, the tensor and what is wrong.
class WICK_API SafetensorsReader {
 public:
  struct Entry {
    DType dtype;
    Shape shape;
  };
  explicit SafetensorsReader(const std::string& path);
  ~SafetensorsReader();
  SafetensorsReader(const SafetensorsReader&) = delete;
  SafetensorsReader& operator=(const SafetensorsReader&) = delete;

  const std::map<std::string, Entry>& entries() const;
  const Metadata& metadata() const;
  /// Errors: kInvalidArgument if there is no tensor of this name.
  Tensor load(const std::string& name, const Device& device = Device::cpu()) const;
  NamedTensors load_all(const Device& device = Device::cpu()) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// All tensors of a file or folder.
WICK_API NamedTensors load_safetensors(const std::string& path,
                                       const Device& device = Device::cpu());
/// Writes them, sorted by falling alignment of dtype and then name, so that every tensor lies
/// aligned. The file gets its name when it is whole. f4 and f6 are packed, the lowest bits first.
/// Errors: kIo, as write_file has it; kInvalidArgument if a tensor is empty, if its packed elements do not fill their
/// last byte, or its name is no UTF-8 or "__metadata__".
WICK_API void save_safetensors(const std::string& path, const NamedTensors& tensors,
                               const Metadata& metadata = {});

}  // namespace wick
