#include "process.h"

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

#include <stdexcept>

#include "bind.h"

namespace wick::python {

std::atomic<ProcessState> process_state{ProcessState::kUnused};

void note_first_use() {
  ProcessState unused = ProcessState::kUnused;
  process_state.compare_exchange_strong(unused, ProcessState::kUsed);
  if (process_state == ProcessState::kForkedAfterUse)
    throw std::runtime_error(
        "wick: this process was forked from one that had used wick, whose threads and devices it "
        "lacks: start processes with multiprocessing.get_context(\"spawn\"), or fork before the "
        "first use");
}

void take_gil(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
}

void watch_forks() {
  const int failed = pthread_atfork(nullptr, nullptr, [] {
    if (process_state == ProcessState::kUsed) process_state = ProcessState::kForkedAfterUse;
  });
  if (failed) throw std::bad_alloc();
}

}  // namespace wick::python
