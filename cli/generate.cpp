// wick generate: generates text from a model and prints it as it arrives.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "model_folder.h"
#include "paths.h"
#include "ranges.h"
#include "report.h"
#include "wick/io/json.h"
#include "wick/models/session.h"

namespace wick::cli {
namespace {

struct Options {
  std::string model, prompt, device = "auto";
  int64_t max_tokens = 256;
  Sampling sampling = {.temperature = 0.8, .top_p = 0.95};
  uint64_t seed = 1;
  bool json = false;
};

/// A token count and the time taken, in seconds.
struct Rate {
  int64_t tokens = 0;
  double seconds = 0;
  double per_second() const { return seconds > 0 ? double(tokens) / seconds : 0; }
};

/// A growing text. When the model's positions are used up, restarts from the later half of the
/// text.
class Writing {
 public:
  Writing(const Decoder& decoder, const Options& options, int64_t capacity)
      : session_(decoder, {.capacity = capacity, .sampling = options.sampling}) {}

  std::vector<int64_t> ids;  // the prompt, then generated tokens
  Rate prefill, decode;

  void next() {
    const auto start = std::chrono::steady_clock::now();
    const bool full = session_.length() > session_.capacity();
    Rate& rate = started_ && !full ? decode : prefill;
    if (&rate == &prefill) {
      const int64_t reach =
          started_ ? std::max<int64_t>(1, session_.capacity() / 2) : session_.capacity();
      const int64_t length = std::min(reach, int64_t(ids.size()));
      session_.rewind(0);
      session_.append(std::vector<int64_t>{ids.end() - length, ids.end()});
      started_ = true;
      rate.tokens += length;
    } else {
      rate.tokens++;
    }
    ids.push_back(session_.step()[0]);
    rate.seconds += seconds_since(start);
  }

 private:
  Session session_;
  bool started_ = false;
};

std::string rate_text(const char* name, const Rate& rate) {
  return std::string(name) + ": " + grouped(rate.tokens) + " tokens, " +
         grouped(std::llround(rate.per_second())) + " tokens/s";
}

void print_json(const Writing& writing, const Options& options, size_t prompt,
                const char* stopped) {
  const std::vector<int64_t> ids(writing.ids.begin() + ptrdiff_t(prompt), writing.ids.end());
  std::string text;
  for (const int64_t id : ids) text += char(id);
  Settings s;
  s.set("prompt", options.prompt)
      .set("text", text)
      .set("tokens", Setting::List(ids.begin(), ids.end()));
  s.set("stopped", stopped);
  s.set("prefill_tokens", writing.prefill.tokens).set("decode_tokens", writing.decode.tokens);
  s.set("prefill_tokens_per_second", writing.prefill.per_second());
  s.set("decode_tokens_per_second", writing.decode.per_second());
  std::printf("%s\n", to_json(s, -1).c_str());
}

void generate(const Options& options) {
  if (!is_folder(options.model)) fail_input(options.model, "no such folder");
  const Device device = Device::parse(options.device);
  const DecoderConfig config = read_config(options.model + "/config.json");
  require_bytes(options.model, config);

  // Texts start as if after a newline, as in training.
  const std::string before = options.prompt.empty() ? "\n" : options.prompt;
  const int64_t capacity =
      std::min(config.max_position_embeddings, int64_t(before.size()) + options.max_tokens);
  const Decoder decoder = open_model(options.model, device.preferred_dtype(), device, capacity);
  device.set_seed(options.seed);
  Writing writing(decoder, options, capacity);
  for (const char c : before) writing.ids.push_back(uint8_t(c));
  const size_t prompt = writing.ids.size();

  const InterruptWatch watch;
  if (!options.json) std::fputs(options.prompt.c_str(), stdout);
  const char* stopped = "length";
  for (int64_t i = 0; i < options.max_tokens; i++) {
    if (InterruptWatch::asked()) {
      stopped = "interrupted";
      break;
    }
    writing.next();
    const int64_t id = writing.ids.back();
    if (std::count(config.eos_token_ids.begin(), config.eos_token_ids.end(), id)) {
      writing.ids.pop_back();
      stopped = "end";
      break;
    }
    if (options.json) continue;
    std::fputc(int(id), stdout);
    std::fflush(stdout);
  }
  if (options.json)
    print_json(writing, options, prompt, stopped);
  else
    std::fputc('\n', stdout);
  std::fprintf(stderr, "%s; %s\n", rate_text("prefill", writing.prefill).c_str(),
               rate_text("decode", writing.decode).c_str());
  if (InterruptWatch::asked()) throw Interrupted();
}

}  // namespace

void add_generate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("generate", "text from a model, printed as it comes");
  const auto o = std::make_shared<Options>();
  command->add_option("-m,--model", o->model, "a folder of config.json and safetensors")
      ->required();
  command->add_option("-p,--prompt", o->prompt, "what the text begins with");
  command->add_option("--max-tokens", o->max_tokens, "how many to write")
      ->check(integer_from(1))
      ->capture_default_str();
  command->add_option("--temperature", o->sampling.temperature, "0: always the likeliest token")
      ->check(real_from({}))
      ->capture_default_str();
  command->add_option("--top-k", o->sampling.top_k, "of the k likeliest; 0: of all")
      ->check(integer_from(0))
      ->capture_default_str();
  command->add_option("--top-p", o->sampling.top_p, "of the likeliest that together reach p")
      ->check(real_from({.highest = 1, .above_lowest = true}))
      ->capture_default_str();
  command->add_option("--seed", o->seed, "of the random numbers")
      ->check(seed_range())
      ->capture_default_str();
  command->add_option("--device", o->device, "cpu, rocm[:N], cuda[:N], emu:32, emu:64 or auto")
      ->capture_default_str();
  command->add_flag("--json", o->json, "one line of JSON when it is done");
  command->callback([o] { generate(*o); });
}

}  // namespace wick::cli
