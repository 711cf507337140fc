#include "generate/graphs.h"

#include "base/environment.h"

namespace wick {

bool graphs_are_on() {
  static const bool on = environment_choice("WICK_GRAPHS", {"on", "off"}).value_or(0) == 0;
  return on;
}

}  // namespace wick
