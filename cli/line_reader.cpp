#include "line_reader.h"

#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string_view>
#include <utility>

#include "controls.h"
#include "history.h"
#include "printable.h"
#include "terminal.h"
#include "wick/base/error.h"

namespace wick::cli {
namespace {

/// libedit reads characters as the locale encodes them; C.UTF-8 is part of glibc.
void require_utf8() {
  const char* own = std::setlocale(LC_CTYPE, "");
  if (!own || std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
}

/// Whether the terminal knows control sequences, such as xterm's.
bool knows_sequences() {
  const char* kind = std::getenv("TERM");
  return kind && *kind && std::string_view(kind) != "dumb";
}

/// While an instance lives, the terminal puts kPasteBegins and kPasteEnds around a pasted text.
/// Source: XTerm Control Sequences, "Bracketed Paste Mode".
class BracketedPaste {
 public:
  BracketedPaste() { set('h'); }
  ~BracketedPaste() { set('l'); }
  BracketedPaste(const BracketedPaste&) = delete;
  BracketedPaste& operator=(const BracketedPaste&) = delete;

  static void set(char state) {
    if (!knows_sequences()) return;
    std::fprintf(raw_stdout(), "\033[?2004%c", state);
    std::fflush(raw_stdout());
  }
};
constexpr const char* kPasteBegins = "\033[200~";
constexpr std::string_view kPasteEnds = "\033[201~";

/// A pasted text as one line of the editor: newlines as such, no other control characters.
std::string cleaned(std::string_view pasted) {
  std::string text(pasted);
  std::replace(text.begin(), text.end(), '\r', '\n');  // terminals send the Enter key's character
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return without_controls(text);
}

}  // namespace

struct LineReader::Editor {
  Editor(const std::string& prompt_text, const std::string& history_file)
      : prompt(prompt_text), kept(history_file) {
    require_utf8();
    line = el_init("wick", stdin, raw_stdout(), raw_stderr());
    past = history_init();
    HistEvent event;
    history(past, &event, H_SETSIZE, int(TypedLines::kMaxLines));
    for (const std::string& text : kept.lines()) history(past, &event, H_ENTER, text.c_str());
    el_set(line, EL_CLIENTDATA, this);
    el_set(
        line, EL_PROMPT, +[](EditLine* e) -> char* { return of(e)->prompt.data(); });
    el_set(line, EL_EDITOR, "emacs");
    el_set(line, EL_HIST, history, past);
    el_set(line, EL_SIGNAL, 1);  // libedit takes note of a new window size
    // Ctrl-C and Ctrl-Z are keys like others: as signals they could come between two reads of the
    // editor, which would not see them.
    el_set(line, EL_SETTY, "-d", "-isig", nullptr);
    el_set(
        line, EL_ADDFN, "discard-line", "Discard the line", +[](EditLine* e, int) -> unsigned char {
          of(e)->discarded = true;
          return CC_NEWLINE;
        });
    el_set(line, EL_BIND, "^C", "discard-line", nullptr);
    el_set(
        line, EL_ADDFN, "suspend", "Stop the program", +[](EditLine* e, int) -> unsigned char {
          suspend(e);
          el_set(e, EL_REFRESH);  // draws below the shell's lines, not over them
          return CC_NORM;
        });
    el_set(line, EL_BIND, "^Z", "suspend", nullptr);
    el_set(
        line, EL_ADDFN, "insert-paste", "Insert a pasted text",
        +[](EditLine* e, int) -> unsigned char {
          const std::string text = cleaned(pasted(e));
          return !text.empty() && el_insertstr(e, text.c_str()) != 0 ? CC_ERROR : CC_REFRESH;
        });
    el_set(line, EL_BIND, kPasteBegins, "insert-paste", nullptr);
  }
  ~Editor() {
    history_end(past);
    el_end(line);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  std::optional<std::string> next() {
    std::fflush(stdout);
    discarded = false;
    int count = 0;
    const char* text = nullptr;
    {
      const BracketedPaste on;
      el_resize(line);  // the window may have changed while no line was read
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
    if (!result.empty()) remember(result);
    return result;
  }

 private:
  static Editor* of(EditLine* e) {
    Editor* self = nullptr;
    el_get(e, EL_CLIENTDATA, &self);
    return self;
  }

  /// Stops the process group, as the terminal does for Ctrl-Z, until fg.
  static void suspend(EditLine* e) {
    BracketedPaste::set('l');
    el_set(e, EL_PREP_TERM, 0);
    // libedit's handlers would be gone after the first stop.
    struct sigaction plain {
    }, stop, go_on;
    plain.sa_handler = SIG_DFL;
    sigaction(SIGTSTP, &plain, &stop);
    sigaction(SIGCONT, &plain, &go_on);
    kill(0, SIGTSTP);
    sigaction(SIGTSTP, &stop, nullptr);
    sigaction(SIGCONT, &go_on, nullptr);
    el_set(e, EL_PREP_TERM, 1);
    BracketedPaste::set('h');
  }

  /// Reads a paste up to kPasteEnds, or to the end of the input.
  static std::string pasted(EditLine* e) {
    std::string text;
    wchar_t character = 0;
    char bytes[MB_LEN_MAX];
    while (!std::string_view(text).ends_with(kPasteEnds) && el_wgetc(e, &character) == 1) {
      const int count = std::wctomb(bytes, character);
      if (count > 0) text.append(bytes, size_t(count));
    }
    if (text.ends_with(kPasteEnds)) text.resize(text.size() - kPasteEnds.size());
    return text;
  }

  void remember(const std::string& text) {
    HistEvent event;
    history(past, &event, H_ENTER, text.c_str());
    try {
      kept.add(text);
    } catch (const Error& error) {
      std::fprintf(stderr, "wick: warning: %s\n", printable(error.what()).c_str());
    }
  }

  std::string prompt;
  bool discarded = false;  // by Ctrl-C
  TypedLines kept;
  EditLine* line;
  History* past;
};

LineReader::LineReader(const std::string& prompt, const std::string& history_file)
    : editor_(is_terminal(STDIN_FILENO) ? std::make_unique<Editor>(prompt, history_file)
                                        : nullptr) {}
LineReader::~LineReader() = default;

std::optional<std::string> LineReader::next() {
  if (editor_) return editor_->next();
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

}  // namespace wick::cli
