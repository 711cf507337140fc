#include "serve/metrics.h"

#include <cstdio>

namespace wick::serve {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void write_head(std::string& to, const std::string& name, const std::string& help,
                const char* type) {
  to += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

void write_value(std::string& to, const std::string& name, const std::string& help,
                 const char* type, int64_t value) {
  write_head(to, name, help, type);
  to += name + " " + std::to_string(value) + "\n";
}

}  // namespace

void Histogram::add(double seconds) {
  size_t i = 0;
  while (i < kBounds.size() && seconds > kBounds[i]) i++;
  counts_[i]++;
  sum_ += seconds;
}

void Histogram::write(std::string& to, const std::string& name, const std::string& help) const {
  write_head(to, name, help, "histogram");
  int64_t count = 0;
  for (size_t i = 0; i < counts_.size(); i++) {
    count += counts_[i];
    const std::string bound = i < kBounds.size() ? number(kBounds[i]) : "+Inf";
    to += name + "_bucket{le=\"" + bound + "\"} " + std::to_string(count) + "\n";
  }
  to += name + "_sum " + number(sum_) + "\n" + name + "_count " + std::to_string(count) + "\n";
}

void Metrics::add_request(const std::string& path, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  requests_[{path, status}]++;
  whole_.add(seconds);
}

void Metrics::add_first_token(double seconds) {
  const std::lock_guard lock(mutex_);
  first_token_.add(seconds);
}

void Metrics::add_between_tokens(double seconds) {
  const std::lock_guard lock(mutex_);
  between_tokens_.add(seconds);
}

std::string Metrics::page(const std::optional<EngineStats>& stats, int64_t models) const {
  const std::lock_guard lock(mutex_);
  std::string to;
  write_head(to, "wick_requests_total", "Answered requests", "counter");
  for (const auto& [key, count] : requests_)
    to += "wick_requests_total{path=\"" + key.first + "\",status=\"" + std::to_string(key.second) +
          "\"} " + std::to_string(count) + "\n";
  whole_.write(to, "wick_request_seconds", "Time of a request");
  first_token_.write(to, "wick_first_token_seconds", "Time to the first token of a text");
  between_tokens_.write(to, "wick_between_tokens_seconds", "Time between two pieces of a text");
  write_value(to, "wick_models_loaded", "Models that are loaded now", "gauge", models);
  if (!stats) return to;
  const struct {
    const char *name, *help, *type;
    int64_t value;
  } kValues[] = {
      {"wick_texts_running", "Texts that grow now", "gauge", stats->running},
      {"wick_texts_waiting", "Texts that wait for a sequence now", "gauge", stats->waiting},
      {"wick_texts_finished_total", "Texts that ended", "counter", stats->finished},
      {"wick_texts_cancelled_total", "Texts that their clients ended", "counter", stats->cancelled},
      {"wick_texts_failed_total", "Texts that an error ended", "counter", stats->failed},
      {"wick_texts_suspended_total", "Times that a text waited for memory", "counter",
       stats->suspended},
      {"wick_prompt_tokens_total", "Tokens of prompts", "counter", stats->prompt_tokens},
      {"wick_cached_tokens_total", "Tokens of prompts that were in the cache", "counter",
       stats->cached_tokens},
      {"wick_prompt_reads_total", "Calls of the model for parts of prompts", "counter",
       stats->prompt_reads},
      {"wick_generated_tokens_total", "Tokens of texts", "counter", stats->generated_tokens},
      {"wick_steps_total", "Steps of all texts at once", "counter", stats->steps},
      {"wick_cache_positions_used", "Positions of the cache in use", "gauge",
       stats->used_positions},
      {"wick_cache_positions", "Positions of the cache", "gauge", stats->positions},
  };
  for (const auto& row : kValues) write_value(to, row.name, row.help, row.type, row.value);
  return to;
}

}  // namespace wick::serve
