// Text to token ids and back, by the rules that a model's file states.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/base/export.h"
#include "wick/base/settings.h"
#include "wick/text/marked_text.h"

namespace wick {

class TokenTable;

namespace tokenization {
struct Rules;
class Decoding;
}  // namespace tokenization

/// A text as tokens; the three lists have the same length.
struct Encoding {
  std::vector<int64_t> ids;
  /// As the vocabulary spells them; unknown tokens of a Unigram model as the text does.
  std::vector<std::string> tokens;
  /// [begin, end) of each token in the text, in code points; (0, 0) for added special tokens.
  std::vector<std::pair<int64_t, int64_t>> offsets;
};

struct EncodeOptions {
  bool add_special = true;    // adds the tokens that the file puts around a text, such as BOS
  bool add_end = true;        // if add_special: also those after the text, such as EOS
  bool parse_special = true;  // the text of a special token within the input becomes its id
  /// Parts of the input, in order, that come from users: with parse_special, a special token of
  /// which a byte lies in one is text all the same. All else is as without them: the parts do not
  /// cut the input.
  std::vector<ByteRange> user = {};
};

/// Byte-level BPE, SentencePiece's BPE and Unigram. A cheap copyable value; several threads may
/// share it.
///
/// Bytes of a text that are not UTF-8 are read as U+FFFD, one for each maximal part of a character.
/// Time: n log n in the length of a text, also of one without spaces.
class WICK_API Tokenizer {
 public:
  /// From the content of a tokenizer.json. Encodes and decodes as HuggingFace's tokenizers does;
  /// truncation, padding and dropout of the file are ignored.
  /// Errors: kUnsupported, naming the model, normalizer, pre-tokenizer, post-processor, decoder or
  /// pattern that wick does not have; kFormat.
  static Tokenizer from_json(const Settings& tokenizer_json);

  /// From the bytes of a SentencePiece model of type unigram (spiece.model), for models of the kind
  /// of SigLIP. Encodes as transformers' SiglipTokenizer does: in lower case, without ASCII's
  /// punctuation, with single spaces, and with the end once. Decodes tokens that are not special as
  /// it does; spaces around special tokens stay.
  ///
  /// where             the beginning of errors about the bytes, such as a path
  /// tokenizer_config  tokenizer_config.json: do_lower_case, eos_token, unk_token, pad_token and
  ///                   added_tokens_decoder; empty: transformers' defaults
  /// Errors: kFormat; kUnsupported for models of another type.
  static Tokenizer from_siglip(std::string_view spiece_model, const std::string& where,
                               const Settings& tokenizer_config);

  /// From the metadata of a GGUF file (tokenizer.ggml.*). Ids are the same as in llama.cpp.
  /// Models: gpt2, gemma4 and llama. Where a text is cut, "tokenizer.ggml.pre" says by a name of
  /// llama.cpp's; files without it get "default" and a warning.
  /// pre: replaces that name; "": as the file says.
  /// Errors: kUnsupported, naming the model or the file's `pre`; kInvalidArgument for an unknown
  /// `pre` of the caller's; kFormat.
  static Tokenizer from_gguf(const Settings& metadata, const std::string& pre = "");

  /// Errors: kInvalidArgument if the text exceeds 2^31 bytes, or if options.user is out of order or
  /// goes beyond it; kUnsupported if a pattern of the file
  /// needs more steps on this text than the limit of the pattern library, or if a character of it
  /// is no token and the model lacks an unknown token; kFormat for a bad rule of a normalizer's
  /// table that this text needs.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// The ids of encode(), in less time.
  std::vector<int64_t> encode_ids(std::string_view text, const EncodeOptions& options = {}) const;

  /// The text of the ids, always valid UTF-8: bytes that form no character become U+FFFD. Skips ids
  /// outside the vocabulary, and special tokens if asked to.
  std::string decode(std::span<const int64_t> ids, bool skip_special = false) const;

  /// One more than the largest id.
  int64_t vocab_size() const;
  std::optional<int64_t> id_of(std::string_view token) const;
  /// The token as the vocabulary spells it; empty for an id outside the vocabulary.
  std::string token(int64_t id) const;
  /// The bytes that each token adds to a text, for grammars: see grammar.h. Special tokens have no
  /// bytes. At the start of a text, decode() may leave out a space that is among a token's bytes.
  /// The first call takes some tenths of a second for a large vocabulary.
  const TokenTable& token_table() const;
  bool is_special(int64_t id) const;
  /// Whether the text of the token always becomes this token, before the model splits the rest: an
  /// added token, special or not.
  bool is_added(int64_t id) const;
  /// The token that begins or ends a text: of a GGUF file the one that its metadata names, of a
  /// tokenizer.json the one that its post-processor adds.
  std::optional<int64_t> bos() const;
  std::optional<int64_t> eos() const;
  /// One line for each thing that the file lacks and that was filled in.
  const std::vector<std::string>& warnings() const;

 private:
  friend class TokenStream;
  explicit Tokenizer(std::shared_ptr<const tokenization::Rules> rules);

  std::shared_ptr<const tokenization::Rules> rules_;
};

/// The content of a tokenizer.json whose tokens are the 256 bytes: the id of a byte is its value.
WICK_API Settings byte_tokenizer_json();

/// Decodes token by token, for a running generation. The pieces joined are the text
/// that decode() gives for all ids, except that a run of byte tokens that is not UTF-8 as a whole
/// still gives its characters.
class WICK_API TokenStream {
 public:
  explicit TokenStream(const Tokenizer& tokenizer, bool skip_special = false);
  ~TokenStream();
  TokenStream(TokenStream&&) noexcept;
  TokenStream& operator=(TokenStream&&) noexcept;

  /// The text that this token completes: whole characters. Bytes of a character that is not
  /// complete wait for the next token.
  std::string push(int64_t id);
  /// The rest: U+FFFD for bytes that still wait. The stream then starts anew.
  std::string finish();

 private:
  std::shared_ptr<const tokenization::Rules> rules_;
  std::unique_ptr<tokenization::Decoding> decoding_;
  bool skip_special_;
};

}  // namespace wick
