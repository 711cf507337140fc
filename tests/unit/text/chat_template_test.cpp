#include "wick/text/chat_template.h"

#include <cstdlib>
#include <thread>

#include "../expect.h"
#include "wick/io/json.h"

namespace wick {
namespace {

RenderOptions at_time(double seconds) {
  RenderOptions options;
  options.now = [seconds] {
    return std::chrono::system_clock::time_point(std::chrono::microseconds(int64_t(seconds * 1e6)));
  };
  return options;
}

/// As UTC's clock shows it, which the fixture's does too.
struct InUtc {
  InUtc() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
};

std::string render(std::string_view source, const Settings& variables = {},
                   const RenderOptions& options = {}) {
  return ChatTemplate(source, "t").render(variables, options);
}

TEST(ChatTemplate, RendersAsPythonsJinja2) {
  const InUtc utc;
  const Settings golden = read_json(WICK_GOLDEN "/chat_templates/expected.json");
  const std::vector<std::string> sources = golden.texts("sources");
  const auto& variables = std::get<Setting::List>(golden.find("variables")->value);
  const RenderOptions options = at_time(golden.real("now"));
  int count = 0;
  for (const Setting& row : std::get<Setting::List>(golden.find("cases")->value)) {
    const Settings& expected = std::get<Settings>(row.value);
    SCOPED_TRACE(expected.text("name"));
    const std::string& source = sources.at(size_t(expected.integer("source")));
    const Setting& given = variables.at(size_t(expected.integer("variables")));
    count++;
    try {
      const std::string text = render(source, std::get<Settings>(given.value), options);
      EXPECT_TRUE(expected.has("text")) << source << "\nrenders as " << text;
      EXPECT_EQ(text, expected.text_or("text", ""));
    } catch (const Error& error) {
      EXPECT_FALSE(expected.has("text")) << error.what() << "\n" << source;
      const std::string raised = expected.text_or("raised", "");
      EXPECT_TRUE(std::string_view(error.what()).ends_with(raised)) << error.what();
      EXPECT_NE(std::string_view(error.what()).find("t: line "), std::string_view::npos);
    }
  }
  EXPECT_EQ(count, 217);
}

TEST(ChatTemplate, RenderChatPassesMessagesToolsAndTokens) {
  const ChatTemplate chat(
      "{{ bos_token }}{% for m in messages %}[{{ m.role }}:{{ m.content }}{{ m.name }}]{% endfor %}"
      "{{ tools }}{{ documents }}{{ extra }}{{ eos_token }}{% if add_generation_prompt %}>{% endif "
      "%}",
      "t");
  EXPECT_EQ(render_chat(chat, {{"user", "Hi"}, {"tool", "1", Settings().set("name", "f")}}),
            "[user:Hi][tool:1f]NoneNone>");
  ChatOptions options{.add_generation_prompt = false, .bos_token = "<s>", .eos_token = "</s>"};
  options.tools = {Settings().set("name", "f")};
  options.more.set("extra", true);
  EXPECT_EQ(render_chat(chat, {}, options), "<s>[{'name': 'f'}]NoneTrue</s>");
}

TEST(ChatTemplate, CopiesShareTheTreeAndThreadsRenderAtOnce) {
  const ChatTemplate chat("{% for i in range(n) %}{{ i }}{% endfor %}", "t");
  std::string texts[4];
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([chat, i, &texts] { texts[i] = chat.render(Settings().set("n", i)); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(texts[3], "012");
  EXPECT_EQ(texts[0], "");
}

TEST(ChatTemplate, ErrorsNameLineAndColumn) {
  EXPECT_ERROR(render("{{ 1 }}\nö {% include 'x' %}"), kUnsupported,
               "t: line 2, column 6: unknown tag {% include %}");
  EXPECT_ERROR(render("a\n  {{ x|nope }}"), kUnsupported,
               "line 2, column 8: unknown filter 'nope'");
  EXPECT_ERROR(render("{{ 1 is nope }}"), kUnsupported, "line 1, column 6: unknown test 'nope'");
  EXPECT_ERROR(render("{{ (1 }}"), kFormat, "line 1, column 7: expected ')', got '}'");
  EXPECT_ERROR(render("{% if x %}\n\n"), kFormat,
               "line 2, column 1: the template ends before {% endif %} of line 1");
  EXPECT_ERROR(render("\n{{ x.y.z }}"), kInvalidArgument, "line 2, column 5: 'x' is undefined");
  EXPECT_ERROR(render("{{ raise_exception('no') }}"), kInvalidArgument, "t: line 1, column 4: no");
}

TEST(ChatTemplate, UnknownFiltersInBranchesAreErrorsOnlyWhenTheyRun) {
  EXPECT_EQ(render("{% if false %}{{ 1|nope }}{% endif %}{{ 2 if true else 1 is nope }}"), "2");
  EXPECT_ERROR(render("{% if true %}{{ 1|nope }}{% endif %}"), kUnsupported,
               "unknown filter 'nope'");
}

TEST(ChatTemplate, InvalidUtf8IsAnErrorInTheTemplateAndReplacedInVariables) {
  EXPECT_ERROR(render("\xff"), kFormat, "t: the template is not UTF-8");
  EXPECT_EQ(render("{{ x|length }}{{ x }}", Settings().set("x",
                                                           "a\xff"
                                                           "b")),
            "3a\ufffdb");
}

}  // namespace
}  // namespace wick
