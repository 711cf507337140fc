#include "models/names/tensor_plan.h"

#include <algorithm>

#include "../expect.h"
#include "wick/ops/arrange.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// A file of tensors [rows], whose loads are counted.
struct CountedFile {
  std::map<std::string, int> loads;
  TensorSource source;

  explicit CountedFile(const std::map<std::string, std::vector<float>>& tensors) {
    source.where = "m";
    for (const auto& [name, values] : tensors)
      source.tensors[name] = {DType::kF32, {int64_t(values.size())}};
    source.load = [this, tensors](const std::string& name, const Device& device) {
      loads[name]++;
      return Tensor::from(tensors.at(name)).to(device);
    };
  }
};

TensorPlan::Make row(int64_t at) {
  return [at](const std::vector<Tensor>& inputs) { return narrow(inputs[0], 0, at, 1); };
}
std::vector<float> load(const TensorSource& source, const std::string& name) {
  return source.load(name, Device::cpu()).to_vector<float>();
}

TEST(TensorPlan, ReadsATensorOnceInWhateverOrderItsPartsAreAskedFor) {
  CountedFile file({{"abc", {1, 2, 3}}, {"de", {4, 5}}});
  TensorPlan plan(file.source);
  int64_t at = 0;
  for (const char* name : {"a", "b", "c"}) plan.add(name, {"abc"}, {DType::kF32, {1}}, row(at++));
  plan.add("d", {"de"}, {DType::kF32, {1}}, row(0));
  plan.add("e", {"de"}, {DType::kF32, {1}}, row(1));
  plan.drop("abc");
  plan.drop("de");
  std::vector<std::string> names = plan.names();
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
  do {
    file.loads.clear();
    const TensorSource source = plan.source();
    std::map<std::string, std::vector<float>> values;
    for (const std::string& name : names) values[name] = load(source, name);
    EXPECT_EQ(values, (std::map<std::string, std::vector<float>>{
                          {"a", {1}}, {"b", {2}}, {"c", {3}}, {"d", {4}}, {"e", {5}}}));
    EXPECT_EQ(file.loads, (std::map<std::string, int>{{"abc", 1}, {"de", 1}}));
  } while (std::next_permutation(names.begin(), names.end()));
}

TEST(TensorPlan, MakesATensorOfOthersThatAreMadeThemselves) {
  CountedFile file({{"x", {1, 2}}, {"y", {3, 4}}});
  TensorPlan plan(file.source);
  plan.rename([](const std::string& name) { return name == "x" ? "first" : "second"; });
  plan.change("first", {DType::kF32, {1}}, row(1));
  plan.add("all", {"first", "second"}, {DType::kF32, {3}},
           [](const std::vector<Tensor>& inputs) { return cat(inputs, 0); });
  const TensorSource source = plan.source();
  EXPECT_EQ(load(source, "all"), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(load(source, "first"), (std::vector<float>{2}));
  EXPECT_EQ(load(source, "all"), (std::vector<float>{2, 3, 4}));
}

TEST(TensorPlan, OneNameOfTwoTensorsIsAnError) {
  CountedFile file({{"x", {1}}, {"y", {2}}});
  TensorPlan plan(file.source);
  EXPECT_ERROR(plan.rename([](const std::string&) { return "z"; }), kFormat,
               "m: tensors \"x\" and \"y\" have one meaning");
  EXPECT_ERROR(plan.add("x", {"y"}, {DType::kF32, {1}}, row(0)), kFormat,
               "m: tensors \"x\" and \"y\" have one meaning");
  EXPECT_ERROR(plan.info("w"), kFormat, "m: no tensor is named \"w\"");
}

}  // namespace
}  // namespace wick
