// Check mode of the emulator (WICK_EMU=check): runs every kernel in several ways, whose results must
// agree, and checks that it writes only to its outputs and scratch.
//
// A way is a schedule, a poison byte, and one of the vendors' matrix layouts. Poison fills shared
// memory, fresh outputs, scratch, the red zones around every allocation and all memory that belongs to
// no operand. Beyond the red zones, 16 MiB on either side are watched for access. Outputs that a kernel also reads are restored before each way. The mode finds races and
// missing barriers, reads of uninitialized memory or outside of operands, outputs not fully written,
// and writes outside of outputs and scratch.
//
// Outputs are compared bit by bit. With kKernelUnordered, floats may differ by 64 (f16, bf16 and f8:
// 8) units of 2^-mantissa_bits, relative to the output's largest finite magnitude; and so they may
// between two layouts, if the kernel says that its sums depend on them (kSumsByLayout). The error
// record must be filled in all ways or in none; the failure that it names may differ.
//
// Kernels, copies and fills exclude each other. The host must not access memory directly while another
// thread runs a kernel: it would read poison, and its writes would be reported as damage.
#pragma once
#include <functional>
#include <mutex>
#include <string>

#include "device/emulator.h"
#include "wick/abi/backend.h"

namespace wick::gpu::emu {

/// Whether calls run in check mode, as set by WICK_EMU (fast, check) or the last set_check_mode.
/// Existing memory is not converted.
bool check_mode();
void set_check_mode(bool on);
/// "", or why the value of WICK_EMU is invalid.
const std::string& mode_complaint();

/// Allocates memory between red zones, filled with 0xff and aligned to a page. nullptr: out of memory.
void* checked_alloc(int64 bytes);
/// Frees memory of checked_alloc. Returns false for other memory.
bool checked_free(void* data);

/// Excludes kernels while it lives, in check mode: for copies and fills by the host.
class HostAccess {
 public:
  HostAccess();
  /// "", or how these bytes exceed the allocation in which they begin.
  std::string beyond(const void* data, int64 bytes) const;

 private:
  std::unique_lock<std::mutex> lock_;
};

/// Bytes from an address in memory of checked_alloc to its end; 0 in other memory.
int64 bytes_from(const void* data);

/// How the calling thread currently runs its launches.
struct Running {
  const char* kernel = nullptr;    // nullptr: not a kernel of the table
  const char* way_name = nullptr;  // nullptr: not in check mode, or outside of run_in_all_ways
  RunConditions way;
  int layout = 0;
  int layouts = 1;              // the largest number of layouts of a launch of this kernel
  bool sums_by_layout = false;  // a launch of it adds in an order that depends on the layout
};
Running& running();

/// Calls run() in every way, until the first failure. Returns kDeviceError if two ways disagree or
/// memory outside of the call's outputs and scratch changes; else the first status that is not ok.
Status run_in_all_ways(const Call& call, const char* kernel, uint32 flags, ErrorRecord* record,
                       const std::function<Status()>& run);

/// Returns a Status whose text lives until this thread's next failure.
Status failed(StatusCode code, std::string text);

}  // namespace wick::gpu::emu
