// The parts of a decode step that are not products, each in a captured graph where the device has
// them: attention to keys in blocks of a pool beside attention to rows, and sampling.
//
//   decode-parts [DEVICE]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "wick/wick.h"

using namespace wick;

namespace {

constexpr int64_t kBlock = 64;

/// Microseconds of `work`: the least of some rounds of many runs.
double microseconds_of(const Device& device, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 7, kRuns = 50;
  for (int i = 0; i < 3; i++) work();
  std::optional<Graph> graph;
  try {
    graph = Graph::capture(device, [&] {
      for (int i = 0; i < kRuns; i++) work();
    });
  } catch (const Error&) {  // a device without graphs
  }
  double best = 1e30;
  for (int round = 0; round < kRounds; round++) {
    device.synchronize();
    const auto begin = Clock::now();
    if (graph)
      graph->launch();
    else
      for (int i = 0; i < kRuns; i++) work();
    device.synchronize();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count() / kRuns);
  }
  return 1e6 * best;
}

struct Attention {
  const char* name;
  int64_t batch, heads, key_heads, queries, keys, head_dim;
  DType dtype, stored;
};

/// Keys [B, G, S, D] as a cache of the dtype holds them, and their scales.
std::pair<Tensor, Tensor> stored(const Tensor& x, DType dtype) {
  if (dtype != DType::kI8) return {cast(x, dtype), {}};
  const RowsInI8 rows = quantize_i8(x);
  return {rows.codes, rows.scales};
}

/// Rows [B, G, S, D] as blocks of a pool [1, G, B S, D] that lie in the order of `table`.
Tensor in_blocks(const Tensor& rows, const std::vector<int64_t>& places) {
  if (!rows) return {};
  const Tensor all =
      reshape(transpose(rows, 0, 1),
              {rows.size(1), rows.size(0) * rows.size(2) / kBlock, kBlock, rows.size(3)});
  std::vector<int64_t> of(places.size());
  for (size_t i = 0; i < places.size(); i++) of[size_t(places[i])] = int64_t(i);
  return reshape(index_select(all, 1, Tensor::from(of, rows.device())),
                 {1, rows.size(1), rows.size(0) * rows.size(2), rows.size(3)});
}

void time_attention(const Device& device, const Attention& a) {
  const auto random = [&](int64_t heads, int64_t length) {
    return cast(randn({a.batch, heads, length, a.head_dim}, {.device = device}), a.dtype);
  };
  const Tensor q = random(a.heads, a.queries);
  const auto [k, key_scales] = stored(random(a.key_heads, a.keys), a.stored);
  const auto [v, value_scales] = stored(random(a.key_heads, a.keys), a.stored);
  std::vector<int64_t> positions, places(size_t(a.batch * a.keys / kBlock));
  for (int64_t b = 0; b < a.batch; b++)
    for (int64_t t = 0; t < a.queries; t++) positions.push_back(a.keys - a.queries + t);
  for (size_t i = 0; i < places.size(); i++) places[i] = int64_t(i);
  std::shuffle(places.begin(), places.end(), std::mt19937(5));
  SdpaOptions rows{.is_causal = true,
                   .positions = Tensor::from(positions, {a.batch, a.queries}, device)};
  SdpaOptions blocks = rows;
  rows.key_scales = key_scales, rows.value_scales = value_scales;
  blocks.key_scales = in_blocks(key_scales, places);
  blocks.value_scales = in_blocks(value_scales, places);
  blocks.blocks = Tensor::from(places, {a.batch, a.keys / kBlock}, device);
  blocks.block_size = kBlock;
  const Tensor pool_k = in_blocks(k, places), pool_v = in_blocks(v, places);
  const double of_rows = microseconds_of(device, [&] { sdpa(q, k, v, rows); });
  const double of_blocks = microseconds_of(device, [&] { sdpa(q, pool_k, pool_v, blocks); });
  std::printf("attention %-22s %8.2f us by rows, %8.2f by blocks: %.3f\n", a.name, of_rows,
              of_blocks, of_blocks / of_rows);
}

void time_sampling(const Device& device, DType dtype, int64_t rows) {
  const Tensor logits = cast(randn({rows, 128256}, {.device = device}) * 3.0, dtype);
  const auto time = [&](const char* name, const SampleOptions& each) {
    const std::vector<SampleOptions> all(size_t(rows), each);
    std::vector<int64_t> state;
    for (int64_t i = 0; i < rows; i++) state.insert(state.end(), {i, 1, 0});
    const SampleRows of{.settings = sample_settings(all, device),
                        .state = Tensor::from(state, {rows, 3}, device)};
    std::printf("sample %s of %lld x 128256, %-12s %8.2f us\n", dtype_name(dtype), (long long)rows,
                name, microseconds_of(device, [&] { sample(logits, of); }));
  };
  time("greedy", {.temperature = 0});
  time("temperature", {});
  time("top-k", {.top_k = 50});
  time("top-p", {.top_p = 0.9});
  time("top-k, top-p", {.top_k = 50, .top_p = 0.9});
}

}  // namespace

int main(int argc, char** argv) try {
  const Device device = Device::parse(argc > 1 ? argv[1] : "auto");
  constexpr DType bf16 = DType::kBf16, f32 = DType::kF32;
  for (const Attention& a : {
           Attention{"decode, D 128", 1, 32, 8, 1, 4096, 128, bf16, bf16},
           Attention{"decode of 16, D 128", 16, 32, 8, 1, 4096, 128, bf16, bf16},
           Attention{"decode of 64, D 128", 64, 32, 8, 1, 2048, 128, bf16, bf16},
           Attention{"decode at 8192", 1, 32, 8, 1, 8192, 128, bf16, bf16},
           Attention{"decode at 8192, q8_0", 1, 32, 8, 1, 8192, 128, bf16, DType::kI8},
           Attention{"decode at 8192, f8", 1, 32, 8, 1, 8192, 128, bf16, DType::kF8E4M3},
           Attention{"decode of 16, D 64", 16, 32, 8, 1, 4096, 64, bf16, bf16},
           Attention{"decode of 16, D 256", 16, 16, 8, 1, 4096, 256, bf16, bf16},
           Attention{"decode of 16, q8_0", 16, 32, 8, 1, 4096, 128, bf16, DType::kI8},
           Attention{"decode of 16, f8", 16, 32, 8, 1, 4096, 128, bf16, DType::kF8E4M3},
           Attention{"decode of 16, f32", 16, 32, 8, 1, 4096, 128, f32, f32},
           Attention{"prompt of 512, D 128", 1, 32, 8, 512, 4096, 128, bf16, bf16},
       })
    time_attention(device, a);
  for (const int64_t rows : {1, 64})
    for (const DType dtype : {f32, bf16}) time_sampling(device, dtype, rows);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
