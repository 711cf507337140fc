#include "wick/io/gguf.h"

#include <unistd.h>

#include <cstring>
#include <random>

#include "../expect.h"
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
  kTensorIq2Xxs = 16,
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
  int64_t more_keys = 0, more_tensors = 0;  // claimed beyond those that are there

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
    std::string bytes = "GGUF" + number(version) + count(tensors.size() + uint64_t(more_tensors)) +
                        count(keys.size() + uint64_t(more_keys));
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
  f.tensor("x", {256, 2}, kTensorIq2Xxs, some_bytes(132, 0))
      .tensor("y", {1}, kTensorF32, floats({3}));
  const std::string path = folder.write("a", f.bytes());
  const GgufReader reader(path);
  const GgufReader::Entry& entry = reader.tensors().at("x");
  EXPECT_EQ(entry.type, "iq2_xxs");
  EXPECT_FALSE(entry.dtype.has_value());
  EXPECT_EQ(entry.shape, (Shape{2, 256}));
  EXPECT_EQ(entry.bytes, 132);
  const std::string error =
      "gguf: " + path + ": tensor \"x\": wick has no dtype for the type iq2_xxs";
  EXPECT_ERROR(reader.load("x"), kUnsupported, error);
  EXPECT_ERROR(reader.source(), kUnsupported, error);
  EXPECT_EQ(reader.load("y").item<float>(), 3);
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
