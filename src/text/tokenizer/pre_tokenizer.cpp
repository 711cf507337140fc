#include "text/tokenizer/pre_tokenizer.h"

namespace wick::tokenizer {
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

class SplitAt : public PreTokenizer {
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

}  // namespace

std::unique_ptr<PreTokenizer> split_at(Pattern pattern, Behavior behavior, bool invert) {
  return std::make_unique<SplitAt>(std::move(pattern), behavior, invert);
}

}  // namespace wick::tokenizer
