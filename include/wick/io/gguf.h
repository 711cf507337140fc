// GGUF files: typed metadata and tensors. Source: the format's description in ggml (MIT),
// https://github.com/ggml-org/ggml.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "wick/base/settings.h"
#include "wick/core/tensor_source.h"

namespace wick {

/// Reads a GGUF file of version 1, 2 or 3, or a set of split files, whose other files are opened
/// with the first. The constructor checks the headers: every size, offset and name; tensors lie
/// within their file and do not overlap. load reads tensors on demand.
///
/// The files stay mapped while a reader, a source or a tensor that views them exists. Replacing a
/// file by renaming another is safe; if a file is cut short in place, the next access to what it
/// lost ends the program (SIGBUS), as for every mapped file.
///
/// Errors of all functions: kIo; kFormat, with path, byte offset if a value cannot be read, key or
/// tensor, and reason; kUnsupported for big-endian files, later versions, and types that ggml lacks
/// or has removed; kOutOfMemory if the metadata needs more memory than is available.
class WICK_API GgufReader {
 public:
  struct Entry {
    std::string type;            // ggml's name in lower case: "f32", "q4_k"
    std::optional<DType> dtype;  // missing if wick lacks the type
    Shape shape;                 // row-major [N, K]: the reverse of the file's dims
    int64_t bytes;
    std::string file;
  };
  /// path: a file, or the first file of a split set: NAME-00001-of-0000N.gguf.
  explicit GgufReader(const std::string& path);

  /// 1, 2 or 3.
  int version() const;
  /// All keys of the (first) file: integers as int64_t, f32 and f64 as double, arrays as lists.
  const Settings& metadata() const;
  /// All tensors, including those whose type wick lacks.
  const std::map<std::string, Entry>& tensors() const;
  /// Loads one tensor. On the CPU, the result views the mapped file, which is read-only, if the
  /// tensor's address is a multiple of 16; otherwise and on other devices, copies. Errors:
  /// kInvalidArgument if there is no tensor with this name; kUnsupported if wick lacks its type.
  Tensor load(const std::string& name, const Device& device = Device::cpu()) const;
  /// The tensors as a source that shares the mapped files. Errors: kUnsupported if wick lacks the
  /// type of a tensor.
  TensorSource source() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace wick
