#include "wick/text/tokenizer.h"

#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/rules.h"
#include "text/tokenizer/utf8.h"
#include "wick/base/error.h"

namespace wick {
namespace tokenizer {
namespace {

constexpr size_t kMostBytes = size_t(1) << 31;

/// Byte offsets of valid UTF-8 as counts of code points. Offsets within a character count it for
/// ends, not for begins.
std::vector<uint32_t> code_points_before(std::string_view text) {
  std::vector<uint32_t> before(text.size() + 1);
  uint32_t count = 0;
  for (size_t i = 0; i < text.size(); i++) {
    before[i] = count;
    if (i + 1 == text.size() || starts_character(text[i + 1])) count++;
  }
  before[text.size()] = count;
  return before;
}

/// Calls found(id, bytes of the input) for each token of the text.
template <class Found>
void encode(const Rules& rules, Pieces& all, const EncodeOptions& options, const Found& found) {
  rules.added.split(all, options.parse_special);
  for (const auto& step : rules.pre_tokenizers) step->apply(all);

  struct Lease {
    explicit Lease(WorkspacePool& pool) : pool(pool), workspace(pool.take()) {}
    ~Lease() { pool.give_back(std::move(workspace)); }
    WorkspacePool& pool;
    std::unique_ptr<Workspace> workspace;
  };
  const Lease lease(rules.workspaces);
  std::vector<Token> tokens;
  if (options.add_special)
    for (const int32_t id : rules.before) found(id, Span{});
  for (const Piece& piece : all.pieces) {
    if (piece.id >= 0) {
      found(piece.id, all.tracks ? all.origin(piece.begin, piece.end) : Span{});
      continue;
    }
    tokens.clear();
    rules.bpe.encode(all.of(piece), *lease.workspace, tokens);
    for (const Token& token : tokens)
      found(token.id,
            all.tracks ? all.origin(piece.begin + token.begin, piece.begin + token.end) : Span{});
  }
  if (options.add_special && options.add_end)
    for (const int32_t id : rules.after) found(id, Span{});
}

std::string checked_input(std::string_view text) {
  check(text.size() < kMostBytes, ErrorCode::kInvalidArgument, "Tokenizer", "a text of ",
        text.size(), " bytes exceeds 2^31");
  return valid_prefix(text) == text.size() ? std::string(text) : with_valid_utf8(text);
}

}  // namespace

std::unique_ptr<Workspace> WorkspacePool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto workspace = std::move(free_.back());
      free_.pop_back();
      return workspace;
    }
  }
  return std::make_unique<Workspace>();
}

void WorkspacePool::give_back(std::unique_ptr<Workspace> workspace) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(workspace));
}

std::string Rules::spelling(int64_t id) const {
  const auto own = spelled.find(int32_t(id));
  return own != spelled.end() ? own->second : std::string(bpe.vocabulary.text(int32_t(id)));
}

std::string Rules::for_decoder(int64_t id) const {
  if (kind(id) == kSilent) return "";
  const std::string token = spelling(id);
  if (!gguf_bytes || kind(id) != kNormal) return token;
  std::string bytes;
  return append_bytes(token, bytes) ? bytes : token;
}

}  // namespace tokenizer

using tokenizer::Rules;

Tokenizer::Tokenizer(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {}

Tokenizer Tokenizer::from_gguf(const Settings& metadata) {
  return Tokenizer(tokenizer::read_gguf(metadata));
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const std::string input = tokenizer::checked_input(text);
  tokenizer::Pieces all = tokenizer::pieces_of(input, true);
  const std::vector<uint32_t> before = tokenizer::code_points_before(input);
  Encoding encoding;
  tokenizer::encode(*rules_, all, options, [&](int32_t id, tokenizer::Span origin) {
    encoding.ids.push_back(id);
    encoding.tokens.push_back(rules_->spelling(id));
    encoding.offsets.emplace_back(before[origin.begin], before[origin.end]);
  });
  return encoding;
}

std::vector<int64_t> Tokenizer::encode_ids(std::string_view text,
                                           const EncodeOptions& options) const {
  tokenizer::Pieces all = tokenizer::pieces_of(tokenizer::checked_input(text), false);
  std::vector<int64_t> ids;
  ids.reserve(all.text.size() / 3);
  tokenizer::encode(*rules_, all, options, [&](int32_t id, tokenizer::Span) { ids.push_back(id); });
  return ids;
}

std::string Tokenizer::decode(std::span<const int64_t> ids, bool skip_special) const {
  tokenizer::Decoding decoding(rules_->decoder, false);
  std::string text;
  for (const int64_t id : ids) {
    const Rules::Kind kind = rules_->kind(id);
    if (kind == Rules::kMissing || (skip_special && kind == Rules::kSpecial)) continue;
    decoding.push(rules_->for_decoder(id), text);
  }
  decoding.finish(text);
  return text;
}

int64_t Tokenizer::vocab_size() const { return rules_->size(); }

std::optional<int64_t> Tokenizer::id_of(std::string_view token) const {
  if (const auto own = rules_->ids.find(std::string(token)); own != rules_->ids.end())
    return own->second;
  const int32_t id = rules_->bpe.vocabulary.find(token);
  if (id < 0 || id >= rules_->bpe.token_count) return std::nullopt;
  return id;
}

std::string Tokenizer::token(int64_t id) const {
  return rules_->kind(id) == Rules::kMissing ? "" : rules_->spelling(id);
}

bool Tokenizer::is_special(int64_t id) const { return rules_->kind(id) == Rules::kSpecial; }

std::optional<int64_t> Tokenizer::bos() const { return rules_->bos; }
std::optional<int64_t> Tokenizer::eos() const { return rules_->eos; }

TokenStream::TokenStream(const Tokenizer& tokenizer, bool skip_special)
    : rules_(tokenizer.rules_),
      decoding_(std::make_unique<tokenizer::Decoding>(rules_->decoder, true)),
      skip_special_(skip_special) {}
TokenStream::~TokenStream() = default;
TokenStream::TokenStream(TokenStream&&) noexcept = default;
TokenStream& TokenStream::operator=(TokenStream&&) noexcept = default;

std::string TokenStream::push(int64_t id) {
  std::string text;
  const Rules::Kind kind = rules_->kind(id);
  if (kind != Rules::kMissing && !(skip_special_ && kind == Rules::kSpecial))
    decoding_->push(rules_->for_decoder(id), text);
  return text;
}

std::string TokenStream::finish() {
  std::string text;
  decoding_->finish(text);
  return text;
}

}  // namespace wick
