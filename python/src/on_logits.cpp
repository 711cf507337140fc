#include "on_logits.h"

#include <memory>

#include "casters.h"
#include "values.h"
#include "wick/base/error.h"
#include "wick/generate/session.h"

namespace wick::python {
namespace {

struct Callback {
  std::shared_ptr<nb::object> function;  // null once the garbage collector has cleared it

  Tensor operator()(const Tensor& logits) const {
    const nb::gil_scoped_acquire python;
    check(function->is_valid(), ErrorCode::kInvalidArgument, "on_logits", "the session has ended");
    const nb::object result = (*function)(logits);
    if (!nb::isinstance<TensorObject>(result)) fail_type("on_logits", "a Tensor", result);
    const Tensor changed = nb::cast<Tensor>(result);
    check(changed.shape() == logits.shape(), ErrorCode::kShapeMismatch, "on_logits",
          "expected logits ", logits.shape(), ", got ", changed.shape());
    return changed;
  }
};

const Callback* callback_of(PyObject* session) {
  if (!nb::inst_ready(session)) return nullptr;
  return nb::inst_ptr<Session>(session)->options().on_logits.target<Callback>();
}

int traverse(PyObject* session, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(session));
  if (const Callback* callback = callback_of(session)) Py_VISIT(callback->function->ptr());
  return 0;
}

int clear(PyObject* session) {
  if (const Callback* callback = callback_of(session)) callback->function->reset();
  return 0;
}

}  // namespace

std::function<Tensor(const Tensor&)> on_logits_of(nb::handle value, const std::string& where) {
  if (!PyCallable_Check(value.ptr())) fail_type(where, "a function", value);
  // The last copy may go while the GIL is released.
  const auto remove = [](nb::object* function) {
    const nb::gil_scoped_acquire python;
    delete function;
  };
  return Callback{{new nb::object(nb::borrow(value)), remove}};
}

PyType_Slot session_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                               {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                               {0, nullptr}};

}  // namespace wick::python
