// Conversations about images.
#include "../expect.h"
#include "../image_prompt.h"
#include "letters_model.h"
#include "wick/generate/chat.h"
#include "wick/media/image.h"

namespace wick {
namespace {

std::shared_ptr<const Image> image_of(const char* file) {
  return std::make_shared<const Image>(read_image(std::string(WICK_GOLDEN) + "/images/" + file));
}

class ImageChat : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  /// A conversation of answers of at most 4 tokens.
  Chat chat_of(int64_t capacity = 60) const {
    SessionOptions session = test::greedy(capacity);
    session.sampling.repetition_penalty = 2;  // else it says the same of every image
    return Chat(model, {.max_tokens = 4, .session = session});
  }
  ChatMessage question(const std::string& text, const char* file = nullptr) const {
    ChatMessage message{.role = "user", .content = text};
    if (file) message.images.push_back(image_of(file));
    return message;
  }
  /// The answer in a conversation of its own.
  std::string answer(const std::vector<ChatMessage>& messages) const {
    return chat_of().ask(messages).text;
  }

  const LanguageModel model =
      load_model(test::folder_of(std::get<0>(GetParam())),
                 {.device = Device::parse(std::get<1>(GetParam())), .dtype = DType::kF32});
};

TEST_P(ImageChat, TheNextTurnDoesNotReadTheImageAgain) {
  Chat chat = chat_of();
  const ChatMessage about = question("a cat", "photo.png");
  const GeneratedText first = chat.ask(std::vector<ChatMessage>{about});
  const Prompt prompt = model.prompt("a cat", {about.images[0].get(), 1});
  EXPECT_EQ(first.prompt_tokens, int64_t(prompt.ids.size()));
  EXPECT_EQ(Generation(model, prompt.ids, {.max_tokens = 4, .pixel_values = prompt.pixel_values},
                       chat.session().options())
                .finish()
                .ids,
            first.ids);
  const int64_t before = chat.session().tokens_read();
  EXPECT_EQ(before, first.prompt_tokens + int64_t(first.ids.size()) - 1);
  const GeneratedText second = chat.ask("the hat");
  const int64_t added = second.prompt_tokens - first.prompt_tokens;
  EXPECT_GT(added, 4);
  // All after the first prompt at most, if the answer's text has other tokens.
  EXPECT_LE(chat.session().tokens_read() - before, added + int64_t(second.ids.size()) - 1);
  EXPECT_TRUE(chat.session().has_images());
}

TEST_P(ImageChat, ALaterQuestionMayHaveAnImage) {
  Chat chat = chat_of();
  chat.ask("the cat");
  const std::vector<ChatMessage> before = chat.messages();
  const int64_t read = chat.session().tokens_read();
  chat.ask({question("the hat", "gray.png")});
  EXPECT_EQ(chat.messages().size(), 4u);
  EXPECT_EQ(chat.messages()[2].images.size(), 1u);
  const int64_t first = int64_t(model.chat_ids({before[0]}).size());
  EXPECT_LE(chat.session().tokens_read() - read, chat.answer().prompt_tokens - first + 3);
}

TEST_P(ImageChat, AnotherImageInTheSamePlaceIsReadAnew) {
  Chat chat = chat_of();
  const std::vector<ChatMessage> photo = {question("a cat", "photo.png")},
                                 gray = {question("a cat", "gray.png")};
  const std::string of_photo = chat.ask(photo).text;
  chat.set_messages({});
  const std::string of_gray = chat.ask(gray).text;
  EXPECT_EQ(of_gray, answer(gray));
  EXPECT_NE(of_gray, of_photo);
  // The same pixels, read again, are the same image.
  const int64_t read = chat.session().tokens_read();
  chat.set_messages({});
  EXPECT_EQ(chat.ask({question("a cat", "gray.png")}).text, of_gray);
  EXPECT_LE(chat.session().tokens_read() - read, chat.answer().prompt_tokens + 3);
  chat.set_messages(photo);
  EXPECT_EQ(chat.ask(std::vector<ChatMessage>()).text, of_photo);
}

TEST_P(ImageChat, AQuestionThatIsTakenBackLeavesNoImage) {
  bool stop = true;
  SessionOptions session = test::greedy(60);
  session.sampling.repetition_penalty = 2;
  Chat chat(model, {.max_tokens = 4, .interrupted = [&] { return stop; }, .session = session});
  chat.ask({question("a cat", "photo.png")});
  EXPECT_TRUE(chat.messages().empty());
  stop = false;
  EXPECT_EQ(chat.ask({question("a cat", "gray.png")}).text,
            answer({question("a cat", "gray.png")}));
  EXPECT_ERROR(chat.ask(std::string(100, 'a')), kOutOfRange, "the context has 60");
  EXPECT_EQ(chat.messages().size(), 2u);
}

TEST_P(ImageChat, ForgetsTheOldestTurnsWithTheirImages) {
  Chat chat = chat_of(36);
  chat.ask({question("a cat", "photo.png")});
  while (!chat.forgot()) {
    chat.ask({question("the hat", "gray.png")});
    ASSERT_LT(chat.messages().size(), 12u);
  }
  // The window of the last question, read by a new conversation.
  const std::vector<ChatMessage>& all = chat.messages();
  bool same = false;
  for (size_t first = 2; first + 1 < all.size(); first += 2)
    same = same || answer({all.begin() + int64_t(first), all.end() - 1}) == all.back().content;
  EXPECT_TRUE(same);
}

INSTANTIATE_TEST_SUITE_P(ModelsAndDevices, ImageChat,
                         ::testing::Combine(::testing::Values("paligemma", "paligemma2"),
                                            ::testing::Values("cpu", "emu:32")));

TEST(ImageChats, PlainTurnsAreImagesTheBeginningAndLines) {
  const LanguageModel model = load_model(test::folder_of("paligemma"), {.device = Device::cpu()});
  const auto ids = [&](const std::string& text) {
    return model.tokenizer->encode_ids(text, {.add_special = false});
  };
  const auto image = image_of("photo.png");
  std::vector<int64_t> expected(4, 40);
  for (const char* text : {"<bos>a cat\n", "the hat", "\n", "a rat\n"})
    for (const int64_t id : ids(text)) expected.push_back(id);
  EXPECT_EQ(model.chat_ids({{.role = "user", .content = "a cat", .images = {image}},
                            {.role = "assistant", .content = "the hat"},
                            {.role = "user", .content = "a rat"}}),
            expected);
}

TEST(ImageChats, APlaceholderThatAUserTypesIsText) {
  LanguageModel model = load_model(test::folder_of("paligemma"), {.device = Device::cpu()});
  const std::string typed = "<image><bos>";
  const ChatMessage message{.role = "user", .content = typed, .images = {image_of("photo.png")}};
  const auto count = [](const std::vector<int64_t>& ids, int64_t id) {
    return std::count(ids.begin(), ids.end(), id);
  };
  const auto expect_text = [&] {
    const std::vector<int64_t> ids = model.chat_ids({message, {"assistant", typed}});
    EXPECT_EQ(count(ids, 40), 4);
    EXPECT_EQ(count(ids, *model.tokenizer->id_of("<bos>")), 1);
  };
  expect_text();  // plain turns
  model.chat_template = ChatTemplate(
      "{{ bos_token }}{% for m in messages %}{{ m.content|trim }}.{% endfor %}", "template");
  expect_text();
  model.chat_template = ChatTemplate("{{ messages[1].content }}", "template");
  EXPECT_ERROR(model.chat_ids({message, {"assistant", typed}}), kInvalidArgument,
               "for each of 1 images, got 0");
}

TEST(ImageChats, ATemplateHasThePlaceholdersBeforeTheContent) {
  LanguageModel model = load_model(test::folder_of("paligemma"), {.device = Device::cpu()});
  model.chat_template = ChatTemplate(
      "{{ bos_token }}{% for m in messages %}the {{ m.content }}.{% endfor %}", "template");
  const auto image = image_of("photo.png");
  const std::vector<int64_t> ids =
      model.chat_ids({{.role = "user", .content = "cat", .images = {image, image}}});
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 40), 8);
  EXPECT_EQ(model.tokenizer->decode(ids, true), "the cat.");
  EXPECT_EQ(Chat(model, {.max_tokens = 2, .session = test::greedy(40)})
                .ask({{.role = "user", .content = "cat", .images = {image, image}}})
                .prompt_tokens,
            int64_t(ids.size()));
  const LanguageModel letters = test::letters_model();
  EXPECT_ERROR(letters.chat_ids({{.role = "user", .content = "a", .images = {image}}}),
               kUnsupported, "chat: a model of type llama reads no images");
}

}  // namespace
}  // namespace wick
