// Kernels of the table that call a vendor's library. They come before wick's own, and run the next of those
// whenever the library does not serve a call.
#pragma once
#include "libraries/libraries.h"
#include "runtime/kernel_list.h"

namespace wick::gpu {

void add_library_kernels(KernelList&);

/// The call as the library takes it; the reason if it cannot.
const char* describe_product(const Call&, LibraryWork, bool tf32, BlasProduct*, LibrarySizes*);
const char* describe_convolution(const Call&, LibraryWork, bool tf32, LibraryConvolution*,
                                 LibrarySizes*);

/// Runs the first of wick's own kernels that accepts the call, with memory of its own if call.scratch is too
/// small; for linear_epilogue, if none does, a product and then the epilogue.
Status run_own_kernels(const Call&, const DeviceInfo&);

}  // namespace wick::gpu
