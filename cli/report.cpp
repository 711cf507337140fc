#include "report.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "terminal.h"

namespace wick::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Whether stderr is a terminal whose lines can be redrawn.
bool is_bar_terminal() {
  const char* kind = std::getenv("TERM");
  return is_terminal(STDERR_FILENO) && kind && std::string(kind) != "dumb";
}

constexpr const char* kClearLine = "\r\033[K";
constexpr double kWorthReporting = 1;  // seconds

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (int64_t at = int64_t(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
    text.insert(size_t(at), 1, ',');
  return text;
}

std::string decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

std::string clock_time(double seconds) {
  const int64_t s = std::max<int64_t>(0, std::llround(seconds));
  char text[48];
  if (s >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02d:%02d", (long long)(s / 3600), int(s / 60 % 60),
                  int(s % 60));
  else
    std::snprintf(text, sizeof text, "%d:%02d", int(s / 60), int(s % 60));
  return text;
}

// ---- progress

std::string progress_line(int64_t done, int64_t total, const std::string& text, int columns) {
  const std::string of = std::to_string(total), so_far = std::to_string(done);
  const std::string numbers =
      std::string(of.size() - std::min(of.size(), so_far.size()), ' ') + so_far + "/" + of;
  return bar_line(done, total, numbers + "  " + text, columns);
}

std::string bar_line(int64_t done, int64_t total, const std::string& text, int columns) {
  // A line that reached the last column would wrap and could not be redrawn.
  const int room = columns - 1 - int(text.size());
  const int bar = std::clamp(room - int(std::string_view("[] ").size()), 0, 24);
  const int full = int(bar * double(done) / double(std::max<int64_t>(1, total)));
  std::string line = text;
  if (bar > 0)
    line =
        "[" + std::string(size_t(full), '#') + std::string(size_t(bar - full), '.') + "] " + line;
  return line.substr(0, size_t(std::max(1, columns - 1)));
}

Progress::Progress(int64_t first, int64_t total, const ProgressOptions& options)
    : terminal_(is_bar_terminal()),
      options_(options),
      first_(first),
      total_(total),
      last_line_(first),
      start_(Clock::now()) {}
Progress::~Progress() {
  if (drawn_) std::fputc('\n', raw_stderr());
}

double Progress::seconds() const { return seconds_since(start_); }

bool Progress::due(int64_t done) const {
  if (!terminal_ && !options_.log) return false;
  if (done >= total_) return true;
  if (terminal_) return !drawn_ || seconds_since(last_drawing_) > 0.1;
  return (done - last_line_) * 20 >= total_;
}

void Progress::update(int64_t done, const std::string& text) {
  if (!due(done)) return;
  const double left = done > first_ ? seconds() / double(done - first_) * double(total_ - done) : 0;
  const std::string times = clock_time(seconds()) + ", " + clock_time(left) + " left";
  const int width = int(std::to_string(total_).size());
  if (!terminal_) {
    std::fprintf(stderr, "step %*lld of %lld  %s  (%s)\n", width, (long long)done,
                 (long long)total_, text.c_str(), times.c_str());
    last_line_ = done;
    return;
  }
  const std::string line = progress_line(done, total_, text + "  " + times, terminal_columns());
  std::fprintf(raw_stderr(), "%s%s", kClearLine, line.c_str());
  drawn_ = true;
  last_drawing_ = Clock::now();
}

void Progress::note(const std::string& line) {
  clear();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void Progress::clear() {
  if (drawn_) std::fputs(kClearLine, raw_stderr());
  drawn_ = false;
}

std::string bytes_text(int64_t done, int64_t total, double seconds, int64_t first) {
  const double rate = seconds > 0 ? double(done - first) / seconds : 0;
  const double left = rate > 0 ? double(total - done) / rate : 0;
  return grouped(done >> 20) + " of " + grouped(total >> 20) + " MiB  " +
         grouped(std::llround(rate / double(1 << 20))) + " MiB/s  " + clock_time(left) + " left";
}

ByteProgress::ByteProgress(const char* verb, int64_t first)
    : terminal_(is_bar_terminal()), verb_(verb), first_(first), start_(Clock::now()) {}
ByteProgress::~ByteProgress() { clear(); }

void ByteProgress::update(int64_t done, int64_t total) {
  done_ = done;
  const double seconds = seconds_since(start_);
  if (!terminal_ || seconds < kWorthReporting || (drawn_ && seconds_since(last_drawing_) < 0.1))
    return;
  const std::string line =
      bar_line(done, total, bytes_text(done, total, seconds, first_), terminal_columns());
  std::fprintf(raw_stderr(), "%s%s", kClearLine, line.c_str());
  drawn_ = true;
  last_drawing_ = Clock::now();
}

void ByteProgress::finish() {
  clear();
  const double seconds = seconds_since(start_);
  const int64_t mebibytes = (done_ - first_) >> 20;
  if (terminal_ || seconds < kWorthReporting || done_ == first_) return;
  std::fprintf(stderr, "%s MiB %s in %s (%s MiB/s)\n", grouped(mebibytes).c_str(), verb_,
               clock_time(seconds).c_str(),
               grouped(std::llround(double(mebibytes) / seconds)).c_str());
}

void ByteProgress::clear() {
  if (drawn_) std::fputs(kClearLine, raw_stderr());
  drawn_ = false;
}

// ---- text plot

std::string text_plot(const std::vector<Series>& series, int columns, int rows) {
  double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
  for (const Series& s : series)
    for (const auto& [x, y] : s.points) {
      x0 = std::min(x0, x), x1 = std::max(x1, x);
      y0 = std::min(y0, y), y1 = std::max(y1, y);
    }
  if (x0 > x1) return "";
  if (x1 == x0) x1 = x0 + 1;
  if (y1 == y0) y1 = y0 + 1;
  std::vector<std::string> lines(size_t(rows), std::string(size_t(columns), ' '));
  for (const Series& s : series) {
    // Points in the same column are averaged.
    std::vector<std::pair<double, int>> sums(static_cast<size_t>(columns));
    for (const auto& [x, y] : s.points) {
      auto& [sum, count] = sums[size_t(std::lround((x - x0) / (x1 - x0) * (columns - 1)))];
      sum += y, count++;
    }
    for (int column = 0; column < columns; column++) {
      const auto& [sum, count] = sums[size_t(column)];
      if (count == 0) continue;
      const double height = (sum / count - y0) / (y1 - y0);
      lines[size_t(std::lround((1 - height) * (rows - 1)))][size_t(column)] = s.mark;
    }
  }
  std::string text;
  for (int row = 0; row < rows; row++) {
    char label[32] = "";
    if (row % 4 == 0 || row == rows - 1)
      std::snprintf(label, sizeof label, "%.2f", y1 - (y1 - y0) * row / (rows - 1));
    char edge[48];
    std::snprintf(edge, sizeof edge, "%8s |", label);
    std::string line = edge + lines[size_t(row)];
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  text += std::string(8, ' ') + " +" + std::string(size_t(columns), '-') + "\n";
  const std::string from = grouped(std::llround(x0)), to = grouped(std::llround(x1));
  const int gap = std::max(1, columns - int(from.size() + to.size()));
  text += std::string(10, ' ') + from + std::string(size_t(gap), ' ') + to + "\n";
  text += std::string(10, ' ');
  for (const Series& s : series) text += std::string(1, s.mark) + " " + s.name + "   ";
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace wick::cli
