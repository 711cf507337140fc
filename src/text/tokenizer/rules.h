// The rules of one tokenizer, as read from a file; immutable.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/bpe.h"
#include "text/tokenizer/decoder.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "wick/base/settings.h"
#include "wick/text/tokenizer.h"

namespace wick::tokenizer {

/// Workspaces for the threads that encode at the same time.
class WorkspacePool {
 public:
  std::unique_ptr<Workspace> take();
  void give_back(std::unique_ptr<Workspace> workspace);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_;
};

struct Rules {
  enum Kind : uint8_t {
    kMissing,  // the id has no token
    kNormal,
    kSilent,   // decodes to nothing
    kAdded,    // an added token that is not special
    kSpecial,  // decode() can skip it
  };

  AddedTokens added;  // cut out of the text before it is normalized
  std::vector<std::unique_ptr<PreTokenizer>> pre_tokenizers;
  Bpe bpe;
  std::vector<int32_t> before, after;  // tokens around a text

  std::vector<Kind> kinds;                           // by id
  std::unordered_map<int32_t, std::string> spelled;  // ids whose token is not in the vocabulary
  std::unordered_map<std::string, int32_t> ids;      // of these
  Decoder decoder;
  /// Before the decoder, tokens become the bytes that they stand for, as a GGUF file states them.
  bool gguf_bytes = false;
  bool escapes_spaces = false;  // with gguf_bytes: tokens spell a space as U+2581

  std::optional<int32_t> bos, eos;
  mutable WorkspacePool workspaces;

  int32_t size() const { return int32_t(kinds.size()); }
  Kind kind(int64_t id) const { return id < 0 || id >= size() ? kMissing : kinds[size_t(id)]; }
  /// The token as the vocabulary spells it; the id has one.
  std::string spelling(int64_t id) const;
  /// The token as the decoder reads it; the id has one.
  std::string for_decoder(int64_t id) const;
};

std::shared_ptr<const Rules> read_json(const Settings& file);
std::shared_ptr<const Rules> read_gguf(const Settings& metadata);

}  // namespace wick::tokenizer
