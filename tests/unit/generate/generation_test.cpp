#include "wick/generate/generation.h"

#include "../expect.h"
#include "letters_model.h"

namespace wick {
namespace {

using test::continuation;
using test::greedy;
using test::letters_model;

TEST(Generation, GivesThePiecesOfTheLikeliestText) {
  const LanguageModel model = letters_model();
  Generation text(model, model.prompt_ids("abc"), {.max_tokens = 10}, greedy());
  std::string joined;
  int pieces = 0;
  for (; const auto piece = text.next(); pieces++) joined += *piece;
  EXPECT_EQ(joined, continuation(model, "abc", 10));
  EXPECT_EQ(pieces, 10);
  EXPECT_EQ(text.next(), std::nullopt);
  const GeneratedText& result = text.result();
  EXPECT_EQ(result.text, joined);
  EXPECT_EQ(model.tokenizer->decode(result.ids), joined);
  EXPECT_STREQ(to_string(result.ending), "length");
  EXPECT_EQ(result.prompt_tokens, 3);
  EXPECT_EQ(result.prefill.tokens, 3);
  EXPECT_EQ(result.decode.tokens, 9);  // the first is of the prefill
  EXPECT_GT(result.prefill.per_second(), 0);
  EXPECT_EQ(text.session().capacity(), 13);
}

TEST(Generation, IsThatOfTheModelsOwnOptionsUnlessOthersAreGiven) {
  const LanguageModel model = letters_model();
  const SessionOptions own = default_session_options(model);
  EXPECT_EQ(own.sampling.temperature, model.default_sampling().temperature);
  EXPECT_EQ(Generation(model, {1}, {}, own).session().options().stop_ids, model.stop_ids);
  Device::cpu().set_seed(3);
  const std::string text = Generation(model, model.prompt_ids("abc")).finish().text;
  Device::cpu().set_seed(3);
  EXPECT_EQ(Generation(model, model.prompt_ids("abc"), {.max_tokens = 256}, own).finish().text,
            text);
}

TEST(Generation, EndsAtAStopTextWhichIsNotPartOfIt) {
  const LanguageModel model = letters_model();
  const std::string all = continuation(model, "abc", 10), stop = all.substr(4, 2);
  Generation text(model, model.prompt_ids("abc"), {.max_tokens = 10, .stop = {stop}}, greedy());
  std::string joined;
  EXPECT_EQ(text.finish([&](std::string_view piece) { joined += piece; }).text,
            all.substr(0, all.find(stop)));
  EXPECT_EQ(joined, text.result().text);
  EXPECT_EQ(text.result().ending, Ending::kStop);
}

TEST(Generation, TextHeldBackForAStopTextComesAtTheEnd) {
  const LanguageModel model = letters_model();
  const std::string all = continuation(model, "abc", 4);
  Generation text(model, model.prompt_ids("abc"), {.max_tokens = 4, .stop = {all + "a"}}, greedy());
  EXPECT_EQ(text.next(), all);
  EXPECT_EQ(text.next(), std::nullopt);
  EXPECT_EQ(text.result().ending, Ending::kLength);
}

TEST(Generation, EndsAtTheModelsStopIdsUnlessTheOptionsHaveAList) {
  LanguageModel model = letters_model();
  const std::string all = continuation(model, "abc", 10);
  const auto id_of = [&](size_t at) { return *model.tokenizer->id_of(all.substr(at, 1)); };
  const auto text = [&](const SessionOptions& session) {
    Generation text(model, model.prompt_ids("abc"), {.max_tokens = 10}, session);
    text.finish();
    EXPECT_EQ(text.result().ending == Ending::kEnd, text.result().text != all);
    return text.result().text;
  };
  const auto up_to = [&](size_t at) { return all.substr(0, all.find(all[at])); };
  ASSERT_NE(up_to(3), up_to(5));
  model.stop_ids = {id_of(3)};
  SessionOptions session{.sampling = {.temperature = 0}};
  EXPECT_EQ(text(session), up_to(3));
  session.stop_ids = {{id_of(5)}};
  EXPECT_EQ(text(session), up_to(5));
  session.stop_ids = std::vector<int64_t>();
  EXPECT_EQ(text(session), all);
}

TEST(Generation, EndsInAFullContextOrGoesOnFromItsLaterHalf) {
  const LanguageModel model = letters_model();
  const std::vector<int64_t> prompt = model.prompt_ids("abc");
  Generation ends(model, prompt, {.max_tokens = {}}, greedy(9));
  EXPECT_EQ(ends.finish().text, continuation(model, "abc", 7));  // the last fills no cache
  EXPECT_EQ(ends.result().ending, Ending::kContext);

  Generation slides(model, prompt, {.max_tokens = 9, .slide = true}, greedy(8));
  const std::string first = continuation(model, "abc", 6);  // 9 tokens; the later 4 go on
  EXPECT_EQ(slides.finish().text, first + continuation(model, first.substr(2), 3));
  EXPECT_EQ(slides.result().prefill.tokens, 3 + 4);
}

TEST(Generation, APromptBeyondTheContextIsAnErrorOrIsCut) {
  const LanguageModel model = letters_model();
  const std::vector<int64_t> prompt = model.prompt_ids("abcdefghij");
  EXPECT_ERROR(Generation(model, prompt, {.max_tokens = 2}, greedy(8)), kOutOfRange, "capacity 8");
  Generation text(model, prompt, {.max_tokens = 1, .slide = true}, greedy(8));
  EXPECT_EQ(text.finish().text, continuation(model, "cdefghij", 1));
}

TEST(Generation, CanBeStoppedFromOutside) {
  const LanguageModel model = letters_model();
  int asked = 0;
  Generation text(model, model.prompt_ids("abc"),
                  {.max_tokens = 10, .interrupted = [&] { return ++asked > 3; }}, greedy());
  EXPECT_EQ(text.finish().text, continuation(model, "abc", 3));
  EXPECT_EQ(text.result().ending, Ending::kInterrupted);
}

TEST(Generation, AnErrorEndsTheText) {
  const LanguageModel model = letters_model();
  SessionOptions session = greedy();
  int calls = 0;
  session.on_logits = [&](const Tensor& logits) {
    check(++calls < 3, ErrorCode::kInvalidArgument, "mine", "the third");
    return logits;
  };
  Generation text(model, model.prompt_ids("abc"), {}, session);
  EXPECT_ERROR(text.finish(), kInvalidArgument, "the third");
  EXPECT_EQ(text.next(), std::nullopt);
  EXPECT_EQ(text.result().text, continuation(model, "abc", 2));
}

TEST(Generation, ContinuesASession) {
  const LanguageModel model = letters_model();
  Session session(model, greedy());
  const std::string first =
      Generation(model, session, model.prompt_ids("abc"), {.max_tokens = 4}).finish().text;
  EXPECT_EQ(Generation(model, session, model.prompt_ids("d"), {.max_tokens = 4}).finish().text,
            continuation(model, "abc" + first + "d", 4));
}

TEST(Generation, RefusesOptionsAndModelsThatItCannotUse) {
  LanguageModel model = letters_model();
  const std::vector<int64_t> prompt = {1, 2};
  EXPECT_ERROR(Generation(model, prompt, {.max_tokens = -1}), kInvalidArgument, "max_tokens");
  EXPECT_ERROR(Generation(model, prompt, {.stop = {""}}), kInvalidArgument, "empty");
  EXPECT_ERROR(Generation(model, std::vector<int64_t>()), kInvalidArgument, "at least one token");
  EXPECT_ERROR(Generation(model, prompt, {}, {.sequences = 2}), kInvalidArgument, "one sequence");
  model.tokenizer.reset();
  EXPECT_ERROR(Generation(model, prompt), kUnsupported, "no tokenizer");
}

}  // namespace
}  // namespace wick
