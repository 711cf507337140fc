// Many requests of one model, whose sequences join and leave between steps.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wick/generate/generation.h"
#include "wick/load/load_model.h"
#include "wick/text/grammar.h"

namespace wick {

struct EngineOptions {
  /// The most requests that generate at once.
  int64_t sequences = 8;
  /// Tokens of a sequence: of its prompt and its text. 0: at most 4096 of the model's positions.
  int64_t capacity = 0;
  /// Tokens that the cache has room for, of all sequences together, at least `capacity`; 0: as many
  /// as the sequences can have. If they need more, the youngest text waits and is read again later.
  /// Models whose layers keep a state or a window for each text take 0 alone.
  int64_t cache_tokens = 0;
  /// The most tokens of prompts that are read between two steps of the texts.
  int64_t chunk = 512;
  /// The most requests that wait for a sequence; submit refuses further ones.
  int64_t queue = 256;
  /// As of SessionOptions.
  CacheType kv = CacheType::kModel;
  bool graphs = true;
  /// Computes each text in the same way whatever runs beside it, so that on every device and in
  /// every dtype it has the same tokens alone and in a crowd: each step is of all sequences and
  /// attends to the whole capacity, prompts are read one by one in parts of `chunk` tokens, only
  /// whole parts of earlier prompts are read from the cache, and a text waits until there is memory
  /// for its end. Few or short texts take longer then.
  bool batch_invariant = false;
};

/// A text to be generated.
struct EngineRequest {
  std::vector<int64_t> prompt;  // at least one token
  Sampling sampling = {};
  std::optional<uint64_t> seed = {};       // of its draws alone; missing: drawn at random
  std::optional<int64_t> max_tokens = {};  // missing: until the model ends it or it is full
  std::vector<std::string> stop = {};      // texts that end the text and are not part of it
  std::optional<std::vector<int64_t>> stop_ids = {};  // missing: LanguageModel::stop_ids
  /// Holds the text to a grammar, as of GenerationOptions.
  std::optional<Grammar> grammar = {};
  bool skip_special = true;  // leaves special tokens out of the text
  /// Receives the logits [1, vocab_size] on the device before each token is sampled, and returns
  /// the logits to sample from, of the same shape and dtype. The Engine's thread calls it; steps of
  /// such a text are not captured. An error that it throws is the text's.
  std::function<Tensor(const Tensor& logits)> on_logits = {};
  /// Asks for each token's log probability by the model, before sampling changes it, beside the log
  /// probabilities of so many of the likeliest tokens; missing: for no scores.
  std::optional<int64_t> logprobs = {};
  /// Of the images whose placeholders are in the prompt: Prompt::pixel_values.
  Tensor pixel_values = {};
  /// Called by the Engine's thread when the stream has a further piece or has ended, for a program
  /// that waits for several streams in one thread. It must return at once, and not throw.
  std::function<void()> on_news = {};
};

/// A token and its log probability, natural.
struct TokenLogprob {
  int64_t id = 0;
  double logprob = 0;
};

/// A sampled token, if EngineRequest::logprobs asks for it.
struct ScoredToken {
  TokenLogprob token;
  std::vector<TokenLogprob> likeliest;  // the likeliest first
};

/// Part of a text, which one or more tokens complete.
struct EnginePiece {
  std::string text;          // whole characters; may be empty beside tokens
  std::vector<int64_t> ids;  // the tokens that the piece adds; empty beside text that was held back
  std::vector<ScoredToken> tokens;  // these tokens, if they are asked for
};

/// A text that an Engine has generated.
struct EngineText : GeneratedText {
  int64_t cached_tokens = 0;  // of the prompt, that an earlier request had left in the cache
  std::vector<ScoredToken> tokens = {};  // if EngineRequest::logprobs asks for them
};

/// Counts since the Engine began, and its state now.
struct EngineStats {
  int64_t running = 0, waiting = 0;                 // requests now
  int64_t finished = 0, cancelled = 0, failed = 0;  // requests
  int64_t suspended = 0;  // times that a text gave its memory to older ones, and was read again
  int64_t prompt_tokens = 0, cached_tokens = 0;  // of prompts; of these, not read again
  int64_t prompt_reads = 0;  // calls of the model, each for parts of one or more prompts
  int64_t generated_tokens = 0;
  int64_t steps = 0, graph_steps = 0;  // of all texts at once; of these, by a Graph
  int64_t steps_ahead = 0;  // that the device began before the tokens of the one before were read
  int64_t used_positions = 0, positions = 0;  // of the cache, now
};

/// A count, under the name of its member.
struct EngineCount {
  const char* name;
  int64_t EngineStats::*count;
};
/// All counts of EngineStats.
WICK_API std::span<const EngineCount> engine_counts();

/// A request's text as it grows. One thread reads it; it may outlive the Engine.
class WICK_API EngineStream {
 public:
  /// The next piece, waiting for it; missing once the text has ended. Errors: of the model's steps,
  /// as of Session::step; kInvalidArgument if the Engine was destroyed.
  std::optional<EnginePiece> next();
  /// next, waiting no longer than this; an empty piece if nothing came by then.
  std::optional<EnginePiece> next_for(std::chrono::milliseconds time);
  /// Reads the rest. Errors: as of next.
  const EngineText& finish();
  /// Ends the text; its sequence is free before the next step. Any thread may call it.
  void cancel();
  /// The text, whole once next has returned nothing.
  const EngineText& result() const;

  struct State;
  explicit EngineStream(std::shared_ptr<State> state);
  ~EngineStream();
  EngineStream(EngineStream&&) noexcept;
  EngineStream& operator=(EngineStream&&) noexcept;

 private:
  std::shared_ptr<State> state_;
};

/// Generates texts of many requests at once: a thread of its own runs steps that extend every
/// running text by a token, lets requests begin and end between two steps, and reads long prompts
/// in parts beside them.
///
///   Engine engine(model, {.sequences = 16});
///   EngineStream text = engine.submit({.prompt = model.prompt_ids("Once upon a time")});
///   while (const auto piece = text.next()) std::cout << piece->text << std::flush;
///
/// A sequence that has ended keeps its tokens until another one needs the memory: a request whose
/// prompt begins with the same tokens reads only the others.
class WICK_API Engine {
 public:
  /// Errors: kInvalidArgument for an option outside its range; kUnsupported without a tokenizer;
  /// kOutOfMemory for the cache.
  explicit Engine(const LanguageModel& model, const EngineOptions& options = {});
  /// Cancels all requests and waits for the thread.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Queues a request. Any thread may call it. Errors: kInvalidArgument for an empty prompt, an
  /// empty stop text or a setting outside its range; kOutOfRange for an id outside the vocabulary
  /// and for a prompt that leaves no room for a token; kOutOfMemory if the queue is full.
  EngineStream submit(EngineRequest request);
  EngineStats stats() const;
  const EngineOptions& options() const;  // with the capacity, never 0
  const LanguageModel& model() const;

 private:
  struct Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace wick
