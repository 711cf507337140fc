#include "terminal.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "controls.h"

namespace wick::cli {
namespace {

FILE* const process_out = stdout;
FILE* const process_err = stderr;

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(size_t(written));
  }
  return true;
}

}  // namespace

/// A stream in place of one of the process's own.
struct TerminalGuard::Escaping {
  Escaping(FILE** place, FILE* own, int buffering) : place(place), own(own) {
    // Returning 0 tells stdio that the write failed.
    const cookie_io_functions_t functions{
        .read = nullptr,
        .write = +[](void* self, const char* text, size_t bytes) -> ssize_t {
          auto* stream = static_cast<Escaping*>(self);
          const std::string safe = stream->escaper.push({text, bytes});
          return write_all(fileno(stream->own), safe) ? ssize_t(bytes) : 0;
        },
        .seek = nullptr,
        .close = nullptr};
    FILE* stream = fopencookie(this, "w", functions);
    if (!stream) return;
    std::setvbuf(stream, nullptr, buffering, BUFSIZ);
    *place = stream;
  }
  ~Escaping() {
    if (*place == own) return;
    std::fclose(*place);
    write_all(fileno(own), escaper.finish());
    *place = own;
  }
  Escaping(const Escaping&) = delete;
  Escaping& operator=(const Escaping&) = delete;

  FILE** place;  // &stdout or &stderr
  FILE* own;
  ControlEscaper escaper;
};

TerminalGuard::TerminalGuard() {
  if (is_terminal(STDOUT_FILENO)) out_ = std::make_unique<Escaping>(&stdout, process_out, _IOLBF);
  if (is_terminal(STDERR_FILENO)) err_ = std::make_unique<Escaping>(&stderr, process_err, _IONBF);
}
TerminalGuard::~TerminalGuard() = default;

bool is_terminal(int descriptor) { return isatty(descriptor) != 0; }
FILE* raw_stdout() { return process_out; }
FILE* raw_stderr() { return process_err; }

void print_text(std::string_view text) {
  const std::string shown = is_terminal(STDOUT_FILENO) ? without_controls(text) : std::string(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);
}

}  // namespace wick::cli
