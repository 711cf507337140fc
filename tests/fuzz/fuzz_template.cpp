// A chat template, rendered for a conversation with tools.
#include "input.h"
#include "wick/text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  wick::fuzz::parse([&] {
    using wick::Setting;
    using wick::Settings;
    const wick::ChatTemplate chat_template(wick::fuzz::text_of(bytes, count), "template");
    Settings function, tool;
    function.set("name", "weather").set("description", "the weather");
    tool.set("type", "function").set("function", function);
    wick::ChatOptions options{.bos_token = "<s>", .eos_token = "</s>", .tools = {tool}};
    options.more.set("n", 3).set("x", 0.5).set("yes", true).set("nothing", nullptr);
    options.more.set("list", Setting::List{3, "b", 1});
    wick::RenderOptions limits;
    limits.max_steps = 20'000;
    limits.max_bytes = 1 << 20;
    limits.now = [] { return std::chrono::system_clock::time_point(); };
    const wick::MarkedText text = wick::render_chat_marked(chat_template,
                                                           {{"system", "Be brief."},
                                                            {"user", "Hello <b>\n\"w\xc3\xb6rld\""},
                                                            {"assistant", ""},
                                                            {"user", "More"}},
                                                           options, limits);
    int64_t last = -1;
    for (const wick::ByteRange& part : text.user) {
      if (part.begin <= last || part.end <= part.begin) __builtin_trap();
      last = part.end;
    }
    if (last > int64_t(text.text.size())) __builtin_trap();
  });
  return 0;
}
