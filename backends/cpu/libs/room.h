// Memory for libraries that end the process or wait for ever if they get none.
#pragma once
#include <cstddef>

namespace wick::cpu {

/// Whether the process may map this many bytes more (ulimit -v, strict overcommit). Costs 1 to 2 us.
bool has_room(size_t bytes);

/// What oneDNN needs beside scratch memory at most: code that it writes when a product first needs it,
/// into memory whose allocation it does not check, and buffers.
inline constexpr size_t kOneDnnRoom = size_t{32} << 20;

}  // namespace wick::cpu
