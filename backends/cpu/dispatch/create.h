// Every element of a tensor becomes one value: of elements only the size matters, so no instruction
// set does it better.
#pragma once
#include "runtime/table.h"

namespace wick::cpu {

void add_fill(Table& table);

}  // namespace wick::cpu
