// Keeps signal handlers off threads that run oneDNN's generated code.
#pragma once

namespace wick::cpu {

/// While an instance lives, no signal that anybody sends is delivered to the calling thread; it is
/// delivered afterwards. Faults of the thread itself (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
/// SIGSYS) stay unblocked. Costs two system calls.
///
/// oneDNN 2.6's f32 products copy operands to a heap block and point the stack pointer into it (x86-64-v3:
/// from K of 256 on; v4: the same, if an operand is part of a larger matrix). A handler would write its
/// frame over the heap below the block.
class BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  unsigned long before_;  // the kernel's sigset_t: a bit for each of 64 signals
};

}  // namespace wick::cpu
