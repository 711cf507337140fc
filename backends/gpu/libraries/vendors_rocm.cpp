// The libraries for AMD cards.
#include "libraries/blas_lt.h"
#include "libraries/collectives.h"
#include "libraries/miopen.h"
#include "libraries/rocblas.h"
#include "libraries/tensile_files.h"
#include "runtime/rt_rocm_hip.h"

namespace wick::gpu {
namespace {

std::unique_ptr<VendorLibrary> open_hipblaslt(const DeviceInfo& info, Failure* failure) {
  const std::string beside = folder_of(hip::runtime().name);
  const OpenedLibrary opened = open_library(kHipblasltLibrary, beside);
  if (opened.handle) {
    const std::string missing =
        missing_tensile_files(kHipblasltFiles, opened.file, info.architecture);
    if (!missing.empty()) {
      *failure = {StatusCode::kUnsupported, missing};
      return nullptr;
    }
  }
  return open_blas_lt(kHipblasLt, kHipblasltLibrary, beside, failure);
}

constexpr LibraryKind kOfAmd[] = {
    // rocBLAS calls hipBLASLt itself where AMD's tables prefer it.
    {.name = "hipblaslt",
     .title = "hipBLASLt",
     .serves_products = true,
     .adds_bias = true,
     .serves_convolutions = false,
     .has_tf32 = false,
     .only_if_named = true,
     .open = open_hipblaslt},
    {.name = "rocblas",
     .title = "rocBLAS",
     .serves_products = true,
     .adds_bias = false,
     .serves_convolutions = false,
     .has_tf32 = false,
     .only_if_named = false,
     .open = open_rocblas},
    // It may compile kernels for seconds at the first call of a shape.
    {.name = "miopen",
     .title = "MIOpen",
     .serves_products = false,
     .adds_bias = false,
     .serves_convolutions = true,
     .has_tf32 = false,
     .only_if_named = true,
     .open = open_miopen},
};

}  // namespace

const LibraryKind* const kLibraries = kOfAmd;
const int kNumLibraries = int(std::size(kOfAmd));

const CollectivesLibrary kCollectivesLibrary = {"RCCL", kRcclLibrary,
                                                [] { return folder_of(hip::runtime().name); }};

}  // namespace wick::gpu
