// The agreement between the emulator and a library that it has compiled from a kernel's source. Both
// sides include this file; the library gets its text (words_emulated.h).
#pragma once

namespace wick::gpu::emu {

struct SourceThread;

/// What a kernel's words do on the emulator: the functions of emu::Block.
struct SourceOperations {
  void (*barrier)(void* block, int thread, const char* file, int line);
  void (*meet)(void* block, int thread, unsigned long long lanes, void* mine,
               void (*together)(void** lanes, unsigned long long which), const char* file,
               int line);
  unsigned long long (*lanes)(void* block, int thread);  // of the thread's wave
  void (*refuse)(void* block, int thread, const char* reason, const char* file, int line);
  // Of a library compiled with WICK_WATCHED, in a launch that is watched: comes before each plain
  // access to memory.
  void (*access)(const SourceThread&, const void* data, int bytes, bool writes);
  // The same for what orders the accesses of threads: 'b' barrier, 'w' wave operation, 'a' atomic or fence.
  void (*order)(const SourceThread&, char how);
};

/// One thread of a launch.
struct SourceThread {
  const SourceOperations* operations;
  void* block;
  int thread, wave;
  unsigned block_index[3], block_size[3], grid_size[3];
  void* shared;  // dynamic shared memory
  void* watch;   // emu::Watch, or nullptr
};

/// A kernel's parameter.
struct SourceParameter {
  int bytes;
  // A pointer's elements: 'f' float, 'i' signed and 'u' unsigned integers, '?' others; 0: no pointer.
  char kind;
  int element_bytes;
  bool writes;  // not a pointer to const
};

/// The library exports one, as `wick_source_kernel`.
struct SourceKernel {
  unsigned version;  // kSourceKernelVersion
  const char* name;
  int num_arguments;
  const int* argument_bytes;
  const SourceParameter* parameters;
  void (*run)(const void* const* arguments, const SourceThread&);
  // The calling thread's part of thread-local memory. Static shared memory is what the library has in
  // its .tbss.
  void (*touch)();
};
inline constexpr unsigned kSourceKernelVersion = 2;

}  // namespace wick::gpu::emu
