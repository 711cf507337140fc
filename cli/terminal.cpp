#include "terminal.h"

#include <histedit.h>
#include <termios.h>
#include <unistd.h>

#include <clocale>
#include <iostream>
#include <utility>

namespace wick::cli {

bool is_terminal(FILE* file) { return isatty(fileno(file)) != 0; }

std::string without_controls(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); i++) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) continue;
    // U+0080 to U+009F, the other control characters, are C2 80 to C2 9F in UTF-8.
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      i++;
      continue;
    }
    result += char(c);
  }
  return result;
}

void print_text(std::string_view text) {
  const std::string shown = is_terminal(stdout) ? without_controls(text) : std::string(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);
}

namespace {

/// While an instance lives, Ctrl-C on the terminal is a key like others: as a signal it could come
/// between two reads of the editor, which would not see it.
class NoInterruptKey {
 public:
  NoInterruptKey() { set(_POSIX_VDISABLE); }
  ~NoInterruptKey() { set(key_); }
  NoInterruptKey(const NoInterruptKey&) = delete;
  NoInterruptKey& operator=(const NoInterruptKey&) = delete;

 private:
  void set(cc_t key) {
    termios settings;
    if (tcgetattr(STDIN_FILENO, &settings) != 0) return;
    key_ = std::exchange(settings.c_cc[VINTR], key);
    tcsetattr(STDIN_FILENO, TCSANOW, &settings);
  }

  cc_t key_ = 0;
};

}  // namespace

struct LineReader::Editor {
  explicit Editor(const std::string& prompt_text) : prompt(prompt_text) {
    std::setlocale(LC_CTYPE, "");  // libedit reads characters as the locale encodes them
    line = el_init("wick", stdin, stdout, stderr);
    past = history_init();
    HistEvent event;
    history(past, &event, H_SETSIZE, 1000);
    el_set(line, EL_CLIENTDATA, this);
    el_set(
        line, EL_PROMPT, +[](EditLine* e) -> char* {
          Editor* self = nullptr;
          el_get(e, EL_CLIENTDATA, &self);
          return self->prompt.data();
        });
    el_set(line, EL_EDITOR, "emacs");
    el_set(line, EL_HIST, history, past);
    el_set(
        line, EL_ADDFN, "discard-line", "Discard the line", +[](EditLine* e, int) -> unsigned char {
          Editor* self = nullptr;
          el_get(e, EL_CLIENTDATA, &self);
          self->discarded = true;
          return CC_NEWLINE;
        });
    el_set(line, EL_BIND, "^C", "discard-line", nullptr);
  }
  ~Editor() {
    history_end(past);
    el_end(line);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  std::optional<std::string> next() {
    discarded = false;
    int count = 0;
    const char* text = nullptr;
    {
      const NoInterruptKey off;
      text = el_gets(line, &count);
    }
    if (discarded) {
      std::printf("\n");
      std::fflush(stdout);
      return "";
    }
    if (!text || count <= 0) {
      std::printf("\n");  // the shell's prompt gets a line of its own
      return std::nullopt;
    }
    std::string result(text, size_t(count));
    while (!result.empty() && result.back() == '\n') result.pop_back();
    HistEvent event;
    if (!result.empty()) history(past, &event, H_ENTER, result.c_str());
    return result;
  }

  std::string prompt;
  bool discarded = false;  // by Ctrl-C
  EditLine* line;
  History* past;
};

LineReader::LineReader(const std::string& prompt)
    : editor_(is_terminal(stdin) ? std::make_unique<Editor>(prompt) : nullptr) {}
LineReader::~LineReader() = default;

std::optional<std::string> LineReader::next() {
  if (editor_) return editor_->next();
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

}  // namespace wick::cli
