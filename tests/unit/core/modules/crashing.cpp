// A module that ends the process, as a vendor's runtime does on some machines.
#include <cstdlib>

#include "wick/abi/backend.h"

extern "C" __attribute__((visibility("default"))) const wick::Backend* wick_backend() {
  std::abort();
}
