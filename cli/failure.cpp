#include "failure.h"

namespace wick::cli {
namespace {

volatile std::sig_atomic_t signals = 0;
constexpr int kWatched[] = {SIGINT, SIGTERM};

}  // namespace

InterruptWatch::InterruptWatch() {
  signals = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { signals = 1; };
  // The first signal restores the default action for the next. Interrupted reads and writes resume.
  action.sa_flags = int(SA_RESETHAND | SA_RESTART);
  for (int i = 0; i < 2; i++) sigaction(kWatched[i], &action, &before_[i]);
}

InterruptWatch::~InterruptWatch() {
  for (int i = 0; i < 2; i++) sigaction(kWatched[i], &before_[i], nullptr);
}

bool InterruptWatch::asked() { return signals != 0; }

}  // namespace wick::cli
