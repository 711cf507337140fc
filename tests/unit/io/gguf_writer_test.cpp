#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "../expect.h"
#include "../temporary_folder.h"
#include "wick/io/file.h"
#include "wick/io/gguf.h"
#include "wick/io/json.h"
#include "wick/ops/cast.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

using test::TemporaryFolder;

std::string bytes_of(const Tensor& x) {
  std::string bytes(size_t(bytes_of(x.dtype(), x.numel())), '\0');
  x.read(bytes.data());
  return bytes;
}

Tensor counted(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); i++) values[i] = float(i) - 3.5f;
  return Tensor::from(values, shape);
}

const TensorSource kNoTensors = source_of({}, "test");

TEST(GgufWriter, EveryTypeOfValueComesBackWithItsType) {
  const TemporaryFolder folder;
  const std::vector<GgufField> fields = {
      {"u8", 255, GgufType::kU8},
      {"i8", -128, GgufType::kI8},
      {"u16", 65535, GgufType::kU16},
      {"i16", -32768, GgufType::kI16},
      {"u32", int64_t(4294967295), GgufType::kU32},
      {"i32", int64_t(INT32_MIN), GgufType::kI32},
      {"u64", INT64_MAX, GgufType::kU64},
      {"i64", INT64_MIN, GgufType::kI64},
      {"f32", 0.15625, GgufType::kF32},
      {"f64", 0.1, GgufType::kF64},
      {"infinite", std::numeric_limits<double>::infinity(), GgufType::kF32},
      {"flag", true, GgufType::kBool},
      {"text", "a \"line\"\nGr\u00fc\u00dfe", GgufType::kText},
      {"bytes", std::string("\xff\0\xfe", 3), GgufType::kText},
      {"u16s", Setting::List{1, 65535}, GgufType::kU16},
      {"f32s", Setting::List{0.5, -2.0}, GgufType::kF32},
      {"flags", Setting::List{true, false}, GgufType::kBool},
      {"texts", Setting::List{"a", "", "\u00e9"}, GgufType::kText},
      {"nothing", Setting::List{}, GgufType::kI32},
  };
  save_gguf(folder.file("a.gguf"), fields, kNoTensors);
  const GgufReader reader(folder.file("a.gguf"));
  EXPECT_EQ(reader.version(), 3);
  const std::vector<GgufField> read = reader.fields();
  ASSERT_EQ(read.size(), fields.size());
  for (size_t i = 0; i < fields.size(); i++) {
    EXPECT_EQ(read[i].key, fields[i].key);
    EXPECT_EQ(read[i].type, fields[i].type) << fields[i].key;
    EXPECT_EQ(read[i].value.value.index(), fields[i].value.value.index()) << fields[i].key;
    EXPECT_EQ(to_json(read[i].value, -1), to_json(fields[i].value, -1)) << fields[i].key;
  }
}

TEST(GgufWriter, IntegersAreTakenForReals) {
  const TemporaryFolder folder;
  save_gguf(folder.file("a.gguf"), {{"theta", 10000, GgufType::kF32}}, kNoTensors);
  EXPECT_EQ(GgufReader(folder.file("a.gguf")).metadata().real("theta"), 10000);
}

TEST(GgufWriter, MetadataHasTheBytesThatGgufPyWrites) {
  const TemporaryFolder folder;
  for (const char* model : {"llama_yarn", "gemma3_bf16", "qwen3"}) {
    SCOPED_TRACE(model);
    const std::string golden = std::string(WICK_GOLDEN "/decoders/") + model + "/model.gguf";
    const GgufReader reader(golden);
    save_gguf(folder.file("none.gguf"), reader.fields(), kNoTensors);
    save_gguf(folder.file("all.gguf"), reader.fields(), reader.source());
    // The order of the tensors may differ; the values of the keys end before them.
    const std::string theirs = read_file(golden), all = folder.read("all.gguf");
    const size_t end_of_keys = folder.read("none.gguf").find_last_not_of('\0') + 1;
    EXPECT_EQ(all.substr(0, end_of_keys), theirs.substr(0, end_of_keys));
    EXPECT_EQ(all.size(), theirs.size());
  }
}

TEST(GgufWriter, TensorsOfEveryDTypeComeBack) {
  const TemporaryFolder folder;
  NamedTensors tensors;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBf16, DType::kF64, DType::kI8,
                            DType::kI16, DType::kI32, DType::kI64})
    tensors[std::string(dtype_name(dtype))] = cast(counted({3, 5}), dtype);
  for (int d = 0; d < kNumDTypes; d++) {
    const DType dtype = DType(d);
    if (!is_block(dtype)) continue;
    std::string bytes(size_t(bytes_of(dtype, 512)), 'x');
    for (size_t i = 0; i < bytes.size(); i++) bytes[i] = char(i * 37 + size_t(d));
    tensors[std::string(dtype_name(dtype))] = Tensor::from_bytes(bytes.data(), dtype, {2, 256});
  }
  tensors["scalar"] = counted({});
  tensors["four"] = counted({2, 1, 3, 4});
  tensors["turned"] = transpose(counted({4, 7}));
  for (const int64_t alignment : {32, 128}) {
    save_gguf(folder.file("a.gguf"), {{"general.alignment", alignment, GgufType::kU32}},
              source_of(tensors, "test"));
    const GgufReader reader(folder.file("a.gguf"));
    ASSERT_EQ(reader.tensors().size(), tensors.size());
    for (const auto& [name, tensor] : tensors) {
      const Tensor read = reader.load(name);
      EXPECT_EQ(read.dtype(), tensor.dtype()) << name;
      EXPECT_EQ(read.shape(), tensor.shape()) << name;
      EXPECT_EQ(bytes_of(read), bytes_of(tensor)) << name;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(read.data()) % uintptr_t(alignment), 0u) << name;
    }
  }
}

TEST(GgufWriter, TensorsOfALayerLieTogetherAndProgressCountsBytes) {
  const TemporaryFolder folder;
  NamedTensors tensors;
  for (const char* name : {"blk.10.a", "blk.2.b", "blk.2.a", "token_embd.weight"})
    tensors[name] = counted({1});
  TensorSource source = source_of(tensors, "test");
  std::string order;
  source.load = [load = source.load, &order](const std::string& name, const Device& device) {
    order += name + " ";
    return load(name, device);
  };
  std::vector<int64_t> done;
  save_gguf(folder.file("a.gguf"), {}, source, [&](int64_t bytes, int64_t total) {
    done.push_back(bytes);
    EXPECT_EQ(total, 16);
  });
  EXPECT_EQ(order, "token_embd.weight blk.2.a blk.2.b blk.10.a ");
  EXPECT_EQ(done, (std::vector<int64_t>{4, 8, 12, 16}));
}

TEST(GgufWriter, AFileThatIsNotFinishedLeavesTheOldOne) {
  const TemporaryFolder folder;
  folder.write("a.gguf", "old");
  const TensorSource source = source_of({{"x", counted({4})}, {"y", counted({4})}}, "test");
  EXPECT_THROW(save_gguf(folder.file("a.gguf"), {}, source,
                         [](int64_t, int64_t) { throw std::runtime_error("stop"); }),
               std::runtime_error);
  EXPECT_EQ(folder.read("a.gguf"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.gguf"});
}

TEST(GgufWriter, AFieldThatTheFormatCannotHoldIsAnError) {
  const TemporaryFolder folder;
  const struct {
    GgufField field;
    const char* error;
  } rows[] = {
      {{"k", 256, GgufType::kU8}, "\"k\": expected an unsigned integer of 8 bits, got 256"},
      {{"k", -1, GgufType::kU64}, "\"k\": expected an unsigned integer of 64 bits, got -1"},
      {{"k", -129, GgufType::kI8}, "\"k\": expected a signed integer of 8 bits, got -129"},
      {{"k", 0.5, GgufType::kI32},
       "\"k\": expected a signed integer of 32 bits, got the number 0.5"},
      {{"k", "1", GgufType::kF32}, "\"k\": expected a number, got"},
      {{"k", 1, GgufType::kBool}, "\"k\": expected a bool, got 1"},
      {{"k", 1, GgufType::kText}, "\"k\": expected a string, got 1"},
      {{"k", Setting::List{1, "a"}, GgufType::kI32}, "\"k\": expected a signed integer"},
      {{"k", Setting::List{Setting::List{1}}, GgufType::kList}, "\"k\": ggml reads no lists"},
      {{"k", Setting::List{Setting::List{1}}, GgufType::kI32}, "\"k\": expected a signed"},
      {{"", 1, GgufType::kI32}, "key \"\": expected a name of 1 to 65535 bytes"},
      {{"\xff", 1, GgufType::kI32}, "expected a name of 1 to 65535 bytes in UTF-8"},
      {{std::string(65536, 'a'), 1, GgufType::kI32}, "expected a name of 1 to 65535 bytes"},
      {{"general.alignment", 48, GgufType::kU32}, "expected a power of two below 2^32"},
      {{"general.alignment", 64, GgufType::kU64}, "expected a power of two below 2^32"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.error);
    EXPECT_ERROR(save_gguf(folder.file("a.gguf"), {row.field}, kNoTensors), kInvalidArgument,
                 row.error);
  }
  const GgufField twice = {"k", 1, GgufType::kI32};
  EXPECT_ERROR(save_gguf(folder.file("a.gguf"), {twice, twice}, kNoTensors), kInvalidArgument,
               "key \"k\" appears twice");
  EXPECT_TRUE(folder.names().empty());
}

TEST(GgufWriter, ATensorThatTheFormatCannotHoldIsAnError) {
  const TemporaryFolder folder;
  const auto save = [&](const std::string& name, const Tensor& tensor) {
    save_gguf(folder.file("a.gguf"), {}, source_of({{name, tensor}}, "test"));
  };
  EXPECT_ERROR(save("x", counted({1, 1, 1, 1, 1})), kInvalidArgument, "in at most 4 dims");
  EXPECT_ERROR(save("x", counted({2, 0})), kInvalidArgument, "tensor \"x\": expected elements");
  EXPECT_ERROR(save("\xff", counted({1})), kInvalidArgument, "in UTF-8");
  EXPECT_ERROR(save("x", cast(counted({2}), DType::kU8)), kUnsupported, "ggml has no type for u8");
  TensorSource other = source_of({{"x", counted({4})}}, "test");
  other.tensors["x"].shape = {5};
  EXPECT_ERROR(save_gguf(folder.file("a.gguf"), {}, other), kInvalidArgument,
               "tensor \"x\": expected f32 [5], got f32 [4]");
  EXPECT_TRUE(folder.names().empty());
}

TEST(GgufWriter, APlaceThatCannotBeWrittenIsAnError) {
  const TemporaryFolder folder;
  EXPECT_ERROR(save_gguf(folder.file("none/a.gguf"), {}, kNoTensors), kIo, "none/a.gguf");
  EXPECT_ERROR(save_gguf(folder.path(), {}, kNoTensors), kIo, "not a regular file");
}

}  // namespace
}  // namespace wick
