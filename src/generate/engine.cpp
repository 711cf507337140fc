#include "wick/generate/engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "generate/capacity.h"
#include "generate/slots.h"
#include "wick/abi/ops/sample.h"
#include "wick/base/error.h"
#include "wick/models/finite.h"
#include "wick/ops/autograd.h"
#include "wick/text/stop_strings.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The next tokens of a text, as the Engine hands them over.
struct Part {
  std::string text;
  std::vector<int64_t> ids;
  std::vector<ScoredToken> scores;
};

}  // namespace

/// Shared by the thread of the Engine, which writes, and the one that reads the text.
struct EngineStream::State {
  State(int64_t prompt_tokens, std::function<void()> call) : on_news(std::move(call)) {
    text.prompt_tokens = prompt_tokens;
  }

  const std::function<void()> on_news;

  std::atomic<bool> cancelled{false};
  std::mutex mutex;
  std::condition_variable changed;
  // Under the mutex.
  Part part;  // that nobody has read
  bool ended = false;
  std::exception_ptr error;
  Ending ending = Ending::kInterrupted;
  Rate prefill, decode;
  int64_t cached_tokens = 0;
  // Of the thread that reads.
  EngineText text;
  bool is_whole = false;

  bool has_news() const { return ended || !part.text.empty() || !part.ids.empty(); }
  void add(Part more) {
    {
      const std::lock_guard lock(mutex);
      part.text += more.text;
      part.ids.insert(part.ids.end(), more.ids.begin(), more.ids.end());
      std::move(more.scores.begin(), more.scores.end(), std::back_inserter(part.scores));
    }
    tell();
  }
  void end(Ending how, std::exception_ptr failure = {}) {
    {
      const std::lock_guard lock(mutex);
      ended = true, ending = how, error = std::move(failure);
    }
    tell();
  }
  void tell() {
    changed.notify_all();
    if (on_news) on_news();
  }

  /// The part that is there, or nothing once the text is whole. The mutex is locked.
  std::optional<EnginePiece> take() {
    if (part.text.empty() && part.ids.empty() && ended) {
      is_whole = true;
      text.ending = ending, text.prefill = prefill, text.decode = decode;
      text.cached_tokens = cached_tokens;
      if (error) std::rethrow_exception(std::exchange(error, {}));
      return {};
    }
    Part news = std::exchange(part, {});
    text.text += news.text;
    text.ids.insert(text.ids.end(), news.ids.begin(), news.ids.end());
    text.tokens.insert(text.tokens.end(), news.scores.begin(), news.scores.end());
    return EnginePiece{std::move(news.text), std::move(news.ids), std::move(news.scores)};
  }
};

std::span<const EngineCount> engine_counts() {
  static constexpr EngineCount kCounts[] = {
      {"running", &EngineStats::running},
      {"waiting", &EngineStats::waiting},
      {"finished", &EngineStats::finished},
      {"cancelled", &EngineStats::cancelled},
      {"failed", &EngineStats::failed},
      {"suspended", &EngineStats::suspended},
      {"prompt_tokens", &EngineStats::prompt_tokens},
      {"cached_tokens", &EngineStats::cached_tokens},
      {"prompt_reads", &EngineStats::prompt_reads},
      {"generated_tokens", &EngineStats::generated_tokens},
      {"steps", &EngineStats::steps},
      {"graph_steps", &EngineStats::graph_steps},
      {"steps_ahead", &EngineStats::steps_ahead},
      {"used_positions", &EngineStats::used_positions},
      {"positions", &EngineStats::positions},
  };
  static_assert(sizeof(EngineStats) == std::size(kCounts) * sizeof(int64_t), "a count is missing");
  return kCounts;
}

EngineStream::EngineStream(std::shared_ptr<State> state) : state_(std::move(state)) {}
EngineStream::~EngineStream() {
  if (state_) state_->cancelled = true;
}
EngineStream::EngineStream(EngineStream&&) noexcept = default;
EngineStream& EngineStream::operator=(EngineStream&& other) noexcept {
  if (state_ && state_ != other.state_) state_->cancelled = true;
  state_ = std::move(other.state_);
  return *this;
}

std::optional<EnginePiece> EngineStream::next() {
  if (state_->is_whole) return {};
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->has_news(); });
  return state_->take();
}

std::optional<EnginePiece> EngineStream::next_for(std::chrono::milliseconds time) {
  if (state_->is_whole) return {};
  std::unique_lock lock(state_->mutex);
  if (!state_->changed.wait_for(lock, time, [&] { return state_->has_news(); }))
    return EnginePiece{};
  return state_->take();
}

const EngineText& EngineStream::finish() {
  while (next()) {
  }
  return state_->text;
}

void EngineStream::cancel() { state_->cancelled = true; }
const EngineText& EngineStream::result() const { return state_->text; }

struct Engine::Worker {
  /// A request that runs or waits.
  struct Job {
    int64_t id;
    EngineRequest request;
    std::shared_ptr<EngineStream::State> stream;
    std::vector<int64_t> stop_ids;
    TokenStream pieces;
    StopStrings stops;
    int64_t generated = 0;
    bool has_drawn = false;
    std::optional<Slots::Text> suspended = {};
    Rate prefill = {}, decode = {};
    Clock::time_point began = {};
  };

  LanguageModel model;
  EngineOptions options;
  mutable std::mutex mutex;
  std::condition_variable called;
  // Under the mutex.
  std::deque<std::unique_ptr<Job>> waiting;
  EngineStats stats;
  bool stopping = false;
  int64_t next_id = 0;
  std::mt19937_64 seeds{std::random_device{}()};
  // Of the thread.
  std::unique_ptr<Slots> slots;
  std::map<int64_t, std::unique_ptr<Job>> running;  // by id, the oldest first
  std::deque<int64_t> reading;                      // whose prompts are not read whole
  std::thread thread;

  Worker(const LanguageModel& from, const EngineOptions& given) : model(from), options(given) {
    const auto require = [](bool good, const char* name, const char* expected, int64_t got) {
      check(good, ErrorCode::kInvalidArgument, "Engine", name, ": expected ", expected, ", got ",
            got);
    };
    check(model.tokenizer.has_value(), ErrorCode::kUnsupported, "Engine",
          "the model has no tokenizer");
    require(options.sequences > 0, "sequences", "at least 1", options.sequences);
    require(options.capacity >= 0, "capacity", "at least 0", options.capacity);
    require(options.chunk > 0, "chunk", "at least 1", options.chunk);
    require(options.queue > 0, "queue", "at least 1", options.queue);
    const int64_t positions = model.model->positions();
    require(options.capacity <= positions, "capacity", "at most the model's positions",
            options.capacity);
    if (options.capacity == 0) options.capacity = std::min(positions, kDefaultCapacity);
    require(options.cache_tokens == 0 || options.cache_tokens >= options.capacity, "cache_tokens",
            "0, or at least the capacity", options.cache_tokens);
    slots = std::make_unique<Slots>(*model.model, options);
    stats.positions = slots->positions();
    thread = std::thread([this] { run(); });
  }
  ~Worker() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    called.notify_all();
    thread.join();
  }

  EngineStream submit(EngineRequest request) {
    const int64_t length = int64_t(request.prompt.size()), vocab = model.facts().vocab_size;
    check(length > 0, ErrorCode::kInvalidArgument, "submit", "prompt: expected tokens, got 0");
    check(length <= options.capacity, ErrorCode::kOutOfRange, "submit", "a prompt of ", length,
          " tokens exceeds the capacity ", options.capacity);
    for (const int64_t id : request.prompt)
      check(id >= 0 && id < vocab, ErrorCode::kOutOfRange, "submit", "id ", id,
            " is outside a vocabulary of ", vocab);
    check(request.max_tokens.value_or(1) > 0, ErrorCode::kInvalidArgument, "submit",
          "max_tokens: expected at least 1, got ", request.max_tokens.value_or(1));
    check(request.logprobs.value_or(0) >= 0, ErrorCode::kInvalidArgument, "submit",
          "logprobs: expected at least 0, got ", request.logprobs.value_or(0));
    check_sampling("submit", request.sampling, vocab);
    if (request.pixel_values || model.facts().images)
      (void)image_places(*model.model, request.prompt,
                         request.pixel_values ? request.pixel_values.size(0) : 0);
    auto stream = std::make_shared<EngineStream::State>(length, request.on_news);
    auto job = std::make_unique<Job>(Job{.id = 0,
                                         .request = std::move(request),
                                         .stream = stream,
                                         .stop_ids = {},
                                         .pieces = TokenStream(*model.tokenizer, false),
                                         .stops = StopStrings({})});
    job->pieces = TokenStream(*model.tokenizer, job->request.skip_special);
    job->stops = StopStrings(job->request.stop);
    job->stop_ids = job->request.stop_ids.value_or(model.stop_ids);
    {
      const std::lock_guard lock(mutex);
      check(int64_t(waiting.size()) < options.queue, ErrorCode::kOutOfMemory, "submit", "all of ",
            options.queue, " places of the queue are taken");
      job->id = next_id++;
      if (!job->request.seed) job->request.seed = seeds() >> 1;
      waiting.push_back(std::move(job));
    }
    called.notify_all();
    return EngineStream(std::move(stream));
  }

  // ---- the thread

  void run() {
    const NoGrad off;
    while (true) {
      {
        std::unique_lock lock(mutex);
        stats.running = int64_t(running.size());
        stats.used_positions = slots->used_positions();
        called.wait(lock, [&] { return stopping || !waiting.empty() || !running.empty(); });
        if (stopping) break;
      }
      drop_cancelled();
      admit();
      read_prompts();
      extend_texts(&Slots::step);
    }
    const auto stopped = std::make_exception_ptr(
        Error(ErrorCode::kInvalidArgument, "Engine: the engine was destroyed"));
    for (auto& [id, job] : running) job->stream->end(Ending::kInterrupted, stopped);
    const std::lock_guard lock(mutex);
    for (const auto& job : waiting) job->stream->end(Ending::kInterrupted, stopped);
  }

  void drop_cancelled() {
    std::vector<int64_t> ids;
    for (const auto& [id, job] : running)
      if (job->stream->cancelled) ids.push_back(id);
    for (const int64_t id : ids) finish(id, Ending::kInterrupted, &EngineStats::cancelled);
    const std::lock_guard lock(mutex);
    std::erase_if(waiting, [&](const std::unique_ptr<Job>& job) {
      if (!job->stream->cancelled) return false;
      job->stream->end(Ending::kInterrupted);
      stats.cancelled++;
      return true;
    });
    stats.waiting = int64_t(waiting.size());
  }

  /// Begins waiting requests in free slots, in their order.
  void admit() {
    while (true) {
      std::unique_ptr<Job> job;
      std::optional<int64_t> slot;
      {
        const std::lock_guard lock(mutex);
        if (waiting.empty()) return;
        const Job& next = *waiting.front();
        const std::vector<int64_t>& prompt =
            next.suspended ? next.suspended->prompt : next.request.prompt;
        if (!running.empty() && !slots->has_room_for(int64_t(prompt.size()), most_tokens(next)))
          return;
        slot = slots->place_for(prompt, bool(next.request.pixel_values));
        if (!slot) return;
        job = std::move(waiting.front());
        waiting.pop_front();
        stats.waiting = int64_t(waiting.size());
      }
      const int64_t id = job->id;
      Job& one = *(running[id] = std::move(job));
      if (one.suspended) {
        go_on(one, *slot);
        continue;
      }
      one.began = Clock::now();
      try {
        const int64_t kept = slots->begin(*slot, {.id = id,
                                                  .prompt = one.request.prompt,
                                                  .sampling = one.request.sampling,
                                                  .seed = *one.request.seed,
                                                  .logprobs = one.request.logprobs,
                                                  .pixel_values = one.request.pixel_values,
                                                  .grammar = grammar_of(one),
                                                  .on_logits = one.request.on_logits,
                                                  .most = most_tokens(one)});
        reading.push_back(id);
        {
          const std::lock_guard lock(one.stream->mutex);
          one.stream->cached_tokens = kept;
        }
        const std::lock_guard lock(mutex);
        stats.prompt_tokens += int64_t(one.request.prompt.size());
        stats.cached_tokens += kept;
        stats.running = int64_t(running.size());
      } catch (...) {
        fail_job(id, std::current_exception());
      }
    }
  }

  /// Begins a text again whose memory others needed.
  void go_on(Job& job, int64_t slot) {
    try {
      slots->begin(slot, *std::exchange(job.suspended, {}));
      reading.push_back(job.id);
    } catch (...) {
      fail_job(job.id, std::current_exception());
    }
  }

  /// Lets the texts wait whose memory others needed, before all that have not begun.
  void put_back_suspended() {
    for (Slots::Text& text : slots->take_suspended()) {
      const auto found = running.find(text.id);
      std::erase(reading, text.id);
      found->second->suspended = std::move(text);
      const std::lock_guard lock(mutex);
      stats.suspended++;
      waiting.push_front(std::move(found->second));
      running.erase(found);
    }
  }

  /// The tokens that a text can have in the cache at its end.
  int64_t most_tokens(const Job& job) const {
    const int64_t prompt = int64_t(job.request.prompt.size());
    return prompt +
           std::min(job.request.max_tokens.value_or(options.capacity), options.capacity - prompt);
  }

  std::optional<GrammarState> grammar_of(const Job& job) const {
    if (!job.request.grammar) return {};
    return GrammarState(*job.request.grammar, model.tokenizer->token_table(), job.stop_ids);
  }

  /// Reads parts of prompts, the oldest request's first.
  void read_prompts() {
    if (!reading.empty()) extend_texts(&Slots::finish_step);
    for (int64_t left = options.chunk; left > 0 && !reading.empty();) {
      const int64_t oldest = reading.front();
      try {
        const Slots::Reading read = slots->read(oldest, left);
        {
          const std::lock_guard lock(mutex);
          stats.prompt_reads += !read.parts.empty();
        }
        put_back_suspended();
        if (read.parts.empty() && read.drawn.empty()) break;
        for (const auto& [id, count] : read.parts) {
          left -= count;
          Job& job = *running.at(id);
          if (!job.has_drawn) job.prefill.tokens += count;
        }
        for (const Slots::Drawn& drawn : read.drawn) {
          Job& job = *running.at(drawn.text);
          std::erase(reading, drawn.text);
          if (!job.has_drawn) {
            job.prefill.seconds = seconds_since(job.began);
            job.began = Clock::now();
          }
          take(drawn);
        }
      } catch (...) {
        put_back_suspended();
        fail_job(oldest, std::current_exception());
      }
    }
  }

  void extend_texts(std::vector<Slots::Drawn> (Slots::*call)()) {
    try {
      const std::vector<Slots::Drawn> drawn = (slots.get()->*call)();
      put_back_suspended();
      if (drawn.empty()) return;
      {
        const std::lock_guard lock(mutex);
        stats.steps++;
        stats.graph_steps = slots->graph_steps();
        stats.steps_ahead = slots->steps_ahead();
      }
      for (const Slots::Drawn& one : drawn) take(one);
    } catch (...) {  // of all texts at once, such as an error of the device
      const std::exception_ptr error = std::current_exception();
      put_back_suspended();
      while (!running.empty()) fail_job(running.begin()->first, error);
    }
  }

  /// Adds a token to its text.
  void take(const Slots::Drawn& drawn) {
    Job& job = *running.at(drawn.text);
    if (drawn.id < 0 || drawn.error) {
      fail_job(drawn.text, error_of(drawn));
      return;
    }
    if (job.has_drawn) {
      job.decode.tokens++;
      job.decode.seconds = seconds_since(job.began);
    }
    job.has_drawn = true;
    if (std::count(job.stop_ids.begin(), job.stop_ids.end(), drawn.id) > 0) {
      finish(drawn.text, Ending::kEnd, &EngineStats::finished);
      return;
    }
    job.generated++;
    Part part{.text = job.stops.push(job.pieces.push(drawn.id)), .ids = {drawn.id}, .scores = {}};
    if (drawn.score) part.scores.push_back(*drawn.score);
    job.stream->add(std::move(part));
    {
      const std::lock_guard lock(mutex);
      stats.generated_tokens++;
    }
    if (job.stops.stopped())
      finish(drawn.text, Ending::kStop, &EngineStats::finished);
    else if (drawn.ends)
      finish(drawn.text, Ending::kEnd, &EngineStats::finished);
    else if (job.request.max_tokens && job.generated >= *job.request.max_tokens)
      finish(drawn.text, Ending::kLength, &EngineStats::finished);
    else if (int64_t(slots->tokens(drawn.text).size()) > options.capacity)
      finish(drawn.text, Ending::kContext, &EngineStats::finished);
  }

  /// The error of a token that could not be drawn.
  std::exception_ptr error_of(const Slots::Drawn& drawn) const {
    if (drawn.error) return drawn.error;
    try {
      check(drawn.id != kUnusableIds, ErrorCode::kInvalidArgument, "Engine",
            "no id is left to draw: the grammar allows none, or the bias is not finite");
      std::vector<int64_t> tokens = slots->tokens(drawn.text);
      tokens.pop_back();
      fail_not_finite("Engine", *model.model, tokens);
    } catch (...) {
      return std::current_exception();
    }
  }

  void finish(int64_t id, Ending ending, int64_t EngineStats::*count) {
    Job& job = *running.at(id);
    if (ending != Ending::kStop && ending != Ending::kInterrupted) {
      std::string rest = job.stops.push(job.pieces.finish());
      if (job.stops.stopped())
        ending = Ending::kStop;
      else
        rest += job.stops.finish();
      if (!rest.empty()) job.stream->add({.text = std::move(rest), .ids = {}, .scores = {}});
    }
    slots->end(id);
    close(id, ending, count, {});
  }
  void fail_job(int64_t id, const std::exception_ptr& error) {
    try {
      slots->clear(id);
    } catch (...) {  // the device has failed; the error says so
    }
    close(id, Ending::kInterrupted, &EngineStats::failed, error);
  }
  void close(int64_t id, Ending ending, int64_t EngineStats::*count,
             const std::exception_ptr& error) {
    Job& job = *running.at(id);
    {
      const std::lock_guard lock(job.stream->mutex);
      job.stream->prefill = job.prefill, job.stream->decode = job.decode;
    }
    {
      const std::lock_guard lock(mutex);
      stats.*count += 1;
      stats.running = int64_t(running.size()) - 1;
    }
    job.stream->end(ending, error);
    std::erase(reading, id);
    running.erase(id);
  }
};

Engine::Engine(const LanguageModel& model, const EngineOptions& options)
    : worker_(std::make_unique<Worker>(model, options)) {}
Engine::~Engine() = default;

EngineStream Engine::submit(EngineRequest request) { return worker_->submit(std::move(request)); }

EngineStats Engine::stats() const {
  const std::lock_guard lock(worker_->mutex);
  return worker_->stats;
}

const EngineOptions& Engine::options() const { return worker_->options; }
const LanguageModel& Engine::model() const { return worker_->model; }

}  // namespace wick
