#include "text/jinja/meter.h"

namespace wick::jinja {

void Meter::out_of_steps() const { refuse("the template takes more than ", max_steps_, " steps"); }

void Meter::out_of_bytes() const {
  refuse("the template takes more than ", max_bytes_, " bytes of memory");
}

void Meter::too_deep() const { refuse("calls and values nest too deeply"); }

}  // namespace wick::jinja
