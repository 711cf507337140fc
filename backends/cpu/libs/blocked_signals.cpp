#include "libs/blocked_signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace wick::cpu {
namespace {

constexpr unsigned long bits(auto... signals) { return ((1UL << (signals - 1)) | ...); }
constexpr unsigned long kSent = ~bits(SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS);

// Not pthread_sigmask, which leaves the signals 32 and 33 open: glibc sends them to other threads
// for pthread_cancel and setuid, and handles them itself. Returns the mask before.
unsigned long change_mask(int how, unsigned long mask) {
  unsigned long before = 0;
  syscall(SYS_rt_sigprocmask, how, &mask, &before, sizeof mask);
  return before;
}

}  // namespace

BlockedSignals::BlockedSignals() : before_(change_mask(SIG_BLOCK, kSent)) {}
BlockedSignals::~BlockedSignals() { change_mask(SIG_SETMASK, before_); }

}  // namespace wick::cpu
