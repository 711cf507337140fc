// Elementwise kernels in each of their forms.
//
//   elementwise-forms [DEVICE]          launches each once, with a line on stderr before it that says
//                                       which and over how many elements: scripts/instruction-counts
//                                       reads what an instruction-counting HIP stand-in prints
//                                       between the lines
//   elementwise-forms DEVICE --time N   times each over N elements, 2048^2 or more: the median of 9
//                                       rounds, and the bytes that it must move in that time
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "wick/wick.h"

using namespace wick;

namespace {

/// What is done to a case: `elements` of the result, `bytes` that are read and written for one.
class Forms {
 public:
  Forms(const Device& device, bool timed) : device_(device), timed_(timed) {}

  template <class F>
  void operator()(const char* op, const char* form, int64_t elements, double bytes, F run) const {
    if (timed_)
      time(op, form, elements, bytes, run);
    else
      announce(op, form, elements, run);
  }

 private:
  template <class F>
  void announce(const char* op, const char* form, int64_t elements, F run) const {
    device_.synchronize();
    std::fprintf(stderr, "case %s %s %lld\n", op, form, static_cast<long long>(elements));
    run();
    device_.synchronize();
    std::fprintf(stderr, "end\n");
  }
  template <class F>
  void time(const char* op, const char* form, int64_t elements, double bytes, F run) const {
    using Clock = std::chrono::steady_clock;
    constexpr int kRounds = 9, kCalls = 8;
    std::vector<double> seconds;
    for (int round = -1; round < kRounds; round++) {  // the first is not counted
      device_.synchronize();
      const auto begin = Clock::now();
      for (int i = 0; i < kCalls; i++) run();
      device_.synchronize();
      if (round >= 0)
        seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / kCalls);
    }
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[kRounds / 2];
    std::printf("%-12s %-12s %9.1f us %8.0f GB/s\n", op, form, median * 1e6,
                double(elements) * bytes / median * 1e-9);
  }

  const Device device_;
  const bool timed_;
};

void run_forms(const Forms& forms, int64_t n, const Device& device, bool all) {
  const Tensor x = rand({n, n}, {.device = device}), y = rand({n, n}, {.device = device});
  const Tensor row = rand({n}, {.device = device}), flipped = transpose(y);
  forms("add", "contiguous", n * n, 12, [&] { add(x, y); });
  forms("add", "rows", n * n, 8, [&] { add(x, row); });
  forms("add", "strided", n * n, 12, [&] { add(x, flipped); });
  forms("neg", "contiguous", n * n, 8, [&] { neg(x); });
  forms("neg", "rows", n * n / 2, 8, [&] { neg(narrow(x, 1, 0, n / 2)); });
  forms("neg", "strided", n * n, 8, [&] { neg(flipped); });
  forms("silu", "contiguous", n * n, 8, [&] { silu(x); });
  forms("silu", "rows", n * n / 2, 8, [&] { silu(narrow(x, 1, 0, n / 2)); });
  forms("silu", "strided", n * n, 8, [&] { silu(flipped); });
  if (!all) return;

  const Tensor x16 = cast(x, DType::kBf16), y16 = cast(y, DType::kBf16),
               row16 = row.to(x16.dtype());
  const Tensor flipped16 = transpose(y16), chosen = gt(x, 0.5),
               column = rand({n, 1}, {.device = device});
  const Tensor heads = permute(reshape(x, {n / 32, 32, n / 64, 64}), {0, 2, 1, 3});
  forms("add bf16", "contiguous", n * n, 6, [&] { add(x16, y16); });
  forms("add bf16", "rows", n * n, 4, [&] { add(x16, row16); });
  forms("add bf16", "strided", n * n, 6, [&] { add(x16, flipped16); });
  forms("add", "column", n * n, 8, [&] { add(x, column); });
  forms("silu bf16", "contiguous", n * n, 4, [&] { silu(x16); });
  forms("swiglu bf16", "contiguous", n * n, 6, [&] { swiglu(x16, y16); });
  forms("swiglu bf16", "rows", n * n, 4, [&] { swiglu(x16, row16); });
  forms("lt", "contiguous", n * n, 9, [&] { lt(x, y); });
  forms("lt", "rows", n * n, 5, [&] { lt(x, row); });
  forms("lt", "strided", n * n, 9, [&] { lt(x, flipped); });
  forms("lt bf16", "contiguous", n * n, 5, [&] { lt(x16, y16); });
  forms("where", "contiguous", n * n, 13, [&] { where(chosen, x, y); });
  forms("where", "rows", n * n, 9, [&] { where(chosen, x, row); });
  forms("where", "strided", n * n, 13, [&] { where(chosen, x, flipped); });
  forms("f32 to bf16", "contiguous", n * n, 6, [&] { cast(x, DType::kBf16); });
  forms("bf16 to f32", "contiguous", n * n, 6, [&] { cast(x16, DType::kF32); });
  forms("bf16 to f32", "rows", n * n / 2, 6, [&] { cast(narrow(x16, 1, 0, n / 2), DType::kF32); });
  forms("bf16 to f32", "strided", n * n, 6, [&] { cast(flipped16, DType::kF32); });
  forms("copy", "rows", n * n, 8, [&] { heads.contiguous(); });
  forms("copy", "strided", n * n, 8, [&] { flipped.contiguous(); });
}

}  // namespace

int main(int argc, char** argv) try {
  const Device device = Device::parse(argc > 1 ? argv[1] : "auto");
  const bool timed = argc > 3 && std::string(argv[2]) == "--time";
  if (timed && std::atof(argv[3]) < 2048 * 2048)
    throw std::invalid_argument("expected --time of at least 4194304 elements");
  const int64_t n = timed ? int64_t(std::sqrt(std::atof(argv[3]))) / 2048 * 2048 : 256;
  run_forms(Forms(device, timed), n, device, timed);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "elementwise_forms: %s\n", e.what());
  return 2;
}
