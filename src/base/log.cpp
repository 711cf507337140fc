#include "base/log.h"

#include <cstdio>

#include "base/environment.h"

namespace wick {

bool logs_info() {
  static const bool info = environment_choice("WICK_LOG", {"off", "info"}).value_or(0) == 1;
  return info;
}

void write_note(const std::string& text) {
  const std::string line = "wick: " + text + '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);  // stderr is locked for one call
}

}  // namespace wick
