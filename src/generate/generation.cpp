#include "wick/generate/generation.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "generate/capacity.h"
#include "wick/base/error.h"

namespace wick {
namespace {

constexpr int64_t kMaxTokens = int64_t(1) << 48;  // sums of it do not overflow

/// Adds the time until its end to a rate.
class Timed {
 public:
  explicit Timed(Rate& rate) : rate_(rate) {}
  ~Timed() {
    rate_.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Rate& rate_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

const Tokenizer& tokenizer_of(const LanguageModel& model) {
  check(model.tokenizer.has_value(), ErrorCode::kUnsupported, "generate",
        "the model has no tokenizer");
  return *model.tokenizer;
}

/// The session's options with a capacity for the prompt and the text.
SessionOptions with_capacity(SessionOptions session, const LanguageModel& model, size_t prompt,
                             const GenerationOptions& options) {
  tokenizer_of(model);  // its error comes before the cache is allocated
  const int64_t tokens = std::min(options.max_tokens.value_or(kDefaultCapacity), kMaxTokens);
  session.capacity =
      capacity_of(session, *model.model, int64_t(prompt) + std::max<int64_t>(tokens, 1));
  return session;
}

}  // namespace

const char* to_string(Ending ending) {
  constexpr const char* kNames[] = {"end", "stop", "length", "context", "interrupted"};
  return kNames[int(ending)];
}

SessionOptions default_session_options(const LanguageModel& model) {
  return {.sampling = model.default_sampling()};
}

Generation::Generation(const LanguageModel& model, const std::vector<int64_t>& prompt,
                       const GenerationOptions& options)
    : Generation(model, prompt, options, default_session_options(model)) {}

Generation::Generation(const LanguageModel& model, const std::vector<int64_t>& prompt,
                       const GenerationOptions& options, SessionOptions session)
    : own_(std::make_unique<Session>(
          model, with_capacity(std::move(session), model, prompt.size(), options))),
      session_(own_.get()),
      options_(options),
      images_(model.facts().images),
      tokenizer_(tokenizer_of(model)),
      stream_(tokenizer_, options.skip_special),
      stops_(options.stop) {
  begin(prompt);
}

Generation::Generation(const LanguageModel& model, Session& session,
                       const std::vector<int64_t>& ids, const GenerationOptions& options)
    : session_(&session),
      options_(options),
      images_(model.facts().images),
      tokenizer_(tokenizer_of(model)),
      stream_(tokenizer_, options.skip_special),
      stops_(options.stop) {
  begin(ids);
}

void Generation::begin(const std::vector<int64_t>& ids) {
  check(!options_.max_tokens || *options_.max_tokens >= 0, ErrorCode::kInvalidArgument, "generate",
        "max_tokens: expected at least 0, got ", options_.max_tokens.value_or(0));
  check(session_->options().sequences == 1, ErrorCode::kInvalidArgument, "generate",
        "expected a session of one sequence, got ", session_->options().sequences);
  result_.prompt_tokens = int64_t(ids.size());
  if (options_.pixel_values || session_->has_images()) options_.slide = false;
  read(ids, session_->capacity());
  std::optional<GrammarState> grammar;
  if (options_.grammar)
    grammar.emplace(*options_.grammar, tokenizer_.token_table(), *session_->options().stop_ids);
  session_->set_grammar(std::move(grammar));
}

/// Appends the ids. If they exceed the capacity and the text slides, the session starts anew with the
/// last `keep` of them.
void Generation::read(std::vector<int64_t> ids, int64_t keep) {
  const Timed timed(result_.prefill);
  if (options_.slide && session_->length() + int64_t(ids.size()) > session_->capacity()) {
    const std::vector<int64_t> first(ids.begin(), ids.begin() + !ids.empty());
    ids.erase(ids.begin(), ids.end() - std::min(keep, int64_t(ids.size())));
    // Placeholders that the model sampled stand for no image.
    if (images_ && !result_.ids.empty()) std::erase(ids, images_->token_id);
    if (ids.empty()) ids = first;
    std::optional<GrammarState> grammar = session_->grammar();
    session_->rewind(0);
    session_->set_grammar(std::move(grammar));
  }
  session_->append(ids, std::exchange(options_.pixel_values, Tensor()));
  result_.prefill.tokens += int64_t(ids.size());
  has_read_ = true;
}

std::optional<std::string> Generation::next() {
  while (!ended_) {
    std::string piece;
    try {
      piece = advance();
    } catch (...) {
      ended_ = true;
      throw;
    }
    result_.text += piece;
    if (!piece.empty()) return piece;
  }
  return {};
}

/// Samples a token and returns the text that it completes, "" if there is none yet.
std::string Generation::advance() {
  if (options_.max_tokens && int64_t(result_.ids.size()) >= *options_.max_tokens)
    return end(Ending::kLength);
  if (options_.interrupted && options_.interrupted()) return end(Ending::kInterrupted);
  if (session_->length() > session_->capacity()) {
    if (!options_.slide) return end(Ending::kContext);
    read(session_->history(), std::max<int64_t>(1, session_->capacity() / 2));
  }
  const bool has_read = std::exchange(has_read_, false);
  const int64_t id = sample(has_read ? result_.prefill : result_.decode);
  if (!has_read) result_.decode.tokens++;
  if (session_->stopped()) return end(Ending::kEnd);
  result_.ids.push_back(id);
  std::string piece = stops_.push(stream_.push(id));
  ended_ = stops_.stopped();
  if (ended_) result_.ending = Ending::kStop;
  if (!ended_ && session_->grammar_ended()) piece += end(Ending::kEnd);
  return piece;
}

/// Samples a token and adds the time taken to the rate.
int64_t Generation::sample(Rate& rate) {
  const Timed timed(rate);
  return session_->step()[0];
}

/// Ends the text and returns the part of it that was held back.
std::string Generation::end(Ending ending) {
  ended_ = true;
  std::string rest = stops_.push(stream_.finish());
  result_.ending = stops_.stopped() ? Ending::kStop : ending;
  return stops_.stopped() ? rest : rest + stops_.finish();
}

const GeneratedText& Generation::finish(const std::function<void(std::string_view)>& on_text) {
  while (const auto piece = next())
    if (on_text) on_text(*piece);
  return result_;
}

}  // namespace wick
