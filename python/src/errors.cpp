#include "bind.h"
#include "exceptions.h"

namespace wick::python {
void bind_errors(nanobind::module_&) {
  nanobind::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      // Ctrl-C ends a compiler, for instance: KeyboardInterrupt says more than the compiler's end.
      if (PyErr_CheckSignals() != 0) return;
      PyErr_SetString(exception_of(error.code()), error.what());
    }
  });
}

}  // namespace wick::python
