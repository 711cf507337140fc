// fill: sets every element to one value. Only the element size matters, so one version serves every
// instruction set.
#pragma once
#include "runtime/table.h"

namespace wick::cpu {

void add_fill(Table& table);

}  // namespace wick::cpu
