// The vendors' libraries that kernels of the table call: which may serve a call, whether they were
// opened and checked, and a line about each for `wick devices`.
#pragma once
#include <string>

#include "libraries/table.h"
#include "libraries/vendor_library.h"

namespace wick::gpu {

/// A kernel's private data: what it asks of which library.
struct LibraryKernel {
  int library;  // in kLibraries
  LibraryWork work;
  DType dtype;
  bool tf32;
};

/// Whether libraries of this kind serve such calls.
bool serves(const LibraryKind&, LibraryWork);

/// nullptr if the library may serve a call of this size: WICK_GPU_LIBS permits it, the table or the
/// variable asks for it, and neither opening nor checking it failed before. Else the reason, of static
/// lifetime.
const char* library_declines(const LibraryKernel&, const DeviceInfo&, const LibrarySizes&);

/// Opens the library for the device and checks it, at the first call: a small product or convolution of
/// integers must equal that of wick's kernel bit by bit. nullptr if either fails.
VendorLibrary* ready_library(const LibraryKernel&, const DeviceInfo&);

/// The library that ready_library returned before; nullptr without opening anything.
VendorLibrary* opened_library(const LibraryKernel&, int device);

/// Ends the use of the library on the device, for this reason.
void give_up_library(const LibraryKernel&, int device, const std::string& why);

/// "" or what is wrong with WICK_GPU_LIBS.
const std::string& library_setting_error();

/// Opens and checks every library that the setting permits for a device, which is current.
void open_libraries(const DeviceInfo&);
/// A line about each library that open_libraries tried on these devices, beginning with '\n'.
std::string describe_libraries(const DeviceInfo* devices, int count);

/// Runs the check of ready_library on an opened library: "" or what differed (self_check.cpp).
std::string check_library(VendorLibrary&, const LibraryKernel&, const DeviceInfo&);

}  // namespace wick::gpu
