// Scopes: which variable a name means.
#pragma once
#include <string>

#include "text/jinja/syntax.h"

namespace wick::jinja {

/// Gives each name of the template a slot, as jinja2's compiler does: a scope has variables of its
/// own for the names that it assigns, and reads the others where they are. Looks up filters and
/// tests. where: prefix of error texts. Errors, with line and column: kUnsupported for an unknown
/// filter or test outside of branches; kFormat for an assignment to the variable of a loop.
void resolve(Template& tree, const std::string& where);

}  // namespace wick::jinja
