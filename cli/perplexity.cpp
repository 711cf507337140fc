// wick perplexity: how well a model predicts a text.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "input.h"
#include "model.h"
#include "ranges.h"
#include "report.h"
#include "wick/io/file.h"
#include "wick/io/json.h"
#include "wick/models/finite.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"

namespace wick::cli {
namespace {

constexpr int64_t kContext = 512;

struct Options {
  ModelFlags model;
  int64_t context = 0, windows = 0;  // 0: kContext or the model's; all
  bool json = false;
};

/// Sums of -log p of the tokens that were scored.
struct Score {
  int64_t tokens = 0;
  double sum = 0, sum_of_squares = 0;

  double mean() const { return sum / double(tokens); }
  double perplexity() const { return std::exp(mean()); }
  /// The standard error of the perplexity, as if the tokens were independent.
  double error() const {
    const double variance = sum_of_squares / double(tokens) - mean() * mean();
    return perplexity() *
           std::sqrt(std::max(0.0, variance) / double(std::max<int64_t>(1, tokens - 1)));
  }
};

/// The token that the model's files put before every text.
std::optional<int64_t> beginning(const Tokenizer& tokenizer) {
  const std::vector<int64_t> with = tokenizer.encode_ids("a", {.add_end = false}),
                             without = tokenizer.encode_ids("a", {.add_special = false});
  if (with.size() <= without.size()) return std::nullopt;
  return with.front();
}

/// Scores the second half of a window, whose tokens have at least half of it before them. They
/// attend to keys and values as a cache of `type` holds them.
void add_window(const CausalModel& model, const std::vector<int64_t>& ids, CacheType type,
                Score* score) {
  const int64_t count = int64_t(ids.size()), first = count / 2;
  const Device device = model.options().device;
  std::unique_ptr<ModelCache> cache;
  if (type != CacheType::kModel) {
    cache = model.make_cache({.capacity = count, .chunk = count, .type = type});
    cache->prepare({0}, {count});
  }
  const Tensor hidden = model.hidden(Tensor::from(ids, {1, count}, device),
                                     positions_from_0(1, count, device), cache.get());
  const Tensor logits = model.logits(squeeze(narrow(hidden, 1, first, count - 1 - first), 0));
  const std::vector<int64_t> next(ids.begin() + first + 1, ids.end());
  const Tensor targets = Tensor::from(next, {int64_t(next.size()), 1}, device);
  const Tensor log_p = gather(log_softmax(cast(logits, DType::kF32), -1), -1, targets);
  for (const float value : log_p.to_vector<float>()) {
    if (!std::isfinite(value)) fail_not_finite("perplexity", model, ids);
    score->tokens++;
    score->sum -= double(value);
    score->sum_of_squares += double(value) * double(value);
  }
}

int64_t context_of(const Options& options) {
  const ModelFacts config = load_facts(options.model.path);
  if (!config.is_causal)
    fail_input(options.model.path,
               "expected a causal model: this one's tokens attend to those behind them, so it "
               "predicts no text");
  const int64_t most = config.max_position_embeddings;
  if (options.context > most)
    fail_input("--context", "expected at most ", most, ", the model's positions, got ",
               options.context);
  return options.context > 0 ? options.context : std::min(kContext, most);
}

void print(const Options& options, const Score& score, int64_t context, int64_t windows,
           double seconds) {
  if (options.json) {
    Settings line;
    line.set("perplexity", score.perplexity())
        .set("error", score.error())
        .set("scored_tokens", score.tokens)
        .set("windows", windows)
        .set("context", context)
        .set("seconds", seconds)
        .set("tokens_per_second", double(windows * context) / seconds);
    std::printf("%s\n", to_json(line, -1).c_str());
    return;
  }
  std::printf("perplexity %s +- %s  (%s tokens scored in %s windows of %lld, %s)\n",
              decimal(score.perplexity(), 4).c_str(), decimal(score.error(), 4).c_str(),
              grouped(score.tokens).c_str(), grouped(windows).c_str(), (long long)context,
              clock_time(seconds).c_str());
}

void perplexity(const Options& options) {
  reading_input(
      [&] { return model_path(options.model.path); });  // before the text, which may be stdin
  const std::string text = read_input(options.model.files.front());
  const int64_t context = context_of(options);
  const LanguageModel model = open_model(options.model, {.positions = context});
  require_tokenizer(model, options.model.path);
  const std::vector<int64_t> ids =
      model.tokenizer->encode_ids(text, {.add_end = false, .parse_special = false});
  const int64_t whole = int64_t(ids.size()) / context;
  if (whole == 0)
    fail_input(input_name(options.model.files.front()), "expected a text of at least ", context,
               " tokens, got ", ids.size());
  const int64_t windows = options.windows > 0 ? std::min(options.windows, whole) : whole;
  const std::optional<int64_t> bos = beginning(*model.tokenizer);

  const InterruptWatch watch;
  const NoGrad off;
  Score score;
  Progress bar(0, windows, {.log = false});
  for (int64_t w = 0; w < windows; w++) {
    std::vector<int64_t> window(ids.begin() + w * context, ids.begin() + (w + 1) * context);
    if (bos) window.front() = *bos;
    add_window(*model.model, window, options.model.cache(), &score);
    bar.update(w + 1, "windows, perplexity " + decimal(score.perplexity(), 4));
    if (InterruptWatch::asked()) throw Interrupted();
  }
  print(options, score, context, windows, bar.seconds());
}

}  // namespace

void add_perplexity(CLI::App& app) {
  CLI::App* command = app.add_subcommand("perplexity", "how well a model predicts a text");
  const auto o = std::make_shared<Options>();
  add_model_flags(*command, o->model,
                  {.most = 1, .description = "a file with the text (default: stdin)"});
  command
      ->add_option("--context", o->context,
                   "tokens in a window, of which the second half is scored (default: 512)")
      ->check(integer_from(4));
  command->add_option("--windows", o->windows, "the number of windows (default: all of the text)")
      ->check(integer_from(1));
  add_cache_flag(*command, o->model);
  command->add_flag("--json", o->json, "print one line of JSON at the end");
  command->footer(
      "Examples:\n"
      "  wick perplexity model.gguf text.txt\n"
      "  wick perplexity folder text.txt --device cpu --windows 20 --json");
  command->callback([o] {
    o->model.settle();
    perplexity(*o);
  });
}

}  // namespace wick::cli
