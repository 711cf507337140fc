// The names that the tables of docs use in C++, and a folder with the files that they name.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "../unit/temporary_folder.h"
#include "wick/wick.h"

namespace wick::test {

/// Works in a folder of its own, which has a model and which the programs on the pages write into.
class InAFolder : public testing::Test {
 protected:
  InAFolder() : before_(std::filesystem::current_path()) {
    std::filesystem::create_directories(folder_.file("ORG/NAME"));
    std::filesystem::current_path(folder_.path());
    const std::filesystem::path golden =
        std::filesystem::path(WICK_GOLDEN) / "decoders/llama_linear";
    std::filesystem::copy_file(golden / "model.gguf", "model.gguf");
    for (const char* name : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(golden / name, std::filesystem::path("ORG/NAME") / name);
    std::string vocabulary;
    for (int i = 0; i < 48; i++)
      vocabulary += (i ? ", \"" : "\"") + std::string(1, char(i < 26 ? 'a' + i : 'A' + i - 26)) +
                    "\": " + std::to_string(i);
    folder_.write("ORG/NAME/tokenizer.json",
                  R"({"model": {"type": "BPE", "vocab": {)" + vocabulary +
                      R"(}, "merges": []}, "decoder": {"type": "Fuse"}, "added_tokens": []})");
    folder_.write("ORG/NAME/chat_template.jinja",
                  "{% for m in messages %}{{ m.role[0] }}{{ m.content }}{% endfor %}"
                  "{% if add_generation_prompt %}A{% endif %}");
    save_safetensors("tensors.safetensors", {{"weight", ones({4, 3})}, {"bias", zeros({4})}});
  }
  ~InAFolder() override { std::filesystem::current_path(before_); }

 private:
  TemporaryFolder folder_;
  std::filesystem::path before_;
};

/// The names that the tables use.
class Page : public InAFolder {
 protected:
  /// Runs f, which may fail because the machine lacks the card that it names.
  static void expect_here_or_missing(const auto& f) {
    try {
      f();
    } catch (const Error& e) {
      EXPECT_TRUE(e.code() == ErrorCode::kModuleMissing || e.code() == ErrorCode::kRuntimeMissing ||
                  e.code() == ErrorCode::kDeviceMissing)
          << e.what();
    }
  }

  const Device device = Device::cpu();
  const Tensor x = Tensor::from({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}), y = rand({2, 3}),
               v = Tensor::from({1.f, 2.f, 3.f}), t = randn({2, 3, 4}), e = randn({4, 5}),
               k = randn({4, 3}), row = zeros({1, 3}), part = zeros({1, 2}), mask = x > 2,
               loss = sum(x), ids = Tensor::from<int64_t>({1, 0}),
               index = Tensor::from<int64_t>({{0, 1, 2}, {2, 1, 0}}), targets = ids,
               images = randn({1, 3, 8, 8}), kernel = randn({4, 3, 3, 3}), e32 = randn({4, 32}),
               x32 = randn({2, 32}), q = randn({1, 2, 4, 8});
  const RopeTables tables = rope_tables(4, 8, 10000);
  Var w{randn({4, 3})};
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  float data[6] = {};
  const std::vector<int64_t> history{0, 1, 2};
  const std::string path = "tensors.safetensors", gguf = "model.gguf", text = "abc";
  const NamedTensors tensors = load_safetensors(path);
  const TensorSource source = SafetensorsReader(path).source();
  Parameters parameters{{.trainable = true}};
  const QTensor q8 = QTensor::quantize(e32, DType::kQ8_0);
  const std::string code = R"(extern "C" void cube(const WickTensor*, int, WickTensor*, int) {})";

  struct Cube : InplaceOp {
    const char* name() const override { return "cube"; }
    void cpu(HostTarget, std::span<const HostView>) const override {}
  };
  const Cube op;
  const LanguageModel model = load_model("ORG/NAME", {.device = device});
  Session session{model, {.capacity = 64}};
  const Tensor tokens = Tensor::from<int64_t>({{0, 1, 2}}), positions = tokens;
};

}  // namespace wick::test
