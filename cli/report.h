// Output of long-running commands: a progress bar on a terminal, plain lines otherwise; a plot in
// text.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wick::cli {

/// "1,234,567".
std::string grouped(int64_t number);
/// "%.*f".
std::string decimal(double value, int digits);
double seconds_since(std::chrono::steady_clock::time_point then);
/// Seconds as "0:07", "12:34", "1:02:03".
std::string clock_time(double seconds);

/// "[####....] text": at most columns - 1 characters, as progress_line.
std::string bar_line(int64_t done, int64_t total, const std::string& text, int columns);
/// "[####....] 12/40  text": at most columns - 1 characters. The bar has 24 characters or fewer, as
/// room allows; a line that does not fit even without a bar is truncated.
std::string progress_line(int64_t done, int64_t total, const std::string& text, int columns);

struct ProgressOptions {
  bool log = true;  // off a terminal, print a line every twentieth of the way; else nothing
};

/// A progress bar of steps on stderr.
class Progress {
 public:
  /// Counts steps in [first, total).
  Progress(int64_t first, int64_t total, const ProgressOptions& options = {});
  ~Progress();
  /// Reports that `done` steps are finished, with `text`. On a terminal, redraws the line at most
  /// ten times a second.
  void update(int64_t done, const std::string& text);
  /// Whether update would print now; lets callers skip costly texts.
  bool due(int64_t done) const;
  /// Prints a separate line above the bar.
  void note(const std::string& line);
  double seconds() const;

 private:
  void clear();

  const bool terminal_;
  const ProgressOptions options_;
  const int64_t first_, total_;
  bool drawn_ = false;
  int64_t last_line_;
  std::chrono::steady_clock::time_point start_, last_drawing_;
};

/// "281 of 4,685 MiB  520 MiB/s  0:08 left". first: the bytes that were done at 0 seconds.
std::string bytes_text(int64_t done, int64_t total, double seconds, int64_t first = 0);

/// Progress of bytes on stderr: on a terminal a bar, from the second second on; elsewhere one line
/// at the end if it took as long: "4,685 MiB loaded in 0:09 (520 MiB/s)".
class ByteProgress {
 public:
  /// verb: "loaded", "written". first: bytes that were done before, which do not count as fast.
  explicit ByteProgress(const char* verb, int64_t first = 0);
  /// Removes the bar.
  ~ByteProgress();
  void update(int64_t done, int64_t total);
  void finish();
  /// Removes the bar until the next update, for a line of another kind.
  void clear();

 private:
  const bool terminal_;
  const char* verb_;
  const int64_t first_;
  int64_t done_ = 0;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_, last_drawing_;
};

struct Series {
  char mark;
  std::string name;
  std::vector<std::pair<double, double>> points;  // x, y, sorted by x
};
/// Plots the series in `columns` x `rows` characters, with axes; later series are drawn over
/// earlier ones.
std::string text_plot(const std::vector<Series>& series, int columns = 64, int rows = 14);

}  // namespace wick::cli
