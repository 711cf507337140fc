#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "base/file.h"
#include "base/utf8.h"
#include "io/gguf_format.h"
#include "scalar/round_up.h"
#include "wick/io/gguf.h"

namespace wick {
namespace {

using namespace gguf;

constexpr const char* kWhere = "save_gguf";
constexpr const char* kAlignmentKey = "general.alignment";

/// The bytes before the tensors' data.
class Header {
 public:
  const std::string& bytes() const { return bytes_; }

  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(uint64_t(value.size()));
    bytes_ += value;
  }
  void field(const GgufField& field) {
    text(field.key);
    const auto* const list = std::get_if<Setting::List>(&field.value.value);
    if (!list) {
      number(field.type);
      value(field, field.value);
      return;
    }
    number(GgufType::kList);
    number(field.type);
    number(uint64_t(list->size()));
    for (const Setting& element : *list) value(field, element);
  }

 private:
  [[noreturn]] static void refuse(const GgufField& field, const std::string& expected,
                                  const Setting& value) {
    fail(ErrorCode::kInvalidArgument, kWhere, "key ", shown(field.key), ": expected ", expected,
         ", got ", describe(value));
  }

  template <class T>
  void integer(const GgufField& field, const Setting& value) {
    const auto* const n = std::get_if<int64_t>(&value.value);
    const bool fits = n && (*n < 0 ? std::numeric_limits<T>::is_signed &&
                                         *n >= int64_t(std::numeric_limits<T>::min())
                                   : uint64_t(*n) <= uint64_t(std::numeric_limits<T>::max()));
    const char* const kind = std::numeric_limits<T>::is_signed ? "a signed" : "an unsigned";
    if (!fits)
      refuse(field, kind + (" integer of " + std::to_string(8 * sizeof(T))) + " bits", value);
    number(T(*n));
  }
  template <class T>
  void real(const GgufField& field, const Setting& value) {
    if (const auto* const x = std::get_if<double>(&value.value)) return number(T(*x));
    if (const auto* const n = std::get_if<int64_t>(&value.value)) return number(T(*n));
    refuse(field, "a number", value);
  }

  void value(const GgufField& field, const Setting& value) {
    switch (field.type) {
      case GgufType::kU8:
        return integer<uint8_t>(field, value);
      case GgufType::kI8:
        return integer<int8_t>(field, value);
      case GgufType::kU16:
        return integer<uint16_t>(field, value);
      case GgufType::kI16:
        return integer<int16_t>(field, value);
      case GgufType::kU32:
        return integer<uint32_t>(field, value);
      case GgufType::kI32:
        return integer<int32_t>(field, value);
      case GgufType::kU64:
        return integer<uint64_t>(field, value);
      case GgufType::kI64:
        return integer<int64_t>(field, value);
      case GgufType::kF32:
        return real<float>(field, value);
      case GgufType::kF64:
        return real<double>(field, value);
      case GgufType::kBool:
        if (const auto* const flag = std::get_if<bool>(&value.value)) return number(uint8_t(*flag));
        refuse(field, "a bool", value);
      case GgufType::kText:
        if (const auto* const s = std::get_if<std::string>(&value.value)) return text(*s);
        refuse(field, "a string", value);
      case GgufType::kList:
        break;
    }
    fail(ErrorCode::kInvalidArgument, kWhere, "key ", shown(field.key),
         ": ggml reads no lists of lists");
  }

  std::string bytes_;
};

void check_name(const char* kind, const std::string& name) {
  const bool good = !name.empty() && name.size() <= kMaxName && is_utf8(name);
  check(good, ErrorCode::kInvalidArgument, kWhere, kind, " ", shown(name),
        ": expected a name of 1 to ", kMaxName, " bytes in UTF-8");
}

int64_t alignment_of(const std::vector<GgufField>& fields) {
  for (const GgufField& field : fields) {
    if (field.key != kAlignmentKey) continue;
    const auto* const n = std::get_if<int64_t>(&field.value.value);
    const bool good =
        field.type == GgufType::kU32 && n && *n > 0 && *n <= UINT32_MAX && (*n & (*n - 1)) == 0;
    check(good, ErrorCode::kInvalidArgument, kWhere, "key ", shown(kAlignmentKey),
          ": expected a power of two below 2^32, of type u32, got ", describe(field.value));
    return *n;
  }
  return kDefaultAlignment;
}

/// ggml's number of a dtype. Errors: kUnsupported.
uint32_t number_of(DType dtype, const std::string& name) {
  for (const TensorType& type : kTensorTypes)
    if (type.block_elements > 0 && dtype_of(type) == dtype) return type.number;
  fail(ErrorCode::kUnsupported, kWhere, "tensor ", shown(name), ": ggml has no type for ",
       dtype_name(dtype));
}

/// Describes a tensor whose data starts at this offset.
void describe_tensor(Header& header, const std::string& name, const TensorInfo& info,
                     int64_t offset) {
  check_name("tensor", name);
  const int rank = info.shape.size();
  check(rank <= int(kMaxDims) && numel(info.shape) > 0, ErrorCode::kInvalidArgument, kWhere,
        "tensor ", shown(name), ": expected elements in at most ", kMaxDims, " dims, got ",
        info.shape);
  const int64_t block = facts_of(info.dtype).block_elements;
  check(block == 1 || (rank > 0 && info.shape.back() % block == 0), ErrorCode::kInvalidArgument,
        kWhere, "tensor ", shown(name), ": expected rows of whole blocks of ", block, ", got ",
        info.shape);
  header.text(name);
  header.number(uint32_t(rank));
  for (int d = rank - 1; d >= 0; d--) header.number(uint64_t(info.shape[d]));
  header.number(number_of(info.dtype, name));
  header.number(uint64_t(offset));
}

/// Writes zeros from `position` to the next multiple of the alignment, which may be large.
void write_padding(AtomicFile& file, int64_t position, int64_t alignment) {
  static constexpr char kZeros[4096] = {};
  for (int64_t left = round_up(position, alignment) - position; left > 0;) {
    const int64_t count = std::min(left, int64_t(sizeof kZeros));
    file.write(kZeros, count);
    left -= count;
  }
}

void write_tensor(AtomicFile& file, const TensorSource& tensors, const std::string& name) {
  const TensorInfo& info = tensors.tensors.at(name);
  const Tensor tensor = tensors.load(name, Device::cpu()).contiguous();
  check(tensor.dtype() == info.dtype && tensor.shape() == info.shape, ErrorCode::kInvalidArgument,
        kWhere, "tensor ", shown(name), ": expected ", dtype_name(info.dtype), " ", info.shape,
        ", got ", dtype_name(tensor.dtype()), " ", tensor.shape());
  file.write(tensor.data(), bytes_of(tensor.dtype(), tensor.numel()));
}

}  // namespace

void save_gguf(const std::string& path, const std::vector<GgufField>& fields,
               const TensorSource& tensors,
               const std::function<void(int64_t done, int64_t total)>& progress) {
  const int64_t alignment = alignment_of(fields);
  const std::vector<std::string> names = names_by_layer(tensors.tensors);
  Header header;
  header.number(std::array{'G', 'G', 'U', 'F'});
  header.number(kNewestVersion);
  header.number(uint64_t(names.size()));
  header.number(uint64_t(fields.size()));
  std::set<std::string_view> keys;
  for (const GgufField& field : fields) {
    check_name("key", field.key);
    check(keys.insert(field.key).second, ErrorCode::kInvalidArgument, kWhere, "key ",
          shown(field.key), " appears twice");
    header.field(field);
  }
  int64_t offset = 0, total = 0;
  for (const std::string& name : names) {
    const TensorInfo& info = tensors.tensors.at(name);
    describe_tensor(header, name, info, offset);
    total += bytes_of(info.dtype, numel(info.shape));
    offset = round_up(offset + bytes_of(info.dtype, numel(info.shape)), alignment);
  }

  AtomicFile file(path);
  file.write(header.bytes());
  write_padding(file, int64_t(header.bytes().size()), alignment);
  int64_t done = 0;
  for (const std::string& name : names) {
    write_tensor(file, tensors, name);
    const TensorInfo& info = tensors.tensors.at(name);
    const int64_t bytes = bytes_of(info.dtype, numel(info.shape));
    write_padding(file, bytes, alignment);
    done += bytes;
    if (progress) progress(done, total);
  }
  file.commit();
}

}  // namespace wick
