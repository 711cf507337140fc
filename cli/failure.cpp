#include "failure.h"

#include <poll.h>
#include <unistd.h>

namespace wick::cli {
namespace {

volatile std::sig_atomic_t signals = 0;

}  // namespace

InterruptWatch::InterruptWatch() {
  signals = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { ask(); };
  for (size_t i = 0; i < std::size(kWatched); i++) {
    const bool hangup = kWatched[i] == SIGHUP;
    // Interrupted reads and writes resume. The first signal restores the default for the next.
    action.sa_flags = SA_RESTART | (hangup ? 0 : int(SA_RESETHAND));
    sigaction(kWatched[i], &action, &before_[i]);
    if (hangup && before_[i].sa_handler == SIG_IGN) sigaction(SIGHUP, &before_[i], nullptr);
  }
}

InterruptWatch::~InterruptWatch() {
  for (size_t i = 0; i < std::size(kWatched); i++) sigaction(kWatched[i], &before_[i], nullptr);
}

bool InterruptWatch::asked() { return signals != 0; }
void InterruptWatch::ask() { signals = 1; }

void survive_readers() { std::signal(SIGPIPE, SIG_IGN); }

bool reader_gone() {
  // A pipe without a reader reports POLLERR, a terminal or socket that was closed POLLHUP.
  pollfd outputs[] = {{STDOUT_FILENO, 0, 0}, {STDERR_FILENO, 0, 0}};
  if (poll(outputs, std::size(outputs), 0) <= 0) return false;
  return ((outputs[0].revents | outputs[1].revents) & (POLLERR | POLLHUP)) != 0;
}

}  // namespace wick::cli
