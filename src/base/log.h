// Notes on stderr about what wick decides by itself, for those who ask: WICK_LOG=info.
#pragma once
#include <sstream>
#include <string>

namespace wick {

/// Whether WICK_LOG asks for notes; read once. Errors: kInvalidArgument for an unknown word.
bool logs_info();

/// Writes "wick: TEXT" as one line to stderr, whole among other threads' lines.
void write_note(const std::string& text);

/// Writes the parts as one note if WICK_LOG asks for notes.
template <class... Parts>
void note(const Parts&... parts) {
  if (!logs_info()) return;
  std::ostringstream text;
  (text << ... << parts);
  write_note(text.str());
}

}  // namespace wick
