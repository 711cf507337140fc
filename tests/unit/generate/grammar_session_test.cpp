// Sessions, generations and conversations that are held to a grammar.
#include <algorithm>

#include "../expect.h"
#include "letters_model.h"
#include "wick/generate/chat.h"
#include "wick/generate/generation.h"

namespace wick {
namespace {

using test::continuation;
using test::greedy;
using test::letters_model;

constexpr int64_t kEnd = 47;  // "V"

SessionOptions ending_at_v(int64_t sequences = 1) {
  return {.sequences = sequences,
          .sampling = {.temperature = 1.5},
          .stop_ids = std::vector<int64_t>{kEnd},
          .seed = 7};
}

GrammarState state_of(const LanguageModel& model, const char* regex) {
  return GrammarState(Grammar::regex(regex), model.tokenizer->token_table(), {kEnd});
}

TEST(GrammarGeneration, EndsWhereNothingCanFollow) {
  const LanguageModel model = letters_model();
  const Grammar grammar = Grammar::regex("[a-c]{3}(XY|[D-F])");
  Generation text(model, model.prompt_ids("abc"), {.grammar = grammar}, greedy());
  const GeneratedText& result = text.finish();
  EXPECT_TRUE(grammar.matches(result.text)) << result.text;
  EXPECT_EQ(result.ids.size(), 4u);
  EXPECT_EQ(result.ending, Ending::kEnd);
}

TEST(GrammarGeneration, EndsWithAStopIdOnlyWhereTheTextMayEnd) {
  const LanguageModel model = letters_model();
  const Grammar grammar = Grammar::regex("([a-m]{2})+");
  for (uint64_t seed = 0; seed < 20; seed++) {
    SessionOptions session = ending_at_v();
    session.seed = seed;
    Generation text(model, model.prompt_ids("abc"), {.grammar = grammar}, session);
    EXPECT_TRUE(grammar.matches(text.finish().text)) << text.result().text;
    EXPECT_EQ(text.result().ending, Ending::kEnd);
  }
}

TEST(GrammarGeneration, TextHeldBackComesBeforeTheEnd) {
  const LanguageModel model = letters_model();
  Generation text(model, model.prompt_ids("abc"),
                  {.stop = {"pqr"}, .grammar = Grammar::choice({"opq"})}, greedy());
  EXPECT_EQ(text.finish().text, "opq");
  Generation stopped(model, model.prompt_ids("abc"),
                     {.stop = {"pq"}, .grammar = Grammar::choice({"opq"})}, greedy());
  EXPECT_EQ(stopped.finish().text, "o");
  EXPECT_EQ(stopped.result().ending, Ending::kStop);
}

TEST(GrammarGeneration, GoesOnAfterAFullContext) {
  const LanguageModel model = letters_model();
  Generation text(model, model.prompt_ids("abc"),
                  {.max_tokens = 100, .grammar = Grammar::regex("(abcde)*"), .slide = true},
                  greedy(16));
  std::string expected;
  while (expected.size() < 100) expected += "abcde";
  EXPECT_EQ(text.finish().text, expected);
  EXPECT_EQ(text.result().ending, Ending::kLength);
}

TEST(GrammarGeneration, LeavesTheSessionToTheNextText) {
  const LanguageModel model = letters_model();
  Session session(model, greedy());
  EXPECT_EQ(Generation(model, session, model.prompt_ids("abc"), {.grammar = Grammar::choice({"d"})})
                .finish()
                .text,
            "d");
  const std::string expected = continuation(model, "abcdef", 6);
  EXPECT_EQ(Generation(model, session, model.prompt_ids("ef"), {.max_tokens = 6}).finish().text,
            expected);
}

TEST(GrammarSession, HoldsOneSequenceAndLeavesTheOthers) {
  const LanguageModel model = letters_model();
  std::vector<std::vector<int64_t>> free;
  for (const bool held : {false, true}) {
    Session session(model, ending_at_v(3));
    session.append_each({{0, 1}, {2}, {3, 4, 5}});
    if (held) session.set_grammar(state_of(model, "[x-z]*"), 1);
    for (int i = 0; i < 10; i++) session.step();
    const std::vector<int64_t> own = session.history(1);
    free.push_back(session.history(0));
    free.push_back(session.history(2));
    if (!held) continue;
    ASSERT_GT(own.size(), 1u);
    for (size_t i = 1; i < own.size(); i++)
      EXPECT_TRUE((own[i] >= 23 && own[i] <= 25) || own[i] == kEnd) << own[i];
  }
  EXPECT_EQ(free[0], free[2]);
  EXPECT_EQ(free[1], free[3]);
}

TEST(GrammarSession, AdvanceReadsTheTokenBefore) {
  const LanguageModel model = letters_model();
  Session session(model, ending_at_v());
  session.append({0});
  session.set_grammar(state_of(model, "abcdefgh"));
  for (int i = 0; i < 4; i++) session.advance();
  EXPECT_EQ(session.history(), (std::vector<int64_t>{0, 0, 1, 2, 3}));
  session.append({40, 41});  // outside of the grammar
  for (int i = 0; i < 2; i++) session.advance();
  EXPECT_EQ(session.history(), (std::vector<int64_t>{0, 0, 1, 2, 3, 40, 41, 4, 5}));
  session.set_grammar({});
  EXPECT_FALSE(session.grammar().has_value());
}

TEST(GrammarSession, RewindTakesTokensBack) {
  const LanguageModel model = letters_model();
  Session session(model, ending_at_v());
  session.append({0});
  session.set_grammar(state_of(model, "abcdefgh"));
  for (int i = 0; i < 8; i++) session.step();
  EXPECT_TRUE(session.grammar_ended());
  session.rewind(4);
  EXPECT_FALSE(session.grammar_ended());
  EXPECT_EQ(session.step(), std::vector<int64_t>{3});
  session.advance();
  session.rewind(2);
  EXPECT_EQ(session.step(), std::vector<int64_t>{1});
  session.rewind(1);
  EXPECT_EQ(session.step(), std::vector<int64_t>{0});
}

TEST(GrammarSession, AndAMaskAllowWhatBothHave) {
  const LanguageModel model = letters_model();
  Session session(model, ending_at_v());
  session.append({0});
  session.set_mask(Tensor::from(std::vector<int32_t>{0b110110, 0}, {1, 2}));
  session.set_grammar(state_of(model, "[a-c]*"));
  for (int i = 0; i < 8; i++) session.step();
  for (size_t i = 1; i < 9; i++)
    EXPECT_TRUE(session.history()[i] == 1 || session.history()[i] == 2);
  session.set_grammar({});
  session.set_mask(Tensor::from(std::vector<int32_t>{1 << 5, 0}, {1, 2}));
  EXPECT_EQ(session.step(), std::vector<int64_t>{5});
  session.set_mask({});
  session.set_grammar(state_of(model, "zz"));
  EXPECT_EQ(session.step(), std::vector<int64_t>{25});
  session.set_mask(Tensor::from(std::vector<int32_t>{1 << 5, 0}, {1, 2}));
  EXPECT_ERROR(session.step(), kInvalidArgument,
               "step: sequence 0 has no id left to draw: its mask allows none");
}

TEST(GrammarSession, Errors) {
  const LanguageModel model = letters_model();
  const TokenTable& table = model.tokenizer->token_table();
  Session session(model, greedy());
  EXPECT_ERROR(session.set_grammar(GrammarState(Grammar::regex("a"), table, {4800})),
               kInvalidArgument, "set_grammar: the end id 4800 is outside of the vocabulary of ");
  EXPECT_ERROR(session.set_grammar({}, 1), kOutOfRange, "sequence 1 of 1");
  session.append({0});
  session.set_grammar(GrammarState(Grammar::regex("a"), table));
  session.step();
  EXPECT_ERROR(session.step(), kInvalidArgument,
               "step: the grammar of sequence 0 has ended, and there is no stop id");
  session.set_grammar(GrammarState(Grammar::regex("\u00e9"), table));
  EXPECT_ERROR(session.step(), kUnsupported, "no token of the vocabulary can follow the text");
}

TEST(GrammarGraphSteps, GiveTheTokensOfQueuedOnes) {
  std::vector<std::vector<int64_t>> texts;
  for (const bool graphs : {true, false}) {
    const LanguageModel emulated =
        letters_model("decoders/llama_linear", test::kLettersTemplate, 0, Device::parse("emu:32"));
    SessionOptions options = ending_at_v();
    options.graphs = graphs;
    Session session(emulated, options);
    session.append({0, 1, 2});
    session.set_grammar(state_of(emulated, "([a-d][e-h]){12}"));
    for (int i = 0; i < 24; i++) session.step();
    texts.push_back(session.history());
    EXPECT_TRUE(session.grammar_ended());
    if (graphs && session.why_no_graph().empty()) {
      EXPECT_GT(session.graph_steps(), 15);
    }
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(GrammarChat, EachAnswerHasTheGrammar) {
  const LanguageModel model = letters_model();
  Chat chat(model, {.grammar = Grammar::regex("[a-e]{2}Z?[f-h]"), .session = greedy()});
  for (const char* question : {"abc", "def"}) {
    const std::string answer = chat.ask(question).text;
    EXPECT_TRUE(Grammar::regex("[a-e]{2}[f-h]").matches(answer)) << answer;
  }
}

}  // namespace
}  // namespace wick
