// The rules of one tokenizer, as read from a file; immutable.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/bpe.h"
#include "text/tokenizer/decoder.h"
#include "text/tokenizer/pieces.h"
#include "text/tokenizer/unigram.h"
#include "wick/base/settings.h"
#include "wick/text/grammar.h"
#include "wick/text/tokenizer.h"

namespace wick::tokenization {

/// Workspaces for the threads that encode at the same time.
class WorkspacePool {
 public:
  std::unique_ptr<Workspace> take();
  void give_back(std::unique_ptr<Workspace> workspace);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_;
};

/// A change of the tokens of a text.
struct PostStep {
  std::vector<int32_t> before, after;  // tokens put around it
  bool trims = false;                  // takes white space out of the offsets
  bool not_twice = false;              // no `after` where the text ends with it
  bool keeps_first_space = false;      // with trims: but not one space that the encoder put there
};

struct Rules {
  enum Kind : uint8_t {
    kMissing,  // the id has no token
    kNormal,
    kSilent,   // decodes to nothing
    kAdded,    // an added token that is not special
    kSpecial,  // decode() can skip it
  };

  AddedTokens added;  // cut out of the text
  std::vector<std::unique_ptr<Step>> normalizers;
  AddedTokens normalized_added;  // cut out of the normalized text
  std::vector<std::unique_ptr<Step>> pre_tokenizers;
  bool needs_origins = false;      // a step reads where a piece comes from
  Bpe bpe;                         // has the vocabulary of any model
  std::optional<Unigram> unigram;  // the model, if it is no BPE
  std::vector<PostStep> post_steps;

  std::vector<Kind> kinds;     // by id
  std::vector<bool> controls;  // by id: tokens that no text of users becomes; see note_controls
  std::unordered_map<int32_t, std::string> spelled;  // ids whose token is not in the vocabulary
  std::unordered_map<std::string, int32_t> ids;      // of these
  std::unordered_map<int32_t, std::string> decoded;  // tokens that the decoder reads otherwise
  Decoder decoder;
  /// How tokens that are not added spell their bytes, if the decoder does not know it.
  enum class Spelling { kAsDecoded, kLetters, kMarkedSpaces } spelling_of_bytes = {};

  std::optional<int32_t> bos, eos;
  std::vector<std::string> warnings;  // one line for each thing that the file lacks
  mutable WorkspacePool workspaces;
  mutable std::once_flag has_token_table;
  mutable std::optional<TokenTable> token_table;

  /// Sets `controls` from the added tokens. Call it when they are complete.
  void note_controls();
  bool is_control(int32_t id) const { return size_t(id) < controls.size() && controls[size_t(id)]; }

  int32_t size() const { return int32_t(kinds.size()); }
  Kind kind(int64_t id) const { return id < 0 || id >= size() ? kMissing : kinds[size_t(id)]; }
  /// The token as the vocabulary spells it; the id has one.
  std::string spelling(int64_t id) const;
  /// The token as the decoder reads it; the id has one.
  std::string for_decoder(int64_t id) const;
  /// The bytes that the token adds within a text; empty for special tokens and those that are
  /// missing.
  std::string bytes_of(int64_t id) const;
};

/// A SentencePiece model with the clean-up and the special tokens of transformers' SiglipTokenizer.
std::shared_ptr<const Rules> read_siglip(std::string_view spiece_model, const std::string& where,
                                         const Settings& tokenizer_config);
std::shared_ptr<const Rules> read_json(const Settings& file);
/// chosen_pre: replaces "tokenizer.ggml.pre" unless it is "".
std::shared_ptr<const Rules> read_gguf(const Settings& metadata,
                                       const std::string& chosen_pre = "");

/// The texts of tokens that end a text or a turn. GGUF files name only one or two of their ids; by
/// these texts llama.cpp (MIT) recognizes the others. has: whether the vocabulary has a token of
/// this text, since beside some tokens others end nothing.
std::vector<const char*> end_tokens(const std::function<bool(const char* text)>& has);

/// Where BPE cuts a text and how its tokens spell it, by "tokenizer.ggml.pre". Each pattern cuts
/// the parts that the one before it left.
struct PreTokenization {
  /// The symbols of the model's words: bytes, spelled in the byte alphabet; characters; characters
  /// with kSpaceMark for spaces. Characters that are no tokens become tokens "<0xXX>".
  enum class Letters { kBytes, kCharacters, kMarkedCharacters };

  std::vector<std::string> names = {}, patterns = {};
  bool ignore_merges = false, adds_bos = false;
  bool always_adds_bos = false;  // even if the file says otherwise
  bool has_bos = true;           // a file without "bos_token_id" has id 11
  bool needs_merges = true;
  bool drops_matches = false;   // matches of the patterns are left out
  bool whole_newlines = false;  // a word of newlines that is a token stays whole
  Letters letters = Letters::kBytes;
};
/// All that wick knows, "default" first.
const std::vector<PreTokenization>& gguf_pre_tokenizations();
/// The one that is chosen, or else that a file names, or else "default". Errors: kUnsupported;
/// kInvalidArgument if the chosen one is unknown.
const PreTokenization& gguf_pre_tokenization(const Settings& metadata,
                                             const std::string& chosen = "");

}  // namespace wick::tokenization
