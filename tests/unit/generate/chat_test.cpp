#include "wick/generate/chat.h"

#include "../expect.h"
#include "letters_model.h"

namespace wick {
namespace {

using test::continuation;
using test::greedy;
using test::letters_model;

std::vector<std::string> roles(const Chat& chat) {
  std::vector<std::string> all;
  for (const ChatMessage& message : chat.messages()) all.push_back(message.role);
  return all;
}

const ChatMessage kSystem{.role = "system", .content = "ab"};

TEST(Chat, KeepsTheConversationAndReadsOnlyWhatIsNew) {
  const LanguageModel model = letters_model();
  Chat chat(model, {.messages = {kSystem}, .max_tokens = 5, .session = greedy()});
  std::string printed;
  const GeneratedText first = chat.ask("cd", [&](std::string_view piece) { printed += piece; });
  EXPECT_EQ(first.text, continuation(model, "sabucdA", 5));
  EXPECT_EQ(printed, first.text);
  EXPECT_EQ(first.prompt_tokens, 7);
  const GeneratedText second = chat.ask("e");
  EXPECT_EQ(second.text, continuation(model, "sabucda" + first.text + "ueA", 5));
  EXPECT_EQ(second.prompt_tokens, 15);
  EXPECT_EQ(second.prefill.tokens, 15 - 6);  // the system message and the question were kept
  EXPECT_EQ(roles(chat),
            (std::vector<std::string>{"system", "user", "assistant", "user", "assistant"}));
  EXPECT_EQ(chat.messages().back().content, second.text);
}

TEST(Chat, TakesMessages) {
  const LanguageModel model = letters_model();
  Chat chat(model, {.max_tokens = 5, .session = greedy()});
  EXPECT_ERROR(chat.ask(std::vector<ChatMessage>()), kInvalidArgument, "expected a message");
  const ChatMessage question{.role = "user", .content = "cd"};
  const std::string answer = chat.ask({kSystem, question}).text;
  EXPECT_EQ(answer, continuation(model, "sabucdA", 5));
  chat.set_messages({kSystem, question});
  EXPECT_EQ(chat.ask(std::vector<ChatMessage>()).text, answer);
  EXPECT_EQ(chat.messages().size(), 3u);
}

/// Layers with windows (Gemma 3), with a state (Mamba), and with neither.
class SecondTurn : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr int kAnswer = 1200;  // tokens: more than a window's cache holds
  /// tail: what the template shows of an answer.
  static LanguageModel model(const std::string& tail) {
    return letters_model(GetParam(),
                         "{% for m in messages %}{% if m.role == 'assistant' %}A{{ m.content" +
                             tail +
                             " }}{% else %}u{{ m.content }}{% endif %}{% endfor %}"
                             "{% if add_generation_prompt %}A{% endif %}",
                         4000);
  }
};

TEST_P(SecondTurn, ReadsOnlyNewTokens) {
  const LanguageModel letters = model("");
  Chat chat(letters, {.max_tokens = kAnswer, .session = greedy()});
  const std::string answer = chat.ask("cdef").text;
  EXPECT_EQ(chat.session().tokens_read(), 6 + kAnswer - 1);
  const GeneratedText second = chat.ask("g", {});
  // The last token of the answer, which was sampled and not read; "ugA"; the new answer.
  EXPECT_EQ(chat.session().tokens_read(), 6 + kAnswer - 1 + 1 + 3 + kAnswer - 1);
  EXPECT_EQ(second.text.substr(0, 20), continuation(letters, "ucdefA" + answer + "ugA", 20));
}

TEST_P(SecondTurn, OfATemplateThatDropsThoughtsReadsOnlyWhatFollowsTheQuestion) {
  const LanguageModel letters = model("[-2:]");
  Chat chat(letters, {.max_tokens = kAnswer, .session = greedy()});
  const std::string answer = chat.ask("cdef").text;
  const int64_t before = chat.session().tokens_read();
  const GeneratedText second = chat.ask("g");
  const int64_t read = chat.session().tokens_read() - before;
  EXPECT_LE(read, 2 + 3 + kAnswer - 1);
  EXPECT_GE(read, 3 + kAnswer - 1);  // the two letters may be those that the thoughts began with
  EXPECT_EQ(second.text.substr(0, 20),
            continuation(letters, "ucdefA" + answer.substr(answer.size() - 2) + "ugA", 20));
}

INSTANTIATE_TEST_SUITE_P(Models, SecondTurn,
                         ::testing::Values("decoders/qwen3", "decoders/gemma3", "mamba"));

TEST(Chat, WithoutACapacityHasThePositionsOfTheModelUpToABound) {
  const LanguageModel model = letters_model(),
                      large = letters_model("decoders/llama_linear", test::kLettersTemplate, 5000);
  EXPECT_EQ(Chat(model).session().capacity(), 64);
  EXPECT_EQ(Chat(large).session().capacity(), 4096);
  EXPECT_EQ(Chat(large, {.session = greedy(4500)}).session().capacity(), 4500);
  EXPECT_EQ(Session(large).capacity(), 5000);
  EXPECT_EQ(Session(large).options().capacity, 5000);
  EXPECT_EQ(Generation(large, {1}, {.max_tokens = {}}).session().capacity(), 4097);
  EXPECT_EQ(Chat(model).session().options().sampling.temperature,
            model.default_sampling().temperature);
}

TEST(Chat, AnAnswerEndsAtTheModelsStopIdsUnlessTheOptionsHaveAList) {
  LanguageModel model = letters_model();
  const std::string all = continuation(model, "uabA", 8);
  model.stop_ids = model.prompt_ids(all.substr(2, 1));
  Chat stops(model, {.max_tokens = 8, .session = SessionOptions{.sampling = {.temperature = 0}}});
  EXPECT_EQ(stops.ask("ab").text, all.substr(0, all.find(all[2])));
  EXPECT_EQ(stops.answer().ending, Ending::kEnd);
  EXPECT_EQ(stops.session().options().stop_ids, model.stop_ids);
  Chat goes_on(model, {.max_tokens = 8, .session = greedy()});
  EXPECT_EQ(goes_on.ask("ab").text, all);
}

TEST(Chat, ForgetsItsOldestTurnsOnceTheContextIsFull) {
  const LanguageModel model = letters_model();
  Chat chat(model, {.messages = {kSystem}, .max_tokens = 3, .session = greedy(24)});
  std::vector<std::string> answers;
  for (int i = 0; i < 5; i++) {
    answers.push_back(chat.ask("cd").text);
    EXPECT_EQ(chat.forgot(), i > 2) << i;
  }
  EXPECT_EQ(answers[4],
            continuation(model, "sabucda" + answers[2] + "ucda" + answers[3] + "ucdA", 3));
  EXPECT_EQ(chat.messages().size(), 11u);
}

TEST(Chat, AQuestionThatFailsLeavesItAsItWas) {
  const LanguageModel model = letters_model();
  Chat chat(model, {.max_tokens = 5, .session = greedy(24)});
  const std::string first = chat.ask("ab").text;
  EXPECT_ERROR(chat.ask(std::string(24, 'c')), kOutOfRange, "the context has 24");
  EXPECT_THROW(chat.ask("d", [](std::string_view) { throw std::runtime_error("mine"); }),
               std::runtime_error);
  EXPECT_EQ(chat.messages().size(), 2u);
  EXPECT_FALSE(chat.end());
  EXPECT_EQ(chat.ask("e").text, continuation(model, "uaba" + first + "ueA", 5));
}

TEST(Chat, AnInterruptedAnswerStaysAsFarAsItCameAndItsQuestionIfThereIsNone) {
  const LanguageModel model = letters_model();
  int left = 2;
  Chat chat(model, {.interrupted = [&] { return left-- <= 0; }, .session = greedy()});
  EXPECT_EQ(chat.ask("ab").text, continuation(model, "uabA", 2));
  EXPECT_EQ(chat.answer().ending, Ending::kInterrupted);
  EXPECT_EQ(chat.messages().size(), 2u);
  left = 0;
  EXPECT_EQ(chat.ask("cd").text, "");
  EXPECT_EQ(chat.messages().size(), 2u);
}

TEST(Chat, AnAnswerMayBeReadInPartsAndLeftEarly) {
  const LanguageModel model = letters_model();
  Chat chat(model, {.max_tokens = 30, .session = greedy()});
  chat.begin({{.role = "user", .content = "ab"}});
  std::string part = *chat.next();
  part += *chat.next();
  EXPECT_TRUE(chat.end());
  EXPECT_EQ(chat.next(), std::nullopt);
  EXPECT_EQ(chat.messages().back().content, part);
  EXPECT_EQ(chat.ask("c").text, continuation(model, "uaba" + part + "ucA", 30));
}

TEST(Chat, RefusesAModelWithoutATemplate) {
  LanguageModel model = letters_model();
  model.chat_template.reset();
  EXPECT_ERROR(Chat{model}, kUnsupported, "no chat template");
}

}  // namespace
}  // namespace wick
