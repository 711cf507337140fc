// SessionOptions::on_logits as a function of Python's.
#pragma once
#include <nanobind/nanobind.h>

#include <functional>
#include <string>

#include "wick/core/tensor.h"

namespace wick::python {

/// Calls the function with the logits and returns its result. Errors: TypeError if the value cannot
/// be called; later TypeError or ValueError for a result that is no Tensor of the logits' shape.
std::function<Tensor(const Tensor&)> on_logits_of(nanobind::handle value, const std::string& where);

/// Slots of the classes with a session, whose on_logits may refer to the object itself: Python's
/// garbage collector sees and breaks such cycles.
extern PyType_Slot session_slots[];
extern PyType_Slot generation_slots[];
extern PyType_Slot chat_slots[];

}  // namespace wick::python
