// Which process wick runs in. Its threads and its handles of GPUs do not live on in a fork.
#pragma once
#include <nanobind/nanobind.h>

#include <atomic>

namespace wick::python {

enum class ProcessState : uint8_t { kUnused, kUsed, kForkedAfterUse };
extern std::atomic<ProcessState> process_state;

/// Notes the first use of wick. Raises RuntimeError in a child that was forked after a use.
void note_first_use();

/// Every call that computes begins with it: one load and one comparison.
inline void enter_wick() {
  if (process_state.load(std::memory_order_relaxed) != ProcessState::kUsed) [[unlikely]]
    note_first_use();
}

/// Takes the GIL again. When the interpreter has ended meanwhile, Python ends the threads that ask
/// for it, by an unwinding that no noexcept function of ours survives: such a thread waits here for
/// the process's end instead.
void take_gil(PyThreadState* state);

/// Releases the GIL during its lifetime.
class FreedGil {
 public:
  FreedGil() : state_(PyEval_SaveThread()) {}
  ~FreedGil() { take_gil(state_); }
  FreedGil(const FreedGil&) = delete;
  FreedGil& operator=(const FreedGil&) = delete;

 private:
  PyThreadState* state_;
};

/// Releases the GIL during its lifetime, for code that computes.
class ReleasedGil {
 public:
  ReleasedGil() { enter_wick(); }

 private:
  // Released before the constructor's body runs: an exception acquires it again.
  FreedGil freed_;
};

}  // namespace wick::python
