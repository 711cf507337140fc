#include "ranks.h"

#include <cstdio>
#include <mutex>

#include "paths.h"
#include "printable.h"
#include "wick/dist/launch.h"

namespace wick::cli {
namespace {

std::vector<std::string> arguments;

/// The news from the ranks that this process has started, whose lines another thread reads.
struct News {
  std::mutex mutex;
  std::string failure;  // of a rank
  bool holds_lines = false;
  std::vector<std::string> held;
  std::string error;  // of this process

  void add(std::string line) {
    const std::lock_guard lock(mutex);
    if (holds_lines)
      held.push_back(std::move(line));
    else
      print(line);
  }
  void print(const std::string& line) const {
    const bool is_known = !error.empty() && (line.find(error) != line.npos ||
                                             line.find("rank 0 has left") != line.npos);
    if (!is_known) std::fprintf(stderr, "%s\n", printable(line).c_str());
  }
};
News& news() {
  static News all;
  return all;
}

/// The command line without --threads: that is of all ranks, which get their shares.
std::vector<std::string> command_of_ranks() {
  std::vector<std::string> command = {this_program()};
  for (size_t i = 1; i < arguments.size(); i++) {
    if (arguments[i] == "--threads")
      i++;
    else if (!arguments[i].starts_with("--threads="))
      command.push_back(arguments[i]);
  }
  return command;
}

}  // namespace

void keep_arguments(int argc, char** argv) { arguments.assign(argv, argv + argc); }

bool is_later_rank() { return process_group_options().rank > 0; }

ProcessGroup rank_group(int ranks) {
  news().holds_lines = true;
  LaunchOptions options{.processes = ranks};
  options.on_line = [](int rank, bool, std::string_view line) {
    news().add("[" + std::to_string(rank) + "] " + std::string(line));
  };
  try {
    return join_or_start(command_of_ranks(), options, [](const std::string& text) {
      const std::lock_guard lock(news().mutex);
      news().failure = text;
    });
  } catch (const Error& error) {
    show_rank_lines(error.what());
    throw;
  }
}

void show_rank_lines(const std::string& error) {
  const std::lock_guard lock(news().mutex);
  news().holds_lines = false;
  news().error = error;
  for (const std::string& line : news().held) news().print(line);
  news().held.clear();
}

void require_ranks_alive() {
  const std::lock_guard lock(news().mutex);
  if (!news().failure.empty()) throw Error(ErrorCode::kIo, news().failure);
}

}  // namespace wick::cli
