// wick-bench: wick's side. Usage: wick-bench [DEVICE].
#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include "side.h"
#include "wick/abi/backend.h"
#include "wick/wick.h"

namespace {

/// Bytes of a copy go through this many threads: the ceiling of what memory-bound ops can reach.
/// Seconds of one copy.
double time_copy(const bench::Request& request) {
  const size_t bytes = size_t(request.size) * 4;
  const std::vector<float> from = bench::values(request.size, 1);
  std::vector<float> to(from.size());
  const auto threads = size_t(wick::num_threads());
  const auto copy_part = [&](size_t i) {
    const size_t begin = bytes * i / threads, end = bytes * (i + 1) / threads;
    memcpy(reinterpret_cast<char*>(to.data()) + begin,
           reinterpret_cast<const char*>(from.data()) + begin, end - begin);
  };
  return request.time(
      [&] {
        std::vector<std::thread> others;
        for (size_t i = 1; i < threads; i++) others.emplace_back(copy_part, i);
        copy_part(0);
        for (std::thread& other : others) other.join();
      },
      [] {});
}

// ---- the model that `wick train` has by default

std::vector<int64_t> some_bytes(int64_t n) {
  std::vector<int64_t> ids;
  for (const float x : bench::values(n, 3)) ids.push_back(int64_t((x + 1) * 127.5f));
  return ids;
}

/// The model of the timed cases, as PyTorch's side has it: wick train's, with an output layer.
wick::DecoderConfig small_config(int64_t context) {
  wick::DecoderConfig config = wick::byte_model_config(context);
  config.tie_word_embeddings = false;
  return config;
}

/// Seconds of a step over sequences of 128 tokens: forward, backward, clipping, AdamW.
double time_train_step(const bench::Request& request, const wick::Device& device) {
  using namespace wick;
  const DecoderConfig config = small_config(128);
  Parameters parameters({.device = device, .trainable = true});
  const int64_t batch = request.size, context = config.max_position_embeddings;
  const Decoder decoder(config, parameters);
  AdamW optimizer(parameters.vars(), {});
  const Tensor ids = Tensor::from(some_bytes(batch * context), {batch, context}, device);
  const Tensor targets = reshape(ids, {batch * context});
  const Tensor positions = positions_from_0(batch, context, device);
  return request.time(
      [&] {
        const Tensor logits = decoder.forward(ids, positions);
        backward(cross_entropy(reshape(logits, {batch * context, config.vocab_size}), targets));
        optimizer.step(1e-4);
      },
      [&] { device.synchronize(); });
}

/// Seconds a token, of as many as the size says after a prompt of 64; greedy.
double time_generate(const bench::Request& request, const wick::Device& device) {
  using namespace wick;
  const DecoderConfig config = small_config(64 + request.size);
  Parameters parameters({.device = device});
  Session session(Decoder(config, parameters), {.sampling = {.temperature = 0}});
  const std::vector<int64_t> prompt = some_bytes(64);
  const double seconds = request.time(
      [&] {
        session.rewind(0);
        session.append(prompt);
        for (int64_t i = 0; i < request.size; i++) session.step();
      },
      [&] { device.synchronize(); });
  return seconds / double(request.size);
}

using MatrixOp =
    std::function<wick::Tensor(const wick::Tensor&, const wick::Tensor&, const wick::Tensor& ids)>;
const std::map<std::string, MatrixOp> kMatrixOps = {
    {"fmod", [](auto& a, auto& b, auto&) { return wick::fmod(a, b); }},
    {"remainder", [](auto& a, auto& b, auto&) { return wick::remainder(a, b); }},
    {"gelu", [](auto& a, auto&, auto&) { return wick::gelu(a); }},
    {"silu", [](auto& a, auto&, auto&) { return wick::silu(a); }},
    {"erf", [](auto& a, auto&, auto&) { return wick::erf(a); }},
    {"erfc", [](auto& a, auto&, auto&) { return wick::erfc(a); }},
    {"transpose", [](auto& a, auto&, auto&) { return wick::transpose(a).contiguous(); }},
    {"norm", [](auto& a, auto&, auto&) { return wick::norm(a, 2); }},
    {"sum", [](auto& a, auto&, auto&) { return wick::sum(a, {.dims = {-1}}); }},
    {"logsumexp", [](auto& a, auto&, auto&) { return wick::logsumexp(a, {.dims = {-1}}); }},
    {"gather", [](auto& a, auto&, auto& ids) { return wick::gather(a, -1, ids); }},
    {"scatter_add", [](auto& a, auto& b, auto& ids) { return wick::scatter_add(a, -1, ids, b); }},
};

double answer(const bench::Request& request, const wick::Device& device) {
  using namespace wick;
  if (request.name == "train_step" && request.dtype == "f32")
    return time_train_step(request, device);
  if (request.name == "generate" && request.dtype == "f32") return time_generate(request, device);
  if (request.name == "copy") return device.is_cpu() ? time_copy(request) : -1;
  DType dtype;
  if (request.dtype == "f32")
    dtype = DType::kF32;
  else if (request.dtype == "bf16")
    dtype = DType::kBf16;
  else
    return -1;
  const int64_t n = request.size;
  const bool pools = request.name == "max_pool2d" || request.name == "avg_pool2d";
  const bool of_matrices = kMatrixOps.count(request.name) > 0;
  const auto operand = [&](uint32_t seed) {
    Shape shape{n};
    if (request.name == "matmul" || of_matrices) shape = {n, n};
    if (request.name == "conv2d")
      shape = seed == 1 ? Shape{8, n, 3584 / n, 3584 / n} : Shape{n, n, 3, 3};
    if (pools) shape = {8, 64, n, n};
    return Tensor::from(bench::values(numel(shape), seed), shape).to(dtype).to(device);
  };
  const Tensor a = operand(1), b = operand(2);
  const auto time = [&](auto&& op) {
    return request.time([&] { op(); }, [&] { device.synchronize(); });
  };
  if (request.name == "matmul") return time([&] { matmul(a, b); });
  if (of_matrices) {
    // Any order of the columns, the same in each row.
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; i++) order[size_t(i)] = i * 911 % n;
    const Tensor ids = broadcast_to(Tensor::from(order, device), {n, n}).contiguous();
    const auto& op = kMatrixOps.at(request.name);
    return time([&] { op(a, b, ids); });
  }
  if (request.name == "conv2d") return time([&] { conv2d(a, b, {.padding = 1}); });
  if (request.name == "max_pool2d")
    return time([&] { max_pool2d(a, 3, {.stride = Pair(2), .padding = 1}); });
  if (request.name == "avg_pool2d")
    return time([&] { avg_pool2d(a, 3, {.stride = Pair(2), .padding = 1}); });
  if (request.name == "add") return time([&] { add(a, b); });
  if (request.name == "neg") return time([&] { neg(a); });
  return -1;
}

}  // namespace

int main(int argc, char** argv) try {
  const wick::Device device = wick::Device::parse(argc > 1 ? argv[1] : "cpu");
  const std::string title =
      std::string("wick (") + device.info().name + ", " + device.info().architecture + ")";
  return bench::serve(title,
                      [&](const bench::Request& request) { return answer(request, device); });
} catch (const std::exception& error) {
  std::cout << "cannot: " << error.what() << std::endl;
  return 1;
}
