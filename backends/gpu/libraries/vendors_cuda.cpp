// The libraries for NVIDIA cards.
#include "libraries/blas_lt.h"
#include "libraries/collectives.h"
#include "libraries/cudnn.h"

namespace wick::gpu {
namespace {

constexpr LibraryKind kOfNvidia[] = {
    {.name = "cublaslt",
     .title = "cuBLASLt",
     .serves_products = true,
     .adds_bias = true,
     .serves_convolutions = false,
     .has_tf32 = true,
     .only_if_named = false,
     .open =
         [](const DeviceInfo&, Failure* failure) {
           return open_blas_lt(kCublasLt, kCublasltLibrary, "", failure);
         }},
    {.name = "cudnn",
     .title = "cuDNN",
     .serves_products = false,
     .adds_bias = false,
     .serves_convolutions = true,
     .has_tf32 = true,
     .only_if_named = false,
     .open = open_cudnn},
};

}  // namespace

const LibraryKind* const kLibraries = kOfNvidia;
const int kNumLibraries = int(std::size(kOfNvidia));

const CollectivesLibrary kCollectivesLibrary = {"NCCL", kNcclLibrary, [] { return std::string(); }};

}  // namespace wick::gpu
