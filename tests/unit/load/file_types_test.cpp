#include "load/file_types.h"

#include <sstream>

#include "../expect.h"
#include "wick/io/json.h"

namespace wick {
namespace {

Shape shape_of(const std::string& text) {
  std::istringstream sizes(text);
  Shape shape;
  for (std::string size; std::getline(sizes, size, 'x');) shape.push_back(std::stoll(size));
  return shape;
}

TEST(FileTypes, TensorsHaveTheTypesThatLlamaQuantizeGivesThem) {
  const Settings golden = read_json(WICK_GOLDEN "/file_types/expected.json");
  const std::vector<std::string> types = golden.texts("types");
  EXPECT_EQ(types.size(), std::size(kFileTypes));
  for (const Setting& item : std::get<Setting::List>(golden.find("models")->value)) {
    const Settings& model = std::get<Settings>(item.value);
    const std::string architecture = model.text("architecture");
    SCOPED_TRACE(architecture + " " + std::to_string(model.integer("layers")));
    Settings metadata;
    metadata.set("general.architecture", architecture);
    metadata.set(architecture + ".block_count", model.integer("layers"));
    metadata.set(architecture + ".attention.head_count", model.integer("heads"));
    metadata.set(architecture + ".attention.head_count_kv", 1);
    if (model.integer("experts") > 0)
      metadata.set(architecture + ".expert_count", model.integer("experts"));
    std::map<std::string, TensorInfo> tensors;
    std::map<std::string, std::vector<std::string>> expected;
    for (const std::string& row : model.texts("tensors")) {
      std::istringstream words(row);
      std::string name, sizes;
      words >> name >> sizes;
      const Shape shape = shape_of(sizes);
      tensors[name] = {shape.size() == 1 ? DType::kF32 : DType::kF16, shape};
      for (std::string type; words >> type;) expected[name].push_back(type);
    }
    for (size_t t = 0; t < types.size(); t++) {
      const TensorTypes found = tensor_types(file_type_of(types[t]), metadata, tensors);
      for (const auto& [name, list] : expected)
        EXPECT_EQ(dtype_name(found.dtypes.at(name)), list.at(t)) << types[t] << " " << name;
    }
  }
}

TEST(FileTypes, RowsThatAreNoWholeBlocksAreCounted) {
  const std::map<std::string, TensorInfo> tensors = {
      {"token_embd.weight", {DType::kF16, {4, 256}}},
      {"blk.0.attn_q.weight", {DType::kF16, {4, 96}}},
      {"blk.0.ffn_up.weight", {DType::kF16, {4, 40}}}};
  EXPECT_EQ(tensor_types(file_type_of("q6_k"), Settings(), tensors).fallbacks, 2);
  EXPECT_EQ(tensor_types(file_type_of("f16"), Settings(), tensors).fallbacks, 0);
}

TEST(FileTypes, NamesMayBeInUpperCaseAndShort) {
  EXPECT_STREQ(file_type_of("Q8_0").name, "q8_0");
  EXPECT_STREQ(file_type_of("Q2_K").name, "q2_k");
  EXPECT_STREQ(file_type_of("q3_k").name, "q3_k_m");
  EXPECT_STREQ(file_type_of("q4_k").name, "q4_k_m");
  EXPECT_STREQ(file_type_of("Q5_K").name, "q5_k_m");
  EXPECT_ERROR(
      file_type_of("q4"), kInvalidArgument,
      "expected a type of f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, mxfp4_moe, "
      "iq4_xs, iq4_nl, q2_k, q3_k_s, q3_k_l, q3_k_m, q4_k_s, q4_k_m, q5_k_s, q5_k_m, q6_k, "
      "tq1_0, tq2_0; got q4");
}

}  // namespace
}  // namespace wick
