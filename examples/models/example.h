// The parts that the programs of this folder share: their command line, the device and dtype, and the comparison of a small
// model's results with transformers' (tests/golden/examples).
#pragma once
#include <wick/wick.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

class Example {
 public:
  Example(int argc, char** argv) {
    for (int i = 1; i < argc; i++) {
      const std::string flag = argv[i];
      if (!flag.starts_with("-") && path_.empty()) {
        path_ = flag;
        continue;
      }
      if (i + 1 == argc) fail_usage(flag);
      const std::string value = argv[++i];
      if (flag == "-p")
        prompt_ = value;
      else if (flag == "--image")
        images_.push_back(wick::read_image(value));
      else if (flag == "--device")
        load_.device = wick::Device::parse(value);
      else if (flag == "--dtype")
        load_.dtype = wick::dtype_of_name(value);
      else if (flag == "--check")
        golden_ = wick::load_safetensors(value);
      else
        fail_usage(flag);
    }
    if (path_.empty()) fail_usage("");
  }

  /// The model of the command line. Unless --dtype says otherwise it computes in bf16 on AMD's and NVIDIA's cards, and in f32 on
  /// the CPU and the emulator.
  wick::LanguageModel load() {
    if (!load_.dtype) load_.dtype = load_.device.preferred_dtype();
    wick::LanguageModel model =
        wick::load_model(wick::fetch_model(path_, {.device = load_.device}), load_);
    for (const std::string& warning : model.warnings) std::cerr << "warning: " << warning << "\n";
    std::cerr << model.facts().model_type << " on " << wick::to_string(load_.device) << " in "
              << wick::dtype_name(*load_.dtype) << "\n";
    return model;
  }

  /// -p, or the example's own text.
  std::string prompt(const std::string& otherwise) const { return prompt_.value_or(otherwise); }
  /// The images of --image, at least one.
  const std::vector<wick::Image>& images() const {
    if (images_.empty()) throw std::runtime_error("expected --image FILE: PNG, JPEG or WebP");
    return images_;
  }
  /// The length of an answer; a check takes few tokens of a small model.
  int64_t max_tokens(int64_t otherwise) const { return golden_ ? 8 : otherwise; }
  /// The options of a session. A check takes the likeliest tokens and no token ends the text, as in the golden, and keeps the
  /// first logits from which the session samples.
  wick::SessionOptions session(wick::SessionOptions options) {
    if (!golden_) return options;
    options.sampling = {.temperature = 0};
    options.stop_ids = std::vector<int64_t>();
    options.on_logits = [this, is_first = true](const wick::Tensor& logits) mutable {
      if (std::exchange(is_first, false)) logits_.push_back(logits.to(wick::Device::cpu()));
      return logits;
    };
    return options;
  }

  /// A result for the check; the example prints its results itself.
  void result(const std::string& name, const wick::Tensor& values) {
    results_[name] = values.to(wick::Device::cpu());
  }
  /// All tokens of a session's sequences, prompts included: tokens.0, tokens.1 ... over all sessions.
  void result(const wick::Session& session) {
    for (int64_t i = 0; i < session.options().sequences; i++) {
      const std::vector<int64_t> tokens = session.history(i);
      result("tokens." + std::to_string(sequences_++),
             wick::Tensor::from(tokens, {int64_t(tokens.size())}));
    }
  }

  /// Compares the results with the golden's, if there is one, and prints a line for each. Returns whether all match.
  bool matches() {
    if (!golden_) return true;
    if (!logits_.empty()) results_["logits"] = wick::cat(logits_);
    bool all = true;
    for (const auto& [name, expected] : *golden_) {
      const auto got = results_.find(name);
      if (got == results_.end())
        throw std::runtime_error("the example has no result \"" + name + "\"");
      all &= name.starts_with("tokens.") ? same_tokens(name, got->second, expected)
                                         : close(name, got->second, expected);
    }
    std::printf("%s\n", all ? "matches" : "DIFFERS");
    return all;
  }

 private:
  [[noreturn]] static void fail_usage(const std::string& flag) {
    throw std::runtime_error((flag.empty() ? "" : "unknown or incomplete flag \"" + flag + "\"; ") +
                             "usage: MODEL [-p TEXT] [--image FILE ...] [--device D] [--dtype "
                             "f32|bf16|f16] [--check GOLDEN]");
  }

  static bool same_tokens(const std::string& name, const wick::Tensor& got,
                          const wick::Tensor& expected) {
    const auto a = got.to_vector<wick::int64>(), b = expected.to_vector<wick::int64>();
    const auto first = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
    std::printf("%s: the first %td of %zu are equal, expected %zu\n", name.c_str(), first, a.size(),
                b.size());
    return a == b;
  }
  /// Whether the values differ at most by so much of the largest: 1e-4 in f32; in 16 bits as many roundings, 4 bits.
  bool close(const std::string& name, const wick::Tensor& got, const wick::Tensor& expected) const {
    const double tolerance = load_.dtype == wick::DType::kF32   ? 1e-4
                             : load_.dtype == wick::DType::kF16 ? 1.0 / 128
                                                                : 1.0 / 16;
    if (got.shape() != expected.shape())
      throw std::runtime_error(name + " has another shape than the golden's");
    const auto a = got.to(wick::DType::kF32).to_vector<float>(),
               b = expected.to(wick::DType::kF32).to_vector<float>();
    double most = 0, largest = 0;
    bool finite = true;
    for (size_t i = 0; i < a.size(); i++) {
      finite &= std::isfinite(a[i]);
      most = std::max(most, std::abs(double(a[i]) - double(b[i])));
      largest = std::max(largest, std::abs(double(b[i])));
    }
    std::printf("%s: max difference %.2g, at most %.2g\n", name.c_str(), most, tolerance * largest);
    return finite && most <= tolerance * largest;
  }

  std::string path_;
  std::optional<std::string> prompt_;
  std::vector<wick::Image> images_;
  wick::LoadOptions load_ = {.device = wick::Device::best()};
  std::optional<wick::NamedTensors> golden_;
  wick::NamedTensors results_;
  std::vector<wick::Tensor> logits_;  // of each session, [sequences, vocab_size]
  int sequences_ = 0;
};

/// Writes a piece of a text as it comes.
inline void print(std::string_view piece) { std::cout << piece << std::flush; }

/// Runs an example: 0 if it did its job and, with --check, its results match; 1 if they differ; 2 after an error.
inline int run(int argc, char** argv, void (*body)(Example&)) try {
  Example example(argc, argv);
  body(example);
  std::cout << "\n";
  return example.matches() ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s: %s\n", std::filesystem::path(argv[0]).filename().c_str(), e.what());
  return 2;
}
