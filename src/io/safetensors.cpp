#include "wick/io/safetensors.h"

#include <simdjson.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "io/packed_bits.h"
#include "scalar/round_up.h"
#include "wick/base/file_error.h"
#include "wick/io/json.h"

namespace wick {
namespace {

struct DTypeName {
  DType dtype;
  const char* name;
};
constexpr DTypeName kDTypeNames[] = {
    {DType::kBool, "BOOL"},      {DType::kU8, "U8"},          {DType::kI8, "I8"},
    {DType::kU16, "U16"},        {DType::kI16, "I16"},        {DType::kU32, "U32"},
    {DType::kI32, "I32"},        {DType::kU64, "U64"},        {DType::kI64, "I64"},
    {DType::kF8E8M0, "F8_E8M0"}, {DType::kF8E4M3, "F8_E4M3"}, {DType::kF8E5M2, "F8_E5M2"},
    {DType::kBf16, "BF16"},      {DType::kF16, "F16"},        {DType::kF32, "F32"},
    {DType::kF64, "F64"},        {DType::kF4, "F4"},          {DType::kF6E2M3, "F6_E2M3"},
    {DType::kF6E3M2, "F6_E3M2"}};

// Same limit as the reference implementation.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
// Same limit as NumPy and PyTorch.
constexpr size_t kMaxSizes = 64;
constexpr const char* kMetadata = "__metadata__";

struct TensorEntry {
  size_t file;
  DType dtype;
  Shape shape;
  int64_t begin, end;  // byte range in the file
};

template <class... Parts>
void require(bool good, const std::string& path, const Parts&... parts) {
  check(good, ErrorCode::kFormat, "safetensors: " + path, parts...);
}

/// Reads an integer in [0, 2^63); rejects booleans, reals and negative numbers.
bool read_size(simdjson::dom::element e, int64_t* value) {
  uint64_t u = 0;
  if (e.get_uint64().get(u) || u > uint64_t(INT64_MAX)) return false;
  *value = int64_t(u);
  return true;
}

TensorEntry read_entry(const std::string& path, const std::string& name,
                       simdjson::dom::element value, int64_t data_begin, int64_t data_bytes) {
  const std::string tensor = "tensor " + json_quote(name) + ": ";
  simdjson::dom::object fields;
  require(!value.get_object().get(fields), path, tensor, "expected an object");
  TensorEntry entry{};
  std::string_view dtype;
  require(!fields["dtype"].get_string().get(dtype), path, tensor, "expected a string \"dtype\"");
  const auto known = std::find_if(std::begin(kDTypeNames), std::end(kDTypeNames),
                                  [&](const DTypeName& d) { return d.name == dtype; });
  require(known != std::end(kDTypeNames), path, tensor, "unknown dtype ", json_quote(dtype));
  entry.dtype = known->dtype;

  simdjson::dom::array sizes, offsets;
  require(!fields["shape"].get_array().get(sizes), path, tensor, "expected a list \"shape\"");
  require(sizes.size() <= kMaxSizes, path, tensor, "expected at most ", kMaxSizes, " dims, got ",
          sizes.size());
  int64_t bytes = dtype_size(entry.dtype);
  bool empty = false, countable = true;
  for (const auto size : sizes) {
    int64_t n = 0;
    require(read_size(size, &n), path, tensor, "expected sizes that are integers of at least 0");
    entry.shape.push_back(n);
    // Sizes next to a 0 count too, since strides are products of sizes.
    countable = countable && !__builtin_mul_overflow(bytes, n == 0 ? 1 : n, &bytes);
    empty = empty || n == 0;
  }
  require(countable, path, tensor, "shape ", entry.shape, " has more than 2^63 bytes");
  if (empty) bytes = 0;
  // `bytes` is the size in memory, where a sub-byte element takes one byte.
  const auto in_file = packed_bytes(entry.dtype, bytes / dtype_size(entry.dtype));
  require(in_file.has_value(), path, tensor, dtype, " ", entry.shape,
          " does not fill its last byte");
  bytes = *in_file;
  require(!fields["data_offsets"].get_array().get(offsets) && offsets.size() == 2 &&
              read_size(offsets.at(0).value_unsafe(), &entry.begin) &&
              read_size(offsets.at(1).value_unsafe(), &entry.end),
          path, tensor, "\"data_offsets\": expected two integers of at least 0");
  require(entry.begin <= entry.end && entry.end <= data_bytes, path, tensor, "data at bytes ",
          entry.begin, " to ", entry.end, ", the file has ", data_bytes,
          entry.begin <= entry.end ? ": " : "", entry.begin <= entry.end ? kCutShort : "");
  require(entry.end - entry.begin == bytes, path, tensor, dtype, " ", entry.shape, " has ", bytes,
          " bytes, its data ", entry.end - entry.begin);
  entry.begin += data_begin;
  entry.end += data_begin;
  return entry;
}

using NamedInfo = std::pair<std::string, TensorInfo>;

/// The JSON of a file whose tensors' data follow in this order, filled with spaces so that the data
/// are aligned.
std::string header_of(const std::vector<NamedInfo>& order, const Metadata& metadata) {
  JsonWriter json({});
  json.begin_object();
  if (!metadata.empty()) {
    json.key(kMetadata);
    json.begin_object();
    for (const auto& [key, value] : metadata) {
      json.key(key);
      json.string(value);
    }
    json.end_object();
  }
  int64_t offset = 0;
  for (const auto& [name, info] : order) {
    const auto known = std::find_if(std::begin(kDTypeNames), std::end(kDTypeNames),
                                    [&](const DTypeName& d) { return d.dtype == info.dtype; });
    const int64_t begin =
        std::exchange(offset, offset + *packed_bytes(info.dtype, numel(info.shape)));
    json.key(name);
    json.begin_object();
    json.key("dtype");
    json.string(known->name);
    json.key("shape");
    json.begin_list();
    for (const int64_t size : info.shape) json.literal(std::to_string(size));
    json.end_list();
    json.key("data_offsets");
    json.begin_list();
    json.literal(std::to_string(begin));
    json.literal(std::to_string(offset));
    json.end_list();
    json.end_object();
  }
  json.end_object();
  std::string header = json.text();
  header.resize(round_up(header.size(), 8u), ' ');
  return header;
}

}  // namespace

struct SafetensorsReader::Impl {
  std::vector<std::shared_ptr<MappedFile>> files;
  std::map<std::string, TensorEntry> entries;
  std::map<std::string, TensorInfo> tensors;
  Metadata metadata;

  Tensor load(const std::string& name, const Device& device) const;

  void read_header(const std::string& path) {
    files.push_back(std::make_shared<MappedFile>(path));
    const auto bytes = files.back()->bytes();
    require(bytes.size() >= 8, path, "the file has ", bytes.size(),
            " bytes, the header's length alone takes 8: ", kCutShort);
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, bytes.data(), 8);
    require(header_bytes <= kMaxHeaderBytes, path, "the header claims ", header_bytes,
            " bytes, the file has ", bytes.size());
    require(header_bytes <= bytes.size() - 8, path, "the header claims ", header_bytes,
            " bytes, the file has ", bytes.size(), ": ", kCutShort);
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    const auto error = parser
                           .parse(simdjson::padded_string(
                               reinterpret_cast<const char*>(bytes.data()) + 8, header_bytes))
                           .get(root);
    require(!error, path, "the header is not JSON: ", simdjson::error_message(error));
    simdjson::dom::object header;
    require(!root.get_object().get(header), path, "the header is not a JSON object");
    const int64_t data_begin = int64_t(8 + header_bytes),
                  data_bytes = int64_t(bytes.size()) - data_begin;

    std::vector<Span> spans;
    bool has_metadata = false;
    for (const auto field : header) {
      const std::string name(field.key);
      if (name == kMetadata) {
        require(!has_metadata, path, "\"__metadata__\" appears twice");
        has_metadata = true;
        read_metadata(path, field.value);
        continue;
      }
      TensorEntry entry = read_entry(path, name, field.value, data_begin, data_bytes);
      entry.file = files.size() - 1;
      spans.push_back({entry.begin - data_begin, entry.end - data_begin, name});
      require(entries.emplace(name, entry).second, path, "tensor ", json_quote(name),
              " appears twice");
      tensors[name] = {entry.dtype, entry.shape};
    }
    check_spans(path, spans, data_bytes);
  }

  /// The byte range of one tensor, relative to the start of the data section.
  struct Span {
    int64_t begin, end;
    std::string name;
    bool operator<(const Span& other) const {
      return std::tie(begin, end, name) < std::tie(other.begin, other.end, other.name);
    }
  };

  /// Checks that the tensors cover the data section: the format forbids gaps, which could hide
  /// other data.
  static void check_spans(const std::string& path, std::vector<Span>& spans, int64_t data_bytes) {
    std::sort(spans.begin(), spans.end());
    int64_t end = 0;
    const Span* before = nullptr;
    for (const Span& span : spans) {
      require(span.begin >= end, path, "tensors ", before ? json_quote(before->name) : "", " and ",
              json_quote(span.name), " overlap");
      require(span.begin == end, path, "tensor ", json_quote(span.name), ": data begins at byte ",
              span.begin, ", the tensor before it ends at ", end);
      end = span.end;
      before = &span;
    }
    require(end == data_bytes, path, "the tensors end at byte ", end, ", the data has ",
            data_bytes);
  }

  void read_metadata(const std::string& path, simdjson::dom::element value) {
    simdjson::dom::object fields;
    require(!value.get_object().get(fields), path, "\"__metadata__\": expected an object");
    for (const auto field : fields) {
      std::string_view text;
      require(!field.value.get_string().get(text), path,
              "\"__metadata__\": ", json_quote(field.key), " is not a string");
      metadata[std::string(field.key)] = std::string(text);
    }
  }

  /// Reads the header of each shard that an index names, once, and checks that each tensor is in
  /// its shard.
  void read_shards(const std::string& folder, const std::string& index) {
    const Settings root = read_json(index);
    const Settings* const map = root.group("weight_map");
    if (!map) root.fail_expected("weight_map", "an object");
    std::map<std::string, std::vector<std::string>> shards;  // tensors expected in each
    for (const auto& [tensor, value] : map->entries()) {
      const std::string* const name = std::get_if<std::string>(&value.value);
      require(name != nullptr, index, json_quote(tensor), " does not name a file");
      const std::string& file = *name;
      // Shards are in the index's folder; no file outside it is opened.
      require(!file.empty() && file.find_first_of(std::string_view("/\0", 2)) == file.npos &&
                  file != "..",
              index, json_quote(file), " is not a file in the folder");
      shards[folder + "/" + file].push_back(tensor);
    }
    for (const auto& [shard, names] : shards) {
      read_header(shard);
      for (const std::string& name : names) {
        const auto found = entries.find(name);
        require(found != entries.end() && found->second.file == files.size() - 1, index, "tensor ",
                json_quote(name), " is not in ", shard);
      }
    }
  }
};

SafetensorsReader::SafetensorsReader(const std::string& path) {
  const auto impl = std::make_shared<Impl>();
  const std::string single = path + "/model.safetensors", index = single + ".index.json";
  // If the path cannot be examined, opening it reports the reason.
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    impl->read_header(path);
  } else if (std::filesystem::exists(single, error)) {
    impl->read_header(single);
  } else {
    if (!std::filesystem::exists(index, error))
      fail_file(ENOENT, path,
                "expected model.safetensors or model.safetensors.index.json in the folder");
    impl->read_shards(path, index);
  }
  path_ = path;
  impl_ = impl;
}
SafetensorsReader::~SafetensorsReader() = default;

const std::map<std::string, TensorInfo>& SafetensorsReader::tensors() const {
  return impl_->tensors;
}
const Metadata& SafetensorsReader::metadata() const { return impl_->metadata; }

TensorSource SafetensorsReader::source() const {
  return {path_, impl_->tensors, [impl = impl_](const std::string& name, const Device& device) {
            return impl->load(name, device);
          }};
}

Tensor SafetensorsReader::load(const std::string& name, const Device& device) const {
  return impl_->load(name, device);
}

Tensor SafetensorsReader::Impl::load(const std::string& name, const Device& device) const {
  const auto found = entries.find(name);
  check(found != entries.end(), ErrorCode::kInvalidArgument, "safetensors", "no tensor is named ",
        json_quote(name));
  const TensorEntry& entry = found->second;
  const std::shared_ptr<MappedFile>& file = files[entry.file];
  const uint8_t* bytes = file->bytes().data() + entry.begin;
  const int64_t size = entry.end - entry.begin;
  if (entry.dtype == DType::kBool)
    for (int64_t i = 0; i < size; i++)
      require(bytes[i] <= 1, file->path(), "tensor ", json_quote(name),
              ": expected BOOL values of 0 or 1");
  if (const int bits = packed_bits(entry.dtype); bits < 8) {
    std::vector<uint8_t> elements(size_t(numel(entry.shape)));
    unpack_bits(bytes, bits, int64_t(elements.size()), elements.data());
    return Tensor::from_bytes(elements.data(), entry.dtype, entry.shape, device);
  }
  if (device.is_cpu() && uintptr_t(bytes) % size_t(dtype_size(entry.dtype)) == 0)
    // Nothing writes to adopted memory, so the read-only mapping serves.
    return Tensor::adopt(const_cast<uint8_t*>(bytes), entry.dtype, entry.shape, [file] {});
  return Tensor::from_bytes(bytes, entry.dtype, entry.shape, device);
}

NamedTensors SafetensorsReader::load_all(const Device& device) const {
  NamedTensors result;
  for (const auto& [name, info] : impl_->tensors) result[name] = load(name, device);
  return result;
}

NamedTensors load_safetensors(const std::string& path, const Device& device) {
  return SafetensorsReader(path).load_all(device);
}

void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const Metadata& metadata) {
  // Hands the tensors out where they are, so that all of them are never copied at once.
  TensorSource source{"save_safetensors", {}, [&tensors](const std::string& name, const Device&) {
                        return tensors.at(name);
                      }};
  for (const auto& [name, tensor] : tensors) {
    check(bool(tensor), ErrorCode::kInvalidArgument, "save_safetensors", json_quote(name),
          " is an empty Tensor()");
    source.tensors[name] = {tensor.dtype(), tensor.shape()};
  }
  save_safetensors_from(path, source, metadata);
}

void save_safetensors_from(const std::string& path, const TensorSource& tensors,
                           const Metadata& metadata,
                           const std::function<void(int64_t done, int64_t total)>& progress) {
  int64_t total = 0;
  for (const auto& [name, info] : tensors.tensors) {
    const bool usable = is_utf8(name) && name != kMetadata;
    check(usable, ErrorCode::kInvalidArgument, "save_safetensors", "a tensor cannot be named ",
          json_quote(name), usable || name == kMetadata ? "" : ", which is not UTF-8");
    check(!is_block(info.dtype), ErrorCode::kInvalidArgument, "save_safetensors", json_quote(name),
          ": the format does not support ", dtype_name(info.dtype));
    const std::optional<int64_t> bytes = packed_bytes(info.dtype, numel(info.shape));
    check(bytes.has_value(), ErrorCode::kInvalidArgument, "save_safetensors", json_quote(name),
          ": ", dtype_name(info.dtype), to_string(info.shape),
          " does not fill its last byte, as the format requires");
    total += *bytes;
  }
  std::vector<NamedInfo> order(tensors.tensors.begin(), tensors.tensors.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return dtype_size(a.second.dtype) > dtype_size(b.second.dtype);
  });
  const std::string header = header_of(order, metadata);
  const uint64_t header_bytes = header.size();
  AtomicFile file(path);
  file.write(&header_bytes, 8);
  file.write(header);
  int64_t done = 0;
  for (const auto& [name, info] : order) {
    const Tensor tensor = tensors.load(name, Device::cpu());
    check(bool(tensor), ErrorCode::kInvalidArgument, "save_safetensors", json_quote(name),
          ": expected ", dtype_name(info.dtype), info.shape, " from the source, got no tensor");
    check(tensor.dtype() == info.dtype && tensor.shape() == info.shape, ErrorCode::kInvalidArgument,
          "save_safetensors", json_quote(name), ": expected ", dtype_name(info.dtype), info.shape,
          " from the source, got ", dtype_name(tensor.dtype()), tensor.shape());
    std::vector<uint8_t> bytes(size_t(bytes_of(info.dtype, tensor.numel())));
    tensor.read(bytes.data());
    if (const int bits = packed_bits(info.dtype); bits < 8) {
      // In place: writing never overtakes reading.
      pack_bits(bytes.data(), bits, tensor.numel(), bytes.data());
      bytes.resize(size_t(*packed_bytes(info.dtype, tensor.numel())));
    }
    file.write(bytes.data(), int64_t(bytes.size()));
    done += int64_t(bytes.size());
    if (progress) progress(done, total);
  }
  file.commit();
}

}  // namespace wick
