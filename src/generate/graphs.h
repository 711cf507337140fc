// Whether steps are captured into graphs.
#pragma once

namespace wick {

/// Whether WICK_GRAPHS leaves graphs on.
bool graphs_are_on();

}  // namespace wick
