// Times products and convolutions by wick's own kernels and by the vendors' libraries, each in a process of
// its own, and prints both and their ratio. The rules of backends/gpu/libraries/table.h come from it.
//
//   libraries-bench [DEVICE [RIVAL]]  cuda:0 by default; RIVAL: a command that times the same cases, as
//                                     "python3 bench/torch_libraries.py"
//   libraries-bench --side DEVICE     one side, as WICK_GPU_LIBS says: a line "case<TAB>milliseconds" for each
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "wick/wick.h"

using namespace wick;

namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Milliseconds of a call: the median of five batches, each of some 4 ms.
double time_of(const Device& device, const std::function<void()>& call) {
  call();
  device.synchronize();
  const double begin = seconds();
  call();
  device.synchronize();
  const double once = std::max(seconds() - begin, 1e-6);
  const int count = int(std::clamp(0.004 / once, 1.0, 200.0));
  std::vector<double> batches;
  for (int b = 0; b < 5; b++) {
    const double from = seconds();
    for (int i = 0; i < count; i++) call();
    device.synchronize();
    batches.push_back((seconds() - from) / count * 1e3);
  }
  std::sort(batches.begin(), batches.end());
  return batches[2];
}

Tensor uniform(const Shape& shape, DType dtype, const Device& device) {
  return rand(shape, {.dtype = DType::kF32, .device = device}, -1, 1).to(dtype);
}

void report(const std::string& name, const Device& device, const std::function<void()>& call) {
  std::printf("%s\t%.5f\n", name.c_str(), time_of(device, call));
  std::fflush(stdout);
}

void time_side(const Device& device) {
  const DType dtypes[] = {DType::kBf16, DType::kF16, DType::kF32, DType::kF64};
  for (const DType dtype : dtypes) {
    const std::string type = dtype_name(dtype);
    // x [m, k] by the transpose of a weight [n, k]: layers, of small models to large.
    for (const int64_t side : {64, 256, 1024, 4096})
      for (const int64_t m : {1, 2, 4, 8, 16, 32, 64, 128, 512, 2048}) {
        if (m > 16 * side) continue;
        const Tensor x = uniform({m, side}, dtype, device);
        const Tensor w = uniform({side, side}, dtype, device);
        report("linear " + type + " " + std::to_string(m) + "x" + std::to_string(side) + "x" +
                   std::to_string(side),
               device, [&] { linear(x, w); });
      }
    // One element of a weight's row for each of x: the library's split of k.
    for (const auto& [m, n, k] :
         {std::tuple{8, 28672, 8192}, {64, 28672, 8192}, {512, 4096, 14336}, {256, 256, 65536}}) {
      const Tensor x = uniform({m, k}, dtype, device), w = uniform({n, k}, dtype, device);
      report("linear " + type + " " + std::to_string(m) + "x" + std::to_string(n) + "x" +
                 std::to_string(k),
             device, [&] { linear(x, w); });
    }
    for (const int64_t side : {512, 1024, 2048, 4096, 8192}) {
      const Tensor a = uniform({side, side}, dtype, device),
                   b = uniform({side, side}, dtype, device);
      report("matmul " + type + " " + std::to_string(side), device, [&] { matmul(a, b); });
    }
    for (const auto& [count, side] : {std::pair{64, 1024}, {512, 128}, {512, 64}, {4096, 32}}) {
      const Tensor a = uniform({count, side, side}, dtype, device);
      const Tensor b = uniform({count, side, side}, dtype, device);
      report("matmul " + type + " " + std::to_string(count) + "x" + std::to_string(side), device,
             [&] { matmul(a, b); });
    }
    struct Layer {
      int64_t images, in, out, size, kernel;
    };
    for (const Layer& l : {Layer{64, 64, 64, 56, 3},
                           {64, 256, 256, 14, 3},
                           {64, 512, 512, 7, 3},
                           {64, 256, 64, 56, 1},
                           {8, 3, 64, 224, 7},
                           {1, 64, 64, 56, 3},
                           {16, 16, 16, 32, 3}}) {
      const Tensor x = uniform({l.images, l.in, l.size, l.size}, dtype, device);
      const Tensor w = uniform({l.out, l.in, l.kernel, l.kernel}, dtype, device);
      const std::string name = type + " " + std::to_string(l.images) + "x" + std::to_string(l.in) +
                               "x" + std::to_string(l.size) + " to " + std::to_string(l.out) +
                               " k" + std::to_string(l.kernel);
      const Conv2dOptions options{.padding = l.kernel / 2};
      report("conv2d " + name, device, [&] { conv2d(x, w, options); });
      // Each gradient alone: of what is a Var.
      const Tensor y = conv2d(x, w, options);
      const auto gradient_of = [&](const Tensor& of, bool is_x) {
        const Var v(of);
        const Tensor out = is_x ? conv2d(v, w, options) : conv2d(x, v, options);
        return [out, y, v] { grad(out, {v}, {.seed = y}); };
      };
      report("conv2d_input_gradient " + name, device, gradient_of(x, true));
      report("conv2d_weight_gradient " + name, device, gradient_of(w, false));
    }
  }
}

std::map<std::string, double> run_side(const std::string& command,
                                       std::vector<std::string>* order) {
  FILE* pipe = popen(command.c_str(), "r");
  std::map<std::string, double> times;
  char line[256];
  while (pipe && std::fgets(line, sizeof line, pipe)) {
    char* tab = std::strchr(line, '\t');
    if (!tab) continue;
    times[std::string(line, tab)] = std::atof(tab);
    if (order) order->push_back(std::string(line, tab));
  }
  if (!pipe || pclose(pipe) != 0) std::fprintf(stderr, "failed: %s\n", command.c_str());
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--side") == 0) {
    time_side(Device::parse(argv[2]));
    return 0;
  }
  const std::string device = argc > 1 ? argv[1] : "cuda:0";
  const std::string named = device.starts_with("cuda") ? "cublaslt,cudnn" : "rocblas,miopen";
  std::vector<std::string> order;
  const auto side = [&](const std::string& libraries, std::vector<std::string>* cases) {
    return run_side("WICK_GPU_LIBS=" + libraries + " '" + argv[0] + "' --side '" + device + "'",
                    cases);
  };
  const auto own = side("off", &order), automatic = side("auto", nullptr);
  const auto library = side(named, nullptr);
  const auto rival = argc > 2 ? run_side(argv[2], nullptr) : std::map<std::string, double>();
  std::printf("%-52s %9s %9s %9s %9s %9s %9s\n", "ms of a call", "own", "auto", "library", "rival",
              "own/lib", "auto/riv");
  for (const std::string& name : order) {
    const auto at = [&](const auto& times) {
      const auto found = times.find(name);
      return found == times.end() ? 0.0 : found->second;
    };
    // Speeds as shares of the library's and of the rival's.
    std::printf("%-52s %9.4f %9.4f %9.4f %9.4f %9.2f %9.2f\n", name.c_str(), at(own), at(automatic),
                at(library), at(rival), at(library) / at(own), at(rival) / at(automatic));
  }
}
