// Generation of one text from a session: streaming, stop strings, Ctrl-C, rates.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/settings.h"
#include "wick/generate/session.h"
#include "wick/load/load_model.h"

namespace wick::cli {

/// A token count and the time taken, in seconds.
struct Rate {
  int64_t tokens = 0;
  double seconds = 0;
  double per_second() const { return seconds > 0 ? double(tokens) / seconds : 0; }
};

struct WriteOptions {
  int64_t max_tokens = 256;
  std::vector<std::string> stop = {};  // texts that end the answer, and are not part of it
  bool skip_special = false;           // leave special tokens out of the text
  bool slide = false;                  // when the context is full, go on from its later half
  std::function<void(std::string_view)> on_text = {};  // receives the text as it is generated
};

struct Writing {
  std::vector<int64_t> ids;  // without the stop id
  std::string text;
  const char* stopped = "length";  // "end": a stop id, "stop": a stop text, "length", "context":
                                   // the context is full, "interrupted"
  int64_t prompt_tokens = 0;
  Rate prefill, decode;
};

/// Appends the ids to the session and generates. If an error ends the text early, on_text gets a
/// newline after it. Call within the life of an InterruptWatch.
Writing write(const LanguageModel& model, Session& session, const std::vector<int64_t>& ids,
              const WriteOptions& options);

/// One line: "prefill: 6 tokens, 120 tokens/s; decode: ...".
std::string rates_text(const Writing& writing);
/// The line that --json prints. seed: of the random numbers.
std::string json_line(const Writing& writing, const std::string& prompt, uint64_t seed);
/// Ends the text on stdout with `last` and a newline, so that what follows on stderr has a line of
/// its own.
void end_text(const std::string& last);

}  // namespace wick::cli
