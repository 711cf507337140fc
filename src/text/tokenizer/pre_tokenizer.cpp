#include "text/tokenizer/pre_tokenizer.h"

#include "base/utf8.h"
#include "text/tokenizer/normalizer.h"

namespace wick::tokenization {
namespace {

struct Section {
  Span span;
  bool match;
};

/// Turns the sections of a text, matches and the text between them, into parts.
void arrange(const std::vector<Section>& sections, Behavior behavior, std::vector<Span>& parts) {
  bool previous = false;
  switch (behavior) {
    case Behavior::kRemoved:
      for (const Section& section : sections)
        if (!section.match) parts.push_back(section.span);
      return;
    case Behavior::kIsolated:
      for (const Section& section : sections) parts.push_back(section.span);
      return;
    case Behavior::kContiguous:
    case Behavior::kMergedWithPrevious:
      for (const Section& section : sections) {
        const bool joins = behavior == Behavior::kContiguous ? section.match == previous
                                                             : section.match && !previous;
        if (joins && !parts.empty())
          parts.back().end = section.span.end;
        else
          parts.push_back(section.span);
        previous = section.match;
      }
      return;
    case Behavior::kMergedWithNext:
      for (size_t i = 0; i < sections.size(); i++) {
        const bool joins = i > 0 && sections[i - 1].match && !sections[i].match;
        if (joins)
          parts.back().end = sections[i].span.end;
        else
          parts.push_back(sections[i].span);
      }
      return;
  }
}

class SplitAt : public Step {
 public:
  SplitAt(Pattern pattern, Behavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(Pieces& all) const override {
    std::vector<Span> matches;
    std::vector<Section> sections;
    split_pieces(all, [&](std::string_view text, std::vector<Span>& parts) {
      matches.clear();
      sections.clear();
      pattern_.find(text, matches);
      uint32_t at = 0;
      for (const Span& match : matches) {
        if (at < match.begin) sections.push_back({{at, match.begin}, invert_});
        sections.push_back({match, !invert_});
        at = match.end;
      }
      if (at < text.size()) sections.push_back({{at, uint32_t(text.size())}, invert_});
      arrange(sections, behavior_, parts);
    });
  }

 private:
  Pattern pattern_;
  Behavior behavior_;
  bool invert_;
};

class AddSpace : public Step {
 public:
  void apply(Pieces& all) const override {
    rewrite_pieces(all, [](Editor& editor) {
      if (!editor.text().starts_with(' ')) editor.replace(" ");
      editor.keep(editor.text().size());
    });
  }
};

class MarkSpaces : public Step {
 public:
  MarkSpaces(std::string mark, PrependScheme scheme, bool split)
      : mark_(std::move(mark)),
        scheme_(scheme),
        space_to_mark_(replace(Pattern::literal(" "), mark_)),
        split_(split ? split_at(Pattern::literal(mark_), Behavior::kMergedWithNext) : nullptr) {}

  void apply(Pieces& all) const override {
    space_to_mark_->apply(all);
    if (scheme_ != PrependScheme::kNever)
      rewrite_pieces(all, [&](Editor& editor) {
        const bool applies = scheme_ == PrependScheme::kAlways || editor.starts_input();
        if (applies && !editor.text().starts_with(mark_)) editor.replace(mark_);
        editor.keep(editor.text().size());
      });
    if (split_) split_->apply(all);
  }

 private:
  std::string mark_;
  PrependScheme scheme_;
  std::unique_ptr<Step> space_to_mark_;
  std::unique_ptr<Step> split_;
};

class SplitEvery : public Step {
 public:
  explicit SplitEvery(size_t length) : length_(length) {}
  void apply(Pieces& all) const override {
    split_pieces(all, [&](std::string_view text, std::vector<Span>& parts) {
      size_t characters = 0;
      for (size_t at = 0; at < text.size(); at += character_length(text[at]), characters++) {
        if (characters % length_ == 0) parts.push_back({uint32_t(at), uint32_t(text.size())});
        if (parts.size() > 1) parts[parts.size() - 2].end = parts.back().begin;
      }
    });
  }

 private:
  size_t length_;
};

}  // namespace

std::unique_ptr<Step> split_at(Pattern pattern, Behavior behavior, bool invert) {
  return std::make_unique<SplitAt>(std::move(pattern), behavior, invert);
}

std::unique_ptr<Step> add_space() { return std::make_unique<AddSpace>(); }
std::unique_ptr<Step> mark_spaces(std::string mark, PrependScheme scheme, bool split) {
  return std::make_unique<MarkSpaces>(std::move(mark), scheme, split);
}
std::unique_ptr<Step> split_every(size_t length) { return std::make_unique<SplitEvery>(length); }

}  // namespace wick::tokenization
