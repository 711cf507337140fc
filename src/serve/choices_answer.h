// The answers to chats and completions: choices under a head.
#pragma once
#include "serve/answer_form.h"
#include "serve/choices.h"

namespace wick::serve {

class ChoicesAnswer : public AnswerForm {
 public:
  /// includes_usage: a stream ends with the usage.
  ChoicesAnswer(AnswerHead head, bool includes_usage, std::unique_ptr<ChoiceForm> form)
      : head_(std::move(head)), includes_usage_(includes_usage), form_(std::move(form)) {}

  void read(int64_t index, const EnginePiece& piece) override { form_->read(index, piece); }
  bool is_complete(int64_t index) const override { return form_->is_complete(index); }
  Settings whole(const TextFeed& feed, const Usage& usage) override;
  std::string first(size_t texts) override;
  std::string part(int64_t index, const EnginePiece& piece) override;
  std::string last(int64_t index, const EngineText& text) override;
  std::string end(const Usage& usage) override;
  std::string failure(const RequestError& error) override;

 private:
  std::string chunk(Setting::List choices, Setting usage) const;

  const AnswerHead head_;
  const bool includes_usage_;
  const std::unique_ptr<ChoiceForm> form_;
};

}  // namespace wick::serve
