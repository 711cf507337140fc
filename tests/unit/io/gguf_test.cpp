#include "wick/io/gguf.h"

#include <unistd.h>

#include <cstring>
#include <random>

#include "../expect.h"
#include "../recorder.h"
#include "../temporary_folder.h"
#include "wick/io/json.h"

namespace wick {
namespace {

using test::TemporaryFolder;

enum ValueType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kText,
  kArray,
  kU64,
  kI64,
  kF64
};
enum TensorType : uint32_t {
  kTensorF32 = 0,
  kTensorF16 = 1,
  kTensorQ8_0 = 8,
  kTensorQ8_K = 15,
  kTensorI8 = 24
};

template <class T>
std::string number(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// The bytes of a GGUF file, put together from parts that need not fit together.
struct File {
  uint32_t version = 3;
  std::vector<std::string> keys, tensors;
  std::string data;
  uint64_t alignment = 32;

  std::string count(uint64_t n) const { return version == 1 ? number(uint32_t(n)) : number(n); }
  std::string text(std::string_view value) const { return count(value.size()).append(value); }
  std::string array(uint32_t type, uint64_t n, const std::string& elements) const {
    return number(type) + count(n) + elements;
  }

  File& key(std::string_view name, uint32_t type, const std::string& value) {
    keys.push_back(text(name) + number(type) + value);
    return *this;
  }
  /// dims: the innermost first, as in the file.
  File& describe(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                 uint64_t offset) {
    std::string bytes = text(name) + number(uint32_t(dims.size()));
    for (const uint64_t size : dims) bytes += count(size);
    tensors.push_back(bytes + number(type) + number(offset));
    return *this;
  }
  /// Describes a tensor and appends its data.
  File& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
               std::string_view bytes) {
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    describe(name, dims, type, data.size());
    data += bytes;
    return *this;
  }

  std::string header() const {
    std::string bytes = "GGUF" + number(version) + count(tensors.size()) + count(keys.size());
    for (const std::string& key : keys) bytes += key;
    for (const std::string& tensor : tensors) bytes += tensor;
    return bytes;
  }
  std::string bytes() const {
    std::string bytes = header();
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    return bytes + data;
  }
};

const std::vector<uint32_t> kVersions = {1, 2, 3};

std::string json_of(const GgufReader& reader, std::string_view key) {
  const Setting* const value = reader.metadata().find(key);
  return value ? to_json(*value, -1) : "missing";
}

std::string bytes_of(const Tensor& x) {
  std::string bytes(size_t(bytes_of(x.dtype(), x.numel())), '\0');
  x.read(bytes.data());
  return bytes;
}

std::string some_bytes(int64_t n, int seed) {
  std::string bytes(size_t(n), '\0');
  for (int64_t i = 0; i < n; i++) bytes[size_t(i)] = char(7 * i + 31 * seed);
  return bytes;
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// ---- metadata

TEST(Gguf, EveryTypeOfValueIsReadInEveryVersion) {
  const TemporaryFolder folder;
  for (const uint32_t version : kVersions) {
    SCOPED_TRACE(version);
    File f;
    f.version = version;
    struct Row {
      ValueType type;
      std::string value;
      const char* json;
    };
    const Row rows[] = {
        {kU8, number(uint8_t(255)), "255"},
        {kI8, number(int8_t(-128)), "-128"},
        {kU16, number(uint16_t(65535)), "65535"},
        {kI16, number(int16_t(-32768)), "-32768"},
        {kU32, number(uint32_t(4294967295)), "4294967295"},
        {kI32, number(INT32_MIN), "-2147483648"},
        {kU64, number(uint64_t(INT64_MAX)), "9223372036854775807"},
        {kI64, number(INT64_MIN), "-9223372036854775808"},
        {kF32, number(0.15625f), "0.15625"},
        {kF64, number(0.1), "0.1"},
        {kBool, number(uint8_t(1)), "true"},
        {kBool, number(uint8_t(0)), "false"},
        {kText, f.text(""), "\"\""},
        {kText, f.text("a \"b\"\n"), "\"a \\\"b\\\"\\n\""},
        {kArray, f.array(kU8, 2, "\1\xff"), "[1,255]"},
        {kArray, f.array(kI8, 1, "\xff"), "[-1]"},
        {kArray, f.array(kU16, 1, "\1\1"), "[257]"},
        {kArray, f.array(kI16, 1, "\xff\xff"), "[-1]"},
        {kArray, f.array(kU32, 1, number(7u)), "[7]"},
        {kArray, f.array(kI32, 2, number(-7) + number(7)), "[-7,7]"},
        {kArray, f.array(kF32, 1, number(-0.5f)), "[-0.5]"},
        {kArray, f.array(kF64, 2, number(0.25) + number(1e300)), "[0.25,1e+300]"},
        {kArray, f.array(kU64, 1, number(uint64_t(1) << 40)), "[1099511627776]"},
        {kArray, f.array(kI64, 1, number(int64_t(-5))), "[-5]"},
        {kArray, f.array(kBool, 3, std::string("\1\0\1", 3)), "[true,false,true]"},
        {kArray, f.array(kText, 2, f.text("a") + f.text("")), "[\"a\",\"\"]"},
        {kArray, f.array(kText, 0, ""), "[]"},
        {kArray, f.array(kArray, 2, f.array(kU8, 1, "\1") + f.array(kText, 1, f.text("x"))),
         "[[1],[\"x\"]]"}};
    int index = 0;
    for (const Row& row : rows) f.key("k" + std::to_string(index++), row.type, row.value);
    const GgufReader reader(folder.write("a", f.bytes()));
    index = 0;
    for (const Row& row : rows) EXPECT_EQ(json_of(reader, "k" + std::to_string(index++)), row.json);
    EXPECT_EQ(reader.metadata().entries().size(), std::size(rows));
    EXPECT_TRUE(reader.tensors().empty());
  }
}

TEST(Gguf, ErrorsOfMetadataNameTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", File().key("k", kText, File().text("v")).bytes());
  const GgufReader reader(path);
  EXPECT_ERROR(reader.metadata().integer("k"), kFormat,
               "gguf: " + path + ": \"k\": expected an integer");
}

// ---- tensors

TEST(Gguf, ShapesAreRowMajorInEveryVersion) {
  const TemporaryFolder folder;
  for (const uint32_t version : kVersions) {
    SCOPED_TRACE(version);
    File f;
    f.version = version;
    f.tensor("matrix", {3, 2}, kTensorF32, floats({1, 2, 3, 4, 5, 6}));
    f.tensor("scalar", {}, kTensorF32, floats({7}));
    f.tensor("four", {1, 2, 1, 3}, kTensorI8, "abcdef");
    f.tensor("", {64, 1}, kTensorQ8_0, some_bytes(68, 1));
    const std::string path = folder.write("a", f.bytes());
    const GgufReader reader(path);
    ASSERT_EQ(reader.tensors().size(), 4u);
    const GgufReader::Entry& entry = reader.tensors().at("matrix");
    EXPECT_EQ(entry.type, "f32");
    EXPECT_EQ(entry.dtype, DType::kF32);
    EXPECT_EQ(entry.bytes, 24);
    EXPECT_EQ(entry.file, path);
    const Tensor matrix = reader.load("matrix");
    EXPECT_EQ(matrix.shape(), (Shape{2, 3}));
    EXPECT_EQ(matrix.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(reader.load("scalar").shape(), Shape{});
    EXPECT_EQ(reader.load("scalar").item<float>(), 7);
    EXPECT_EQ(reader.load("four").shape(), (Shape{3, 1, 2, 1}));
    EXPECT_EQ(bytes_of(reader.load("four")), "abcdef");
    EXPECT_EQ(reader.load("").dtype(), DType::kQ8_0);
    EXPECT_EQ(reader.load("").shape(), (Shape{1, 64}));
    EXPECT_EQ(bytes_of(reader.load("")), some_bytes(68, 1));
    EXPECT_ERROR(reader.load("x\n"), kInvalidArgument,
                 "gguf: " + path + ": no tensor is named \"x\\n\"");
  }
}

TEST(Gguf, AnAlignedTensorIsTheFilesOwnMemory) {
  const TemporaryFolder folder;
  File f;
  f.tensor("x", {2}, kTensorF32, floats({1, 2}));
  const std::string path = folder.write("a", f.bytes());
  Tensor x;
  {
    const GgufReader reader(path);
    x = reader.load("x");
    EXPECT_EQ(x.data(), reader.load("x").data());
    EXPECT_FALSE(x.uniquely_owned());  // no op may write to it
  }
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2}));
  unlink(path.c_str());  // a file that is replaced stays for those who have it open
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(Gguf, ATensorThatIsNotAlignedIsCopied) {
  const TemporaryFolder folder;
  for (const uint32_t alignment : {1u, 2u, 4u, 8u}) {
    SCOPED_TRACE(alignment);
    File f;
    f.alignment = alignment;
    f.key("general.alignment", kU32, number(alignment));
    // 8 bytes apart, so that at least one of two is not at a multiple of 16.
    for (const char* name : {"a", "b", "c"})
      f.tensor(name, {2}, kTensorF32, floats({1, float(name[0])}));
    const GgufReader reader(folder.write("a", f.bytes()));
    int copied = 0;
    for (const char* name : {"a", "b", "c"}) {
      const Tensor x = reader.load(name);
      EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, float(name[0])}));
      EXPECT_EQ(uintptr_t(x.data()) % 16, 0u);
      copied += x.uniquely_owned();
    }
    EXPECT_GE(copied, 1);
  }
}

TEST(Gguf, AnotherDeviceGetsACopyStraightFromTheFile) {
  const TemporaryFolder folder;
  File f;
  f.tensor("x", {2}, kTensorF32, floats({1, 2})).tensor("q", {32}, kTensorQ8_0, some_bytes(34, 2));
  const GgufReader reader(folder.write("a", f.bytes()));
  const Device device = test::recorder_of(Device::cpu());
  test::clear_records();
  const Tensor x = reader.load("x", device);
  EXPECT_EQ(test::records().size(), 1u);  // one copy
  EXPECT_EQ(x.device(), device);
  EXPECT_NE(x.data(), reader.load("x").data());
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(bytes_of(reader.source().load("q", device)), some_bytes(34, 2));
}

TEST(Gguf, TheAlignmentIsTheFiles) {
  const TemporaryFolder folder;
  File f;
  f.alignment = 4096;
  f.key("general.alignment", kU32, number(uint32_t(4096)));
  f.tensor("x", {1}, kTensorF32, floats({1})).tensor("y", {1}, kTensorF32, floats({2}));
  const GgufReader reader(folder.write("a", f.bytes()));
  EXPECT_EQ(reader.load("y").item<float>(), 2);
  EXPECT_EQ(uintptr_t(reader.load("y").data()) % 4096, 0u);
}

TEST(Gguf, DataMayHaveGapsAndAnyOrder) {
  const TemporaryFolder folder;
  File f;
  f.describe("late", {1}, kTensorF32, 96).describe("early", {1}, kTensorF32, 32);
  f.data = std::string(32, 'x') + floats({1}) + std::string(60, 'x') + floats({2});
  const GgufReader reader(folder.write("a", f.bytes()));
  EXPECT_EQ(reader.load("early").item<float>(), 1);
  EXPECT_EQ(reader.load("late").item<float>(), 2);
}

TEST(Gguf, ASourceLoadsFromTheSameFile) {
  const TemporaryFolder folder;
  File f;
  f.tensor("x", {2, 1}, kTensorF32, floats({1, 2}))
      .tensor("y", {32}, kTensorQ8_0, some_bytes(34, 0));
  const std::string path = folder.write("a", f.bytes());
  TensorSource source;
  void* data = nullptr;
  {
    const GgufReader reader(path);
    source = reader.source();
    data = reader.load("x").data();
    const Tensor kept = source.load("x", Device::cpu());
    EXPECT_EQ(kept.data(), data);
  }
  EXPECT_EQ(source.where, path);
  ASSERT_EQ(source.tensors.size(), 2u);
  EXPECT_EQ(source.tensors.at("x").dtype, DType::kF32);
  EXPECT_EQ(source.tensors.at("x").shape, (Shape{1, 2}));
  EXPECT_EQ(source.tensors.at("y").dtype, DType::kQ8_0);
  EXPECT_EQ(source.load("x", Device::cpu()).to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(Gguf, ATypeThatWickLacksIsListedAndNotLoaded) {
  const TemporaryFolder folder;
  File f;
  f.tensor("x", {256, 2}, kTensorQ8_K, some_bytes(584, 0))
      .tensor("y", {1}, kTensorF32, floats({3}));
  const std::string path = folder.write("a", f.bytes());
  const GgufReader reader(path);
  const GgufReader::Entry& entry = reader.tensors().at("x");
  EXPECT_EQ(entry.type, "q8_k");
  EXPECT_FALSE(entry.dtype.has_value());
  EXPECT_EQ(entry.shape, (Shape{2, 256}));
  EXPECT_EQ(entry.bytes, 584);
  const std::string error = "gguf: " + path + ": tensor \"x\": wick has no dtype for the type q8_k";
  EXPECT_ERROR(reader.load("x"), kUnsupported, error);
  EXPECT_ERROR(reader.source(), kUnsupported, error);
  EXPECT_EQ(reader.load("y").item<float>(), 3);
}

// ---- files that lie

struct Lie {
  const char* what;
  std::string bytes;  // of the file
  std::string error;  // a part of the text
  ErrorCode code = ErrorCode::kFormat;
};

/// A file with one key.
std::string one_key(std::string_view name, uint32_t type, const std::string& value) {
  return File().key(name, type, value).bytes();
}
/// A file with one tensor and 64 bytes of data.
std::string one_tensor(const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset = 0) {
  File f;
  f.data.resize(64);
  return f.describe("t", dims, type, offset).bytes();
}
std::string aligned_to(uint32_t type, const std::string& value) {
  return File().key("general.alignment", type, value).tensor("t", {1}, kTensorF32, "1234").bytes();
}
std::string nested(int depth) {
  std::string value;
  for (int i = 1; i < depth; i++) value += File().array(kArray, 1, "");
  return one_key("k", kArray, value + File().array(kU8, 1, "\1"));
}

std::vector<Lie> lies() {
  const File f;
  const std::string head = "GGUF" + number(uint32_t(3)), none = number(uint64_t(0));
  const std::string array_of = number(uint32_t(kArray));
  const uint64_t far = ~uint64_t(0);
  constexpr ErrorCode kUnsupported = ErrorCode::kUnsupported;
  return {
      {"nothing", "", "byte 0: a value of 4 bytes, the file has 0 left"},
      {"another format", "GGML" + head + none + none,
       "byte 0: expected the text GGUF, got \"GGML\""},
      {"control characters for a name", "\x1b[2J" + none, "got \"\\u001b[2J\""},
      {"version 0", "GGUF" + number(0u) + none + none, "byte 4: expected version 1 to 3, got 0",
       kUnsupported},
      {"version 4", "GGUF" + number(4u) + none + none, "expected version 1 to 3, got 4",
       kUnsupported},
      {"a big-endian file", "GGUF" + number(3u << 24) + none + none,
       "byte 4: the file is big-endian, expected little-endian", kUnsupported},
      {"no counts", head,
       "byte 8: a value of 8 bytes, the file has 0 left: cut short; an incomplete download?"},
      {"2^64 - 1 tensors", head + number(far) + none,
       "byte 8: 18446744073709551615 tensors of at least 24 bytes, the file has 8 left"},
      {"one tensor more than fits", head + number(uint64_t(1)) + none + std::string(15, '\0'),
       "byte 8: 1 tensors of at least 24 bytes, the file has 23 left"},
      {"2^64 - 1 keys", head + none + number(far),
       "byte 16: 18446744073709551615 keys of at least 14 bytes"},
      {"a key that is not there",
       head + none + number(uint64_t(2)) + f.text("k") + number(uint32_t(kText)) +
           f.text("0123456789"),
       "byte 55: key 1: a value of 8 bytes, the file has 0 left"},
      {"a tensor that is not there",
       head + number(uint64_t(2)) + none + f.text("t") + std::string(4 + 4 + 8 + 23, '\0'),
       "byte 65: tensor \"\": a value of 8 bytes, the file has 7 left"},

      {"a key beyond the end", head + none + number(uint64_t(1)) + number(uint64_t(7)) + "abcdef",
       "byte 24: key 0: a string of 7 bytes, the file has 6 left: cut short; an incomplete "
       "download?"},
      {"a key of 2^64 - 1 bytes", head + none + number(uint64_t(1)) + number(far) + "abcdef",
       "byte 24: key 0: a string of 18446744073709551615 bytes"},
      {"a key of no bytes", one_key("", kU8, "1"), "byte 24: key 0: the key is empty"},
      {"a key that is not UTF-8", one_key("a\xff", kU8, "1"),
       "byte 24: key 0: the name \"a\xef\xbf\xbd\" is not UTF-8"},
      {"a key of 65536 bytes", one_key(std::string(65536, 'k'), kU8, "1"),
       "byte 24: key 0: a name of 65536 bytes, expected at most 65535"},
      {"a key twice", File().key("k", kU8, "1").key("k\n", kU8, "1").key("k\n", kU8, "1").bytes(),
       "byte 53: key \"k\\n\": appears twice"},
      {"an unknown type of value", one_key("k", 13, "12345678"),
       "byte 33: key \"k\": unknown type of value 13"},
      {"half a number", one_key("k", kU64, "").substr(0, 37) + "1234567",
       "byte 37: key \"k\": a value of 8 bytes, the file has 7 left"},
      {"a text beyond the end",
       one_key("k", kText, number(uint64_t(20)) + std::string(19, 'x')).substr(0, 37 + 8 + 19),
       "byte 37: key \"k\": a string of 20 bytes, the file has 19 left"},
      {"a bool of 2", one_key("k", kBool, "\2"),
       "byte 37: key \"k\": expected a bool of 0 or 1, got 2"},
      {"a u64 beyond i64", one_key("k", kU64, number(uint64_t(1) << 63)),
       "byte 37: key \"k\": 9223372036854775808 exceeds 2^63 - 1"},
      {"a u64 beyond i64 in an array", one_key("k", kArray, f.array(kU64, 1, number(far))),
       "byte 49: key \"k\": 18446744073709551615 exceeds 2^63 - 1"},
      {"a bool of 255 in an array", one_key("k", kArray, f.array(kBool, 2, "\1\xff")), "got 255"},
      {"an array of an unknown type", one_key("k", kArray, f.array(13, 1, "12345678")),
       "byte 37: key \"k\": unknown type of value 13"},
      {"an array of nothing of an unknown type", one_key("k", kArray, f.array(99, 0, "")),
       "unknown type of value 99"},
      {"an array of 2^64 - 1 bytes", one_key("k", kArray, f.array(kU8, far, "1234")),
       "byte 41: key \"k\": 18446744073709551615 elements of at least 1 bytes"},
      {"an array whose size is 2^64 + 8",
       one_key("k", kArray, f.array(kU64, (uint64_t(1) << 61) + 1, number(far))),
       "byte 41: key \"k\": 2305843009213693953 elements of at least 8 bytes"},
      {"texts that cannot fit",
       head + none + number(uint64_t(1)) + f.text("k") + array_of +
           f.array(kText, 3, std::string(23, '\0')),
       "key \"k\": 3 elements of at least 8 bytes, the file has 23 left"},
      {"arrays that cannot fit",
       head + none + number(uint64_t(1)) + f.text("k") + array_of +
           f.array(kArray, 2, std::string(23, '\0')),
       "key \"k\": 2 elements of at least 12 bytes, the file has 23 left"},
      {"a text in an array beyond the end", one_key("k", kArray, f.array(kText, 1, number(far))),
       "a string of 18446744073709551615 bytes"},
      {"17 nested arrays", nested(17), "key \"k\": expected at most 16 nested arrays"},
      {"100000 nested arrays", nested(100'000), "key \"k\": expected at most 16 nested arrays"},

      {"an alignment of 0", aligned_to(kU32, number(0u)),
       "\"general.alignment\": expected a power of two below 2^32, got 0"},
      {"an alignment of 3", aligned_to(kU32, number(3u)),
       "expected a power of two below 2^32, got 3"},
      {"a negative alignment", aligned_to(kI32, number(-32)),
       "\"general.alignment\": expected an integer of at least 0"},
      {"an alignment of 2^32", aligned_to(kU64, number(uint64_t(1) << 32)),
       "expected a power of two below 2^32"},
      {"an alignment of 2^62", aligned_to(kU64, number(uint64_t(1) << 62)),
       "expected a power of two below 2^32"},
      {"an alignment that is text", aligned_to(kText, f.text("32")),
       "\"general.alignment\": expected an integer"},
      {"an alignment beyond the end", aligned_to(kU32, number(1u << 31)),
       "tensor \"t\": 4 bytes at offset 0, the data has 0"},

      {"a tensor's name beyond the end",
       head + number(uint64_t(1)) + none + number(uint64_t(17)) + std::string(16, 'n'),
       "byte 24: tensor 0: a string of 17 bytes, the file has 16 left"},
      {"a tensor's name that is not UTF-8", File().describe("\xc3", {1}, kTensorF32, 0).bytes(),
       "tensor 0: the name"},
      {"a tensor twice",
       File().tensor("t", {1}, kTensorF32, "1234").tensor("t", {1}, kTensorF32, "1234").bytes(),
       "byte 57: tensor \"t\": appears twice"},
      {"five dims", one_tensor({1, 1, 1, 1, 1}, kTensorF32),
       "byte 33: tensor \"t\": expected at most 4 dims, got 5"},
      {"2^32 - 1 dims",
       head + number(uint64_t(1)) + none + f.text("t") + number(~0u) + std::string(99, '\1'),
       "got 4294967295"},
      {"a size of 0", one_tensor({4, 0}, kTensorF32),
       "byte 45: tensor \"t\": expected sizes of at least 1, got 0"},
      {"a size of 2^63", one_tensor({uint64_t(1) << 63}, kTensorI8),
       "byte 37: tensor \"t\": more than 2^63 elements"},
      {"sizes that multiply to 2^64 + 4", one_tensor({4, 4611686018427387905}, kTensorI8),
       "more than 2^63 elements"},
      {"sizes that multiply to 2^64",
       one_tensor({1u << 16, 1u << 16, 1u << 16, 1u << 16}, kTensorI8), "more than 2^63 elements"},
      {"bytes that multiply to 2^64", one_tensor({uint64_t(1) << 62}, kTensorF32),
       "tensor \"t\": f32 [4611686018427387904] has more than 2^63 bytes"},
      {"blocks that multiply to more than 2^63 bytes",
       one_tensor({uint64_t(INT64_MAX) - 31}, kTensorQ8_0), "has more than 2^63 bytes"},
      {"an unknown type of tensor", one_tensor({1}, 43), "byte 45: tensor \"t\": unknown type 43",
       kUnsupported},
      {"a type of tensor of 2^32 - 1", one_tensor({1}, ~0u), "unknown type 4294967295",
       kUnsupported},
      {"a removed type of tensor", one_tensor({32}, 31),
       "tensor \"t\": ggml has removed the type q4_0_4_4", kUnsupported},
      {"rows that are not whole blocks", one_tensor({48}, kTensorQ8_0),
       "tensor \"t\": q8_0 [48]: rows of 48 elements are not whole blocks of 32"},
      {"a block across two rows", one_tensor({16, 2}, kTensorQ8_0),
       "q8_0 [2, 16]: rows of 16 elements"},
      {"a block for a scalar", one_tensor({}, kTensorQ8_0),
       "rows of 1 elements are not whole blocks"},
      {"an offset that is not aligned", one_tensor({1}, kTensorF32, 4),
       "byte 49: tensor \"t\": offset 4 is not a multiple of the alignment 32"},
      {"data beyond the end", one_tensor({17}, kTensorF32),
       "byte 49: tensor \"t\": 68 bytes at offset 0, the data has 64"},
      {"data that begins at the end", one_tensor({1}, kTensorF32, 64),
       "tensor \"t\": 4 bytes at offset 64, the data has 64"},
      {"data whose end is 2^64 + 4", one_tensor({9}, kTensorF32, far - 31),
       "bytes at offset 18446744073709551584, the data has 64"},
      {"tensors without data", File().describe("t", {1}, kTensorF32, 0).header(),
       "4 bytes at offset 0, the data has 0"},
      {"tensors that overlap",
       File()
           .tensor("late", {64}, kTensorI8, std::string(64, '\0'))
           .describe("early", {9}, kTensorF32, 32)
           .bytes(),
       "tensor \"early\": 36 bytes at offset 32"},
      {"tensors that overlap within the data",
       File()
           .tensor("t", {64}, kTensorI8, std::string(64, '\0'))
           .describe("u", {32}, kTensorI8, 32)
           .bytes(),
       "tensor \"u\": overlaps tensor \"t\""},
      {"tensors in one place",
       File()
           .tensor("t", {32}, kTensorI8, std::string(32, '\0'))
           .describe("u", {32}, kTensorI8, 0)
           .bytes(),
       " overlaps tensor "},
  };
}

TEST(Gguf, AFileThatLiesIsAnErrorWithPathAndPlace) {
  const TemporaryFolder folder;
  for (const Lie& lie : lies()) {
    SCOPED_TRACE(lie.what);
    const std::string path = folder.write("a", lie.bytes);
    try {
      const GgufReader reader(path);
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      const std::string text = e.what();
      EXPECT_EQ(e.code(), lie.code) << text;
      EXPECT_EQ(text.find("gguf: " + path + ": "), 0u) << text;
      EXPECT_NE(text.find(lie.error), text.npos) << text;
      EXPECT_EQ(text.find_first_of("\n\x1b"), text.npos) << text;
      EXPECT_LT(text.size(), 500u);
    }
  }
}

TEST(Gguf, SixteenNestedArraysAreRead) {
  const TemporaryFolder folder;
  const GgufReader reader(folder.write("a", nested(16)));
  EXPECT_EQ(json_of(reader, "k"), std::string(16, '[') + "1" + std::string(16, ']'));
}

/// A list takes more memory than its file, which may have holes that take no space.
TEST(Gguf, AListThatMemoryCannotHoldIsAnError) {
  const TemporaryFolder folder;
  constexpr int64_t kFileBytes = int64_t(1) << 40;
  for (const uint32_t type : {kU8, kText}) {
    const uint64_t n = uint64_t(1) << (type == kU8 ? 39 : 36);
    const std::string path =
        folder.write("a", File().key("k", kArray, File().array(type, n, "")).header());
    ASSERT_EQ(truncate(path.c_str(), kFileBytes), 0);
    EXPECT_ERROR(GgufReader(path), kOutOfMemory, "key \"k\": " + std::to_string(n) + " times ");
  }
  const std::string path =
      folder.write("a", File().key("k", kText, number(uint64_t(1) << 39)).header());
  ASSERT_EQ(truncate(path.c_str(), kFileBytes), 0);
  EXPECT_ERROR(GgufReader(path), kOutOfMemory, "key \"k\": ");
}

TEST(Gguf, AFileThatIsNotThereIsAnError) {
  const TemporaryFolder folder;
  EXPECT_ERROR(GgufReader(folder.file("none")), kIo, folder.file("none") + ": No such file");
  EXPECT_ERROR(GgufReader(folder.path()), kIo, folder.path() + ": not a regular file");
}

/// A small file with keys and tensors of many types.
std::string varied_file(uint32_t version) {
  File f;
  f.version = version;
  f.key("general.alignment", kU32, number(uint32_t(32)));
  f.key("n", kU64, number(uint64_t(5))).key("x", kF64, number(0.5)).key("yes", kBool, "\1");
  f.key("text", kText, f.text("abc"));
  f.key("texts", kArray, f.array(kText, 2, f.text("a") + f.text("bc")));
  f.key("nested", kArray, f.array(kArray, 2, f.array(kI16, 1, "\1\1") + f.array(kU8, 1, "\1")));
  f.tensor("f", {3, 2}, kTensorF32, std::string(24, '\1'))
      .tensor("q", {32, 1}, kTensorQ8_0, std::string(34, '\1'));
  f.tensor("i", {256}, kTensorQ8_K, std::string(292, '\1'))
      .tensor("h", {2, 1, 1, 2}, kTensorF16, "12345678");
  return f.bytes();
}

/// Reads all that a file holds.
void read_all(const std::string& path) {
  const GgufReader reader(path);
  for (const auto& [name, entry] : reader.tensors())
    if (entry.dtype) bytes_of(reader.load(name));
}

TEST(Gguf, AFileThatIsCutShortIsAnError) {
  const TemporaryFolder folder;
  for (const uint32_t version : kVersions) {
    const std::string good = varied_file(version);
    read_all(folder.write("a", good));
    for (size_t size = 0; size < good.size(); size++) {
      SCOPED_TRACE(size);
      const std::string path = folder.write("a", good.substr(0, size));
      EXPECT_ERROR(GgufReader(path), kFormat, "gguf: " + path + ": byte ");
    }
  }
}

TEST(Gguf, NoChangedByteDoesHarm) {
  const TemporaryFolder folder;
  std::mt19937 random(36);
  int refused = 0, read = 0;
  for (int i = 0; i < 6000; i++) {
    std::string changed = varied_file(kVersions[size_t(i) % 3]);
    for (unsigned flips = 1 + random() % 3; flips > 0; flips--) {
      char& byte = changed[random() % changed.size()];
      byte = char(random() % 2 ? byte ^ (1 << random() % 8) : random());
    }
    try {
      read_all(folder.write("a", changed));
      read++;
    } catch (const Error& e) {
      EXPECT_TRUE(e.code() == ErrorCode::kFormat || e.code() == ErrorCode::kUnsupported)
          << e.what();
      refused++;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 1000);
}

// ---- split sets

/// One file of a split set, with a tensor of this name.
std::string part(uint16_t index, uint16_t count, const char* tensor) {
  File f;
  f.key("split.no", kU16, number(index)).key("split.count", kU16, number(count));
  return f.tensor(tensor, {1}, kTensorF32, floats({float(index)})).bytes();
}

TEST(Gguf, TheFilesOfASplitSetAreOpenedWithTheFirst) {
  const TemporaryFolder folder;
  const std::string path = folder.write("m-00001-of-00002.gguf", part(0, 2, "x"));
  folder.write("m-00002-of-00002.gguf", part(1, 2, "y"));
  const GgufReader reader(path);
  EXPECT_EQ(reader.tensors().size(), 2u);
  EXPECT_EQ(reader.load("x").item<float>(), 0);
  EXPECT_EQ(reader.load("y").item<float>(), 1);
  EXPECT_EQ(reader.metadata().integer("split.no"), 0);
}

TEST(Gguf, ASetOfOneFileMayHaveAnyName) {
  const TemporaryFolder folder;
  EXPECT_EQ(GgufReader(folder.write("a", part(0, 1, "x"))).load("x").item<float>(), 0);
  EXPECT_EQ(GgufReader(folder.write("b", part(0, 0, "x"))).load("x").item<float>(), 0);
}

TEST(Gguf, ASplitSetThatDoesNotFitTogetherIsAnError) {
  const TemporaryFolder folder;
  const std::string first = "m-00001-of-00002.gguf", second = "m-00002-of-00002.gguf";
  File counted;
  counted.key("split.no", kU16, number(uint16_t(0))).key("split.count", kU16, number(uint16_t(2)));
  counted.key("split.tensors.count", kI32, number(3));
  const auto where = [&](const std::string& name) { return "gguf: " + folder.file(name) + ": "; };
  const struct {
    std::string opened, first, second, error;
  } rows[] = {
      {first, part(0, 2, "x"), part(1, 2, "x"),
       where(second) + "byte 71: tensor \"x\": appears twice, first in " + folder.file(first)},
      {first, part(0, 2, "x"), part(0, 2, "y"), where(second) + "\"split.no\": expected 1, got 0"},
      {first, part(0, 2, "x"), part(1, 3, "y"),
       where(second) + "\"split.count\": expected 2, got 3"},
      {first, part(0, 2, "x"), File().bytes(),
       where(second) + "\"split.no\": expected an integer of at least 0, got nothing"},
      {first, part(0, 2, "x"), "GGUF", where(second) + "byte 4: "},
      {first, part(0, 3, "x"), part(1, 2, "y"),
       where(first) + "\"split.count\" is 3, so the file's name must end in -00001-of-00003.gguf"},
      {first, counted.bytes(), part(1, 2, "y"),
       where(first) + "\"split.tensors.count\": expected 1, the tensors of all files, got 3"},
      {second, part(0, 2, "x"), part(1, 2, "y"),
       where(second) + "\"split.no\": expected 0, the first file of the split set, got 1"},
      {first,
       File()
           .key("split.count", kU32, number(70000u))
           .key("split.no", kU8, number(uint8_t(0)))
           .bytes(),
       "", where(first) + "\"split.count\": expected at most 65535 files, got 70000"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.error);
    folder.write(first, row.first);
    folder.write(second, row.second);
    EXPECT_ERROR(GgufReader(folder.file(row.opened)), kFormat, row.error);
  }
  folder.write(first, part(0, 2, "x"));
  unlink(folder.file(second).c_str());
  EXPECT_ERROR(GgufReader(folder.file(first)), kIo, folder.file(second) + ": No such file");
}

// ---- files by gguf-py

struct Golden {
  const std::string folder = WICK_GOLDEN "/gguf/";
  const Settings expected = read_json(folder + "expected.json");

  void expect_tensors(const GgufReader& reader, std::string_view key) const {
    const Settings& all = *expected.group(key);
    EXPECT_EQ(reader.tensors().size(), all.entries().size());
    for (const auto& [name, value] : all.entries()) {
      SCOPED_TRACE(name);
      const Settings& tensor = *all.group(name);
      ASSERT_EQ(reader.tensors().count(name), 1u);
      const GgufReader::Entry& entry = reader.tensors().at(name);
      EXPECT_EQ(entry.type, tensor.text("type"));
      EXPECT_EQ(entry.shape, Shape(tensor.integers("shape")));
      EXPECT_EQ(entry.bytes, tensor.integer("bytes"));
      if (!entry.dtype) continue;
      EXPECT_EQ(dtype_name(*entry.dtype), entry.type);
      if (!tensor.has("seed")) continue;
      EXPECT_EQ(bytes_of(reader.load(name)), some_bytes(entry.bytes, int(tensor.integer("seed"))));
    }
  }
};

TEST(Gguf, AFileByGgufPyIsReadWithEveryTypeOfValueAndTensor) {
  const Golden golden;
  const GgufReader reader(golden.folder + "all.gguf");
  const Settings& metadata = *golden.expected.group("metadata");
  EXPECT_EQ(reader.metadata().entries().size(), metadata.entries().size());
  for (const auto& [key, value] : metadata.entries())
    EXPECT_EQ(json_of(reader, key), to_json(value, -1)) << key;
  golden.expect_tensors(reader, "tensors");
  std::vector<float> counted;
  for (int i = 0; i < 24; i++) counted.push_back(float(i));
  EXPECT_EQ(reader.load("b.four").to_vector<float>(), counted);
}

TEST(Gguf, ASplitSetByGgufPyIsReadAsOne) {
  const Golden golden;
  const GgufReader reader(golden.folder + "split-00001-of-00003.gguf");
  golden.expect_tensors(reader, "split");
  EXPECT_EQ(reader.tensors().at("a.q5_0").file, golden.folder + "split-00003-of-00003.gguf");
  EXPECT_EQ(reader.metadata().integer("split.tensors.count"), 5);
}

}  // namespace
}  // namespace wick
