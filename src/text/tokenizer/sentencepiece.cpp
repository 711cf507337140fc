#include "text/tokenizer/sentencepiece.h"

#include <algorithm>
#include <cfloat>
#include <optional>

#include "base/utf8.h"
#include "text/tokenizer/characters.h"

namespace wick::tokenization {
namespace {

using Type = SentencePieceModel::Type;

// Source of the order of steps: SentencePiece (Apache 2.0), Normalizer::Normalize.
class NormalizePieces : public Step {
 public:
  NormalizePieces(const SentencePieceModel& model, std::string before, const std::string& where)
      : space_(model.escape_whitespaces ? kSpaceMark : std::string_view(" ")),
        adds_space_(model.add_dummy_prefix),
        removes_spaces_(model.remove_extra_whitespaces),
        before_(std::move(before)) {
    if (!model.precompiled_charsmap.empty()) charsmap_.emplace(model.precompiled_charsmap, where);
    for (size_t id = 0; id < model.pieces.size(); id++)
      if (model.pieces[id].type == Type::kUserDefined)
        user_defined_.add(model.pieces[id].text, int32_t(id));
    normalized_before_ = text_of(normalized(before_));
  }

  void apply(Pieces& all) const override {
    const size_t count = all.pieces.size();
    size_t index = 0;
    rewrite_pieces(all, [&](Editor& editor) {
      while (all.pieces[index].id >= 0) index++;
      const bool is_last = ++index == count;
      const std::vector<Part> parts = normalized(before_ + std::string(editor.text()));
      if (!is_last && text_of(parts) == normalized_before_ + std::string(kSpaceMark)) return;
      write(editor, parts);
    });
  }

 private:
  struct Part {
    std::string text;
    size_t bytes;  // of the old text
  };

  static std::string text_of(const std::vector<Part>& parts) {
    std::string text;
    for (const Part& part : parts) text += part.text;
    return text;
  }

  /// The first characters of the text, which is not empty, as the rules rewrite them.
  Part rewritten(std::string_view text) const {
    size_t kept = 0;
    user_defined_.walk(text, [&](size_t length, int32_t) { kept = length; });
    if (kept == 0 && charsmap_)
      if (const auto match = charsmap_->longest(text))
        return {std::string(match->replaced), match->bytes};
    if (kept == 0) kept = character_length(text[0]);
    return {std::string(text.substr(0, kept)), kept};
  }

  std::vector<Part> normalized(std::string_view text) const {
    std::vector<Part> parts;
    size_t at = 0;
    while (removes_spaces_ && at < text.size()) {
      const Part part = rewritten(text.substr(at));
      if (part.text != " ") break;
      parts.push_back({"", part.bytes});
      at += part.bytes;
    }
    if (at == text.size()) return parts;
    if (adds_space_) parts.push_back({std::string(space_), 0});
    bool after_space = removes_spaces_;
    while (at < text.size()) {
      Part part = rewritten(text.substr(at));
      at += part.bytes;
      if (after_space) part.text.erase(0, part.text.find_first_not_of(' '));
      if (!part.text.empty()) after_space = removes_spaces_ && part.text.ends_with(' ');
      for (size_t space = 0; (space = part.text.find(' ', space)) != part.text.npos;
           space += space_.size())
        part.text.replace(space, 1, space_);
      parts.push_back(std::move(part));
    }
    if (removes_spaces_) remove_last_spaces(parts);
    return parts;
  }

  /// A space may lie in several parts, since a rule may write parts of it.
  void remove_last_spaces(std::vector<Part>& parts) const {
    const std::string text = text_of(parts);
    size_t end = text.size();
    while (std::string_view(text).substr(0, end).ends_with(space_)) end -= space_.size();
    size_t extra = text.size() - end;
    for (auto part = parts.rbegin(); extra > 0; ++part) {
      const size_t cut = std::min(extra, part->text.size());
      part->text.resize(part->text.size() - cut);
      extra -= cut;
    }
  }

  /// Writes the parts, of which those at the start come from before_.
  void write(Editor& editor, const std::vector<Part>& parts) const {
    size_t before = before_.size();
    for (const Part& part : parts) {
      const size_t added = std::min(before, part.bytes), old = part.bytes - added;
      before -= added;
      if (old > 0)
        editor.replace(part.text);
      else
        editor.insert(part.text);
      editor.skip(old);
    }
  }

  std::string_view space_;
  bool adds_space_, removes_spaces_;
  std::string before_, normalized_before_;
  std::optional<Charsmap> charsmap_;
  Trie user_defined_;
};

}  // namespace

std::unique_ptr<Step> normalize_pieces(const SentencePieceModel& model, std::string before,
                                       const std::string& where) {
  return std::make_unique<NormalizePieces>(model, std::move(before), where);
}

Unigram unigram_of(const SentencePieceModel& model, const Vocabulary& vocabulary,
                   const std::string& where) {
  constexpr float kUnknownPenalty = 10;
  float lowest = FLT_MAX, highest = FLT_MIN;  // FLT_MIN, which is above 0, as in SentencePiece
  for (const SentencePieceModel::Piece& piece : model.pieces)
    if (piece.type == Type::kNormal) {
      lowest = std::min(lowest, piece.score);
      highest = std::max(highest, piece.score);
    }
  Unigram unigram(Unigram::Precision::kSingle);
  for (size_t id = 0; id < model.pieces.size(); id++) {
    const SentencePieceModel::Piece& piece = model.pieces[id];
    // A bonus, so that these symbols stay whole.
    const double user_defined = double(float(piece.text.size()) * highest) - 0.1;
    if (piece.type == Type::kNormal || piece.type == Type::kUserDefined)
      unigram.add(piece.text, int32_t(id),
                  piece.type == Type::kNormal ? double(piece.score) : user_defined, where);
  }
  unigram.set_unknown(model.unknown, double(lowest - kUnknownPenalty));
  if (model.byte_fallback) unigram.set_byte_tokens(vocabulary);
  return unigram;
}

}  // namespace wick::tokenization
