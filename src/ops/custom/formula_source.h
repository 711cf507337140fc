// formula_kernel.h and all that it includes, as text: made by cmake/EmbedHeaders.cmake.
#pragma once

namespace wick {

extern const char kFormulaSource[];

}  // namespace wick
