// wick chat: a conversation with a model, or the answer to one question.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "commands.h"
#include "failure.h"
#include "history.h"
#include "line_reader.h"
#include "model.h"
#include "printable.h"
#include "ranges.h"
#include "terminal.h"
#include "wick/generate/chat.h"
#include "writing.h"

namespace wick::cli {
namespace {

struct Options {
  ModelFlags model;
  SamplingFlags sampling;
  std::optional<std::string> system, prompt;
  std::vector<std::string> images;
  std::optional<int64_t> max_tokens;
  bool json = false, no_history = false;
};

using Images = std::vector<std::shared_ptr<const Image>>;

std::vector<ChatMessage> messages_of(const std::string& question, const Images& images) {
  return {{.role = "user", .content = question, .images = images}};
}

GeneratedText print_answer(Chat& chat, const std::vector<ChatMessage>& question) {
  TextPrinter printer;
  return printer.run([&] { return chat.ask(question, std::ref(printer)); });
}

void ask_once(Chat& chat, const Options& options, const Images& images, uint64_t seed) {
  const InterruptWatch watch;
  const std::vector<ChatMessage> question = messages_of(*options.prompt, images);
  const GeneratedText answer = options.json ? chat.ask(question) : print_answer(chat, question);
  end_text(options.json ? json_line(answer, *options.prompt, seed) : "");
  std::fprintf(stderr, "%s\n", rates_text(answer).c_str());
  if (InterruptWatch::asked()) throw Interrupted();
}

/// The messages of a new conversation.
std::vector<ChatMessage> beginning(const std::optional<std::string>& system) {
  if (!system) return {};
  return {{.role = "system", .content = *system}};
}

constexpr const char* kHelp =
    "/clear starts a new conversation, /system TEXT also changes the system message (without TEXT: "
    "removes it), /exit or Ctrl-D ends; Ctrl-C ends an answer\n";

constexpr const char* kImageHelp = "/image FILE adds an image to the next question\n";

/// Adds the image of a file to the images of the next question.
void add_image(const LanguageModel& model, const std::string& file, Images& images) {
  if (!model.facts().images) {
    std::fputs("this model reads no images\n", stderr);
    return;
  }
  try {
    images.push_back(std::make_shared<const Image>(read_image_input(file)));
    std::fputs("the next question has this image\n", stderr);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", printable(error.what()).c_str());
  }
}

/// Runs a command that begins with "/". system: the system message. images: for the next
/// question. Returns false if it ends the program.
bool run_command(const std::string& line, const LanguageModel& model, Chat& chat,
                 std::optional<std::string>& system, Images& images) {
  if (line == "/exit" || line == "/quit") return false;
  if (line == "/clear" || line == "/system" || line.starts_with("/system ")) images.clear();
  if (line == "/clear") {
    chat.set_messages(beginning(system));
    std::fputs("a new conversation\n", stderr);
  } else if (line == "/system") {
    system = {};
    chat.set_messages({});
    std::fputs("a new conversation, without a system message\n", stderr);
  } else if (line.starts_with("/system ")) {
    system = line.substr(8);
    chat.set_messages(beginning(system));
    std::fputs("a new conversation, with this system message\n", stderr);
  } else if (line.starts_with("/image ") && line.find_first_not_of(' ', 7) != line.npos) {
    add_image(model, line.substr(line.find_first_not_of(' ', 7)), images);
  } else if (line == "/help") {
    std::fputs(kHelp, stderr);
    if (model.facts().images) std::fputs(kImageHelp, stderr);
  } else {
    std::fprintf(stderr,
                 "unknown command %s; /help lists them, a space before the / asks the model\n",
                 printable(line.substr(0, line.find_first_of(" \n"))).c_str());
  }
  return true;
}

/// Warns once that turns were forgotten, and each time that an answer fills the context.
void report_context(const Chat& chat, const GeneratedText& answer, bool* said) {
  if (chat.forgot() && !std::exchange(*said, true))
    std::fprintf(stderr,
                 "the context of %lld tokens is full: the oldest turns are left out from now on "
                 "(--context)\n",
                 (long long)chat.session().capacity());
  if (answer.ending == Ending::kContext)
    std::fprintf(stderr, "the answer ends here: it fills the context of %lld tokens (--context)\n",
                 (long long)chat.session().capacity());
}

/// images: of the first question.
void talk(const LanguageModel& model, Chat& chat, const Options& options, Images images) {
  const bool terminal = is_terminal(STDIN_FILENO);
  if (terminal) std::fputs(kHelp, stderr);
  if (terminal && model.facts().images) std::fputs(kImageHelp, stderr);
  LineReader reader("> ", options.no_history ? "" : history_place());
  std::optional<std::string> system = options.system;
  bool said = false;
  while (const auto line = reader.next()) {
    if (line->empty()) continue;
    if (terminal && line->front() == '/') {
      if (!run_command(*line, model, chat, system, images)) break;
      continue;
    }
    const InterruptWatch watch;
    try {
      const size_t before = chat.messages().size();
      const GeneratedText answer = print_answer(chat, messages_of(*line, images));
      if (chat.messages().size() > before) images.clear();
      end_text("");
      report_context(chat, answer, &said);
      if (terminal) std::fprintf(stderr, "%s\n", rates_text(answer).c_str());
      if (!terminal && InterruptWatch::asked()) throw Interrupted();
    } catch (const Error& error) {
      // On a terminal the user can ask less and go on.
      const bool asks_too_much =
          error.code() == ErrorCode::kOutOfRange || error.code() == ErrorCode::kOutOfMemory;
      if (!terminal || !asks_too_much) throw;
      std::fprintf(stderr, "%s\n", printable(error.what()).c_str());
    }
  }
}

void run_chat(const Options& options) {
  if (options.json && !options.prompt) fail_input("--json", "expected -p with it");
  if (!options.prompt && std::count(options.images.begin(), options.images.end(), "-") > 0)
    fail_input("--image", "expected -p beside an image from stdin");
  Images images;
  for (Image& image : read_images(options.images))
    images.push_back(std::make_shared<const Image>(std::move(image)));
  const LanguageModel model = open_model(options.model);
  require_continuation(model, options.model.path);
  require_tokenizer(model, options.model.path);
  if (!images.empty()) require_images(model, options.model.path);
  if (!model.chat_template && !model.facts().images)
    fail_input(options.model.path, "the model has no chat template; wick generate continues texts");
  const uint64_t seed = start_sampling(options.sampling, model);
  const SessionOptions session{.capacity = options.model.context,
                               .kv = options.model.cache(),
                               .sampling = sampling_of(options.sampling, model),
                               .seed = seed};
  Chat chat(model, {.messages = beginning(options.system),
                    .max_tokens = options.max_tokens,
                    .stop = options.sampling.stop,
                    .skip_special = !options.json,
                    .interrupted = &InterruptWatch::asked,
                    .session = session});
  if (options.prompt)
    ask_once(chat, options, images, seed);
  else
    talk(model, chat, options, std::move(images));
}

}  // namespace

void add_chat(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("chat", "talk with a model that has a chat template or reads images");
  const auto o = std::make_shared<Options>();
  add_model_flags(*command, o->model, {.text_flag = "-p"});
  command->add_option("--system", o->system, "the system message (default: none)");
  command->add_option("-p,--prompt", o->prompt, "ask this once instead of reading lines of stdin");
  add_image_flag(*command, o->images, "an image of the first question");
  command
      ->add_option("--max-tokens", o->max_tokens,
                   "the most tokens of an answer (default: until it ends)")
      ->check(integer_from(1));
  command
      ->add_option("--context", o->model.context,
                   "tokens that a conversation may have before its oldest turns are left out "
                   "(default: 4096, or the model's maximum)")
      ->check(integer_from(1));
  add_cache_flag(*command, o->model);
  add_sampling_flags(*command, o->sampling);
  command->add_flag("--json", o->json, "with -p: print one line of JSON at the end");
  command->add_flag("--no-history", o->no_history,
                    "do not keep the lines typed for later conversations, nor offer earlier ones");
  command->footer(
      "Examples:\n"
      "  wick chat model.gguf\n"
      "  wick chat folder --system \"You answer in one sentence.\" -p \"Why is the sky blue?\"\n"
      "  wick chat paligemma-folder --image cat.jpg");
  command->callback([o] {
    o->model.settle();
    run_chat(*o);
  });
}

}  // namespace wick::cli
