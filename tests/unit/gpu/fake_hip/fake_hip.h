// How a test scripts the fake libamdhip64. By environment, before it is loaded:
//
//   FAKE_HIP_DEVICES   "gfx1100 gfx942:sramecc+:xnack- gfx1036,integrated": a card each;
//                      empty: none
//   FAKE_HIP_MEMORY    bytes of each card, 1 GiB if not set
//   FAKE_HIP_FAIL      "hipMalloc=2 hipStreamSynchronize=719": calls that fail, each with its error
//
// and by the functions below, found with dlsym.
#pragma once

extern "C" {
/// The calls worth noting, a line each, oldest first: "load gfx11-generic on 0", "launch SYMBOL on
/// 0 grid 4 1 1 block 256".
const char* fake_hip_log();
/// Makes the call fail with this error from now on; 0: no longer.
void fake_hip_fail(const char* function, int error);
/// The next kernel to run fails for good: it and all later work of its stream give this error when
/// waited for.
void fake_hip_break_next_kernel(int error);
/// The next kernel to run writes this into the error record of its stream, as Ctx::fail does.
void fake_hip_record_next_kernel(unsigned code, long long position);
}
