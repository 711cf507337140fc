#include "text/tokenizer/pieces.h"

#include <algorithm>

#include "base/utf8.h"
#include "wick/base/error.h"

namespace wick::tokenization {

bool UserText::touches(Span bytes) const {
  const auto part = std::upper_bound(parts_.begin(), parts_.end(), bytes.begin,
                                     [](uint32_t at, const Span& span) { return at < span.end; });
  return part != parts_.end() && part->begin < bytes.end;
}

void check_size(size_t bytes) {
  check(bytes < (size_t(1) << 31), ErrorCode::kInvalidArgument, "Tokenizer", "a text of ", bytes,
        " bytes exceeds 2^31");
}

Pieces pieces_of(std::string text, bool tracks) {
  Pieces all;
  all.text = std::move(text);
  all.tracks = tracks;
  if (!all.text.empty()) all.pieces.push_back({0, uint32_t(all.text.size()), -1, 0});
  if (!tracks) return all;
  all.origins.reserve(all.text.size());
  for (uint32_t at = 0; at < all.text.size();) {
    const uint32_t end = at + uint32_t(character_length(all.text[at]));
    all.origins.insert(all.origins.end(), end - at, {at, end});
    at = end;
  }
  return all;
}

}  // namespace wick::tokenization
