// A generated text on the terminal: its rates, its line of JSON, its end.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "terminal.h"
#include "wick/generate/generation.h"

namespace wick::cli {

/// Prints a text piece by piece. If an error ends it early, the error's line is one of its own.
class TextPrinter {
 public:
  void operator()(std::string_view piece) {
    print_text(piece);
    started_ = true;
  }
  /// Returns f(), which prints with this.
  template <class F>
  auto run(const F& f) {
    try {
      return f();
    } catch (...) {
      if (started_) print_text("\n");
      throw;
    }
  }

 private:
  bool started_ = false;
};

/// One line: "prefill: 6 tokens, 120 tokens/s; decode: ...".
std::string rates_text(const GeneratedText& text);
/// The line that --json prints. seed: of the random numbers.
std::string json_line(const GeneratedText& text, const std::string& prompt, uint64_t seed);
/// Ends the text on stdout with `last` and a newline, so that the next text on stderr has a line of
/// its own.
void end_text(const std::string& last);

}  // namespace wick::cli
