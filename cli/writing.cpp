#include "writing.h"

#include <chrono>
#include <cmath>
#include <cstdio>

#include "failure.h"
#include "report.h"
#include "wick/io/json.h"
#include "wick/text/stop_strings.h"

namespace wick::cli {
namespace {

/// Adds the time until its end to a rate.
class Timed {
 public:
  explicit Timed(Rate& rate) : rate_(rate) {}
  ~Timed() { rate_.seconds += seconds_since(start_); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Rate& rate_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string rate_text(const char* name, const Rate& rate) {
  return std::string(name) + ": " + grouped(rate.tokens) + " tokens, " +
         grouped(std::llround(rate.per_second())) + " tokens/s";
}

/// Continues the text, and counts in `w`.
void generate(const LanguageModel& model, Session& session, const std::vector<int64_t>& ids,
              const WriteOptions& options, Writing& w) {
  w.prompt_tokens = int64_t(ids.size());
  TokenStream stream(*model.tokenizer, options.skip_special);
  StopStrings stops(options.stop);
  const auto emit = [&](const std::string& text) {
    w.text += text;
    if (options.on_text && !text.empty()) options.on_text(text);
  };
  std::vector<int64_t> next = ids;  // to be appended before the next token is sampled
  for (int64_t i = 0; i < options.max_tokens; i++) {
    if (InterruptWatch::asked()) {
      w.stopped = "interrupted";
      break;
    }
    if (next.empty() && session.length() > session.capacity()) {
      if (!options.slide) {
        w.stopped = "context";
        break;
      }
      next = session.history();
    }
    int64_t id = 0;
    if (!next.empty()) {
      const Timed timed(w.prefill);
      const int64_t room = session.capacity();
      if (options.slide && session.length() + int64_t(next.size()) > room) {
        // A prompt keeps as much as fits; a text that has filled the context keeps half.
        const int64_t keep = i == 0 ? room : std::max<int64_t>(1, room / 2);
        next.erase(next.begin(), next.end() - std::min(keep, int64_t(next.size())));
        session.rewind(0);
      }
      session.append(next);
      w.prefill.tokens += int64_t(next.size());
      next.clear();
      id = session.step()[0];
    } else {
      const Timed timed(w.decode);
      id = session.step()[0];
      w.decode.tokens++;
    }
    if (session.stopped()) {
      w.stopped = "end";
      break;
    }
    w.ids.push_back(id);
    emit(stops.push(stream.push(id)));
    if (stops.stopped()) {
      w.stopped = "stop";
      break;
    }
  }
  if (!stops.stopped()) {
    emit(stops.push(stream.finish()));
    if (stops.stopped())
      w.stopped = "stop";
    else
      emit(stops.finish());
  }
}

}  // namespace

Writing write(const LanguageModel& model, Session& session, const std::vector<int64_t>& ids,
              const WriteOptions& options) {
  Writing w;
  try {
    generate(model, session, ids, options, w);
  } catch (...) {
    if (options.on_text && !w.text.empty()) options.on_text("\n");
    throw;
  }
  return w;
}

std::string rates_text(const Writing& w) {
  return rate_text("prefill", w.prefill) + "; " + rate_text("decode", w.decode);
}

std::string json_line(const Writing& w, const std::string& prompt, uint64_t seed) {
  Settings s;
  s.set("prompt", prompt).set("text", w.text);
  s.set("tokens", Setting::List(w.ids.begin(), w.ids.end())).set("stopped", w.stopped);
  s.set("prompt_tokens", w.prompt_tokens);
  // JSON numbers of wick have 63 bits.
  s.set("seed", seed <= INT64_MAX ? Setting(int64_t(seed)) : Setting(std::to_string(seed)));
  s.set("prefill_tokens", w.prefill.tokens).set("decode_tokens", w.decode.tokens);
  s.set("prefill_tokens_per_second", w.prefill.per_second());
  s.set("decode_tokens_per_second", w.decode.per_second());
  return to_json(s, -1);
}

void end_text(const std::string& last) {
  std::printf("%s\n", last.c_str());
  std::fflush(stdout);
}

}  // namespace wick::cli
