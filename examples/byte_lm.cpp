// Trains a small language model on real text and lets it write: a tour of wick's C++ interface.
//
// The model sees the last 8 bytes of a text and says how likely each next byte is. Each byte
// becomes a vector (row gather), the eight vectors go through two hidden layers with silu, and the
// loss is the cross entropy of the byte that came. Data are the licence texts that every Debian
// machine carries; the last tenth of each is held out. counting_model.cpp has the losses of models
// that only count.
//
//   byte_lm [--device auto|cpu|rocm:0|cuda:0|emu:32] [--steps 2000] [--batch 512] [--data FOLDER]
//   [--validate 1] [--write 300]
//           [--seed 1]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "wick/wick.h"

using namespace wick;

constexpr int64_t kContext = 8, kEmbedding = 32, kHidden = 512, kBytes = 256;

// ---- data

struct Texts {
  std::vector<std::string> train, held_out;
};

Texts read_texts(const std::string& folder) {
  Texts texts;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const size_t cut = text.size() * 9 / 10;
    texts.train.push_back(text.substr(0, cut));
    texts.held_out.push_back(text.substr(cut));
  }
  return texts;
}

/// Contexts [N, 8] and the bytes that follow them [N], as ids.
struct Batch {
  Tensor contexts, targets;
};

/// Positions are (text, offset of the target); bytes before a text's begin count as 0.
Batch make_batch(const std::vector<std::string>& texts,
                 const std::vector<std::pair<size_t, size_t>>& positions, const Device& device) {
  std::vector<int64> contexts, targets;
  for (const auto& [text, offset] : positions) {
    for (int64_t back = kContext; back > 0; back--)
      contexts.push_back(int64_t(offset) < back ? 0 : uint8_t(texts[text][offset - size_t(back)]));
    targets.push_back(uint8_t(texts[text][offset]));
  }
  const int64_t n = int64_t(positions.size());
  return {Tensor::from(contexts, {n, kContext}, device), Tensor::from(targets, {n}, device)};
}

// ---- model

struct Model {
  Var embedding, w1, b1, w2, b2, w3, b3;

  explicit Model(const Device& device) {
    // A weight [out, in] with deviation 1/sqrt(in), so that activations keep their size.
    const auto weight = [&](int64_t out, int64_t in) {
      return Var(randn({out, in}, {.device = device}, 0, 1 / std::sqrt(double(in))));
    };
    const auto bias = [&](int64_t out) { return Var(zeros({out}, {.device = device})); };
    embedding = Var(randn({kBytes, kEmbedding}, {.device = device}, 0, 0.5));
    w1 = weight(kHidden, kContext * kEmbedding), b1 = bias(kHidden);
    w2 = weight(kHidden, kHidden), b2 = bias(kHidden);
    w3 = weight(kBytes, kHidden), b3 = bias(kBytes);
  }

  /// contexts [N, 8] -> logits [N, 256].
  Tensor forward(const Tensor& contexts) const {
    const Tensor rows = wick::embedding(embedding, contexts);  // [N, 8, 32]
    Tensor h = reshape(rows, {contexts.size(0), kContext * kEmbedding});
    h = silu(linear(h, w1, b1));
    h = silu(linear(h, w2, b2));
    return linear(h, w3, b3);
  }

  NamedVars parameters() const {
    return {{"embedding", embedding},
            {"w1", w1},
            {"b1", b1},
            {"w2", w2},
            {"b2", b2},
            {"w3", w3},
            {"b3", b3}};
  }
};

// ---- training, validation, writing

double held_out_loss(const Model& model, const std::vector<std::string>& texts,
                     const Device& device) {
  const NoGrad off;
  std::vector<std::pair<size_t, size_t>> positions;
  for (size_t t = 0; t < texts.size(); t++)
    for (size_t i = 0; i < texts[t].size(); i++) positions.push_back({t, i});
  double total = 0;
  for (size_t from = 0; from < positions.size(); from += 4096) {
    const auto end = positions.begin() + ptrdiff_t(std::min(from + 4096, positions.size()));
    const std::vector<std::pair<size_t, size_t>> part(positions.begin() + ptrdiff_t(from), end);
    const Batch batch = make_batch(texts, part, device);
    total += cross_entropy(model.forward(batch.contexts), batch.targets).item<float>() *
             double(part.size());
  }
  return total / double(positions.size());
}

std::string write_text(const Model& model, std::string text, int length, const Device& device,
                       std::mt19937& random) {
  const NoGrad off;
  for (int i = 0; i < length; i++) {
    text.push_back(' ');  // the byte to come
    const Batch batch = make_batch({text}, {{0, text.size() - 1}}, device);
    const auto p = softmax(model.forward(batch.contexts) / 0.7)
                       .to_vector<float>();  // a temperature below 1: bolder
    text.back() = char(std::discrete_distribution<int>(p.begin(), p.end())(random));
  }
  return text;
}

int main(int argc, char** argv) try {
  std::string device_name = "auto", data = "/usr/share/common-licenses";
  int steps = 2000, batch_size = 512, validate = 1, write = 300;
  unsigned seed = 1;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--device" && !value.empty())
      device_name = value;
    else if (flag == "--data" && !value.empty())
      data = value;
    else if (flag == "--steps" && std::atoi(value.c_str()) > 0)
      steps = std::atoi(value.c_str());
    else if (flag == "--batch" && std::atoi(value.c_str()) > 0)
      batch_size = std::atoi(value.c_str());
    else if (flag == "--validate" && (value == "0" || value == "1"))
      validate = value == "1";
    else if (flag == "--write" && !value.empty())
      write = std::atoi(value.c_str());
    else if (flag == "--seed" && !value.empty())
      seed = unsigned(std::atoi(value.c_str()));
    else
      return std::fprintf(stderr, "byte_lm: unknown or incomplete flag \"%s\"\n", flag.c_str()), 2;
  }
  const Device device = Device::parse(device_name);
  device.set_seed(seed);
  std::mt19937 random(seed);

  const Texts texts = read_texts(data);
  std::vector<std::pair<size_t, size_t>> positions;
  for (size_t t = 0; t < texts.train.size(); t++)
    for (size_t i = 0; i < texts.train[t].size(); i++) positions.push_back({t, i});
  if (positions.size() < size_t(batch_size))
    return std::fprintf(stderr, "byte_lm: %s holds too little text\n", data.c_str()), 2;
  std::printf("%zu texts, %zu bytes to learn from, device %s\n", texts.train.size(),
              positions.size(), to_string(device).c_str());

  Model model(device);
  AdamW optimizer(model.parameters(), {.beta2 = 0.98, .weight_decay = 0.3, .clip_norm = 0});
  const CosineRate rate{.peak = 5e-3, .warmup = 100, .steps = steps};
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; step++) {
    std::vector<std::pair<size_t, size_t>> chosen;
    for (int i = 0; i < batch_size; i++) chosen.push_back(positions[random() % positions.size()]);
    const Batch batch = make_batch(texts.train, chosen, device);
    const Tensor loss = cross_entropy(model.forward(batch.contexts), batch.targets);
    backward(loss);
    optimizer.step(rate.at(step));
    if (step < 5 || (step + 1) % 200 == 0)
      std::printf("step %4d  loss %.5f\n", step + 1, double(loss.item<float>()));
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%.1f ms a step\n", 1e3 * seconds / steps);

  if (validate) {
    std::printf("held-out loss: %.3f nats per byte\n",
                held_out_loss(model, texts.held_out, device));
  }
  if (write > 0)
    std::printf("---\n%s\n---\n", write_text(model, "This License", write, device, random).c_str());
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "byte_lm: %s\n", e.what());
  return 2;
}
