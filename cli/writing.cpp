#include "writing.h"

#include <cmath>

#include "report.h"
#include "wick/io/json.h"

namespace wick::cli {
namespace {

std::string rate_text(const char* name, const Rate& rate) {
  return std::string(name) + ": " + grouped(rate.tokens) + " tokens, " +
         grouped(std::llround(rate.per_second())) + " tokens/s";
}

}  // namespace

std::string rates_text(const GeneratedText& text) {
  return rate_text("prefill", text.prefill) + "; " + rate_text("decode", text.decode);
}

std::string json_line(const GeneratedText& text, const std::string& prompt, uint64_t seed) {
  Settings s;
  s.set("prompt", prompt).set("text", text.text);
  s.set("tokens", Setting::List(text.ids.begin(), text.ids.end()));
  s.set("stopped", to_string(text.ending)).set("prompt_tokens", text.prompt_tokens);
  // JSON numbers of wick have 63 bits.
  s.set("seed", seed <= INT64_MAX ? Setting(int64_t(seed)) : Setting(std::to_string(seed)));
  s.set("prefill_tokens", text.prefill.tokens).set("decode_tokens", text.decode.tokens);
  s.set("prefill_tokens_per_second", text.prefill.per_second());
  s.set("decode_tokens_per_second", text.decode.per_second());
  return to_json(s, -1);
}

void end_text(const std::string& last) {
  std::printf("%s\n", last.c_str());
  std::fflush(stdout);
}

}  // namespace wick::cli
