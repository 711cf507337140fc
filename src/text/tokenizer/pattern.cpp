#include "text/tokenizer/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/utf8.h"
#include "text/tokenizer/characters.h"
#include "wick/base/error.h"

namespace wick::tokenization {
namespace {

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* what) const {
    kFree(what);
  }
};
template <class T, auto kFree>
using Owned = std::unique_ptr<T, Free<kFree>>;

std::string reason(int error) {
  char text[256] = "";
  pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
  return text;
}

}  // namespace

struct Pattern::Code {
  std::string expression, where;
  Owned<pcre2_code, pcre2_code_free> code;
};

Pattern Pattern::literal(std::string text) {
  Pattern pattern;
  pattern.literal_ = std::move(text);
  return pattern;
}

Pattern Pattern::regex(std::string_view expression, const std::string& where, Unicode unicode) {
  const auto code = std::make_shared<Code>();
  code->expression = expression;
  code->where = where;
  const std::string translated = pcre_syntax(expression, where, unicode);
  const Owned<pcre2_compile_context, pcre2_compile_context_free> context(
      pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error;
  PCRE2_SIZE at;
  code->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                 PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_UTF_CHECK,
                                 &error, &at, context.get()));
  check(code->code != nullptr, ErrorCode::kUnsupported, where, "pattern ", in_quotes(expression),
        ": ", reason(error));
  pcre2_jit_compile(code->code.get(), PCRE2_JIT_COMPLETE);
  Pattern pattern;
  pattern.code_ = code;
  return pattern;
}

void Pattern::find(std::string_view text, std::vector<Span>& matches) const {
  if (!code_) {
    if (literal_.empty()) return;
    for (size_t at = 0; (at = text.find(literal_, at)) != text.npos; at += literal_.size())
      matches.push_back({uint32_t(at), uint32_t(at + literal_.size())});
    return;
  }
  // The stack is for backtracking into groups; a match that needs more is an error.
  struct Memory {
    Owned<pcre2_match_data, pcre2_match_data_free> data{pcre2_match_data_create(1, nullptr)};
    Owned<pcre2_match_context, pcre2_match_context_free> context{
        pcre2_match_context_create(nullptr)};
    Owned<pcre2_jit_stack, pcre2_jit_stack_free> stack{
        pcre2_jit_stack_create(32 << 10, 64 << 20, nullptr)};
    Memory() { pcre2_jit_stack_assign(context.get(), nullptr, stack.get()); }
  };
  thread_local Memory memory;
  const PCRE2_SIZE* const found = pcre2_get_ovector_pointer(memory.data.get());
  size_t at = 0, last_end = text.npos;
  while (at <= text.size()) {
    const int result =
        pcre2_match(code_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                    PCRE2_NO_UTF_CHECK, memory.data.get(), memory.context.get());
    if (result == PCRE2_ERROR_NOMATCH) return;
    if (result < 0)
      fail(ErrorCode::kUnsupported, code_->where, "pattern ", in_quotes(code_->expression),
           " fails on this text: ", reason(result));
    const size_t begin = found[0], end = found[1];
    if (begin >= end && end == last_end) {  // no empty match right after another match
      at = end < text.size() ? end + character_length(text[end]) : end + 1;
      continue;
    }
    last_end = at = end;
    matches.push_back({uint32_t(begin), uint32_t(end)});
  }
}

}  // namespace wick::tokenization
