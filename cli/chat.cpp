// wick chat: a conversation with a model, or the answer to one question.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "conversation.h"
#include "failure.h"
#include "history.h"
#include "line_reader.h"
#include "model.h"
#include "printable.h"
#include "ranges.h"
#include "terminal.h"
#include "writing.h"

namespace wick::cli {
namespace {

struct Options {
  ModelFlags model;
  SamplingFlags sampling;
  std::optional<std::string> system, prompt;
  int64_t max_tokens = 0;  // 0: until the model ends its answer or the context is full
  bool json = false, no_history = false;
};

void ask_once(Conversation& conversation, const Options& options, uint64_t seed) {
  const InterruptWatch watch;
  const Writing answer = options.json ? conversation.ask(*options.prompt, {})
                                      : conversation.ask(*options.prompt, print_text);
  end_text(options.json ? json_line(answer, *options.prompt, seed) : "");
  std::fprintf(stderr, "%s\n", rates_text(answer).c_str());
  if (InterruptWatch::asked()) throw Interrupted();
}

constexpr const char* kHelp =
    "/clear starts a new conversation, /system TEXT also changes the system message (without TEXT: "
    "removes it), /exit or Ctrl-D ends; Ctrl-C ends an answer\n";

/// Runs a command that begins with "/". Returns false if it ends the program.
bool run_command(const std::string& line, Conversation& conversation) {
  if (line == "/exit" || line == "/quit") return false;
  if (line == "/clear") {
    conversation.clear();
    std::fputs("a new conversation\n", stderr);
  } else if (line == "/system") {
    conversation.set_system({});
    std::fputs("a new conversation, without a system message\n", stderr);
  } else if (line.starts_with("/system ")) {
    conversation.set_system(line.substr(8));
    std::fputs("a new conversation, with this system message\n", stderr);
  } else if (line == "/help") {
    std::fputs(kHelp, stderr);
  } else {
    std::fprintf(stderr,
                 "unknown command %s; /help lists them, a space before the / asks the model\n",
                 printable(line.substr(0, line.find_first_of(" \n"))).c_str());
  }
  return true;
}

/// Prints what the user should know about the conversation's length, forgetting turns only once.
void report_context(const Conversation& conversation, const Writing& answer, bool* said) {
  if (conversation.forgot() && !std::exchange(*said, true))
    std::fprintf(stderr,
                 "the context of %lld tokens is full: the oldest turns are left out from now on "
                 "(--context)\n",
                 (long long)conversation.capacity());
  if (answer.stopped == std::string_view("context"))
    std::fprintf(stderr, "the answer ends here: it fills the context of %lld tokens (--context)\n",
                 (long long)conversation.capacity());
}

void talk(Conversation& conversation, const Options& options) {
  const bool terminal = is_terminal(STDIN_FILENO);
  if (terminal) std::fputs(kHelp, stderr);
  LineReader reader("> ", options.no_history ? "" : history_place());
  bool said = false;
  while (const auto line = reader.next()) {
    if (line->empty()) continue;
    if (terminal && line->front() == '/') {
      if (!run_command(*line, conversation)) break;
      continue;
    }
    const InterruptWatch watch;
    try {
      const Writing answer = conversation.ask(*line, print_text);
      end_text("");
      report_context(conversation, answer, &said);
      if (terminal) std::fprintf(stderr, "%s\n", rates_text(answer).c_str());
      if (!terminal && InterruptWatch::asked()) throw Interrupted();
    } catch (const Error& error) {
      // On a terminal the user can ask less and go on.
      if (!terminal || error.code() != ErrorCode::kOutOfRange) throw;
      std::fprintf(stderr, "%s\n", printable(error.what()).c_str());
    }
  }
}

void chat(const Options& options) {
  if (options.json && !options.prompt) fail_input("--json", "expected -p with it");
  const LanguageModel model = open_model(options.model);
  require_tokenizer(model, options.model.path);
  if (!model.chat_template)
    fail_input(options.model.path, "the model has no chat template; wick generate continues texts");
  const uint64_t seed = start_sampling(options.sampling, model);
  Conversation conversation(model, {.system = options.system,
                                    .capacity = options.model.context,
                                    .max_tokens = options.max_tokens,
                                    .sampling = sampling_of(options.sampling, model),
                                    .stop = options.sampling.stop,
                                    .skip_special = !options.json});
  if (options.prompt)
    ask_once(conversation, options, seed);
  else
    talk(conversation, options);
}

}  // namespace

void add_chat(CLI::App& app) {
  CLI::App* command = app.add_subcommand("chat", "talk with a model that has a chat template");
  const auto o = std::make_shared<Options>();
  add_model_flags(*command, o->model, {.text_flag = "-p"});
  command->add_option("--system", o->system, "the system message (default: none)");
  command->add_option("-p,--prompt", o->prompt, "ask this once instead of reading lines of stdin");
  command
      ->add_option("--max-tokens", o->max_tokens,
                   "the most tokens of an answer (default: until it ends)")
      ->check(integer_from(1));
  command
      ->add_option("--context", o->model.context,
                   "tokens that a conversation may have before its oldest turns are left out "
                   "(default: 4096, or the model's maximum)")
      ->check(integer_from(1));
  add_sampling_flags(*command, o->sampling);
  command->add_flag("--json", o->json, "with -p: print one line of JSON at the end");
  command->add_flag("--no-history", o->no_history,
                    "do not keep the lines typed for later conversations, nor offer earlier ones");
  command->footer(
      "Examples:\n"
      "  wick chat model.gguf\n"
      "  wick chat folder --system \"You answer in one sentence.\" -p \"Why is the sky blue?\"");
  command->callback([o] {
    o->model.settle();
    chat(*o);
  });
}

}  // namespace wick::cli
