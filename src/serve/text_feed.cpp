#include "serve/text_feed.h"

#include <algorithm>

#include "serve/request_error.h"
#include "wick/base/error.h"

namespace wick::serve {

TextFeed::~TextFeed() {
  for (Text& text : texts_)
    if (!text.has_ended) text.stream.cancel();
}

std::optional<TextFeed::Update> TextFeed::next() {
  using std::chrono::milliseconds;
  for (;;) {
    waiting_();
    const auto open = std::count_if(texts_.begin(), texts_.end(),
                                    [](const Text& text) { return !text.has_ended; });
    if (open == 0) return {};
    // Several texts take turns: each step of the engine adds to all of them.
    const milliseconds time(open == 1 ? 100 : 10);
    bool waits = true;
    for (size_t i = 0; i < texts_.size(); i++) {
      const size_t index = (next_ + i) % texts_.size();
      Text& text = texts_[index];
      if (text.has_ended) continue;
      std::optional<EnginePiece> piece;
      try {
        piece = text.stream.next_for(waits ? time : milliseconds(0));
      } catch (const Error& error) {
        text.has_ended = true;
        // A grammar that the vocabulary cannot write is the request's fault, as memory is the
        // moment's; other errors are the model's.
        const ErrorCode code = error.code();
        if (code == ErrorCode::kUnsupported || code == ErrorCode::kOutOfMemory)
          throw request_error(error, "");
        throw RequestError(500, error.what());
      }
      waits = false;  // once a round
      if (piece && piece->text.empty() && piece->ids.empty()) continue;
      next_ = index + 1;
      text.has_ended = !piece.has_value();
      Update update{.index = index, .piece = {}, .has_ended = text.has_ended};
      if (piece) update.piece = std::move(*piece);
      return update;
    }
  }
}

}  // namespace wick::serve
