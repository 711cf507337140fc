// Launches elementwise kernels once in each of their forms, with a line on stderr before each that
// says which and over how many elements: scripts/instruction-counts reads what an
// instruction-counting HIP stand-in prints between the lines.
#include <cstdio>
#include <string>

#include "wick/wick.h"

using namespace wick;

namespace {

template <class F>
void announce(const char* op, const char* form, int64_t elements, const Device& device, F run) {
  device.synchronize();
  std::fprintf(stderr, "case %s %s %lld\n", op, form, static_cast<long long>(elements));
  run();
  device.synchronize();
  std::fprintf(stderr, "end\n");
}

}  // namespace

int main(int argc, char** argv) try {
  const Device device = Device::parse(argc > 1 ? argv[1] : "auto");
  const int64_t n = 256;
  const Tensor x = rand({n, n}, {.device = device}), y = rand({n, n}, {.device = device});
  const Tensor row = rand({n}, {.device = device}), flipped = transpose(y);
  announce("add", "contiguous", n * n, device, [&] { add(x, y); });
  announce("add", "rows", n * n, device, [&] { add(x, row); });
  announce("add", "strided", n * n, device, [&] { add(x, flipped); });
  announce("neg", "contiguous", n * n, device, [&] { neg(x); });
  announce("neg", "rows", n * n / 2, device, [&] { neg(narrow(x, 1, 0, n / 2)); });
  announce("neg", "strided", n * n, device, [&] { neg(flipped); });
  announce("silu", "contiguous", n * n, device, [&] { silu(x); });
  announce("silu", "rows", n * n / 2, device, [&] { silu(narrow(x, 1, 0, n / 2)); });
  announce("silu", "strided", n * n, device, [&] { silu(flipped); });
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "elementwise_forms: %s\n", e.what());
  return 2;
}
