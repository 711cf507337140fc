// wick chat: a conversation with a model, or the answer to one question.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "model.h"
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
  bool json = false;
};

/// The cache allocates its whole capacity, so the default is bounded.
int64_t context_of(const LanguageModel& model, const Options& options) {
  constexpr int64_t kDefault = 4096;
  return options.model.context > 0 ? options.model.context
                                   : std::min(kDefault, model.config().max_position_embeddings);
}

/// A conversation and the session that has read it.
class Conversation {
 public:
  Conversation(const LanguageModel& model, const Options& options)
      : model_(model),
        options_(options),
        session_(model.session({.capacity = context_of(model, options),
                                .sampling = sampling_of(options.sampling, model)})) {
    set_system(options.system);
  }

  /// Starts anew, with this system message or none.
  void set_system(const std::optional<std::string>& text) {
    messages_.clear();
    if (text) messages_.push_back({.role = "system", .content = *text});
  }
  void clear() { messages_.erase(messages_.begin() + (has_system() ? 1 : 0), messages_.end()); }

  /// Asks and returns the answer. Errors: kOutOfRange if the context has no room for the question.
  Writing ask(const std::string& text, const std::function<void(std::string_view)>& on_text) {
    messages_.push_back({.role = "user", .content = text});
    std::vector<int64_t> ids;
    try {
      ids = model_.chat_ids(messages_);
      check(int64_t(ids.size()) <= session_.capacity(), ErrorCode::kOutOfRange, "chat",
            "the conversation has ", ids.size(), " tokens, the context ", session_.capacity());
    } catch (...) {
      messages_.pop_back();
      throw;
    }
    // The session keeps the tokens that the conversation begins with, and reads the others.
    const std::vector<int64_t> before = session_.history();
    const auto same = std::mismatch(before.begin(), before.end(), ids.begin(), ids.end());
    const int64_t kept = std::min(int64_t(same.first - before.begin()), int64_t(ids.size()) - 1);
    session_.rewind(kept);
    const int64_t most = options_.max_tokens > 0 ? options_.max_tokens : kMostCounted;
    Writing writing = write(model_, session_, {ids.begin() + kept, ids.end()},
                            {.max_tokens = most,
                             .stop = options_.sampling.stop,
                             .skip_special = !options_.json,
                             .on_text = on_text});
    writing.prompt_tokens = int64_t(ids.size());
    messages_.push_back({.role = "assistant", .content = writing.text});
    return writing;
  }

 private:
  bool has_system() const { return !messages_.empty() && messages_[0].role == "system"; }

  const LanguageModel& model_;
  const Options& options_;
  Session session_;
  std::vector<ChatMessage> messages_;
};

void ask_once(Conversation& conversation, const Options& options) {
  const InterruptWatch watch;
  const Writing answer = options.json ? conversation.ask(*options.prompt, {})
                                      : conversation.ask(*options.prompt, print_text);
  std::printf("%s\n", options.json ? json_line(answer, *options.prompt).c_str() : "");
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
  } else if (line == "/system") {
    conversation.set_system({});
  } else if (line.starts_with("/system ")) {
    conversation.set_system(line.substr(8));
  } else {
    std::fputs(kHelp, stderr);
  }
  return true;
}

void talk(Conversation& conversation) {
  const bool terminal = is_terminal(stdin);
  if (terminal) std::fputs(kHelp, stderr);
  LineReader reader("> ");
  while (const auto line = reader.next()) {
    if (line->empty()) continue;
    if (terminal && line->front() == '/') {
      if (!run_command(*line, conversation)) break;
      continue;
    }
    const InterruptWatch watch;
    try {
      const Writing answer = conversation.ask(*line, print_text);
      std::printf("\n");
      std::fflush(stdout);
      if (answer.stopped == std::string("context"))
        std::fprintf(stderr, "the context is full; /clear starts a new conversation\n");
      if (terminal) std::fprintf(stderr, "%s\n", rates_text(answer).c_str());
      if (!terminal && InterruptWatch::asked()) throw Interrupted();
    } catch (const Error& error) {
      // On a terminal the user can shorten the conversation and go on.
      if (!terminal || error.code() != ErrorCode::kOutOfRange) throw;
      std::fprintf(stderr, "%s; /clear starts a new conversation\n", error.what());
    }
  }
}

void chat(const Options& options) {
  if (options.json && !options.prompt) fail_input("--json", "expected -p with it");
  const LanguageModel model = open_model(options.model);
  require_tokenizer(model, options.model.path);
  if (!model.chat_template)
    fail_input(options.model.path, "the model has no chat template; wick generate continues texts");
  model.decoder.options().device.set_seed(options.sampling.seed);
  Conversation conversation(model, options);
  if (options.prompt)
    ask_once(conversation, options);
  else
    talk(conversation);
}

}  // namespace

void add_chat(CLI::App& app) {
  CLI::App* command = app.add_subcommand("chat", "talk with a model that has a chat template");
  const auto o = std::make_shared<Options>();
  add_model_flags(*command, o->model);
  command->add_option("--system", o->system, "the system message (default: none)");
  command->add_option("-p,--prompt", o->prompt, "ask this once instead of reading lines");
  command
      ->add_option("--max-tokens", o->max_tokens,
                   "the most tokens of an answer (default: until it ends)")
      ->check(integer_from(1));
  command
      ->add_option("--context", o->model.context,
                   "tokens that a conversation may have (default: 4096, or the model's maximum)")
      ->check(integer_from(1));
  add_sampling_flags(*command, o->sampling);
  command->add_flag("--json", o->json, "with -p: print one line of JSON at the end");
  command->footer(
      "Examples:\n"
      "  wick chat -m model.gguf\n"
      "  wick chat -m folder --system \"You answer in one sentence.\" -p \"Why is the sky blue?\"");
  command->callback([o] { chat(*o); });
}

}  // namespace wick::cli
