// Rules of SigLIP's tokenizer, a SentencePiece model whose texts are cleaned up before. Source:
// transformers (Apache 2.0), SiglipTokenizer, whose results these rules give.
#include <charconv>
#include <limits>

#include "base/utf8.h"
#include "text/jinja/unicode.h"
#include "text/tokenizer/characters.h"
#include "text/tokenizer/rules.h"
#include "text/tokenizer/sentencepiece.h"
#include "wick/base/error.h"

namespace wick::tokenization {
namespace {

using Type = SentencePieceModel::Type;

bool is_punctuation(char32_t code) {
  return (code >= '!' && code <= '/') || (code >= ':' && code <= '@') ||
         (code >= '[' && code <= '`') || (code >= '{' && code <= '~');
}

/// Puts the space mark before the text, also before an empty one, and makes spaces of other marks;
/// writes pieces in lower case, drops ASCII's punctuation, makes one space of white space, and
/// drops it at the ends.
class CleanUp : public Step {
 public:
  explicit CleanUp(bool lowers) : lowers_(lowers) {}
  void apply(Pieces& all) const override {
    if (all.pieces.empty()) all.pieces.push_back({0, 0});
    rewrite_pieces(all, [&](Editor& editor) {
      if (editor.starts_input()) editor.insert(kSpaceMark);
      clean(editor);
    });
  }

 private:
  void clean(Editor& editor) const {
    const std::string old(editor.text());
    const std::string lower = lowers_ ? jinja::to_lower(old) : old;
    bool started = editor.starts_input();
    size_t spaces = 0;  // bytes of white space that waits
    for (size_t at = 0, lower_at = 0; at < old.size();) {
      const size_t start = at, lower_start = lower_at;
      const char32_t code = next_code_point(old, at);
      next_code_point(lower, lower_at);
      if (lowers_ && code == kCapitalWithDot) next_code_point(lower, lower_at);
      const bool is_mark = old.compare(start, at - start, kSpaceMark) == 0;
      if (is_mark || jinja::is_space(code)) {
        spaces += at - start;
      } else if (is_punctuation(code)) {
        spaces > 0 ? void(spaces += at - start) : editor.skip(at - start);
      } else {
        if (spaces > 0 && started) editor.replace(" ");
        editor.skip(spaces);
        spaces = 0;
        started = true;
        editor.replace(std::string_view(lower).substr(lower_start, lower_at - lower_start));
        editor.skip(at - start);
      }
    }
  }

  static constexpr char32_t kCapitalWithDot = 0x130;  // the only one with a lower case of two
  bool lowers_;
};

/// A special token of the class, or an entry of added_tokens_decoder.
AddedToken token_of(const Settings& part) {
  AddedToken token;
  token.text = part.text("content");
  token.special = part.flag_or("special", true);
  token.single_word = part.flag_or("single_word", false);
  token.left_strip = part.flag_or("lstrip", false);
  token.right_strip = part.flag_or("rstrip", false);
  return token;
}

class Reader {
 public:
  Reader(const SentencePieceModel& model, const Settings& config, Rules& rules)
      : model_(model), config_(config), rules_(rules) {}

  void read_pieces() {
    Bpe& bpe = rules_.bpe;
    for (const SentencePieceModel::Piece& piece : model_.pieces) {
      bpe.vocabulary.add(piece.text);
      rules_.kinds.push_back(piece.type == Type::kControl ? Rules::kSilent : Rules::kNormal);
    }
    bpe.token_count = bpe.vocabulary.size();
  }

  void read_added_tokens() {
    const Settings* const entries = config_.group("added_tokens_decoder");
    if (!entries) return;
    const int64_t limit = int64_t(model_.pieces.size()) + kMaxAdded;
    for (const auto& [key, value] : entries->entries()) {
      int64_t id = -1;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      const auto* const part = std::get_if<Settings>(&value.value);
      const bool good = error == std::errc() && end == key.data() + key.size() && id >= 0;
      check(good && id < limit && part, ErrorCode::kFormat, entries->where(), in_quotes(key),
            ": expected an id below ", limit, " and an object");
      AddedToken token = token_of(*part);
      token.id = int32_t(id);
      add(std::move(token));
    }
  }

  /// The text of a special token; without an added token of this text it takes white space on both
  /// sides.
  std::string read_special(const std::string& key, const std::string& otherwise) {
    AddedToken token;
    token.text = otherwise;
    token.special = token.left_strip = token.right_strip = true;
    if (const Setting* const setting = config_.find(key)) {
      if (const auto* const part = std::get_if<Settings>(&setting->value))
        token = token_of(*part);
      else
        token.text = config_.text(key);
    }
    if (token.text.empty()) config_.fail_expected(key, "a token");
    for (const AddedToken& known : rules_.added.tokens())
      if (known.text == token.text) {
        rules_.kinds[size_t(known.id)] = Rules::kSpecial;
        return token.text;
      }
    token.special = true;
    token.id = rules_.bpe.vocabulary.find(token.text);
    if (token.id < 0) token.id = rules_.size();
    add(token);
    return token.text;
  }

 private:
  void add(AddedToken token) {
    check(is_utf8(token.text), ErrorCode::kFormat, config_.where(), "a token is not UTF-8");
    if (token.text.empty()) return;
    if (rules_.size() <= token.id) rules_.kinds.resize(size_t(token.id) + 1, Rules::kMissing);
    rules_.kinds[size_t(token.id)] = token.special ? Rules::kSpecial : Rules::kAdded;
    if (rules_.bpe.vocabulary.find(token.text) != token.id) {
      rules_.ids[token.text] = token.id;
      rules_.spelled[token.id] = token.text;
    }
    rules_.added.add(std::move(token));
  }

  static constexpr int64_t kMaxAdded = 1 << 20;  // ids after the model's own
  const SentencePieceModel& model_;
  const Settings& config_;
  Rules& rules_;
};

}  // namespace

std::shared_ptr<const Rules> read_siglip(std::string_view spiece_model, const std::string& where,
                                         const Settings& config) {
  const SentencePieceModel model = read_sentencepiece_model(spiece_model, where);
  const auto rules = std::make_shared<Rules>();
  Reader reader(model, config, *rules);
  reader.read_pieces();
  reader.read_added_tokens();
  const std::string eos = reader.read_special("eos_token", "</s>");
  const std::string unknown = reader.read_special("unk_token", "<unk>");
  reader.read_special("pad_token", "</s>");
  for (const AddedToken& token : rules->added.tokens())
    if (token.text == eos) rules->eos = token.id;
  rules->post_steps.push_back({.before = {}, .after = {*rules->eos}, .not_twice = true});

  // SiglipTokenizer encodes each part of a text after the unknown token's text, and leaves out as
  // many tokens as that text has by itself, so that SentencePiece keeps a space at the start.
  rules->unigram = unigram_of(model, rules->bpe.vocabulary, where);
  Workspace workspace;
  std::vector<Token> left_out;
  Pieces alone = pieces_of("", false);
  alone.pieces.push_back({0, 0});
  rules->normalizers.push_back(normalize_pieces(model, unknown, where));
  rules->normalizers.back()->apply(alone);
  if (!alone.pieces.empty())
    rules->unigram->encode(alone.of(alone.pieces[0]), rules->bpe.vocabulary, workspace, left_out);
  rules->unigram->set_left_out(left_out.size());
  rules->normalizers.insert(rules->normalizers.begin(),
                            std::make_unique<CleanUp>(config.flag_or("do_lower_case", true)));
  rules->needs_origins = true;
  rules->note_controls();

  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  rules->decoder.push_back(
      replace_in_tokens(Pattern::literal(std::string(kSpaceMark)), " ", false));
  if (model.byte_fallback) rules->decoder.push_back(decode_byte_tokens());
  rules->decoder.push_back(join_texts());
  rules->decoder.push_back(strip_tokens(" ", kAll, kAll, true));
  return rules;
}

}  // namespace wick::tokenization
