#include "serve/choices.h"

#include <map>

#include "base/utf8.h"

namespace wick::serve {
namespace {

class CompletionForm : public ChoiceForm {
 public:
  CompletionForm(const TokenTexts* texts, std::vector<std::string> echoes)
      : texts_(texts), echoes_(std::move(echoes)) {}

  std::optional<Settings> first(int64_t index) override {
    if (echoes_.empty()) return {};
    return choice(index, echoes_[size_t(index)], nullptr, nullptr);
  }
  std::optional<Settings> part(int64_t index, const EnginePiece& piece) override {
    if (piece.text.empty() && piece.tokens.empty()) return {};
    return choice(index, piece.text, logprobs(index, piece.tokens), nullptr);
  }
  std::vector<Settings> last(int64_t index, const EngineText& text) override {
    return {choice(index, "", nullptr, finish_reason(text.ending))};
  }
  Settings whole(int64_t index, const EngineText& text) override {
    const std::string before = echoes_.empty() ? "" : echoes_[size_t(index)];
    return choice(index, before + text.text, logprobs(index, text.tokens),
                  finish_reason(text.ending));
  }

 private:
  Setting logprobs(int64_t index, const std::vector<ScoredToken>& tokens) {
    if (!texts_) return nullptr;
    return completion_logprobs(*texts_, tokens, offsets_[index]);
  }
  static Settings choice(int64_t index, const std::string& text, Setting logprobs, Setting reason) {
    Settings s;
    s.set("index", index).set("text", text).set("logprobs", std::move(logprobs));
    s.set("finish_reason", std::move(reason));
    return s;
  }

  const TokenTexts* texts_;
  std::vector<std::string> echoes_;
  std::map<int64_t, int64_t> offsets_;  // characters of each choice
};

}  // namespace

std::unique_ptr<ChoiceForm> completion_form(const TokenTexts* texts,
                                            std::vector<std::string> echoes) {
  return std::make_unique<CompletionForm>(texts, std::move(echoes));
}

}  // namespace wick::serve
