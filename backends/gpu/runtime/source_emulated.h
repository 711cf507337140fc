// Kernels from source on the emulator: the system's compiler compiles a HIP or CUDA kernel with the
// words of words_emulated.h to a library, and its threads run as the emulator's.
#pragma once
#include "wick/abi/runtime_code.h"

namespace wick::gpu::emu {

/// The functions of RuntimeCode for the devices emu:32 and emu:64. Images are shared libraries.
/// record: of the stream that a launch runs on.
extern const RuntimeCode kSourceCode;

/// Given by rt_emu.cpp.
ErrorRecord* record_of(int32 device, void* stream);
/// Whether the stream's work is recorded into a graph.
bool is_captured(int32 device, void* stream);

}  // namespace wick::gpu::emu
