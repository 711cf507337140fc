// WICK_DIST: by which way the ranks' tensors travel.
#pragma once
#include "base/environment.h"

namespace wick::dist {

/// kNccl: tensors on cards by the cards' library, others as with kAuto.
enum class Choice { kAuto, kNccl, kTcp, kMpi };

/// Errors: kInvalidArgument.
inline Choice choice_of_environment() {
  return Choice(environment_choice("WICK_DIST", {"auto", "nccl", "tcp", "mpi"}).value_or(0));
}

}  // namespace wick::dist
