#include "text/tokenizer/normalizer.h"

#include "../expect.h"

namespace wick::tokenization {
namespace {

/// The normalized text, and for each character the bytes of the input that it came from.
std::pair<std::string, std::string> run(const Step& step, const std::string& text) {
  Pieces all = pieces_of(text, true);
  step.apply(all);
  std::string result, origins;
  for (const Piece& piece : all.pieces) {
    result += all.of(piece);
    for (uint32_t at = piece.begin; at < piece.end; at++)
      if ((all.text[at] & 0xc0) != 0x80)
        origins +=
            std::to_string(all.origins[at].begin) + "-" + std::to_string(all.origins[at].end) + " ";
  }
  Pieces untracked = pieces_of(text, false);
  step.apply(untracked);
  std::string same;
  for (const Piece& piece : untracked.pieces) same += untracked.of(piece);
  EXPECT_EQ(same, result);
  return {result, origins};
}

using Pair = std::pair<std::string, std::string>;

// Expected: HuggingFace's tokenizers 0.23.3, NormalizedString.
TEST(Normalizer, WritesTextWithTheOriginsOfHuggingFace) {
  struct Row {
    const char* name;
    std::unique_ptr<Step> step;
    std::string text;
    Pair expected;
  };
  std::vector<Row> rows;
  const auto add = [&](const char* name, std::unique_ptr<Step> step, std::string text,
                       Pair expected) {
    rows.push_back({name, std::move(step), std::move(text), std::move(expected)});
  };
  add("nfc", normalize_to(Form::kNfc), "e\u0301x", {"\u00e9x", "0-1 3-4 "});
  add("nfc of latin", normalize_to(Form::kNfc), "\u00e9", {"\u00e9", "0-2 "});
  add("nfc order", normalize_to(Form::kNfc), "q\u0307\u0323", {"q\u0323\u0307", "0-1 1-3 3-5 "});
  add("nfc hangul", normalize_to(Form::kNfc), "\u1112\u1161\u11ab", {"\ud55c", "0-3 "});
  add("nfc newer", normalize_to(Form::kNfc), "\u0345\u1ac0", {"\u0345\u1ac0", "0-2 2-5 "});
  add("nfd", normalize_to(Form::kNfd), "\u00e9", {"e\u0301", "0-2 0-2 "});
  add("nfkd", normalize_to(Form::kNfkd), "\ufb01\u00bd", {"fi1\u20442", "0-3 0-3 3-5 3-5 3-5 "});
  add("nfkc", normalize_to(Form::kNfkc), "\uff21\u00a0", {"A ", "0-3 3-5 "});
  add("lower", lowercase(), "\u0130\u00c5A", {"i\u0307\u00e5a", "0-2 0-2 2-4 4-5 "});
  add("prepend", prepend("\u2581<"), "\u00e9a", {"\u2581<\u00e9a", "0-2 0-2 0-2 2-3 "});
  add("prepend nothing", prepend("x"), "", {"", ""});
  add("replace", replace(Pattern::literal("ab"), "xyz"), "cabd", {"cxyzd", "0-1 2-3 2-3 2-3 3-4 "});
  add("replace by nothing", replace(Pattern::literal("a"), ""), "aba", {"b", "1-2 "});
  add("replace at the start", replace(Pattern::regex("^", "w"), "x"), "a", {"xa", "0-0 0-1 "});
  add("strip", strip(true, true), " \u3000a b\n", {"a b", "4-5 5-6 6-7 "});
  add("strip left", strip(true, false), " a ", {"a ", "1-2 2-3 "});
  add("strip all", strip(true, true), " \n", {"", ""});
  add("accents", strip_accents(), "e\u0301\u0301o\u1ac0", {"eo\u1ac0", "0-1 5-6 6-9 "});
  add("control", clean_control(), "a\x01\tb\u200b\ufffd", {"a b  ", "0-1 2-3 3-4 4-7 7-10 "});
  add("bytes", spell_bytes(), " \u00e9", {"\u0120\u00c3\u00a9", "0-1 1-3 1-3 "});
  for (const Row& row : rows) EXPECT_EQ(run(*row.step, row.text), row.expected) << row.name;
}

TEST(Normalizer, LeavesAddedTokensAlone) {
  Pieces all = pieces_of("ABC", true);
  all.pieces = {{0, 1, -1, 0}, {1, 2, 7, 1}, {2, 3, -1, 2}};
  prepend("xy")->apply(all);
  ASSERT_EQ(all.pieces.size(), 3u);
  EXPECT_EQ(all.of(all.pieces[0]), "xyA");
  EXPECT_EQ(all.of(all.pieces[1]), "B");
  EXPECT_EQ(all.of(all.pieces[2]), "xyC");
  EXPECT_EQ(all.origin(all.pieces[2].begin, all.pieces[2].end).begin, 2u);
}

}  // namespace
}  // namespace wick::tokenization
