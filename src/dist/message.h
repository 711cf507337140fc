// The header of each message between ranks. All ranks run on machines of one byte order.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "wick/base/error.h"
#include "wick/base/hash.h"

namespace wick::dist {

enum class MessageKind : uint32_t {
  kData = 1,     // `bytes` follow
  kLeave = 2,    // the rank leaves the group in good order
  kFailure = 3,  // the rank's group has failed; the text says why
  kProgress = 4  // the rank's calls that no other message shows; the text is the last one
};

struct MessageHeader {
  static constexpr uint32_t kMark = 0x6b636977;  // "wick"

  uint32_t mark = kMark;
  MessageKind kind = MessageKind::kData;
  uint64_t bytes = 0;      // of a failure: its ErrorCode; of progress: calls, and launches << 32
  uint64_t text_hash = 0;  // of the whole text
  char text[104] = "";     // the call, or the reason; the beginning if it is longer

  static MessageHeader of(MessageKind kind, std::string_view text, uint64_t bytes = 0) {
    MessageHeader header{.kind = kind, .bytes = bytes};
    Fnv1a hash;
    hash.add(text.data(), text.size());
    header.text_hash = hash.value();
    std::memcpy(header.text, text.data(), std::min(text.size(), sizeof header.text - 1));
    return header;
  }
  bool is_valid() const {
    return mark == kMark && kind >= MessageKind::kData && kind <= MessageKind::kProgress;
  }
  ErrorCode code() const {
    const bool is_argument = bytes == uint64_t(ErrorCode::kInvalidArgument);
    return is_argument ? ErrorCode::kInvalidArgument : ErrorCode::kIo;
  }
  std::string shown_text() const { return {text, strnlen(text, sizeof text)}; }
};
static_assert(sizeof(MessageHeader) == 128);

}  // namespace wick::dist
