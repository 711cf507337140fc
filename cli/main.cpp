// The program `wick`: parses the command line and turns errors into one line and an exit code.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "commands.h"
#include "failure.h"
#include "printable.h"
#include "wick/base/error.h"

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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"wick: tensors and models on the CPU, on ROCm and on CUDA", "wick"};
  app.set_version_flag("--version", WICK_VERSION);
  wick::cli::add_devices(app);
  wick::cli::add_train(app);
  wick::cli::add_generate(app);
  wick::cli::add_inspect(app);
  wick::cli::add_chat(app);
  wick::cli::add_tokenize(app);
  wick::cli::add_logits(app);
  wick::cli::add_convert(app);
  wick::cli::add_perplexity(app);
  wick::cli::add_quantize(app);
  wick::cli::add_bench(app);
  wick::cli::add_embed(app);
  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      throw std::runtime_error(std::string("the output cannot be written: ") +
                               std::strerror(errno));
    // Checked here: CLI11 would report a missing command also for unknown words.
    if (!app.get_subcommands().empty()) return kDone;
    std::fprintf(stderr, "wick: expected a command; wick --help lists them\n");
    return kBadInput;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    std::fprintf(stderr, "wick: %s\n", e.what());
    return kBadInput;
  } catch (const wick::cli::Interrupted&) {
    return kInterrupted;
  } catch (const wick::Error& e) {
    // Error texts quote what files hold.
    std::fprintf(stderr, "wick: %s\n", wick::cli::printable(e.what()).c_str());
    return is_bad_input(e.code()) ? kBadInput : kFailed;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "wick: out of memory\n");
    return kFailed;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "wick: %s\n", e.what());
    return kFailed;
  }
}
