// GGUF files: typed metadata and tensors. Source: the format's description in ggml (MIT),
// https://github.com/ggml-org/ggml.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wick/base/settings.h"
#include "wick/core/tensor_source.h"

namespace wick {

/// Types of metadata values, by their number in a file.
enum class GgufType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kText,
  kList,
  kU64,
  kI64,
  kF64
};

/// A key of a file's metadata and its value.
struct GgufField {
  std::string key;
  Setting value;
  GgufType type;  // of the value, or of a list's elements; kList for a list of lists
};

/// Reads a GGUF file of version 1, 2 or 3, or a set of split files, whose other files are opened
/// with the first. The constructor checks the headers: every size, offset and name; tensors lie
/// within their file and do not overlap. load reads tensors on demand.
///
/// The files stay mapped while a reader, a source or a tensor that views them exists. Replacing a
/// file by renaming another is safe; if a file is cut short in place, the next access to the
/// missing part ends the program (SIGBUS), as for every mapped file.
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
  /// The same with their types, in the file's order, ready for save_gguf.
  std::vector<GgufField> fields() const;
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

/// Writes a GGUF file of version 3. Tensors are read from the source one at a time, in the order of
/// their layers, and start at multiples of 32 bytes, or of "general.alignment" if the metadata has
/// it. The file appears under its name only when complete.
///
/// progress, if there is one: called after each tensor with the bytes of the tensors already
/// written and of all; an exception that it throws ends the writing, without a file.
/// Errors: kIo, as for write_file, and the source's; kInvalidArgument for a key or tensor that
/// the format cannot hold: a value that is not of its type, a list of lists, a repeated or empty
/// key, a name that is not UTF-8, a tensor without elements or of more than 4 dims; kUnsupported
/// for a dtype that ggml lacks.
WICK_API void save_gguf(const std::string& path, const std::vector<GgufField>& fields,
                        const TensorSource& tensors,
                        const std::function<void(int64_t done, int64_t total)>& progress = {});

}  // namespace wick
