// The form of an answer to a request for texts: its JSON, or the events of a stream.
#pragma once
#include <string>

#include "serve/answers.h"
#include "serve/text_feed.h"

namespace wick::serve {

class AnswerForm {
 public:
  virtual ~AnswerForm() = default;
  /// The next piece of a text that is answered whole.
  virtual void read(int64_t, const EnginePiece&) {}
  /// Whether the answer is complete, whatever follows in the text.
  virtual bool is_complete(int64_t) const { return false; }
  /// Of texts that have ended.
  virtual Settings whole(const TextFeed& feed, const Usage& usage) = 0;

  /// The events before all texts.
  virtual std::string first(size_t texts) = 0;
  /// For a piece of a text; "": nothing yet.
  virtual std::string part(int64_t index, const EnginePiece& piece) = 0;
  /// For the end of a text.
  virtual std::string last(int64_t index, const EngineText& text) = 0;
  /// After all texts.
  virtual std::string end(const Usage& usage) = 0;
  /// Instead of the rest.
  virtual std::string failure(const RequestError& error) = 0;
};

}  // namespace wick::serve
