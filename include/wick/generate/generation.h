// The continuation of one text: stop strings, whole characters, a full context, rates.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/generate/session.h"
#include "wick/load/load_model.h"
#include "wick/text/grammar.h"
#include "wick/text/stop_strings.h"

namespace wick {

/// Why a text ended: a stop id, a stop text, max_tokens, a full context, or a caller that stopped
/// it.
enum class Ending { kEnd, kStop, kLength, kContext, kInterrupted };
/// "end", "stop", "length", "context", "interrupted".
WICK_API const char* to_string(Ending ending);

/// A token count and the time taken, in seconds.
struct Rate {
  int64_t tokens = 0;
  double seconds = 0;
  /// Tokens per second; 0 before any time has passed.
  double per_second() const { return seconds > 0 ? double(tokens) / seconds : 0; }
};

/// A text that a model has generated.
struct GeneratedText {
  std::vector<int64_t> ids = {};  // without the stop id
  std::string text = {};
  Ending ending = Ending::kInterrupted;
  int64_t prompt_tokens = 0;
  Rate prefill =
      {};            // of the prompt, and of a text that is read again for lack of room; the tokens
                     // read, and the time until the next one is sampled
  Rate decode = {};  // of the other tokens
};

struct GenerationOptions {
  /// The most tokens of the text; missing: until the model ends it or the context is full.
  std::optional<int64_t> max_tokens = 256;
  std::vector<std::string> stop = {};  // texts that end the text and are not part of it
  /// Holds the text to a grammar, which ends it where nothing can follow. Special tokens other than
  /// the session's stop_ids are left out.
  std::optional<Grammar> grammar = {};
  bool skip_special = true;  // leaves special tokens out of the text
  /// In a full context, goes on from the later half of the text, and keeps of a long prompt the
  /// end; else, and always if the text has images, the text ends there, and such a prompt is an
  /// error.
  bool slide = false;
  /// Of the images whose placeholders are in the prompt: Prompt::pixel_values.
  Tensor pixel_values = {};
  /// Asked before each token; true ends the text.
  std::function<bool()> interrupted = {};
};

/// Options with the sampling of the model's files, default_sampling, which SessionOptions lacks:
/// the start for options of your own.
WICK_API SessionOptions default_session_options(const LanguageModel& model);

/// A text that a model is generating:
///
///   Generation text(model, model.prompt_ids("Once upon a time"));
///   while (const auto piece = text.next()) std::cout << *piece << std::flush;
///
/// About an image:
///
///   const Image image = read_image("cat.jpg");
///   const Prompt prompt = model.prompt("caption en", {&image, 1});
///   Generation text(model, prompt.ids, {.pixel_values = prompt.pixel_values});
class WICK_API Generation {
 public:
  /// Reads the prompt in a session of its own. Without a capacity it has room for the prompt and
  /// max_tokens (4096 if that is missing), at most the model's positions.
  /// Errors: kUnsupported without a tokenizer; kInvalidArgument for max_tokens below 0, an empty
  /// stop text or a session of several sequences; as of Session and its append.
  Generation(const LanguageModel& model, const std::vector<int64_t>& prompt,
             const GenerationOptions& options, SessionOptions session);
  /// With default_session_options.
  explicit Generation(const LanguageModel& model, const std::vector<int64_t>& prompt,
                      const GenerationOptions& options = {});
  /// Appends the ids to this session of one sequence, which must outlive the text, and gives it the
  /// grammar of the options, or takes one away. Errors: as above.
  Generation(const LanguageModel& model, Session& session, const std::vector<int64_t>& ids,
             const GenerationOptions& options = {});

  /// The next piece of the text, of whole characters and never empty; missing once the text has
  /// ended.
  /// Errors: as of Session::step; the text has ended then.
  std::optional<std::string> next();
  /// Generates the rest, passing each piece to on_text if there is one. Errors: as next.
  const GeneratedText& finish(const std::function<void(std::string_view)>& on_text = {});

  /// The text up to now; its ending is kInterrupted until it has ended.
  const GeneratedText& result() const { return result_; }
  const Session& session() const { return *session_; }

 private:
  void begin(const std::vector<int64_t>& ids);
  void read(std::vector<int64_t> ids, int64_t keep);
  int64_t sample(Rate& rate);
  std::string advance();
  std::string end(Ending ending);

  std::unique_ptr<Session> own_;
  Session* session_;
  GenerationOptions options_;
  std::optional<ImageReading> images_;
  Tokenizer tokenizer_;
  TokenStream stream_;
  StopStrings stops_;
  GeneratedText result_;
  bool has_read_ = false;  // whether the next sample ends the reading of a prompt
  bool ended_ = false;
};

}  // namespace wick
