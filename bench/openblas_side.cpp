// openblas-bench: OpenBLAS's side, f32 on the CPU, into memory that is there already.
#include <cblas.h>

#include "side.h"

int main() {
  const std::string title = std::string("OpenBLAS (") + openblas_get_config() + ", " +
                            std::to_string(openblas_get_num_threads()) + " threads)";
  return bench::serve(title, [](const bench::Request& request) {
    if (request.dtype != "f32") return -1.0;
    const int n = int(request.size);
    const auto nothing = [] {};
    if (request.name == "matmul") {
      const std::vector<float> a = bench::values(int64_t(n) * n, 1),
                               b = bench::values(int64_t(n) * n, 2);
      std::vector<float> c(a.size());
      return request.time(
          [&] {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n,
                        b.data(), n, 0, c.data(), n);
          },
          nothing);
    }
    if (request.name == "add") {  // y += 1 x: an operand less to write, and nothing to allocate
      const std::vector<float> x = bench::values(n, 1);
      std::vector<float> y = bench::values(n, 2);
      return request.time([&] { cblas_saxpy(n, 1e-9f, x.data(), 1, y.data(), 1); }, nothing);
    }
    return -1.0;
  });
}
