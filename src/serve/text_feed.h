// The texts of one request, as the engine generates them.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "wick/generate/engine.h"

namespace wick::serve {

/// Texts that grow for one client. Its end cancels those that have not ended.
class TextFeed {
 public:
  /// waiting: called at least ten times a second while next waits; an exception of it ends next.
  explicit TextFeed(std::function<void()> waiting) : waiting_(std::move(waiting)) {}
  ~TextFeed();
  TextFeed(const TextFeed&) = delete;
  TextFeed& operator=(const TextFeed&) = delete;

  void add(EngineStream text) { texts_.push_back({std::move(text)}); }

  struct Update {
    size_t index = 0;  // of the text
    EnginePiece piece = {};
    bool has_ended = false;  // there is no piece, and result(index) is whole
  };
  /// The next piece or end of any text; missing once all have ended. Errors: RequestError 500 if
  /// the model fails.
  std::optional<Update> next();
  const EngineText& result(size_t index) const { return texts_[index].stream.result(); }
  /// Ends a text; next still gives its end.
  void cancel(size_t index) { texts_[index].stream.cancel(); }
  size_t size() const { return texts_.size(); }

 private:
  struct Text {
    EngineStream stream;
    bool has_ended = false;
  };
  std::function<void()> waiting_;
  std::vector<Text> texts_;
  size_t next_ = 0;  // the text to look at first
};

}  // namespace wick::serve
