// A rank of mpi_test:
//   dist_rank collectives FILE   writes the bits of collectives to FILE.RANK
//   dist_rank die FILE           writes the process ids to FILE.RANK; rank 1 kills itself
//   dist_rank MODE               fails in the way that MODE says, and prints the error
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "wick/base/error.h"
#include "wick/base/hash.h"
#include "wick/dist/process_group.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

void print(std::ostream& to, const std::string& name, const Tensor& x) {
  std::vector<char> bytes(size_t(bytes_of(x.dtype(), x.numel())));
  x.read(bytes.data());
  Fnv1a hash;
  hash.add(bytes.data(), bytes.size());
  to << name << " " << dtype_name(x.dtype()) << to_string(x.shape()) << " " << hash.value() << "\n";
}

/// Values whose sums are rounded, other ones for each rank.
Tensor values_of(int rank, const Shape& shape, DType dtype) {
  const Tensor x = cast(arange(0, numel(shape)), DType::kF32);
  return reshape(cast(x * 0.37 - floor(x * 0.37) + double(rank) * 1.61, dtype), shape);
}

void print_collectives(std::ostream& to, const ProcessGroup& group) {
  const int rank = group.rank(), count = group.world_size();
  for (const DType dtype : {DType::kU8, DType::kI64, DType::kF8E4M3, DType::kBf16, DType::kF16,
                            DType::kF32, DType::kF64})
    for (const int64_t size : {0, 1, 7, 5000, 40'001}) {
      const Tensor x = values_of(rank, {size}, dtype);
      print(to, "sum", group.all_reduce(x));
      print(to, "max", group.all_reduce(x, ReduceOp::kMax));
      print(to, "min", group.all_reduce(x, ReduceOp::kMin));
      if (is_floating(dtype)) print(to, "mean", group.all_reduce(x, ReduceOp::kMean));
    }
  for (const int64_t rows : {6, 60'000}) {
    const Tensor x = transpose(values_of(rank, {rows, 12}, DType::kF32), 0, 1);
    for (const int64_t dim : {0, 1}) {
      print(to, "all_gather", group.all_gather(x, dim));
      print(to, "reduce_scatter", group.reduce_scatter(x, dim));
      print(to, "all_to_all", group.all_to_all(x, dim, 1 - dim));
    }
    for (int root = 0; root < count; root++) print(to, "broadcast", group.broadcast(x, root));
    // All send before they receive.
    group.send(x, (rank + 1) % count);
    print(to, "recv", group.recv(x.shape(), {}, (rank + count - 1) % count));
    const Var leaf(x.contiguous());
    const Tensor y = group.reduce_scatter(group.all_reduce(leaf) * leaf, 0);
    print(to, "gradient", grad(sum(y * y), {leaf})[0]);
  }
  group.barrier();
}

int run(const std::string& mode, const std::string& file) {
  ProcessGroup group = ProcessGroup::join();
  const int rank = group.rank(), count = group.world_size();
  if (mode == "collectives") {
    std::ofstream to(file + "." + std::to_string(rank));
    print_collectives(to, group);
    print(to, "in a second group", ProcessGroup::join().all_reduce(full({3}, rank)));
  } else if (mode == "die") {
    std::ofstream(file + "." + std::to_string(rank)) << getpid();
    group.barrier();
    if (rank == 1) raise(SIGKILL);
    for (;;) group.all_reduce(ones({100'000}));
  } else if (mode == "differ") {
    group.all_reduce(zeros({200'000 + (rank == 1 ? 1 : 0)}));
  } else if (mode == "leave") {
    if (rank < count - 1) group.all_reduce(zeros({200'000}));
    group = ProcessGroup();
    // Open MPI 4.1's mpirun may hang if it ends a rank that is inside MPI_Finalize.
    std::this_thread::sleep_for(std::chrono::seconds(5));
  } else if (mode == "hang") {
    if (rank == 1) std::this_thread::sleep_for(std::chrono::seconds(3));
    group.all_reduce(zeros({2}));
  } else {
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  try {
    return wick::run(mode, argc > 2 ? argv[2] : "");
  } catch (const wick::Error& error) {
    std::printf("%s\n", error.what());
    std::fflush(stdout);
    // mpirun ends the other ranks once one has failed: they are to print first.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    return 1;
  }
}
