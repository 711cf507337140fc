#include "wick/io/gguf.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "io/gguf_format.h"
#include "scalar/round_up.h"

namespace wick {
namespace {

using namespace gguf;

constexpr int kMaxNesting = 16;
// A tensor at a multiple of this address is used where it lies. Vector loads of 16 bytes do not
// cross a cache line then.
constexpr uintptr_t kViewAlignment = 16;

std::string where_of(const std::string& path) { return "gguf: " + path; }

/// Reads the values of a header in order, never beyond the end of the file.
class Cursor {
 public:
  explicit Cursor(const MappedFile& file)
      : file_(file), memory_(uint64_t(host_memory().available)) {}

  /// Names the key or tensor that the following values belong to, for errors: key 3, tensor "x".
  void enter(const char* kind, uint64_t index) { item_ = {kind, index, {}}; }
  void enter(const char* kind, std::string_view name) { item_ = {kind, 0, name}; }
  /// The same for a value at an earlier position.
  void enter(const char* kind, std::string_view name, uint64_t position) {
    enter(kind, name);
    value_at_ = position;
  }
  template <class... Parts>
  [[noreturn]] void refuse(ErrorCode code, const Parts&... parts) const {
    std::string item;
    if (item_.kind)
      item = std::string(item_.kind) + " " +
             (item_.name.data() ? shown(item_.name) : std::to_string(item_.index)) + ": ";
    fail(code, where_of(file_.path()), "byte ", value_at_, ": ", item, parts...);
  }
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    refuse(ErrorCode::kFormat, parts...);
  }

  uint64_t position() const { return position_; }
  /// Where the last value began.
  uint64_t value_at() const { return value_at_; }
  /// The type of the elements of the last list.
  GgufType element_type() const { return element_type_; }
  uint64_t left() const { return file_.bytes().size() - position_; }
  void set_version(uint32_t version) { version_ = version; }
  /// Bytes of a size or count.
  uint64_t count_bytes() const { return version_ == 1 ? 4 : 8; }

  template <class T>
  T number() {
    value_at_ = position_;
    if (sizeof(T) > left())
      refuse("a value of ", sizeof(T), " bytes, the file has ", left(), " left: ", kCutShort);
    T value;
    std::memcpy(&value, take(sizeof(T)), sizeof(T));
    return value;
  }
  uint64_t count() { return version_ == 1 ? number<uint32_t>() : number<uint64_t>(); }
  /// A count of items that take at least `least` bytes each.
  uint64_t count_of(const char* items, uint64_t least) {
    const uint64_t n = count();
    if (n > left() / least)
      refuse(n, " ", items, " of at least ", least, " bytes, the file has ", left(),
             " left: ", kCutShort);
    return n;
  }
  std::string_view text() {
    const uint64_t size = count();
    if (size > left())
      refuse("a string of ", size, " bytes, the file has ", left(), " left: ", kCutShort);
    return {reinterpret_cast<const char*>(take(size)), size_t(size)};
  }
  /// A key or a tensor's name.
  std::string_view name() {
    const std::string_view text = this->text();
    if (text.size() > kMaxName)
      refuse("a name of ", text.size(), " bytes, expected at most ", kMaxName);
    if (!is_utf8(text)) refuse("the name ", shown(text), " is not UTF-8");
    return text;
  }

  Setting value(uint32_t type, int depth = 0) {
    switch (GgufType(type)) {
      case GgufType::kU8:
        return int64_t(number<uint8_t>());
      case GgufType::kI8:
        return int64_t(number<int8_t>());
      case GgufType::kU16:
        return int64_t(number<uint16_t>());
      case GgufType::kI16:
        return int64_t(number<int16_t>());
      case GgufType::kU32:
        return int64_t(number<uint32_t>());
      case GgufType::kI32:
        return int64_t(number<int32_t>());
      case GgufType::kU64: {
        const uint64_t value = number<uint64_t>();
        if (value > uint64_t(INT64_MAX)) refuse(value, " exceeds 2^63 - 1");
        return int64_t(value);
      }
      case GgufType::kI64:
        return number<int64_t>();
      case GgufType::kF32:
        return double(number<float>());
      case GgufType::kF64:
        return number<double>();
      case GgufType::kBool: {
        const int value = number<uint8_t>();
        if (value > 1) refuse("expected a bool of 0 or 1, got ", value);
        return value == 1;
      }
      case GgufType::kText: {
        const std::string_view value = text();
        reserve(value.size(), 1);
        return std::string(value);
      }
      case GgufType::kList:
        return list(depth + 1);
    }
    refuse("unknown type of value ", type);
  }

 private:
  const uint8_t* take(uint64_t bytes) {
    const uint8_t* data = file_.bytes().data() + position_;
    position_ += bytes;
    return data;
  }

  /// The smallest number of bytes that a value takes.
  uint64_t least_bytes(uint32_t type) const {
    switch (GgufType(type)) {
      case GgufType::kU8:
      case GgufType::kI8:
      case GgufType::kBool:
        return 1;
      case GgufType::kU16:
      case GgufType::kI16:
        return 2;
      case GgufType::kU32:
      case GgufType::kI32:
      case GgufType::kF32:
        return 4;
      case GgufType::kU64:
      case GgufType::kI64:
      case GgufType::kF64:
        return 8;
      case GgufType::kText:
        return count_bytes();
      case GgufType::kList:
        return 4 + count_bytes();
    }
    refuse("unknown type of value ", type);
  }

  Setting::List list(int depth) {
    if (depth > kMaxNesting) refuse("expected at most ", kMaxNesting, " nested arrays");
    const uint32_t type = number<uint32_t>();
    const uint64_t n = count_of("elements", least_bytes(type));
    reserve(n, sizeof(Setting));
    Setting::List list;
    list.reserve(size_t(n));
    for (uint64_t i = 0; i < n; i++) list.push_back(value(type, depth));
    element_type_ = GgufType(type);
    return list;
  }

  /// Counts memory that the metadata takes: an element takes up to 64 times its size in the file.
  void reserve(uint64_t n, uint64_t bytes) {
    if (n > memory_ / bytes)
      refuse(ErrorCode::kOutOfMemory, n, " times ", bytes, " bytes exceed the ", memory_,
             " bytes of available memory");
    memory_ -= n * bytes;
  }

  const MappedFile& file_;
  uint64_t position_ = 0, value_at_ = 0;
  uint32_t version_ = kNewestVersion;
  GgufType element_type_ = GgufType::kU8;
  uint64_t memory_;
  struct {
    const char* kind = nullptr;
    uint64_t index = 0;
    std::string_view name;  // null while it is not known
  } item_;
};

/// Where a tensor lies.
struct TensorLocation {
  std::shared_ptr<const MappedFile> file;
  int64_t begin;
};

/// A tensor as the header describes it.
struct Described {
  std::string_view name;
  const TensorType* type;
  Shape shape;
  int64_t bytes;
  uint64_t offset;  // from the start of the data
  uint64_t at;      // position of `offset` in the file
};

/// Reads what comes before the counts.
uint32_t read_version(Cursor& cursor) {
  const uint32_t magic = cursor.number<uint32_t>();
  const std::string_view bytes(reinterpret_cast<const char*>(&magic), 4);
  if (bytes != "GGUF") cursor.refuse("expected the text GGUF, got ", shown(bytes));
  const uint32_t version = cursor.number<uint32_t>();
  const uint32_t swapped = __builtin_bswap32(version);
  if (1 <= swapped && swapped <= kNewestVersion)
    cursor.refuse(ErrorCode::kUnsupported, "the file is big-endian, expected little-endian");
  if (version == 0 || version > kNewestVersion)
    cursor.refuse(ErrorCode::kUnsupported, "expected version 1 to ", kNewestVersion, ", got ",
                  version);
  cursor.set_version(version);
  return version;
}

/// Reads the keys; types: receives the types of GgufField.
Settings read_metadata(Cursor& cursor, uint64_t n, const std::string& path,
                       std::vector<GgufType>& types) {
  std::vector<Settings::Entry> entries;
  std::unordered_set<std::string_view> keys;
  for (uint64_t i = 0; i < n; i++) {
    cursor.enter("key", i);
    const std::string_view key = cursor.name();
    if (key.empty()) cursor.refuse("the key is empty");
    cursor.enter("key", key);
    if (!keys.insert(key).second) cursor.refuse("appears twice");
    const uint32_t type = cursor.number<uint32_t>();
    entries.push_back({std::string(key), cursor.value(type)});
    types.push_back(GgufType(type) == GgufType::kList ? cursor.element_type() : GgufType(type));
  }
  return Settings(where_of(path), std::move(entries));
}

const TensorType& read_type(Cursor& cursor) {
  const uint32_t number = cursor.number<uint32_t>();
  for (const TensorType& type : kTensorTypes) {
    if (type.number != number) continue;
    if (type.block_elements == 0)
      cursor.refuse(ErrorCode::kUnsupported, "ggml has removed the type ", type.name);
    return type;
  }
  cursor.refuse(ErrorCode::kUnsupported, "unknown type ", number);
}

/// Reads the description of one tensor.
Described read_description(Cursor& cursor) {
  Described tensor{};
  tensor.name = cursor.name();
  cursor.enter("tensor", tensor.name);
  const uint32_t rank = cursor.number<uint32_t>();
  if (rank > kMaxDims) cursor.refuse("expected at most ", kMaxDims, " dims, got ", rank);
  int64_t elements = 1;
  for (uint32_t d = 0; d < rank; d++) {
    const uint64_t size = cursor.count();
    if (size == 0) cursor.refuse("expected sizes of at least 1, got 0");
    if (size > uint64_t(INT64_MAX) || __builtin_mul_overflow(elements, int64_t(size), &elements))
      cursor.refuse("more than 2^63 elements");
    tensor.shape.insert(0, int64_t(size));
  }
  const TensorType& type = read_type(cursor);
  tensor.type = &type;
  const int64_t row = rank == 0 ? 1 : tensor.shape.back();
  if (row % type.block_elements != 0)
    cursor.refuse(type.name, " ", tensor.shape, ": rows of ", row,
                  " elements are not whole blocks of ", type.block_elements);
  if (__builtin_mul_overflow(elements / type.block_elements, type.block_bytes, &tensor.bytes))
    cursor.refuse(type.name, " ", tensor.shape, " has more than 2^63 bytes");
  tensor.offset = cursor.number<uint64_t>();
  tensor.at = cursor.value_at();
  return tensor;
}

uint64_t read_alignment(const Settings& metadata) {
  const int64_t alignment = metadata.integer_or("general.alignment", kDefaultAlignment);
  if (alignment <= 0 || alignment > UINT32_MAX || (alignment & (alignment - 1)) != 0)
    metadata.fail_expected("general.alignment", "a power of two below 2^32");
  return uint64_t(alignment);
}

/// Checks that the tensors lie in the data, one after the other, and makes their offsets relative
/// to the start of the file.
void place_tensors(Cursor& cursor, uint64_t file_bytes, uint64_t alignment,
                   std::vector<Described>& tensors) {
  const uint64_t data_begin = round_up(cursor.position(), alignment);
  const uint64_t data_bytes = file_bytes - std::min(file_bytes, data_begin);
  for (Described& tensor : tensors) {
    cursor.enter("tensor", tensor.name, tensor.at);
    if (tensor.offset % alignment != 0)
      cursor.refuse("offset ", tensor.offset, " is not a multiple of the alignment ", alignment);
    if (tensor.offset > data_bytes || uint64_t(tensor.bytes) > data_bytes - tensor.offset)
      cursor.refuse(tensor.bytes, " bytes at offset ", tensor.offset, ", the data has ", data_bytes,
                    ": ", kCutShort);
  }
  std::vector<const Described*> order;
  for (const Described& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](const Described* a, const Described* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); i++) {
    const Described &before = *order[i - 1], &tensor = *order[i];
    cursor.enter("tensor", tensor.name, tensor.at);
    if (before.offset + uint64_t(before.bytes) > tensor.offset)
      cursor.refuse("overlaps tensor ", shown(before.name));
  }
  for (Described& tensor : tensors) tensor.offset += data_begin;
}

/// "-00001-of-00003.gguf" for the first of three files.
std::string split_suffix(int64_t index, int64_t count) {
  char suffix[64];
  std::snprintf(suffix, sizeof suffix, "-%05lld-of-%05lld.gguf", (long long)(index + 1),
                (long long)count);
  return suffix;
}

}  // namespace

struct GgufReader::Impl {
  std::string path;
  uint32_t version = 0;  // of the first file
  Settings metadata;
  std::vector<GgufType> types;  // one per entry of metadata
  std::map<std::string, Entry> tensors;
  std::map<std::string, TensorLocation> places;

  explicit Impl(const std::string& first) : path(first) {
    metadata = read_file(path, types);
    const int64_t count = metadata.integer_or("split.count", 1);
    if (count > 1) read_splits(count);
  }

  /// Adds the tensors of one file and returns its metadata.
  Settings read_file(const std::string& file_path, std::vector<GgufType>& value_types) {
    const auto file = std::make_shared<const MappedFile>(file_path);
    Cursor cursor(*file);
    const uint32_t file_version = read_version(cursor);
    if (version == 0) version = file_version;
    const uint64_t count_bytes = cursor.count_bytes();
    const uint64_t num_tensors = cursor.count_of("tensors", count_bytes + 4 + 4 + 8);
    const uint64_t num_keys = cursor.count_of("keys", count_bytes + 1 + 4 + 1);
    Settings settings = read_metadata(cursor, num_keys, file_path, value_types);
    const uint64_t alignment = read_alignment(settings);
    std::vector<Described> described;
    for (uint64_t i = 0; i < num_tensors; i++) {
      cursor.enter("tensor", i);
      const uint64_t at = cursor.position();
      described.push_back(read_description(cursor));
      const Described& d = described.back();
      const auto [other, is_new] = tensors.emplace(
          d.name, Entry{d.type->name, dtype_of(*d.type), d.shape, d.bytes, file_path});
      if (is_new) continue;
      cursor.enter("tensor", d.name, at);
      cursor.refuse("appears twice, first in ", other->second.file);
    }
    place_tensors(cursor, file->bytes().size(), alignment, described);
    for (const Described& d : described)
      places.emplace(d.name, TensorLocation{file, int64_t(d.offset)});
    return settings;
  }

  /// Adds the tensors of the other files of a split set.
  void read_splits(int64_t count) {
    constexpr int64_t kMaxCount = 65535;
    if (count > kMaxCount) metadata.fail_expected("split.count", "at most 65535 files");
    if (metadata.integer("split.no") != 0)
      metadata.fail_expected("split.no", "0, the first file of the split set");
    const std::string suffix = split_suffix(0, count);
    check(path.ends_with(suffix), ErrorCode::kFormat, where_of(path), "\"split.count\" is ", count,
          ", so the file's name must end in ", suffix);
    const std::string prefix = path.substr(0, path.size() - suffix.size());
    for (int64_t i = 1; i < count; i++) {
      std::vector<GgufType> ignored;
      const Settings part = read_file(prefix + split_suffix(i, count), ignored);
      if (part.integer("split.no") != i) part.fail_expected("split.no", std::to_string(i));
      if (part.integer("split.count") != count)
        part.fail_expected("split.count", std::to_string(count));
    }
    const int64_t total = int64_t(tensors.size());
    if (metadata.integer_or("split.tensors.count", total) != total)
      metadata.fail_expected("split.tensors.count",
                             std::to_string(total) + ", the tensors of all files");
  }

  /// The dtype of a tensor. Errors: kUnsupported.
  static DType dtype_of_entry(const std::string& name, const Entry& entry) {
    check(entry.dtype.has_value(), ErrorCode::kUnsupported, where_of(entry.file), "tensor ",
          shown(name), ": wick has no dtype for the type ", entry.type);
    return *entry.dtype;
  }

  Tensor load(const std::string& name, const Device& device) const {
    const auto found = tensors.find(name);
    check(found != tensors.end(), ErrorCode::kInvalidArgument, where_of(path),
          "no tensor is named ", shown(name));
    const DType dtype = dtype_of_entry(name, found->second);
    const Shape& shape = found->second.shape;
    const TensorLocation& place = places.at(name);
    const uint8_t* data = place.file->bytes().data() + place.begin;
    if (!device.is_cpu() || reinterpret_cast<uintptr_t>(data) % kViewAlignment != 0)
      return Tensor::from_bytes(data, dtype, shape, device);
    return Tensor::adopt(const_cast<uint8_t*>(data), dtype, shape, [file = place.file] {});
  }
};

GgufReader::GgufReader(const std::string& path) : impl_(std::make_shared<const Impl>(path)) {}

int GgufReader::version() const { return int(impl_->version); }
const Settings& GgufReader::metadata() const { return impl_->metadata; }
std::vector<GgufField> GgufReader::fields() const {
  std::vector<GgufField> fields;
  const std::vector<Settings::Entry>& entries = impl_->metadata.entries();
  for (size_t i = 0; i < entries.size(); i++)
    fields.push_back({entries[i].first, entries[i].second, impl_->types[i]});
  return fields;
}
const std::map<std::string, GgufReader::Entry>& GgufReader::tensors() const {
  return impl_->tensors;
}

Tensor GgufReader::load(const std::string& name, const Device& device) const {
  return impl_->load(name, device);
}

TensorSource GgufReader::source() const {
  TensorSource source{
      impl_->path, {}, [impl = impl_](const std::string& name, const Device& device) {
        return impl->load(name, device);
      }};
  for (const auto& [name, entry] : impl_->tensors)
    source.tensors[name] = {Impl::dtype_of_entry(name, entry), entry.shape};
  return source;
}

}  // namespace wick
