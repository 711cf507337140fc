// Starting the ranks of a machine as processes of one command.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/export.h"
#include "wick/dist/process_group.h"

namespace wick {

struct LaunchOptions {
  int processes = 1;                  // on this machine
  int nodes = 1, node = 0;            // machines, each with as many processes, and this one
  std::string address = "127.0.0.1";  // of node 0
  int port = 0;                       // 0: a free one, if there is one machine
  /// Called with each whole line that a rank writes, without its end. is_error: to stderr.
  std::function<void(int rank, bool is_error, std::string_view line)> on_line = {};
  /// Asked several times a second; a signal such as SIGINT is sent to all ranks, once for each call
  /// that returns it, and 0 goes on.
  std::function<int()> signal = {};
};

/// Runs a command once for each rank, found in PATH, with the variables that process_group_options
/// reads (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT), and
/// WICK_THREADS, if it is unset, as each rank's share of the cores. Waits for all. If one fails,
/// sends SIGTERM to the others, and SIGKILL to those that still run after 10 s. The ranks end if
/// this process does.
/// Errors: kIo, naming the rank that failed first, and kInvalidArgument if that ended with status
/// 2, as programs do for bad input; kInvalidArgument for options out of range and for a command
/// that is not found.
WICK_API void launch(const std::vector<std::string>& command, const LaunchOptions& options);

/// Joins the group of options.processes ranks that a launcher has started. If there is no such one,
/// becomes rank 0 of a new group on this machine and starts the others by the command, as launch
/// does; `signal` is not called, and while the group lives this process has its share of the cores.
/// The started ranks are expected to end once the last copy of the group has left it: that waits
/// for them, then ends those that still run, as launch does. They end if this process does.
///
/// Ranks beside rank 0 wait for the others for as long as those live: they do rank 0's work.
/// on_failure: called once from another thread with a text that names the rank, if a started rank
/// fails.
/// Errors: kInvalidArgument if a launcher has started another number of ranks; as launch for a rank
/// that ends before all have met; as ProcessGroup::join.
WICK_API ProcessGroup join_or_start(const std::vector<std::string>& command,
                                    const LaunchOptions& options,
                                    std::function<void(const std::string&)> on_failure = {});

}  // namespace wick
