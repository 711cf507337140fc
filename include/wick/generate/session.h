// Token-by-token generation from a model, with sampling on the device.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "wick/load/load_model.h"
#include "wick/text/grammar.h"

namespace wick {

/// How one of several sequences is sampled.
struct SequenceOptions {
  Sampling sampling = {};
  std::optional<uint64_t> seed = {};  // missing: as SessionOptions::seed has it
};

struct SampledRows;

/// Session, Generation and Chat give an option the same meaning.
struct SessionOptions {
  int64_t sequences = 1;
  /// Tokens per sequence that the cache holds; it allocates them all. 0: the model's positions()
  /// for a Session; of these a Generation takes as many as its text needs, and a Chat at most 4096.
  int64_t capacity = 0;
  /// Tokens per sequence that append reads at once; of a prompt that sees itself both ways
  /// (ImageReading::prompt_is_prefix) it reads all.
  int64_t chunk = 512;
  /// How the cache holds keys and values: see CacheOptions::type.
  CacheType kv = CacheType::kModel;
  Sampling sampling = {};  // of every sequence
  /// Of each sequence, in place of `sampling`; empty: all have that.
  std::vector<SequenceOptions> each = {};
  /// A sequence that samples one of these stops. Missing: LanguageModel::stop_ids; a CausalModel
  /// has no such ids. An empty list: no token stops a sequence.
  std::optional<std::vector<int64_t>> stop_ids = {};
  /// Sequence b draws its i-th sampled token with the number Philox(seed + b, i), whatever else
  /// draws and whichever sequences are beside it. Missing: drawn from the device's generator.
  std::optional<uint64_t> seed = {};
  /// Receives the logits [sequences, vocab_size] on the device before sampling, and returns those
  /// to sample from.
  std::function<Tensor(const Tensor& logits)> on_logits = {};
  /// Whether steps that launch the same kernels are captured into a Graph once and then queued at
  /// once, on a device that can, unless on_logits is set. The tokens are the same.
  /// WICK_GRAPHS=off turns it off for a process; WICK_LOG=info says why a session has no graph.
  bool graphs = true;
};

/// Sequences of tokens that grow together. append adds given tokens, step adds a sampled one,
/// rewind drops the last ones, so that a conversation's next turn only processes the tokens it
/// adds.
///
/// Images are read once: a sequence keeps their features, for tokens that it may have to read
/// again. If the model was trained on prompts that see themselves both ways, the first append of a
/// sequence is one, and later tokens see those before them. A rewind into it makes the next append
/// read the sequence from its beginning, as a prompt again.
///
/// Per-step state (tokens, positions, settings, seeds) stays in device memory at fixed addresses,
/// so two steps within a cache bucket launch byte-identical work, except that layers which keep a
/// state in place of keys and values write it to new memory outside of a Graph.
class WICK_API Session {
 public:
  /// Errors: kInvalidArgument for an option outside its range.
  explicit Session(const CausalModel& model, const SessionOptions& options = {});
  /// A session that stops at the model's stop_ids, unless the options have a list.
  explicit Session(const LanguageModel& model, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Adds tokens to each sequence; a list may be empty if the sequence has tokens already. Errors:
  /// kShapeMismatch if there is not one list per sequence; kInvalidArgument if a sequence would be
  /// empty; kOutOfRange if a sequence would exceed the capacity, or for an id outside the
  /// vocabulary; the sequences are unchanged.
  ///
  /// pixel_values: of the images whose placeholders are among the ids, in order, as
  /// CausalModel::image_features takes them; empty without placeholders. Errors: also as of
  /// image_places and image_features.
  void append_each(const std::vector<std::vector<int64_t>>& ids, const Tensor& pixel_values = {});
  /// append_each for one sequence.
  void append(const std::vector<int64_t>& ids, const Tensor& pixel_values = {}) {
    append_each({ids}, pixel_values);
  }
  /// Samples the next token of each sequence, waits for the device and returns the tokens; a
  /// stopped sequence repeats its stop id. Errors: kInvalidArgument before the first append;
  /// kOutOfRange if the longest sequence is longer than the capacity, so one token more than that
  /// can be sampled; kFormat if the logits hold a NaN or +inf or are all -inf, naming the first
  /// such token of the sequence; kInvalidArgument if a sequence's mask allows no id. The session is
  /// of no further use then: attention spreads a NaN in its cache.
  std::vector<int64_t> step();
  /// step without waiting for the device. No sequence stops.
  void advance();
  /// Changes how a sequence is sampled from its next token on; it keeps its seed. Errors:
  /// kOutOfRange for the sequence; kInvalidArgument for a setting outside its range.
  void set_sampling(const Sampling& sampling, int64_t sequence = 0);
  /// Allows each sequence only some ids from its next token on: bit i % 32 of word i / 32 of its
  /// row allows id i. mask [sequences, ceil(vocab_size / 32)], i32 or u32; an empty Tensor() allows
  /// all. Errors: kShapeMismatch; kDTypeMismatch.
  void set_mask(const Tensor& mask);
  /// Holds a sequence to a grammar from its next token on, and to set_mask's ids if both are set; a
  /// missing state lifts it. The state's end ids should be the session's stop_ids. A step then
  /// waits for the token before, as advance does. Tokens that append adds are outside of the
  /// grammar; rewind also takes tokens back from it. Errors: kOutOfRange for the sequence;
  /// kInvalidArgument if the state needs ids beyond the vocabulary; of later steps: as of
  /// GrammarState::mask, and kInvalidArgument if the text has ended and there is no stop id.
  void set_grammar(std::optional<GrammarState> state, int64_t sequence = 0);
  /// The state after the tokens that step has returned; missing without a grammar.
  std::optional<GrammarState> grammar(int64_t sequence = 0) const;
  /// Whether the sequence has a grammar whose text has ended.
  bool grammar_ended(int64_t sequence = 0) const;
  /// Keeps the first `length` tokens of a sequence. Some models cannot forget a few tokens (their
  /// layers have states or windows): the next append or step reads again the tokens from the last
  /// append up to there. Errors: kOutOfRange.
  void rewind(int64_t length, int64_t sequence = 0);

  /// The number of tokens of a sequence, including the one sampled last.
  int64_t length(int64_t sequence = 0) const { return row(sequence).length; }
  /// Whether the sequence has sampled a stop id since its last append.
  bool stopped(int64_t sequence = 0) const { return row(sequence).stopped; }
  /// Whether the sequence has tokens of images.
  bool has_images(int64_t sequence = 0) const { return !row(sequence).places.empty(); }
  /// The last token of each sequence. Waits for the device. Errors: kFormat and kInvalidArgument as
  /// of step.
  std::vector<int64_t> tokens() const;
  /// All tokens of a sequence. Waits for the device.
  std::vector<int64_t> history(int64_t sequence = 0) const;
  int64_t capacity() const { return cache_->capacity(); }
  /// The options with the session's stop_ids, capacity and seed, never missing or 0, and with the
  /// sampling of each sequence.
  const SessionOptions& options() const { return options_; }
  /// The tokens that the model has read, those that it read again included.
  int64_t tokens_read() const { return tokens_read_; }
  /// The steps that a Graph queued.
  int64_t graph_steps() const { return graph_steps_; }
  /// The reason that no step is captured; empty unless there is one.
  const std::string& why_no_graph() const { return why_no_graph_; }
  /// Bytes of the cache on the device.
  int64_t cache_bytes() const { return cache_->bytes(); }

 private:
  struct Row {
    int64_t length = 0;
    int64_t cached = 0;   // tokens that the cache holds
    int64_t sampled = 0;  // tokens that it drew
    bool stopped = false;
    int64_t prefix = 0;           // tokens that see each other; 0: not known before they are read
    std::vector<int64_t> places;  // positions of images' tokens
    Tensor features;              // [places, hidden_size]
    struct Held {
      GrammarState first, now;
      std::vector<std::pair<int64_t, int64_t>> ids;  // read from first on, with the length before
    };
    std::optional<Held> grammar;
    bool has_unread = false;  // the last token was sampled and the grammar has not read it
  };
  /// Tokens of every sequence that are read together.
  struct Reading;
  const Row& row(int64_t sequence) const;
  bool is_plain(const Row& row) const;
  void add_features(const std::vector<std::vector<int64_t>>& ids, const Tensor& pixel_values);
  Tensor read_part(const Reading& reading, int64_t first, int64_t count);
  void write_settings();
  bool has_grammars() const;
  void read_grammars();
  void read_grammars(const std::vector<int64_t>& last);
  static void rewind_grammar(Row& row, int64_t length);
  void write_grammars();
  std::vector<int32_t> given_words() const;
  Tensor choose(const Tensor& logits) const;
  void sample_next();
  void queue_step(const std::vector<int64_t>& ends);
  bool can_use_graph(const std::vector<int64_t>& ends) const;
  std::vector<int64_t> replacements() const;
  void run_step(const std::vector<int64_t>& ends);
  void forget_failed();
  void place();
  void read(const std::vector<std::vector<int64_t>>& ids);

  std::shared_ptr<const CausalModel> model_;
  SessionOptions options_;
  bool has_prefixes_ = false;  // prompts see themselves both ways
  std::unique_ptr<ModelCache> cache_;
  std::vector<Row> rows_;
  int64_t tokens_read_ = 0;
  Tensor hidden_;      // [B, hidden_size] of the last tokens; empty until they are processed
  Tensor given_mask_;  // set_mask's
  std::unique_ptr<SampledRows> sampled_;
  /// A captured step, for as long as there are these replacements and the same extents.
  struct Captured {
    std::unique_ptr<CapturedWork> step;
    std::vector<int64_t> replacements;
  };
  std::optional<Captured> captured_;
  std::vector<int64_t> extents_;  // of the last step; empty before the first one
  std::string why_no_graph_;
  int64_t graph_steps_ = 0;
};

}  // namespace wick
