// Sequences of one model that are read and extended apart or together.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generate/sampled_rows.h"
#include "wick/core/stream.h"
#include "wick/generate/engine.h"
#include "wick/models/causal_model.h"

namespace wick {

/// Slots of a cache, each for a text: a text is begun in a slot, its prompt is read in parts, and
/// steps extend all texts whose prompts are read by a token. The tokens of a text that has ended are
/// kept for texts that begin with the same ones: in blocks of the cache's pool until others need
/// them, the least recently used first; or, where layers keep states or windows, in the slot until
/// it has another text.
class Slots {
 public:
  /// Errors: as of CausalModel::make_cache.
  Slots(const CausalModel& model, const EngineOptions& options);

  struct Text {
    int64_t id = 0;  // of the caller's choice: a text may move to another slot
    std::vector<int64_t> prompt;
    Sampling sampling;
    uint64_t seed = 0;
    std::optional<int64_t> logprobs;
    Tensor pixel_values;
    std::optional<GrammarState> grammar;
    std::function<Tensor(const Tensor& logits)> on_logits;  // as of EngineRequest
    int64_t most = 0;   // tokens that it can have, its prompt included
    int64_t drawn = 0;  // of the prompt's tokens, if it was suspended
  };
  /// A token that was drawn, or a mark of sample.
  struct Drawn {
    int64_t text, id;
    std::optional<ScoredToken> score;
    std::exception_ptr error;  // of the text's grammar or on_logits
    bool ends = false;         // the grammar allows no further token
  };

  int64_t size() const { return int64_t(slots_.size()); }
  /// The tokens of a text that has not ended: its prompt and those that were drawn.
  const std::vector<int64_t>& tokens(int64_t text) const { return at(slot_of(text)).tokens; }
  /// Whether the pool has room for a prompt and a token, now or once kept tokens are dropped; for a
  /// text of `most` tokens, if texts do not depend on those beside them.
  bool has_room_for(int64_t prompt, int64_t most) const;
  /// The free slot to begin a text in: one that holds most of its prompt, else the one that was
  /// used least lately; missing if all are busy. It may wait: a text that is being read has the
  /// same beginning, which is copied once it is there.
  std::optional<int64_t> place_for(const std::vector<int64_t>& prompt, bool has_images) const;
  /// Begins a text in a free slot. Returns the tokens of its prompt that the cache holds already: all
  /// of them only if the logits after them are known too.
  int64_t begin(int64_t slot, Text text);
  /// Tokens of prompts that one call has read, and those that were drawn where prompts ended. Without
  /// parts the model was not called: the cache had the prompt, or has no room.
  struct Reading {
    struct Part {
      int64_t text, count;
    };
    std::vector<Part> parts;
    std::vector<Drawn> drawn;
  };
  /// Reads the next tokens of the text's prompt, and of the prompts in the slots beside its own if
  /// that takes less time than one after the other: `most` tokens at once, padding included, or a
  /// prompt whole that must be read so.
  Reading read(int64_t text, int64_t most);
  /// Extends all texts whose prompts are read. Waits for the device, on which the next step begins
  /// meanwhile where it can be queued before the tokens are known.
  std::vector<Drawn> step();
  /// The tokens of such a step; call it before read.
  std::vector<Drawn> finish_step();
  /// The texts whose memory older ones needed since the last call. They can be begun again, with
  /// their tokens so far as prompts.
  std::vector<Text> take_suspended() { return std::exchange(suspended_, {}); }
  void end(int64_t text);
  /// Ends a text whose memory may hold numbers that are not finite.
  void clear(int64_t text);

  int64_t used_positions() const;
  int64_t positions() const { return positions_; }
  int64_t graph_steps() const { return graph_steps_; }
  /// Of these, the steps that were queued before the tokens of the one before were read.
  int64_t steps_ahead() const { return steps_ahead_; }

 private:
  struct Slot {
    std::vector<int64_t> tokens;  // of which the cache holds the first `cached`
    int64_t cached = 0, drawn = 0;
    bool busy = false, draws = false;  // draws: takes part in steps
    Text text;
    Tensor features;              // of images, [places, hidden_size]
    std::vector<int64_t> places;  // of images' tokens
    int64_t used = 0;             // when
    std::exception_ptr error;     // of the grammar's mask or on_logits
    Tensor next;                  // [1, V]: the logits after the prompt, if layers keep states
  };
  /// A captured step of the first `rows` slots.
  struct Captured {
    int64_t rows;
    std::vector<int64_t> extents;
    std::unique_ptr<CapturedWork> graph;  // nullptr: the step ran once
    int64_t used;
  };
  /// A step that was queued and whose tokens were not read.
  struct Queued {
    std::vector<std::optional<int64_t>> texts;  // that it extends, by slot
    Tensor ids;                                 // [rows, 1]
    Event done;
  };
  struct Origin {
    int64_t slot, tokens;
  };
  /// The tokens of a text that has ended, in blocks of the pool.
  struct Kept {
    std::vector<int64_t> tokens, blocks;
    int64_t prompt;  // tokens that were read rather than drawn
    int64_t used;
  };
  const Slot& at(int64_t slot) const { return slots_[size_t(slot)]; }
  Slot& at(int64_t slot) { return slots_[size_t(slot)]; }
  int64_t slot_of(int64_t text) const;
  static int64_t shared_with(const Slot& slot, const std::vector<int64_t>& prompt);
  int64_t usable(int64_t common, int64_t prompt) const;
  int64_t keep_beginning(int64_t number, const Slot& before);
  std::optional<int64_t> copy_prompt(int64_t number, const Slot& before);
  int64_t share_beginning(int64_t number);
  void keep(Slot& slot, int64_t number);
  bool drop_oldest();
  bool make_room(int64_t first, const std::vector<int64_t>& starts,
                 const std::vector<int64_t>& ends);
  bool suspend_youngest();
  void empty(int64_t number);
  void write_history(int64_t slot);
  void place();
  void write_masks(int64_t first, int64_t count);
  void pack();
  bool is_read_alone(int64_t slot) const;
  int64_t left(int64_t slot) const { return int64_t(at(slot).tokens.size()) - at(slot).cached; }
  /// The slots first ... first + count - 1 read up to `tokens` each.
  struct Together {
    int64_t first, count, tokens;
  };
  Together read_together(int64_t slot, int64_t most) const;
  bool has_room_for(const Together& group);
  TokenBatch next_tokens(const Together& group) const;
  bool can_use_graph(int64_t rows, const std::vector<int64_t>& ends) const;
  Captured& step_like_this(int64_t rows);
  bool runs_captured(int64_t rows, const std::vector<int64_t>& ends);
  struct Extended {
    int64_t rows = 0;
    bool is_captured = false;
    std::vector<Drawn> drawn = {};
  };
  Extended extend();
  Queued queued(int64_t rows) const;
  bool queue_ahead();
  std::vector<Drawn> read_tokens(const Queued& step);
  Tensor queue_step(int64_t rows, const std::vector<int64_t>& ends);
  Tensor changed(int64_t first, int64_t count, const Tensor& logits);
  std::vector<Drawn> draw_first(int64_t first, int64_t count, const Tensor& logits);
  std::vector<Drawn> drawn(int64_t first, int64_t count, const Tensor& logits);
  void add_token(Slot& slot, Drawn& one);

  std::shared_ptr<const CausalModel> model_;
  EngineOptions options_;
  bool has_prefixes_;  // prompts see themselves both ways
  std::unique_ptr<ModelCache> cache_;
  bool in_blocks_;  // all that the cache keeps lies in blocks of a pool
  int64_t positions_;
  std::vector<Kept> kept_;
  std::vector<Text> suspended_;
  SampledRows sampled_;
  std::vector<Slot> slots_;
  std::vector<bool> masked_;  // slots whose masks on the device leave ids out
  bool is_placed_ = false;    // the device has the slots' tokens and settings
  bool uses_graphs_;
  std::vector<Captured> captured_;
  std::optional<Queued> queued_;   // the step that runs ahead
  std::optional<Stream> reading_;  // on which tokens are read beside it
  std::vector<int64_t> replaced_;  // that the captured steps were of
  int64_t clock_ = 0, graph_steps_ = 0, steps_ahead_ = 0;
};

}  // namespace wick
