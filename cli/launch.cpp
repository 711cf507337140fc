// wick launch: runs a command as several ranks.
#include "wick/dist/launch.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "ranges.h"

namespace wick::cli {
namespace {

struct Options {
  LaunchOptions launch;
  std::vector<std::string> command;
  bool plain = false;
};

void run(const Options& options) {
  survive_readers();
  LaunchOptions launch_options = options.launch;
  launch_options.on_line = [&](int rank, bool is_error, std::string_view line) {
    FILE* const to = is_error ? stderr : stdout;
    if (!options.plain) std::fprintf(to, "[%d] ", rank);
    std::fwrite(line.data(), 1, line.size(), to);
    std::fputc('\n', to);
    std::fflush(to);
  };
  const InterruptWatch watch;
  bool passed_on = false;
  launch_options.signal = [&] {
    if (reader_gone()) InterruptWatch::ask();
    if (passed_on || !InterruptWatch::asked()) return 0;
    passed_on = true;
    return SIGTERM;
  };
  try {
    launch(options.command, launch_options);
  } catch (const Error&) {
    if (InterruptWatch::asked()) throw Interrupted();
    throw;
  }
  if (InterruptWatch::asked()) throw Interrupted();
}

}  // namespace

void add_launch(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("launch", "a command as several processes, the ranks of a group");
  const auto o = std::make_shared<Options>();
  LaunchOptions& launch = o->launch;
  command->add_option("-n,--processes", launch.processes, "ranks on this machine")
      ->check(integer_from(1, 1024))
      ->capture_default_str();
  command->add_option("--nodes", launch.nodes, "machines, each with as many ranks")
      ->check(integer_from(1, 1024))
      ->capture_default_str();
  command->add_option("--node", launch.node, "the number of this machine, from 0")
      ->check(integer_from(0, 1023))
      ->capture_default_str();
  command->add_option("--address", launch.address, "of machine 0, as the others reach it")
      ->capture_default_str();
  command
      ->add_option("--port", launch.port,
                   "of machine 0, on which the ranks meet; 0: a free one, on one machine")
      ->check(integer_from(0, 65535))
      ->capture_default_str();
  command->add_flag("--plain", o->plain, "lines of output without \"[RANK] \" before them");
  command->footer(
      "Example:\n"
      "  wick launch -n 2 wick train --data book.txt --out my-model");
  command->prefix_command();  // the command's flags are not wick's
  command->callback([o, command] {
    o->command = command->remaining();
    if (!o->command.empty() && o->command[0] == "--") o->command.erase(o->command.begin());
    if (o->command.empty()) fail_input("launch", "expected a command; wick launch --help");
    if (o->command[0].starts_with("-"))
      fail_input("launch", "unknown flag ", o->command[0], "; wick launch --help lists them");
    run(*o);
  });
}

}  // namespace wick::cli
