// The program `wick`: parses the command line and turns errors into one line and an exit code.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "arguments.h"
#include "commands.h"
#include "failure.h"
#include "printable.h"
#include "ranges.h"
#include "ranks.h"
#include "terminal.h"
#include "wick/base/error.h"
#include "wick/base/threads.h"

namespace {

enum ExitCode { kDone = 0, kFailed = 1, kBadInput = 2, kInterrupted = 130 };

/// Whether the user's input caused the error, as opposed to the machine.
bool is_bad_input(wick::ErrorCode code) {
  switch (code) {
    case wick::ErrorCode::kInvalidArgument:
    case wick::ErrorCode::kShapeMismatch:
    case wick::ErrorCode::kDTypeMismatch:
    case wick::ErrorCode::kOutOfRange:
    case wick::ErrorCode::kUnsupported:
    case wick::ErrorCode::kModuleMissing:
    case wick::ErrorCode::kRuntimeMissing:
    case wick::ErrorCode::kDeviceMissing:
    case wick::ErrorCode::kFormat:
      return true;
    default:
      return false;
  }
}

/// Prints an error in one line. Error texts quote files and arguments.
int fail_with(ExitCode code, const std::string& text) {
  std::fprintf(stderr, "wick: %s\n", wick::cli::printable(text).c_str());
  return code;
}

/// Adds --threads to a command.
void add_threads(CLI::App& command) {
  command
      .add_option_function<int64_t>(
          "--threads", [](int64_t threads) { wick::set_num_threads(int(threads)); },
          "CPU threads (default: WICK_THREADS, else the cores that the process may use)")
      ->check(wick::cli::integer_from(1, 4096));
}

int main_guarded(int argc, char** argv) {
  CLI::App app{"wick: tensors and models on the CPU, on ROCm and on CUDA", "wick"};
  app.set_version_flag("--version", WICK_VERSION);
  wick::cli::add_devices(app);
  wick::cli::add_doctor(app);
  wick::cli::add_train(app);
  wick::cli::add_generate(app);
  wick::cli::add_inspect(app);
  wick::cli::add_chat(app);
  wick::cli::add_tokenize(app);
  wick::cli::add_logits(app);
  wick::cli::add_forward(app);
  wick::cli::add_convert(app);
  wick::cli::add_perplexity(app);
  wick::cli::add_quantize(app);
  wick::cli::add_bench(app);
  wick::cli::add_embed(app);
  wick::cli::add_rank(app);
  wick::cli::add_serve(app);
  wick::cli::add_launch(app);
  wick::cli::add_cache(app);
  wick::cli::add_completion(app);
  // The words after a command are not commands, even if they are named like one.
  app.require_subcommand(0, 1);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    add_threads(*command);
  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      throw std::runtime_error(std::string("the output cannot be written: ") +
                               std::strerror(errno));
    // Checked here: CLI11 would report a missing command also for unknown words.
    if (!app.get_subcommands().empty()) return kDone;
    return fail_with(kBadInput, "expected a command; wick --help lists them");
  } catch (const CLI::ParseError& e) {
    // Before --help and missing arguments, for one of which an unknown flag may be meant.
    const std::string unknown = wick::cli::unknown_arguments(app);
    if (!unknown.empty()) return fail_with(kBadInput, unknown);
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    return fail_with(kBadInput, e.what());
  } catch (const wick::cli::ProblemsFound&) {
    return kFailed;
  } catch (const wick::cli::Followed&) {
    return kDone;
  } catch (const wick::cli::Interrupted&) {
    return kInterrupted;
  } catch (const wick::Error& e) {
    return fail_with(is_bad_input(e.code()) ? kBadInput : kFailed, e.what());
  } catch (const std::bad_alloc&) {
    return fail_with(kFailed, "out of memory");
  } catch (const std::exception& e) {
    return fail_with(kFailed, e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const wick::cli::TerminalGuard guard;
  wick::cli::keep_arguments(argc, argv);
  return main_guarded(argc, argv);
}
