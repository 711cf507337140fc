// Reads an answer's symbols as reasoning, content and calls.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "text/answers/call_form.h"
#include "text/answers/families.h"
#include "text/answers/tools.h"
#include "wick/text/answer.h"

namespace wick::answers {

/// An answer's symbols, of which a reader takes those that it understands.
class Reader {
 public:
  Reader(const Format& format, const Tools& tools, bool is_single_call)
      : format_(format), tools_(tools), is_single_call_(is_single_call) {}
  virtual ~Reader() = default;

  std::vector<AnswerEvent> push(SymbolView symbols);
  std::vector<AnswerEvent> finish();
  int64_t calls() const { return calls_; }
  bool is_complete() const { return is_single_call_ && calls_ > 0; }

 protected:
  enum class Match { kNo, kPart, kWhole };

  /// Takes symbols off the front. False if more are needed, or if there is nothing left.
  virtual bool step() = 0;
  /// After the last symbol was taken.
  virtual void end() = 0;

  /// The symbols that are left.
  SymbolView rest() const { return SymbolView(buffer_).substr(at_); }
  void take(size_t count) { at_ += count; }
  /// Whether the marker is next; kPart if it may be, once more symbols have come.
  Match match(SymbolView marker) const;
  bool has_ended() const { return has_ended_; }

  /// The symbols as the client's text has them.
  std::string visible(SymbolView symbols) const;
  void add_text(AnswerEvent::Kind kind, std::string_view text);
  void add_call(const Call& call);

  const Format& format_;
  const Tools& tools_;

 private:
  const bool is_single_call_;
  bool has_ended_ = false;
  Symbols buffer_;
  size_t at_ = 0;
  int64_t calls_ = 0;
  std::vector<AnswerEvent> events_;
};

/// The reader of the format's family. Both must outlive it.
/// opens_reasoning: the prompt has begun the reasoning.
std::unique_ptr<Reader> make_reader(const Format& format, const Tools& tools, bool is_single_call,
                                    bool opens_reasoning);
std::unique_ptr<Reader> make_harmony_reader(const Format& format, const Tools& tools,
                                            bool is_single_call);

}  // namespace wick::answers
