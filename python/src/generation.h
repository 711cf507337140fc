// Texts and conversations for Python's generators.
#pragma once
#include <nanobind/nanobind.h>

#include "wick/generate/session.h"
#include "wick/load/load_model.h"

namespace wick::python {

/// The options of a session with these keywords; where they say nothing, the model's own, and a
/// seed of new_session_seed.
SessionOptions session_options(const LanguageModel& model, const nanobind::dict& keywords);
void bind_generation(nanobind::module_& m);
void bind_engine(nanobind::module_& m);
void bind_grammars(nanobind::module_& m);
void bind_server(nanobind::module_& m);

}  // namespace wick::python
