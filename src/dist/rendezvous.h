// How ranks find each other: all connect to rank 0's port, then each two to each other.
#pragma once
#include <vector>

#include "dist/connection.h"
#include "wick/dist/process_group.h"

namespace wick::dist {

/// The connections to the other ranks, by rank; this rank's own is empty. Returns when all are
/// there.
///
/// Connections from strangers, which do not send a rank's greeting, are closed and noted; the wait
/// goes on. Errors: kInvalidArgument on all ranks if two claim one rank or the world sizes differ;
/// kIo, naming ranks, if some are missing after options.timeout_seconds or one dies meanwhile.
std::vector<Connection> meet(const ProcessGroupOptions& options);

}  // namespace wick::dist
