#include "wick/text/tokenizer.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/characters.h"
#include "text/tokenizer/rules.h"

namespace wick {
namespace tokenization {
namespace {

/// The number of characters before the one at each byte of valid UTF-8, and at its end.
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

/// Cuts the input into pieces that are words or added tokens.
void cut(const Rules& rules, Pieces& all, bool special, const UserText& user) {
  rules.added.split(all, special, user);
  for (const auto& step : rules.normalizers) step->apply(all);
  rules.normalized_added.split(all, special, user);
  for (const auto& step : rules.pre_tokenizers) step->apply(all);
}

/// Whether users' text has become one of Rules::controls.
bool has_control(const Rules& rules, const Pieces& all, const Piece& piece, const UserText& user,
                 const std::vector<Token>& tokens) {
  return std::any_of(tokens.begin(), tokens.end(), [&](const Token& token) {
    return rules.is_control(token.id) &&
           user.touches(all.origin(piece.begin + token.begin, piece.begin + token.end));
  });
}

/// Calls found(piece, token) for each token of the pieces; a token's bytes lie in the piece.
template <class Found>
void each_token(const Rules& rules, const Pieces& all, const UserText& user, const Found& found) {
  struct Lease {
    explicit Lease(WorkspacePool& pool) : pool(pool), workspace(pool.take()) {}
    ~Lease() { pool.give_back(std::move(workspace)); }
    WorkspacePool& pool;
    std::unique_ptr<Workspace> workspace;
  };
  const Lease lease(rules.workspaces);
  std::vector<Token> tokens;
  const auto encode = [&](const Piece& piece, const std::vector<bool>* without) {
    tokens.clear();
    if (rules.unigram)
      rules.unigram->encode(all.of(piece), rules.bpe.vocabulary, *lease.workspace, tokens, without);
    else
      rules.bpe.encode(all.of(piece), *lease.workspace, tokens, without);
  };
  for (const Piece& piece : all.pieces) {
    if (piece.id >= 0) {
      tokens.assign(1, {piece.id, 0, piece.end - piece.begin});
    } else {
      encode(piece, nullptr);
      // The model's vocabulary may have the texts of special tokens.
      if (!user.empty() && has_control(rules, all, piece, user, tokens))
        encode(piece, &rules.controls);
    }
    for (const Token& token : tokens) found(piece, token);
  }
}

/// Takes white space at the ends of tokens out of their offsets.
void trim_offsets(Encoding& encoding, bool keeps_first_space) {
  const char32_t space_letter = 0x120;
  const auto is_space = [&](char32_t code) { return code == space_letter || is_white_space(code); };
  for (size_t i = 0; i < encoding.ids.size(); i++) {
    const std::string& token = encoding.tokens[i];
    int64_t leading = 0, trailing = 0;  // trailing: since the last other character
    bool only_spaces = true;
    for (size_t at = 0; at < token.size();) {
      const bool space = is_space(next_code_point(token, at));
      only_spaces = only_spaces && space;
      leading += only_spaces;
      trailing = space ? trailing + 1 : 0;
    }
    auto& [begin, end] = encoding.offsets[i];
    if (keeps_first_space && leading == 1 && (i == 0 || begin == 0)) leading = 0;
    begin = std::min(begin + leading, end);
    if (end >= trailing) end = std::max(end - trailing, begin);
  }
}

template <class T>
void put_around(std::vector<T>& list, const std::vector<T>& before, const std::vector<T>& after) {
  list.insert(list.begin(), before.begin(), before.end());
  list.insert(list.end(), after.begin(), after.end());
}

bool adds_end(const PostStep& step, const EncodeOptions& options, const std::vector<int64_t>& ids) {
  const size_t count = step.after.size();
  return options.add_end &&
         !(step.not_twice && ids.size() >= count &&
           std::equal(step.after.begin(), step.after.end(), ids.end() - ptrdiff_t(count)));
}

void post_process(const Rules& rules, const EncodeOptions& options, Encoding& encoding) {
  for (const PostStep& step : rules.post_steps) {
    if (step.trims) trim_offsets(encoding, step.keeps_first_space);
    if (!options.add_special) continue;
    const std::vector<int32_t> after =
        adds_end(step, options, encoding.ids) ? step.after : std::vector<int32_t>();
    const auto texts = [&](const std::vector<int32_t>& ids) {
      std::vector<std::string> list;
      for (const int32_t id : ids) list.push_back(rules.spelling(id));
      return list;
    };
    put_around(encoding.ids, {step.before.begin(), step.before.end()},
               {after.begin(), after.end()});
    put_around(encoding.tokens, texts(step.before), texts(after));
    put_around(encoding.offsets, decltype(encoding.offsets)(step.before.size()),
               decltype(encoding.offsets)(after.size()));
  }
}

/// The parts of a text that is not UTF-8, in with_valid_utf8(text).
std::vector<Span> parts_of_valid_utf8(std::string_view text, const std::vector<Span>& parts) {
  std::vector<Span> moved;
  auto part = parts.begin();
  size_t at = 0, to = 0;  // in the text, and in the valid one
  // Passes bytes of the text that become `size` bytes: the same ones, or U+FFFD.
  const auto pass = [&](size_t bytes, size_t size, bool is_same) {
    for (; part != parts.end() && part->begin < at + bytes; ++part) {
      const size_t begin = std::max<size_t>(part->begin, at) - at;
      const size_t end = std::min<size_t>(part->end, at + bytes) - at;
      if (begin < end)
        moved.push_back(
            {uint32_t(to + (is_same ? begin : 0)), uint32_t(to + (is_same ? end : size))});
      if (part->end > at + bytes) break;
    }
    at += bytes;
    to += size;
  };
  while (at < text.size()) {
    const size_t valid = valid_utf8_bytes(text.substr(at));
    pass(valid, valid, true);
    if (at < text.size()) pass(invalid_utf8_bytes(text.substr(at)), kReplacement.size(), false);
  }
  return moved;
}

/// A text as valid UTF-8, and the parts of it that come from users.
struct Input {
  std::string text;
  UserText user;
};

Input checked_input(std::string_view text, const EncodeOptions& options) {
  check_size(text.size());
  std::vector<Span> parts;
  int64_t last = 0;
  for (const ByteRange& range : options.user) {
    check(last <= range.begin && range.begin <= range.end && range.end <= int64_t(text.size()),
          ErrorCode::kInvalidArgument, "Tokenizer", "user: expected parts of ", text.size(),
          " bytes, in order, got [", range.begin, ", ", range.end, ")");
    last = range.end;
    if (range.begin < range.end) parts.push_back({uint32_t(range.begin), uint32_t(range.end)});
  }
  if (is_utf8(text)) return {std::string(text), UserText(std::move(parts))};
  return {with_valid_utf8(text), UserText(parts_of_valid_utf8(text, parts))};
}

}  // namespace

void Rules::note_controls() {
  for (const AddedTokens* tokens : {&added, &normalized_added})
    for (const AddedToken& token : tokens->tokens()) {
      if (!token.special && !token.control) continue;
      if (controls.size() <= size_t(token.id)) controls.resize(size_t(token.id) + 1);
      controls[size_t(token.id)] = true;
    }
}

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
  constexpr size_t kMaxKept = 1 << 16;  // symbols; a long word needs more for once
  if (workspace->symbols.capacity() > kMaxKept) {
    workspace->symbols = {};
    workspace->heap = {};
  }
  if (workspace->best.capacity() > kMaxKept) {
    workspace->best = {};
    workspace->path = {};
  }
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(workspace));
}

std::string Rules::spelling(int64_t id) const {
  const auto own = spelled.find(int32_t(id));
  return own != spelled.end() ? own->second : std::string(bpe.vocabulary.text(int32_t(id)));
}

std::string Rules::for_decoder(int64_t id) const {
  if (kind(id) == kSilent) return "";
  if (const auto other = decoded.find(int32_t(id)); other != decoded.end()) return other->second;
  const std::string token = spelling(id);
  if (spelling_of_bytes == Spelling::kAsDecoded || kind(id) != kNormal) return token;
  std::string bytes;
  if (spelling_of_bytes == Spelling::kLetters) return append_bytes(token, bytes) ? bytes : token;
  size_t at = 0;
  for (size_t mark; (mark = token.find(kSpaceMark, at)) != token.npos;
       at = mark + kSpaceMark.size()) {
    bytes.append(token, at, mark - at);
    bytes += ' ';
  }
  return bytes.append(token, at);
}

std::string Rules::bytes_of(int64_t id) const {
  if (kind(id) != kNormal && kind(id) != kAdded) return "";
  std::string bytes = for_decoder(id);
  for (const auto& step : decoder) bytes = step->bytes_of(std::move(bytes));
  return bytes;
}

}  // namespace tokenization

using namespace tokenization;

Tokenizer::Tokenizer(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {}

Tokenizer Tokenizer::from_json(const Settings& tokenizer_json) {
  return Tokenizer(read_json(tokenizer_json));
}

Tokenizer Tokenizer::from_gguf(const Settings& metadata, const std::string& pre) {
  return Tokenizer(read_gguf(metadata, pre));
}

Tokenizer Tokenizer::from_siglip(std::string_view spiece_model, const std::string& where,
                                 const Settings& tokenizer_config) {
  return Tokenizer(read_siglip(spiece_model, where, tokenizer_config));
}

const std::vector<std::string>& Tokenizer::warnings() const { return rules_->warnings; }

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const Input input = checked_input(text, options);
  Pieces all = pieces_of(input.text, true);
  cut(*rules_, all, options.parse_special, input.user);
  const std::vector<uint32_t> before = code_points_before(input.text);
  Encoding encoding;
  each_token(*rules_, all, input.user, [&](const Piece& piece, const Token& token) {
    encoding.ids.push_back(token.id);
    const bool unknown = rules_->unigram && token.id == rules_->unigram->unknown();
    const std::string_view text = all.of(piece).substr(token.begin, token.end - token.begin);
    encoding.tokens.push_back(piece.id >= 0 || unknown ? std::string(text)
                                                       : rules_->spelling(token.id));
    const Span origin = all.origin(piece.begin + token.begin, piece.begin + token.end);
    encoding.offsets.emplace_back(before[origin.begin], before[origin.end]);
  });
  post_process(*rules_, options, encoding);
  return encoding;
}

std::vector<int64_t> Tokenizer::encode_ids(std::string_view text,
                                           const EncodeOptions& options) const {
  Input input = checked_input(text, options);
  Pieces all = pieces_of(std::move(input.text), rules_->needs_origins || !input.user.empty());
  cut(*rules_, all, options.parse_special, input.user);
  std::vector<int64_t> ids;
  ids.reserve(all.text.size() / 3);
  for (auto step = rules_->post_steps.rbegin(); step != rules_->post_steps.rend(); ++step)
    if (options.add_special) ids.insert(ids.end(), step->before.begin(), step->before.end());
  each_token(*rules_, all, input.user,
             [&](const Piece&, const Token& token) { ids.push_back(token.id); });
  for (const PostStep& step : rules_->post_steps)
    if (options.add_special && adds_end(step, options, ids))
      ids.insert(ids.end(), step.after.begin(), step.after.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const int64_t> ids, bool skip_special) const {
  Decoding decoding(rules_->decoder, false);
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

const TokenTable& Tokenizer::token_table() const {
  std::call_once(rules_->has_token_table, [&] {
    std::vector<std::string> bytes;
    for (int64_t id = 0; id < vocab_size(); id++) bytes.push_back(rules_->bytes_of(id));
    rules_->token_table.emplace(std::move(bytes));
  });
  return *rules_->token_table;
}

bool Tokenizer::is_special(int64_t id) const { return rules_->kind(id) == Rules::kSpecial; }

bool Tokenizer::is_added(int64_t id) const {
  const Rules::Kind kind = rules_->kind(id);
  return kind == Rules::kSpecial || kind == Rules::kAdded;
}

std::optional<int64_t> Tokenizer::bos() const { return rules_->bos; }
std::optional<int64_t> Tokenizer::eos() const { return rules_->eos; }

TokenStream::TokenStream(const Tokenizer& tokenizer, bool skip_special)
    : rules_(tokenizer.rules_),
      decoding_(std::make_unique<Decoding>(rules_->decoder, true)),
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
