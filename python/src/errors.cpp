#include "bind.h"
#include "wick/base/error.h"

namespace wick::python {
namespace {

PyObject* exception_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kShapeMismatch:
    case ErrorCode::kDeviceMismatch:
    case ErrorCode::kFormat:
      return PyExc_ValueError;
    case ErrorCode::kDTypeMismatch:
      return PyExc_TypeError;
    case ErrorCode::kOutOfRange:
      return PyExc_IndexError;
    case ErrorCode::kUnsupported:
      return PyExc_NotImplementedError;
    case ErrorCode::kOutOfMemory:
      return PyExc_MemoryError;
    case ErrorCode::kIo:
      return PyExc_OSError;
    default:
      return PyExc_RuntimeError;  // devices, and the state of the tape
  }
}

}  // namespace

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
