// The arguments that every loader of models takes.
#pragma once
#include <optional>

#include "casters.h"
#include "wick/load/load_model.h"

namespace wick::python {

/// Options with these arguments; None leaves the default. dtype: a DType or its name, whose errors
/// are load_model's. progress: is called with (bytes read, all bytes) after each tensor; Ctrl-C
/// ends the loading. The options hold no reference to progress, which must outlive them.
LoadOptions load_options(const std::optional<DeviceArgument>& device, const nb::object& dtype,
                         const nb::object& progress);

}  // namespace wick::python
