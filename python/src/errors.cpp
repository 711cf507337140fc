#include <cstring>

#include "bind.h"
#include "exceptions.h"
#include "wick/base/file_error.h"

namespace wick::python {
namespace {

/// Raises the subclass of OSError that Python's own files raise for this reason, such as
/// FileNotFoundError, with its errno.
void raise(const FileError& error) {
  namespace nb = nanobind;
  const nb::object text = nb::steal(
      PyUnicode_DecodeUTF8(error.what(), Py_ssize_t(std::strlen(error.what())), "replace"));
  const nb::handle base = PyExc_OSError;
  // Two arguments choose the class; with one, str() is the text alone.
  const nb::object raised = base(error.reason(), text).type()(text);
  nb::setattr(raised, "errno", nb::int_(error.reason()));
  PyErr_SetObject(raised.type().ptr(), raised.ptr());
}

}  // namespace

void bind_errors(nanobind::module_&) {
  nanobind::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const FileError& error) {
      if (PyErr_CheckSignals() == 0) raise(error);
    } catch (const Error& error) {
      // Ctrl-C ends a compiler, for instance: KeyboardInterrupt says more than the compiler's end.
      if (PyErr_CheckSignals() != 0) return;
      PyErr_SetString(exception_of(error.code()), error.what());
    }
  });
}

}  // namespace wick::python
