#include "wick/io/safetensors.h"

#include <signal.h>
#include <sys/resource.h>

#include <cstring>

#include "../expect.h"
#include "../temporary_folder.h"
#include "wick/core/var.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

using Names = std::vector<std::string>;
using test::TemporaryFolder;

struct Named {
  DType dtype;
  const char* name;  // what the format calls it
  int bits = 8 * dtype_size(dtype);
};
const Named kNamed[] = {
    {DType::kBool, "BOOL"},        {DType::kU8, "U8"},     {DType::kU32, "U32"},
    {DType::kI32, "I32"},          {DType::kI64, "I64"},   {DType::kF8E4M3, "F8_E4M3"},
    {DType::kF8E5M2, "F8_E5M2"},   {DType::kBf16, "BF16"}, {DType::kF16, "F16"},
    {DType::kF32, "F32"},          {DType::kF64, "F64"},   {DType::kI8, "I8"},
    {DType::kU16, "U16"},          {DType::kI16, "I16"},   {DType::kU64, "U64"},
    {DType::kF8E8M0, "F8_E8M0"},   {DType::kF4, "F4", 4},  {DType::kF6E2M3, "F6_E2M3", 6},
    {DType::kF6E3M2, "F6_E3M2", 6}};

/// The length of the header in 8 bytes, the lowest first; the header; the data.
std::string contents(std::string_view header, std::string_view data, uint64_t claimed) {
  std::string bytes;
  for (int i = 0; i < 8; i++) bytes += char(claimed >> (8 * i));
  return bytes.append(header).append(data);
}
std::string contents(std::string_view header, std::string_view data = "") {
  return contents(header, data, header.size());
}

/// Bytes of every kind: NaNs with their bits, subnormals, -0. Of f4 and f6 the low bits alone.
std::string some_bytes(DType dtype, const Shape& shape) {
  std::string bytes(size_t(bytes_of(dtype, numel(shape))), '\0');
  for (size_t i = 0; i < bytes.size(); i++) {
    bytes[i] = dtype == DType::kBool ? char(i % 3 == 1) : char(i * 97 + 128);
    if (dtype == DType::kF4) bytes[i] = char(bytes[i] & 15);
    if (dtype == DType::kF6E2M3 || dtype == DType::kF6E3M2) bytes[i] = char(bytes[i] & 63);
  }
  return bytes;
}

std::string bytes_of(const Tensor& x) {
  std::string bytes(size_t(bytes_of(x.dtype(), x.numel())), '\0');
  x.read(bytes.data());
  return bytes;
}

Tensor scalar(float value) { return Tensor::from(std::vector<float>{value}, Shape{}); }

// ---- what is written

TEST(Safetensors, EveryDTypeAndShapeComesBack) {
  const TemporaryFolder folder;
  const Shape shapes[] = {{},      {1},       {0}, {4},       {6},
                          {5, 20}, {3, 0, 2}, {7}, {2, 3, 4}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 3}};
  NamedTensors tensors;
  for (const Named& n : kNamed) {
    for (const Shape& shape : shapes)
      if (numel(shape) * n.bits % 8 == 0)
        tensors[n.name + to_string(shape)] =
            Tensor::from_bytes(some_bytes(n.dtype, shape).data(), n.dtype, shape);
  }
  save_safetensors(folder.file("a"), tensors);
  const NamedTensors loaded = load_safetensors(folder.file("a"));
  ASSERT_EQ(loaded.size(), tensors.size());
  for (const auto& [name, x] : tensors) {
    const Tensor& y = loaded.at(name);
    EXPECT_EQ(y.dtype(), x.dtype()) << name;
    EXPECT_EQ(y.shape(), x.shape()) << name;
    EXPECT_EQ(bytes_of(y), some_bytes(x.dtype(), x.shape())) << name;
  }
}

TEST(Safetensors, TheBytesAreWhatTheFormatSays) {
  const TemporaryFolder folder;
  const uint8_t halves[] = {0x80, 0x3f, 0x00, 0xc0};  // 1 and -2 as bf16
  save_safetensors(folder.file("a"),
                   {{"w.b", scalar(1.5f)},
                    {"a", Tensor::from_bytes(halves, DType::kBf16, {2, 1})},
                    {"empty", Tensor::from(std::vector<double>{}, {0, 4})}},
                   {{"format", "pt"}, {"note", "a \"line\"\n"}});
  std::string header = R"({"__metadata__":{"format":"pt","note":"a \"line\"\n"},)"
                       R"("empty":{"dtype":"F64","shape":[0,4],"data_offsets":[0,0]},)"
                       R"("w.b":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                       R"("a":{"dtype":"BF16","shape":[2,1],"data_offsets":[4,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::string data("\0\0\xc0\x3f\x80\x3f\0\xc0", 8);
  EXPECT_EQ(folder.read("a"), contents(header, data));
}

TEST(Safetensors, OfNothing) {
  const TemporaryFolder folder;
  save_safetensors(folder.file("a"), {});
  EXPECT_EQ(folder.read("a"), contents("{}      "));
  EXPECT_TRUE(load_safetensors(folder.file("a")).empty());
}

TEST(Safetensors, ViewsAreWrittenRowByRow) {
  const TemporaryFolder folder;
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, Shape{2, 3});
  save_safetensors(folder.file("a"), {{"t", transpose(x)},
                                      {"n", narrow(x, 1, 1, 1)},
                                      {"b", broadcast_to(narrow(x, 0, 0, 1), {2, 3})}});
  const NamedTensors y = load_safetensors(folder.file("a"));
  EXPECT_EQ(y.at("t").to_vector<float>(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(y.at("n").to_vector<float>(), (std::vector<float>{2, 5}));
  EXPECT_EQ(y.at("b").to_vector<float>(), (std::vector<float>{1, 2, 3, 1, 2, 3}));
}

TEST(Safetensors, NamesAndMetadataComeBackWhateverTheirCharacters) {
  const TemporaryFolder folder;
  const std::string names[] = {"",
                               "a.b/c",
                               "\"quoted\\\"",
                               "tab\tand\nline",
                               std::string("nul\0", 4),
                               "\x01\x1f\x7f",
                               "gr\xc3\xb6\xc3\x9f",
                               "\xf0\x9f\x95\xaf"};
  NamedTensors tensors;
  Metadata metadata;
  for (const std::string& name : names) tensors[name] = scalar(1), metadata[name] = "of " + name;
  save_safetensors(folder.file("a"), tensors, metadata);
  const SafetensorsReader reader(folder.file("a"));
  EXPECT_EQ(reader.metadata(), metadata);
  for (const std::string& name : names) EXPECT_TRUE(reader.tensors().count(name)) << name;
  EXPECT_EQ(reader.tensors().size(), std::size(names));
}

TEST(Safetensors, WhatNoFileCanHoldIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  EXPECT_ERROR(save_safetensors(path, {{"__metadata__", scalar(1)}}), kInvalidArgument,
               "save_safetensors: a tensor cannot be named \"__metadata__\"");
  EXPECT_ERROR(save_safetensors(path, {{"\xff", scalar(1)}}), kInvalidArgument,
               "which is not UTF-8");
  EXPECT_ERROR(save_safetensors(path, {{"a", Tensor()}}), kInvalidArgument,
               "save_safetensors: \"a\" is an empty Tensor()");
  EXPECT_EQ(folder.names(), Names{});
}

TEST(Safetensors, ASaveThatFailsKeepsTheOldFile) {
  const TemporaryFolder folder;
  save_safetensors(folder.file("a"), {{"old", scalar(1)}});
  const std::string before = folder.read("a");
  const std::string said = test::in_child([&]() -> std::string {
    signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit fails, as on a full disk
    const rlimit limit{4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return "no limit";
    save_safetensors(folder.file("a"), {{"new", Tensor::from(std::vector<float>(5000, 1.0f))}});
    return "no error";
  });
  EXPECT_NE(said.find(folder.file("a") + ": cannot be written: File too large"), said.npos) << said;
  EXPECT_EQ(folder.read("a"), before);
  EXPECT_EQ(folder.names(), (Names{"a"}));
}

TEST(Safetensors, ASourceThatBreaksItsDeclarationIsAnErrorAndKeepsTheOldFile) {
  const TemporaryFolder folder;
  save_safetensors(folder.file("a"), {{"old", scalar(1)}});
  const std::string before = folder.read("a");
  const struct {
    Tensor tensor;
    std::string got;
  } rows[] = {{Tensor::from(std::vector<float>{1, 2, 3}), "f32[3]"},
              {Tensor::from(std::vector<float>{1, 2}, Shape{2, 1}), "f32[2, 1]"},
              {Tensor::from(std::vector<int32_t>{1, 2}), "i32[2]"},
              {Tensor(), "no tensor"}};
  for (const auto& [tensor, got] : rows) {
    TensorSource source = source_of({{"a", scalar(1)}, {"x", scalar(1)}}, "m");
    source.tensors["x"] = {DType::kF32, {2}};
    source.load = [&tensor](const std::string& name, const Device&) {
      return name == "x" ? tensor : scalar(1);
    };
    EXPECT_ERROR(save_safetensors_from(folder.file("a"), source), kInvalidArgument,
                 "save_safetensors: \"x\": expected f32[2] from the source, got " + got);
    EXPECT_EQ(folder.read("a"), before);
    EXPECT_EQ(folder.names(), Names{"a"});
  }
}

TEST(Safetensors, SavesOverWhatItWasLoadedFrom) {
  const TemporaryFolder folder;
  save_safetensors(folder.file("a"), {{"x", scalar(1)}, {"y", scalar(2)}});
  const SafetensorsReader reader(folder.file("a"));
  save_safetensors(folder.file("a"), {{"x", reader.load("y")}});
  EXPECT_EQ(load_safetensors(folder.file("a")).at("x").item<float>(), 2.0f);
  EXPECT_EQ(reader.load("x").item<float>(), 1.0f);  // what it opened
}

// ---- what is read

TEST(Safetensors, EveryNameOfTheFormatIsUnderstood) {
  const TemporaryFolder folder;
  for (const Named& n : kNamed) {
    const int64_t size = n.bits;  // of 8 elements
    const std::string path = folder.write(
        "a", contents("{\"x\":{\"dtype\":\"" + std::string(n.name) +
                          "\",\"shape\":[8],\"data_offsets\":[0," + std::to_string(size) + "]}}",
                      std::string(size_t(size), '\1')));
    EXPECT_EQ(load_safetensors(path).at("x").dtype(), n.dtype) << n.name;
  }
}

TEST(Safetensors, NarrowElementsArePackedTheLowestBitsFirst) {
  const TemporaryFolder folder;
  const uint8_t nibbles[] = {1, 2, 0xf3, 15}, sixes[] = {0x01, 0x3f, 0xc0 | 0x2a, 0x15};
  save_safetensors(folder.file("a"),
                   {{"a", Tensor::from_bytes(nibbles, DType::kF4, {2, 2})},
                    {"b", Tensor::from_bytes(sixes, DType::kF6E2M3, {4})},
                    {"c", transpose(Tensor::from_bytes(sixes, DType::kF6E3M2, {2, 2}))}});
  const std::string bytes = folder.read("a");
  // 000001 | 111111 | 101010 | 010101, each from its lowest bit on; c is 01 2a 3f 15
  EXPECT_EQ(bytes.substr(bytes.size() - 8), std::string("\x21\xf3"
                                                        "\xc1\xaf\x56"
                                                        "\x81\xfa\x57"));
  const NamedTensors loaded = load_safetensors(folder.file("a"));
  EXPECT_EQ(bytes_of(loaded.at("a")), std::string("\1\2\3\17"));  // without what was above
  EXPECT_EQ(bytes_of(loaded.at("b")), std::string("\x01\x3f\x2a\x15"));
  EXPECT_EQ(bytes_of(loaded.at("c")), std::string("\x01\x2a\x3f\x15"));
  const Tensor blocks = Tensor::empty({2, 64}, {.dtype = DType::kQ8_0});
  EXPECT_ERROR(save_safetensors(folder.file("c"), {{"x", blocks}}), kInvalidArgument,
               "save_safetensors: \"x\": the format does not support q8_0");
  EXPECT_ERROR(
      save_safetensors(folder.file("b"), {{"x", Tensor::from_bytes(nibbles, DType::kF4, {3})}}),
      kInvalidArgument, "\"x\": f4[3] does not fill its last byte");
  EXPECT_EQ(folder.names(), Names{"a"});
}

TEST(Safetensors, FieldsComeInAnyOrderAndWithSpace) {
  const TemporaryFolder folder;
  const std::string path = folder.write(
      "a", contents(" { \"x\" : { \"data_offsets\" : [ 1, 3 ],\n\"more\":{}, \"shape\":[2],"
                    "\"dtype\":\"U8\" }, \"\\u0041\":{\"dtype\":\"U8\",\"shape\":[],"
                    "\"data_offsets\":[0,1]} } ",
                    "abc"));
  const SafetensorsReader reader(path);
  EXPECT_EQ(bytes_of(reader.load("A")), "a");
  EXPECT_EQ(bytes_of(reader.load("x")), "bc");
  EXPECT_ERROR(reader.load("y"), kInvalidArgument, "safetensors: no tensor is named \"y\"");
}

struct Hostile {
  const char* what;
  std::string bytes;  // of the file
  std::string error;  // a part of what is said
};

std::string one_tensor(const char* dtype, const std::string& shape, const std::string& offsets,
                       size_t data_bytes) {
  return contents("{\"t\":{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":" + shape +
                      ",\"data_offsets\":" + offsets + "}}",
                  std::string(data_bytes, '\0'));
}

std::string two_tensors(const std::string& first, const std::string& second, size_t data_bytes) {
  return contents("{\"t\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + first +
                      "},\"u\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + second + "}}",
                  std::string(data_bytes, '\0'));
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; i++) result += text;
  return result;
}

std::vector<Hostile> hostile_files() {
  const std::string good = one_tensor("F32", "[1]", "[0,4]", 4);
  const std::string header = "{}";
  return {
      {"nothing", "", "the file has 0 bytes"},
      {"half a length", good.substr(0, 5),
       "the file has 5 bytes, the header's length alone takes 8: cut short; an incomplete "
       "download?"},
      {"a length alone", contents("", ""), "the header is not JSON"},
      {"half a header", good.substr(0, 20),
       "bytes, the file has 20: cut short; an incomplete download?"},
      {"a header that ends where the file does", contents("{\"t\":"), "the header is not JSON"},
      {"a header of one byte more than there is", contents(header, "", 3),
       "the header claims 3 bytes, the file has 10"},
      {"a header of 2^63 bytes", contents(header, "", uint64_t{1} << 63),
       "the header claims 9223372036854775808 bytes"},
      {"a header of 2^64 - 1 bytes", contents(header, "", ~uint64_t{0}),
       "the header claims 18446744073709551615 bytes"},
      {"a header whose end is 2^64 + 2", contents(header, "", uint64_t(-6)), "the header claims"},
      {"a header of more than the format allows", contents(header, "", 100'000'001),
       "the header claims 100000001 bytes"},
      {"no JSON", contents("{\"t\":}"), "the header is not JSON"},
      {"no JSON at all", contents("tensor"), "the header is not JSON"},
      {"a list", contents("[]"), "the header is not a JSON object"},
      {"two objects", contents("{}{}"), "the header is not JSON"},
      {"no UTF-8", contents("{\"\xff\xfe\":{}}"), "the header is not JSON"},
      {"half a surrogate", contents("{\"\\ud800\":{}}"), "the header is not JSON"},
      {"deep nesting", contents(repeated("{\"a\":", 100'000) + "1" + repeated("}", 100'000)),
       "the header is not JSON"},
      {"deep lists", contents("{\"t\":" + repeated("[", 100'000) + repeated("]", 100'000) + "}"),
       "the header is not JSON"},
      {"a tensor that is a number", contents("{\"t\":1}"), "tensor \"t\": expected an object"},
      {"a tensor of nothing", contents("{\"t\":{}}"), "tensor \"t\": expected a string \"dtype\""},
      {"no dtype", contents("{\"t\":{\"dtype\":3,\"shape\":[],\"data_offsets\":[0,0]}}"),
       "tensor \"t\": expected a string \"dtype\""},
      {"an unknown dtype", one_tensor("F7", "[1]", "[0,4]", 4),
       "tensor \"t\": unknown dtype \"F7\""},
      {"a dtype in small letters", one_tensor("f32", "[1]", "[0,4]", 4), "unknown dtype \"f32\""},
      {"no shape", contents("{\"t\":{\"dtype\":\"U8\",\"data_offsets\":[0,0]}}"),
       "tensor \"t\": expected a list \"shape\""},
      {"a shape that is a number", one_tensor("F32", "1", "[0,4]", 4), "expected a list \"shape\""},
      {"a negative size", one_tensor("F32", "[-1]", "[0,4]", 4),
       "tensor \"t\": expected sizes that are integers of at least 0"},
      {"a size that is a fraction", one_tensor("F32", "[1.0]", "[0,4]", 4),
       "expected sizes that are integers"},
      {"a size that is true", one_tensor("F32", "[true]", "[0,4]", 4),
       "expected sizes that are integers"},
      {"a size of 2^63", one_tensor("U8", "[9223372036854775808]", "[0,4]", 4),
       "expected sizes that are integers"},
      {"a size of 2^64 + 4", one_tensor("U8", "[18446744073709551620]", "[0,4]", 4), "not JSON"},
      {"sizes that multiply to 2^64 + 4", one_tensor("U8", "[4,4611686018427387905]", "[0,4]", 4),
       "has more than 2^63 bytes"},
      {"sizes that multiply to 2^64", one_tensor("F32", "[4294967296,4294967296]", "[0,0]", 0),
       "tensor \"t\": shape [4294967296, 4294967296] has more than 2^63 bytes"},
      {"bytes that multiply to 2^64", one_tensor("F32", "[4611686018427387904]", "[0,0]", 0),
       "has more than 2^63 bytes"},
      {"large sizes beside a 0",
       one_tensor("U8", "[0,4611686018427387904,4611686018427387904]", "[0,0]", 0),
       "has more than 2^63 bytes"},
      {"a million sizes", one_tensor("U8", "[1" + repeated(",1", 1'000'000) + "]", "[0,1]", 1),
       "tensor \"t\": expected at most 64 dims, got"},
      {"f4 that ends within a byte", one_tensor("F4", "[3]", "[0,2]", 2),
       "tensor \"t\": F4 [3] does not fill its last byte"},
      {"f6 that ends within a byte", one_tensor("F6_E2M3", "[2,3]", "[0,5]", 5),
       "tensor \"t\": F6_E2M3 [2, 3] does not fill its last byte"},
      {"an f6 scalar", one_tensor("F6_E3M2", "[]", "[0,1]", 1), "does not fill its last byte"},
      {"f4 with a byte each", one_tensor("F4", "[4]", "[0,4]", 4), "has 2 bytes, its data 4"},
      {"too few bytes of f6", one_tensor("F6_E3M2", "[4]", "[0,2]", 2), "has 3 bytes, its data 2"},
      {"f6 whose bits multiply to 2^64", one_tensor("F6_E3M2", "[6148914691236517208]", "[0,0]", 0),
       "has 4611686018427387906 bytes, its data 0"},
      {"f4 of 2^62 bytes", one_tensor("F4", "[9223372036854775800]", "[0,4]", 4),
       "has 4611686018427387900 bytes, its data 4"},
      {"no offsets", contents("{\"t\":{\"dtype\":\"U8\",\"shape\":[0]}}"),
       "tensor \"t\": \"data_offsets\": expected two integers"},
      {"one offset", one_tensor("F32", "[1]", "[4]", 4), "\"data_offsets\": expected two integers"},
      {"three offsets", one_tensor("F32", "[1]", "[0,4,4]", 4),
       "\"data_offsets\": expected two integers"},
      {"a negative offset", one_tensor("F32", "[1]", "[-4,0]", 4),
       "\"data_offsets\": expected two integers"},
      {"reversed offsets", one_tensor("F32", "[1]", "[4,0]", 4),
       "tensor \"t\": data at bytes 4 to 0, the file has 4"},
      {"data beyond the file", one_tensor("F32", "[2]", "[0,8]", 4),
       "tensor \"t\": data at bytes 0 to 8, the file has 4: cut short; an incomplete download?"},
      {"data far beyond the file",
       one_tensor("U8", "[4]", "[9223372036854775803,9223372036854775807]", 4),
       "tensor \"t\": data at bytes"},
      {"too few bytes", one_tensor("F32", "[2]", "[0,4]", 4),
       "tensor \"t\": F32 [2] has 8 bytes, its data 4"},
      {"too many bytes", one_tensor("F32", "[2]", "[0,12]", 12), "has 8 bytes, its data 12"},
      {"bytes of nothing", one_tensor("F32", "[0,3]", "[0,4]", 4), "has 0 bytes, its data 4"},
      {"a scalar of no bytes", one_tensor("F32", "[]", "[0,0]", 0), "has 4 bytes, its data 0"},
      {"tensors that overlap", two_tensors("[0,4]", "[2,6]", 6), "tensors \"t\" and \"u\" overlap"},
      {"tensors in the same place", two_tensors("[0,4]", "[0,4]", 4),
       "tensors \"t\" and \"u\" overlap"},
      {"a hole", two_tensors("[0,4]", "[6,10]", 10),
       "tensor \"u\": data begins at byte 6, the tensor before it ends at 4"},
      {"a hole before all", one_tensor("F32", "[1]", "[4,8]", 8), "data begins at byte 4, "},
      {"data of no tensor", one_tensor("F32", "[1]", "[0,4]", 9),
       "the tensors end at byte 4, the data has 9"},
      {"data without tensors", contents("{}", "x"), "the tensors end at byte 0"},
      {"a name twice",
       contents("{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                "\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
                "ab"),
       "tensor \"t\" appears twice"},
      {"a name twice, once escaped",
       contents("{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                "\"\\u0074\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
                "ab"),
       "tensor \"t\" appears twice"},
      {"a name of two lines", contents("{\"a\\nb\":1}"), "tensor \"a\\nb\": expected an object"},
      {"metadata that is text", contents("{\"__metadata__\":\"x\"}"),
       "\"__metadata__\": expected an object"},
      {"metadata of numbers", contents("{\"__metadata__\":{\"x\":1}}"),
       "\"__metadata__\": \"x\" is not a string"},
      {"metadata twice", contents("{\"__metadata__\":{},\"__metadata__\":{}}"),
       "\"__metadata__\" appears twice"},
  };
}

TEST(Safetensors, AFileThatIsNotAsItShouldBeIsAnError) {
  const TemporaryFolder folder;
  for (const Hostile& hostile : hostile_files()) {
    SCOPED_TRACE(hostile.what);
    const std::string path = folder.write("a", hostile.bytes);
    EXPECT_ERROR(SafetensorsReader(path), kFormat, hostile.error);
    EXPECT_ERROR(SafetensorsReader(path), kFormat, "safetensors: " + path + ": ");
  }
}

TEST(Safetensors, ABoolThatIsNoneIsAnErrorWhenItIsRead) {
  const TemporaryFolder folder;
  const SafetensorsReader reader(folder.write(
      "a", contents("{\"t\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}",
                    std::string_view("\0\1\2", 3))));
  EXPECT_ERROR(reader.load("t"), kFormat, "tensor \"t\": expected BOOL values of 0 or 1");
}

/// Every file that a good one becomes by one changed byte is read or refused, and no more.
TEST(Safetensors, NoChangedByteDoesHarm) {
  const TemporaryFolder folder;
  save_safetensors(folder.file("a"),
                   {{"x", scalar(1)}, {"b", Tensor::from(std::vector<float>{1, 2})}}, {{"k", "v"}});
  const std::string good = folder.read("a");
  int refused = 0;
  for (size_t i = 0; i < good.size(); i++) {
    for (const int flip : {0x01, 0x02, 0x10, 0x40, 0x80, 0xff}) {
      std::string changed = good;
      changed[i] = char(changed[i] ^ flip);
      const std::string path = folder.write("b", changed);
      try {
        load_safetensors(path);
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::kFormat) << e.what();
        refused++;
      }
    }
    const std::string path = folder.write("b", good.substr(0, i));
    EXPECT_ERROR(SafetensorsReader(path), kFormat, path);
  }
  EXPECT_GT(refused, 500);
}

TEST(Safetensors, OnTheCpuATensorIsAViewOfTheMappedFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("m.safetensors");
  save_safetensors(path, {{"w", Tensor::from({1.f, 2.f})}});
  TensorSource source;
  {
    const SafetensorsReader reader(path);
    source = reader.source();
    EXPECT_EQ(reader.load("w").data(), reader.load("w").data());
  }
  const Tensor w = source.load("w", Device::cpu());  // the source keeps the file mapped
  source = {};
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{1, 2}));  // and so does the tensor
  EXPECT_FALSE(w.uniquely_owned());
}

TEST(Safetensors, ATensorThatTheFileDoesNotAlignIsCopied) {
  const TemporaryFolder folder;
  const std::string path = folder.file("m.safetensors");
  folder.write("m.safetensors",
               contents(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} )",
                        std::string("\0\0\x80\x3f", 4)));
  const SafetensorsReader reader(path);
  EXPECT_EQ(reader.load("w").item<float>(), 1);
  EXPECT_NE(reader.load("w").data(), reader.load("w").data());
}

TEST(Safetensors, AFileThatIsNotThereIsAnError) {
  const TemporaryFolder folder;
  EXPECT_ERROR(load_safetensors(folder.file("none")), kIo, folder.file("none") + ": No such file");
  EXPECT_ERROR(load_safetensors(folder.write("file", "") + "/a"), kIo, "Not a directory");
  EXPECT_ERROR(
      load_safetensors(folder.path()), kIo,
      folder.path() + ": expected model.safetensors or model.safetensors.index.json in the folder");
}

// ---- folders

/// An index that says of each tensor in which file it is.
std::string index_of(const Metadata& weight_map) {
  std::string text = "{\"metadata\":{\"total_size\":8},\"weight_map\":{";
  for (const auto& [name, file] : weight_map)
    text += (text.back() == '{' ? "\"" : ",\"") + name + "\":\"" + file + "\"";
  return text + "}}";
}

constexpr const char* kIndex = "model.safetensors.index.json";

TEST(Safetensors, AFolderIsItsFile) {
  const TemporaryFolder folder;
  save_safetensors(folder.file("model.safetensors"), {{"x", scalar(3)}});
  folder.write(kIndex, "not looked at");
  EXPECT_EQ(load_safetensors(folder.path()).at("x").item<float>(), 3.0f);
}

TEST(Safetensors, AFolderIsItsShards) {
  const TemporaryFolder folder;
  save_safetensors(folder.file("1.safetensors"), {{"x", scalar(1)}, {"y", scalar(2)}},
                   {{"k", "v"}});
  save_safetensors(folder.file("2.safetensors"), {{"z", scalar(3)}});
  folder.write(kIndex,
               index_of({{"x", "1.safetensors"}, {"y", "1.safetensors"}, {"z", "2.safetensors"}}));
  const SafetensorsReader reader(folder.path());
  EXPECT_EQ(reader.tensors().size(), 3u);
  EXPECT_EQ(reader.metadata().at("k"), "v");
  EXPECT_EQ(reader.load("y").item<float>(), 2.0f);
  EXPECT_EQ(reader.load("z").item<float>(), 3.0f);
}

TEST(Safetensors, AnIndexThatIsNotAsItShouldBeIsAnError) {
  const TemporaryFolder folder;
  save_safetensors(folder.file("1"), {{"x", scalar(1)}});
  save_safetensors(folder.file("2"), {{"x", scalar(1)}, {"z", scalar(1)}});
  const std::pair<std::string, const char*> cases[] = {
      {"{", "expected JSON"},
      {"[]", "expected a JSON object"},
      {"{}", "\"weight_map\": expected an object, got nothing"},
      {"{\"weight_map\":[]}", "\"weight_map\": expected an object, got a list"},
      {"{\"weight_map\":{\"x\":1}}", "\"x\" does not name a file"},
      {index_of({{"x", "../1"}}), "\"../1\" is not a file in the folder"},
      {index_of({{"x", "/etc/passwd"}}), "is not a file in the folder"},
      {index_of({{"x", ".."}}), "is not a file in the folder"},
      {index_of({{"x", ""}}), "is not a file in the folder"},
      {index_of({{"x", "1\\u0000"}}), "is not a file in the folder"},
      {index_of({{"y", "1"}}), "tensor \"y\" is not in "},
      {index_of({{"x", "1"}, {"z", "1"}}), "tensor \"z\" is not in "},
      {index_of({{"x", "1"}, {"z", "2"}}), "tensor \"x\" appears twice"},
  };
  for (const auto& [index, error] : cases) {
    SCOPED_TRACE(index);
    folder.write(kIndex, index);
    EXPECT_ERROR(SafetensorsReader(folder.path()), kFormat, error);
  }
  folder.write(kIndex, index_of({{"x", "3"}}));
  EXPECT_ERROR(SafetensorsReader(folder.path()), kIo, folder.file("3") + ": No such file");
}

}  // namespace
}  // namespace wick
