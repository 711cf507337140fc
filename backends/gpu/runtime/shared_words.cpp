#include "runtime/shared_words.h"

#include <cctype>
#include <string_view>
#include <vector>

namespace wick::gpu::emu {
namespace {

struct Token {
  enum Kind { kWord, kText, kSign } kind;
  size_t begin, end;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The words, texts and signs of C++ source, without comments and preprocessor lines.
std::vector<Token> tokens_of(std::string_view s) {
  std::vector<Token> tokens;
  const auto find = [&](std::string_view what, size_t from) {
    const size_t at = s.find(what, from);
    return at == s.npos ? s.size() : at + what.size();
  };
  bool line_begins = true;
  for (size_t i = 0; i < s.size();) {
    const size_t begin = i;
    const char c = s[i];
    if (c == '\n') {
      line_begins = true, i++;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      i++;
    } else if (s.substr(i, 2) == "//") {
      while (i < s.size() && s[i] != '\n') i += s[i] == '\\' ? 2 : 1;
    } else if (s.substr(i, 2) == "/*") {
      i = find("*/", i + 2);
    } else if (c == '#' && line_begins) {
      while (i < s.size() && s[i] != '\n') i += s[i] == '\\' ? 2 : 1;
    } else if (is_word(c)) {
      // A digit separator belongs to its number.
      while (i < s.size() &&
             (is_word(s[i]) || (s[i] == '\'' && std::isdigit(static_cast<unsigned char>(c)))))
        i++;
      const std::string_view word = s.substr(begin, i - begin);
      if (i < s.size() && s[i] == '"' && word.ends_with("R")) {
        const size_t open = s.find('(', i);
        if (open == s.npos) {
          i = s.size();
        } else {
          i = find(")" + std::string(s.substr(i + 1, open - i - 1)) + "\"", open);
        }
        tokens.push_back({Token::kText, begin, i});
      } else {
        tokens.push_back({Token::kWord, begin, i});
      }
      line_begins = false;
    } else if (c == '"' || c == '\'') {
      for (i++; i < s.size() && s[i] != c && s[i] != '\n';) i += s[i] == '\\' ? 2 : 1;
      i = std::min(i + 1, s.size());
      tokens.push_back({Token::kText, begin, i});
      line_begins = false;
    } else {
      tokens.push_back({Token::kSign, begin, ++i});
      line_begins = false;
    }
  }
  return tokens;
}

class Rewriter {
 public:
  explicit Rewriter(const std::string& source) : source_(source), tokens_(tokens_of(source)) {}

  std::string run() {
    std::string result;
    size_t copied = 0;
    bool namespace_ahead = false;  // since the last ; { or }
    std::vector<bool> functions;   // of each open brace
    for (size_t i = 0; i < tokens_.size(); i++) {
      const std::string_view token = text(i);
      if (token == "{") {
        const bool outside = functions.empty() || !functions.back();
        functions.push_back(!(outside && namespace_ahead));
      } else if (token == "}" && !functions.empty()) {
        functions.pop_back();
      }
      if (token == "{" || token == "}" || token == ";") namespace_ahead = false;
      if (token == "namespace") namespace_ahead = true;
      if (token != "extern") continue;
      const bool linkage = i + 2 < tokens_.size() && tokens_[i + 1].kind == Token::kText;
      if (linkage && text(i + 2) == "{") namespace_ahead = true;
      const size_t end = declaration_end(i);
      if (end == 0) continue;
      const bool in_function = !functions.empty() && functions.back();
      result += source_.substr(copied, tokens_[i].begin - copied) + pointer(i, end, in_function);
      copied = tokens_[end].end;
      i = end;
      namespace_ahead = false;
    }
    return result + source_.substr(copied);
  }

 private:
  std::string_view text(size_t i) const {
    return std::string_view(source_).substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
  }

  /// The index of the ; that ends `extern ... __shared__ ... name[];`; 0 if it is something else.
  size_t declaration_end(size_t i) const {
    bool shared = false;
    for (; i < tokens_.size() && text(i) != "{" && tokens_[i].kind != Token::kText; i++) {
      if (text(i) == "__shared__") shared = true;
      if (text(i) == ";")
        return shared && text(i - 1) == "]" && text(i - 2) == "[" &&
                       tokens_[i - 3].kind == Token::kWord
                   ? i
                   : 0;
    }
    return 0;
  }

  std::string pointer(size_t begin, size_t end, bool in_function) const {
    const std::string name(text(end - 3));
    std::string type;
    for (size_t i = begin; i < end - 3; i++) {
      const std::string_view token = text(i);
      if (token == "extern" || token == "__shared__" || token == "static") continue;
      if (token == "__align__" || token == "alignas" || token == "__attribute__") {
        int depth = 0;  // dynamic shared memory is aligned to 16 bytes anyway
        for (i++; i < end - 3; i++) {
          depth += text(i) == "(" ? 1 : text(i) == ")" ? -1 : 0;
          if (depth == 0) break;
        }
        continue;
      }
      type += (type.empty() ? "" : " ") + std::string(token);
    }
    const std::string memory = "static_cast<" + type + "*>(";
    std::string made =
        in_function
            ? type + "* const " + name + " = " + memory + "::wick::words::dynamic_shared());"
            : "static thread_local " + type + "* " + name +
                  "; static const ::wick::words::DynamicName wick_name_of_" + name +
                  "([](void* wick_memory) { " + name + " = " + memory + "wick_memory); });";
    for (size_t i = tokens_[begin].begin; i < tokens_[end].end; i++)
      if (source_[i] == '\n') made += '\n';
    return made;
  }

  const std::string& source_;
  std::vector<Token> tokens_;
};

}  // namespace

std::string with_dynamic_shared(const std::string& source) { return Rewriter(source).run(); }

}  // namespace wick::gpu::emu
