// wick bench: how fast a model reads prompts and generates tokens, beside the device's limits.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>

#include "commands.h"
#include "failure.h"
#include "model.h"
#include "ranges.h"
#include "report.h"
#include "wick/abi/backend.h"
#include "wick/base/threads.h"
#include "wick/doctor/device_rates.h"
#include "wick/generate/session.h"
#include "wick/io/json.h"
#include "wick/ops/autograd.h"

namespace wick::cli {
namespace {

struct Options {
  ModelFlags model;
  std::vector<int64_t> prompts = {512}, contexts = {0}, batches = {1};
  int64_t tokens = 128, repeats = 3;
  bool json = false;
};

// ---- the device's limits

using Clock = std::chrono::steady_clock;

struct Limits {
  double bandwidth;  // bytes/s: the better of a sum, which reads, and a copy, which writes as much
  double products;   // flop/s of square matrix products in the computation's dtype
};

Limits measure_limits(const Device& device, DType dtype) {
  const BetweenRuns between = [] {
    if (InterruptWatch::asked()) throw Interrupted();
  };
  return {.bandwidth = std::max(read_rate(device, between), copy_rate(device, between)),
          .products = product_rate(device, dtype, between)};
}

// ---- the tests

struct Test {
  bool decodes;
  int64_t tokens;   // per sequence
  int64_t context;  // tokens before them
  int64_t batch;
};

struct Result {
  Test test;
  double rate = 0, deviation = 0;  // tokens/s of all sequences together, over the repeats
  double bytes = 0;                // decode: the least that a token must read
  double share = 0;                // of the bandwidth (decode) or of the products (prefill)
};

std::vector<std::vector<int64_t>> random_ids(int64_t vocab_size, int64_t batch, int64_t count) {
  std::mt19937_64 engine(1);
  std::uniform_int_distribution<int64_t> any(0, vocab_size - 1);
  std::vector<std::vector<int64_t>> ids(static_cast<size_t>(batch));
  for (std::vector<int64_t>& row : ids)
    for (int64_t i = 0; i < count; i++) row.push_back(any(engine));
  return ids;
}

/// Seconds of each repeat; the first run, which is not one, allocates memory.
std::vector<double> run(const LanguageModel& model, const Test& test, int64_t repeats,
                        CacheType cache) {
  // A decode test begins at one token or more: there is nothing to continue before that.
  const int64_t before = test.decodes ? std::max<int64_t>(1, test.context) : 0;
  Session session(*model.model, {.sequences = test.batch,
                                 .capacity = before + test.tokens,
                                 .kv = cache,
                                 .sampling = {.temperature = 0}});
  const auto prompt =
      random_ids(model.facts().vocab_size, test.batch, test.decodes ? before : test.tokens);
  if (test.decodes) {
    session.append_each(prompt);
    session.step();
  }
  std::vector<double> seconds;
  for (int64_t i = 0; i <= repeats; i++) {
    for (int64_t row = 0; row < test.batch; row++) session.rewind(before, row);
    const Clock::time_point start = Clock::now();
    if (!test.decodes) session.append_each(prompt);
    for (int64_t step = 0; step < (test.decodes ? test.tokens : 1); step++) {
      session.step();
      if (InterruptWatch::asked()) throw Interrupted();
    }
    if (i > 0) seconds.push_back(seconds_since(start));
  }
  return seconds;
}

Result measure(const LanguageModel& model, const Test& test, int64_t repeats, const Limits& limits,
               CacheType cache) {
  Result result{.test = test};
  const double tokens = double(test.tokens * test.batch);
  double sum = 0, squares = 0;
  for (const double seconds : run(model, test, repeats, cache)) {
    const double rate = tokens / seconds;
    sum += rate, squares += rate * rate;
  }
  const double n = double(repeats);
  result.rate = sum / n;
  if (repeats > 1)
    result.deviation = std::sqrt(std::max(0.0, squares - n * result.rate * result.rate) / (n - 1));

  // The tokens before each: from `context` on in a decode test, from 0 on in a prompt.
  const double before = double(test.decodes ? test.context : 0) + double(test.tokens - 1) / 2;
  const TokenWork work = model.model->work(model.weights, before, cache);
  if (test.decodes) {
    result.bytes = work.bytes / double(test.batch) + work.cache_bytes;
    result.share = result.rate * result.bytes / limits.bandwidth;
  } else {
    const double flop =
        2 * (work.elements + work.output_elements / double(test.tokens)) + work.cache_flop;
    result.share = result.rate * flop / limits.products;
  }
  return result;
}

std::vector<Test> tests_of(const Options& o, const ModelFacts& facts) {
  std::vector<Test> tests;
  for (const int64_t batch : o.batches)
    for (const int64_t tokens : o.prompts)
      if (tokens > 0) tests.push_back({false, tokens, 0, batch});
  for (const int64_t batch : o.batches)
    for (const int64_t context : o.contexts)
      if (o.tokens > 0) tests.push_back({true, o.tokens, context, batch});
  const int64_t most = facts.max_position_embeddings;
  for (const Test& test : tests)
    if (test.context + test.tokens >= most)
      fail_input(!test.decodes      ? "--prompt"
                 : test.context > 0 ? "--context"
                                    : "--tokens",
                 "expected fewer tokens than the model's ", most, " positions, got ",
                 test.context + test.tokens);
  return tests;
}

// ---- output

std::string name_of(const Test& test) {
  std::string name = test.decodes ? "decode " : "prefill ";
  name += std::to_string(test.tokens);
  if (test.context > 0) name += " after " + std::to_string(test.context);
  return name;
}

std::string bytes_text(double bytes) { return decimal(bytes / 1e6, 1) + " MB"; }

void print_row(const Result& r) {
  const std::string rate = decimal(r.rate, r.rate < 100 ? 2 : 1);
  const std::string spread = "+- " + decimal(r.deviation, r.deviation < 10 ? 2 : 1);
  std::printf("%-24s%6lld%12s %-10s%12s  %3.0f%% of %s\n", name_of(r.test).c_str(),
              (long long)r.test.batch, rate.c_str(), spread.c_str(),
              r.test.decodes ? bytes_text(r.bytes).c_str() : "", 100 * r.share,
              r.test.decodes ? "the bandwidth" : "the products");
  std::fflush(stdout);
}

Settings json_of(const Result& r) {
  Settings s;
  s.set("test", r.test.decodes ? "decode" : "prefill")
      .set("tokens", r.test.tokens)
      .set("context", r.test.context)
      .set("batch", r.test.batch)
      .set("tokens_per_second", r.rate)
      .set("deviation", r.deviation)
      .set(r.test.decodes ? "share_of_bandwidth" : "share_of_products", r.share);
  if (r.test.decodes) s.set("least_bytes_per_token", r.bytes);
  return s;
}

void bench(const Options& options) {
  const std::vector<Test> tests =
      tests_of(options, reading_input([&] { return load_facts(options.model.path); }));
  const LanguageModel model = open_model(options.model);
  const InterruptWatch watch;
  const NoGrad off;
  const TensorOptions computation = model.model->options();
  const DeviceInfo& info = computation.device.info();
  double bytes = 0;
  int64_t weights = 0;
  for (const auto& [name, weight] : model.weights) {
    bytes += double(bytes_of(weight.dtype, numel(weight.shape)));
    weights += numel(weight.shape);
  }
  const Limits limits = measure_limits(computation.device, computation.dtype);

  if (!options.json) {
    std::printf("%s: %s, %s million weights, %s\n", options.model.path.c_str(),
                model.facts().model_type.c_str(), decimal(double(weights) / 1e6, 1).c_str(),
                bytes_text(bytes).c_str());
    std::printf("%s: %s, %s", to_string(computation.device).c_str(), info.name, info.architecture);
    if (computation.device.is_cpu()) std::printf(", threads: %d", num_threads());
    std::printf("; bandwidth %s GB/s, products of %s %s Gflop/s\n\n",
                decimal(limits.bandwidth / 1e9, 1).c_str(), dtype_name(computation.dtype),
                decimal(limits.products / 1e9, 0).c_str());
    std::printf("%-24s%6s%12s %-10s%12s  %s\n", "test", "batch", "tokens/s", "", "least/token",
                "share");
  }
  Setting::List results;
  for (const Test& test : tests) {
    const Result result = measure(model, test, options.repeats, limits, options.model.cache());
    if (options.json)
      results.emplace_back(json_of(result));
    else
      print_row(result);
  }
  if (!options.json) return;
  Settings line;
  line.set("model", options.model.path)
      .set("model_type", model.facts().model_type)
      .set("weights", weights)
      .set("weight_bytes", int64_t(bytes))
      .set("device", to_string(computation.device))
      .set("device_name", std::string(info.name))
      .set("architecture", std::string(info.architecture))
      .set("dtype", dtype_name(computation.dtype))
      .set("kv", options.model.kv.empty() ? dtype_name(computation.dtype) : options.model.kv)
      .set("bandwidth", limits.bandwidth)
      .set("products", limits.products);
  if (computation.device.is_cpu()) line.set("threads", num_threads());
  line.set("tests", std::move(results));
  std::printf("%s\n", to_json(line, -1).c_str());
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("bench", "how fast a model runs, beside what the device can do");
  const auto o = std::make_shared<Options>();
  add_model_flags(*command, o->model);
  command->add_option("--prompt", o->prompts, "lengths of the prompts to read; 0: do not (512)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(integer_from(0));
  command->add_option("--tokens", o->tokens, "tokens to generate; 0: do not")
      ->check(integer_from(0))
      ->capture_default_str();
  command->add_option("--context", o->contexts, "numbers of tokens before those generated (0)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(integer_from(0));
  command->add_option("--batch", o->batches, "numbers of sequences side by side (1)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(integer_from(1, 1 << 16));
  command->add_option("--repeat", o->repeats, "runs of each test, after one to warm up")
      ->check(integer_from(1))
      ->capture_default_str();
  add_cache_flag(*command, o->model);
  command->add_flag("--json", o->json, "print one line of JSON at the end");
  command->footer(
      "Examples:\n"
      "  wick bench model.gguf\n"
      "  wick bench model.gguf --prompt 512,2048 --context 0,4096 --batch 1,8 --json");
  command->callback([o] {
    o->model.settle();
    bench(*o);
  });
}

}  // namespace wick::cli
