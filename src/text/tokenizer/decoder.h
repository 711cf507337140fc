// Token texts back to text, one token at a time.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "text/tokenizer/pattern.h"

namespace wick::tokenization {

/// Receives the texts that a step gives.
using Sink = FunctionRef<void(std::string)>;

/// A step's state between tokens.
struct StepState {
  explicit StepState(bool early) : early(early) {}

  bool early;  // byte tokens give each character as soon as it is complete
  bool started = false;
  size_t count = 0;
  std::string held;
};

/// One step of decoding: a sequence of token texts to another sequence of texts. After a step that
/// joins them the sequence is one text, of which push() receives parts of whole characters.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;
  virtual void push(StepState& state, std::string token, Sink next) const = 0;
  /// The end of the sequence.
  virtual void finish(StepState&, Sink) const {}
  virtual bool joins() const { return false; }
  /// The bytes of a token within a text, which may be a part of a character.
  virtual std::string bytes_of(std::string token) const = 0;
};

using Decoder = std::vector<std::unique_ptr<const DecodeStep>>;

/// Joins tokens that are bytes of UTF-8.
std::unique_ptr<DecodeStep> join_bytes();
/// Joins tokens in the byte alphabet; a token with another character stands for its own bytes.
std::unique_ptr<DecodeStep> join_letters();
/// Joins the tokens.
std::unique_ptr<DecodeStep> join_texts();
/// Joins the tokens with a space between them.
std::unique_ptr<DecodeStep> join_with_spaces();
/// Runs of tokens "<0xXX>" become the text that their bytes are; U+FFFD for each if they are no
/// UTF-8.
std::unique_ptr<DecodeStep> decode_byte_tokens();
std::unique_ptr<DecodeStep> replace_in_tokens(Pattern pattern, std::string content, bool joined);
/// Removes up to `start` and `stop` of the character at the ends of each token.
std::unique_ptr<DecodeStep> strip_tokens(std::string character, size_t start, size_t stop,
                                         bool joined);
/// The mark becomes a space, or nothing in the first token if the encoder puts one there.
std::unique_ptr<DecodeStep> unmark_spaces(std::string mark, bool prepended, bool joined);
/// The suffix becomes a space, or nothing in the last token.
std::unique_ptr<DecodeStep> unmark_ends(std::string suffix);

/// One run of a decoder, which must outlive it.
class Decoding {
 public:
  Decoding(const Decoder& decoder, bool early);

  /// Appends the token's text.
  void push(std::string token, std::string& to) { push(0, std::move(token), to); }
  /// Appends the rest. The next push starts a new run.
  void finish(std::string& to);

 private:
  void push(size_t step, std::string token, std::string& to);

  const Decoder* decoder_;
  std::vector<StepState> states_;
};

}  // namespace wick::tokenization
