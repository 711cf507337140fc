// Check mode of the emulator (WICK_EMU=check): every kernel runs in several ways, which must agree,
// and may write its outputs only.
//
// A way is a schedule, a pattern of poison, and one of the vendors' matrix layouts. Poison fills
// shared memory, fresh outputs, scratch, the red zones around every allocation and all memory that
// is no operand's. Outputs that are read are what they were before the first way. What it finds:
// races and removed barriers, reads of memory that was never written or is no operand's, outputs
// not wholly written, writes outside of outputs and scratch.
//
// Outputs are compared bit by bit. In kernels with kKernelUnordered floats may differ by 64 (f16,
// bf16 and f8: 8) units of 2^-mantissa_bits, relative to the output's largest finite magnitude. The
// error record must be filled in all ways or in none: which failure it names may differ.
//
// Kernels, copies and fills take turns. The host must not touch memory directly while another
// thread runs a kernel: it would see poison, and its writes would look like damage.
#pragma once
#include <functional>
#include <mutex>
#include <string>

#include "device/emulator.h"
#include "wick/abi/backend.h"

namespace wick::gpu::emu {

/// Whether calls run in check mode: as WICK_EMU (fast, check) or the last set_check_mode says.
/// Memory that exists already stays as it is.
bool check_mode();
void set_check_mode(bool on);
/// "" or why the value of WICK_EMU makes no sense.
const std::string& mode_complaint();

/// Memory with red zones, filled with 0xff; nullptr: there is none. 256-byte aligned.
void* checked_alloc(int64 bytes);
/// Whether it was checked_alloc's.
bool checked_free(void* data);

/// While it lives in check mode, no kernel runs: for copies and fills by the host.
class HostAccess {
 public:
  HostAccess();
  /// "" or how these bytes leave the allocation in which they begin.
  std::string beyond(const void* data, int64 bytes) const;

 private:
  std::unique_lock<std::mutex> lock_;
};

/// How the calling thread runs its launches now.
struct Running {
  const char* kernel = nullptr;    // nullptr: none of the table's
  const char* way_name = nullptr;  // nullptr: not in check mode, or outside of run_in_all_ways
  Way way;
  int layout = 0;
  int layouts = 1;  // the most that a launch of this kernel had
};
Running& running();

/// Calls run() in every way. kDeviceError if two disagree or other memory than call's outputs and
/// scratch changes; else the first status that is not ok. Each failure ends it.
Status run_in_all_ways(const Call& call, const char* kernel, uint32 flags, ErrorRecord* record,
                       const std::function<Status()>& run);

/// A status whose text lives until this thread's next failure.
Status failed(StatusCode code, std::string text);

}  // namespace wick::gpu::emu
