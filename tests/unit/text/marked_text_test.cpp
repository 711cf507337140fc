// Chat templates: which parts of the text come from users, and that no such part becomes a special token.
#include "../expect.h"
#include "base/utf8.h"
#include "wick/io/json.h"
#include "wick/text/chat_template.h"
#include "wick/text/tokenizer.h"

namespace wick {
namespace {

using Ids = std::vector<int64_t>;
using Texts = std::vector<std::string>;

/// The setting with a text appended to each string of users, and to the names of arguments.
Setting with_text(const Setting& setting, const std::string& more, const std::string& key = "") {
  if (const auto* const text = std::get_if<std::string>(&setting.value)) {
    const bool is_users = key != "role" && key != "type" && key != "id" && key != "tool_call_id";
    return is_users ? *text + more : *text;
  }
  if (const auto* const list = std::get_if<Setting::List>(&setting.value)) {
    Setting::List result;
    for (const Setting& item : *list) result.push_back(with_text(item, more, key));
    return result;
  }
  const auto* const settings = std::get_if<Settings>(&setting.value);
  if (!settings) return setting;
  Settings result;
  for (const auto& [name, value] : settings->entries())
    result.set(key == "arguments" || key == "properties" ? name + more : name,
               with_text(value, more, name));
  return result;
}

/// The variables of a conversation with such texts.
Settings with_texts(const Settings& variables, const std::string& more) {
  Settings result;
  for (const auto& [name, value] : variables.entries())
    result.set(name, name == "messages" || name == "tools" ? with_text(value, more) : value);
  return result;
}

Ids specials_of(const Tokenizer& tokenizer, const Ids& ids) {
  Ids found;
  for (const int64_t id : ids)
    if (tokenizer.is_special(id)) found.push_back(id);
  return found;
}

Tokenizer tokenizer_of_specials(const Texts& texts) {
  Setting::List added;
  for (const std::string& text : texts)
    added.push_back(Settings()
                        .set("id", 256 + int64_t(added.size()))
                        .set("content", text)
                        .set("special", true)
                        .set("normalized", false));
  return Tokenizer::from_json(byte_tokenizer_json().set("added_tokens", added));
}

TEST(MarkedTexts, StaysTextInEachTemplate) {
  const Texts specials = {"<s>",
                          "</s>",
                          "<|im_start|>",
                          "<|im_end|>",
                          "<|start_header_id|>",
                          "<|end_header_id|>",
                          "<|eot_id|>",
                          "<start_of_turn>",
                          "<end_of_turn>",
                          "[INST]",
                          "[/INST]",
                          "[TOOL_CALLS]",
                          "[AVAILABLE_TOOLS]",
                          "[/AVAILABLE_TOOLS]",
                          "[TOOL_RESULTS]",
                          "[/TOOL_RESULTS]",
                          "<|CHATBOT|>",
                          "<|END|>",
                          "<|SYSTEM|>",
                          "<|User|>",
                          "<|Assistant|>",
                          "<|end|>",
                          "<|sep|>",
                          "<|outputs|>",
                          "<|outputs_end|>",
                          "<|output|>",
                          "<|tool_calls|>",
                          "<tool_call>",
                          "</tool_call>",
                          "<tools>",
                          "</tools>"};
  const Tokenizer tokenizer = tokenizer_of_specials(specials);
  std::string hostile;
  for (const std::string& special : specials) hostile += special + "\n" + special;
  const std::string harmless(hostile.size(), 'a');

  const Settings golden = read_json(WICK_GOLDEN "/chat_templates/expected.json");
  const Texts sources = golden.texts("sources");
  const auto& variables = std::get<Setting::List>(golden.find("variables")->value);
  int count = 0, hostile_count = 0, tokens = 0;
  for (const Setting& row : std::get<Setting::List>(golden.find("cases")->value)) {
    const Settings& expected = std::get<Settings>(row.value);
    const std::string& source = sources.at(size_t(expected.integer("source")));
    if (!expected.has("text") || source.find("messages") == source.npos) continue;
    SCOPED_TRACE(expected.text("name"));
    const auto& given =
        std::get<Settings>(variables.at(size_t(expected.integer("variables"))).value);
    const ChatTemplate chat(source, "t");
    const auto ids = [&](const Settings& all, bool marks = true) {
      const MarkedText text = chat.render_marked(all);
      EXPECT_EQ(text.text, chat.render(all));
      return tokenizer.encode_ids(text.text,
                                  {.user = marks ? text.user : std::vector<ByteRange>()});
    };
    EXPECT_EQ(ids(given), ids(given, false));
    const Settings good = with_texts(given, harmless), bad = with_texts(given, hostile);
    EXPECT_EQ(ids(good), ids(good, false));
    const Ids found = specials_of(tokenizer, ids(good));
    EXPECT_EQ(specials_of(tokenizer, ids(bad)), found);
    hostile_count += specials_of(tokenizer, ids(bad, false)) != found;  // without marks
    count++;
    tokens += int(found.size());
  }
  EXPECT_GT(count, 50);
  EXPECT_GT(hostile_count, 40);
  EXPECT_GT(tokens, 300);
}

TEST(MarkedTexts, MarksAreWholeCharactersOfTheSameText) {
  const Settings golden = read_json(WICK_GOLDEN "/chat_templates/expected.json");
  const Texts sources = golden.texts("sources");
  const auto& variables = std::get<Setting::List>(golden.find("variables")->value);
  RenderOptions options;
  options.now = [] { return std::chrono::system_clock::time_point(); };
  for (const Setting& row : std::get<Setting::List>(golden.find("cases")->value)) {
    const Settings& expected = std::get<Settings>(row.value);
    if (!expected.has("text")) continue;
    SCOPED_TRACE(expected.text("name"));
    // All variables come from users: as a message.
    const std::string& source = sources.at(size_t(expected.integer("source")));
    const auto& given =
        std::get<Settings>(variables.at(size_t(expected.integer("variables"))).value);
    std::string head;
    for (const auto& [name, value] : given.entries())
      head += "{% set " + name + " = documents['" + name + "'] %}";
    const ChatTemplate chat(head + source, "t");
    const Settings all = Settings().set("documents", given);
    const MarkedText text = chat.render_marked(all, options);
    EXPECT_EQ(text.text, chat.render(all, options));
    int64_t last = -1;
    for (const ByteRange& range : text.user) {
      EXPECT_LT(last, range.begin);
      EXPECT_LT(range.begin, range.end);
      ASSERT_LE(range.end, int64_t(text.text.size()));
      EXPECT_TRUE(is_utf8(text.text.substr(size_t(range.begin), size_t(range.end - range.begin))));
      last = range.end;
    }
  }
}

Texts user_parts(const MarkedText& text) {
  Texts parts;
  for (const ByteRange& range : text.user)
    parts.push_back(text.text.substr(size_t(range.begin), size_t(range.end - range.begin)));
  return parts;
}

TEST(MarkedTexts, ComeFromMessagesToolsAndDocuments) {
  const ChatTemplate chat(
      "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ m.name }}"
      "{% endfor %}{{ tools }}{{ documents }}{{ extra }}",
      "t");
  ChatOptions options{.bos_token = "<s>", .tools = {Settings().set("f", "g")}};
  options.more.set("documents", Setting::List{"page"}).set("extra", "more");
  const MarkedText text = render_chat_marked(
      chat, {{"user", "a\xff", Settings().set("name", "n")}, {"x|><s>", ""}}, options);
  EXPECT_EQ(text.text, "<s><|user|>a\ufffdn<|x|><s>|>[{'f': 'g'}]['page']more");
  EXPECT_EQ(user_parts(text), (Texts{"a\ufffdn", "x|><s>", "f", "g", "page"}));
  EXPECT_EQ(render_chat(chat, {{"user", "a"}}), "<|user|>aNoneNone");
}

TEST(MarkedTexts, TheTokensOfImagesBelongToTheProgram) {
  const ChatTemplate chat("{% for m in messages %}{{ m.content|trim }};{% endfor %}", "t");
  const std::shared_ptr<const Image> image;
  const MarkedText text =
      render_chat_marked(chat,
                         {{.role = "user", .content = "<image>a", .images = {image, image}},
                          {.role = "user", .content = "<image>"}},
                         {.image_token = "<image>"});
  EXPECT_EQ(text.text, "<image><image><image>a;<image>;");
  EXPECT_EQ(user_parts(text), (Texts{"<image>a", "<image>"}));
  EXPECT_EQ(text.user[0].begin, 14);
}

}  // namespace
}  // namespace wick
