#include "on_logits.h"

#include <memory>

#include "casters.h"
#include "values.h"
#include "wick/base/error.h"
#include "wick/generate/chat.h"
#include "wick/generate/generation.h"
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

const Session& session_of(const Session& session) { return session; }
const Session& session_of(const Generation& generation) { return generation.session(); }
const Session& session_of(const Chat& chat) { return chat.session(); }

/// The garbage collector's functions for a class with a session.
template <class T>
struct Collected {
  static const Callback* callback_of(PyObject* object) {
    if (!nb::inst_ready(object)) return nullptr;
    return session_of(*nb::inst_ptr<T>(object)).options().on_logits.template target<Callback>();
  }

  static int traverse(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    if (const Callback* callback = callback_of(object)) Py_VISIT(callback->function->ptr());
    return 0;
  }

  static int clear(PyObject* object) {
    if (const Callback* callback = callback_of(object)) callback->function->reset();
    return 0;
  }
};

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

PyType_Slot session_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&Collected<Session>::traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(&Collected<Session>::clear)},
    {0, nullptr}};
PyType_Slot generation_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&Collected<Generation>::traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(&Collected<Generation>::clear)},
    {0, nullptr}};
PyType_Slot chat_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&Collected<Chat>::traverse)},
                            {Py_tp_clear, reinterpret_cast<void*>(&Collected<Chat>::clear)},
                            {0, nullptr}};

}  // namespace wick::python
