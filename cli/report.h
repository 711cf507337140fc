// What long work shows: a progress bar on a terminal, plain lines otherwise; and a curve of text.
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

/// "[####....] 12/40  text": at most columns - 1 characters. The bar has 24, or what the rest leaves
/// it; what has no room without a bar is cut off.
std::string progress_line(int64_t done, int64_t total, const std::string& text, int columns);

/// A progress bar on stderr.
class Progress {
 public:
  /// Counts steps in [first, total).
  Progress(int64_t first, int64_t total);
  ~Progress();
  /// `done` steps are; `text` says what came of them. A terminal's line is drawn anew at most ten
  /// times a second; otherwise a line is printed each twentieth of the way.
  void update(int64_t done, const std::string& text);
  /// Whether update would show something now: for texts that cost.
  bool due(int64_t done) const;
  /// Prints a line of its own, above the bar.
  void note(const std::string& line);
  double seconds() const;

 private:
  void clear();

  const bool terminal_;
  const int64_t first_, total_;
  bool drawn_ = false;
  int64_t last_line_;
  std::chrono::steady_clock::time_point start_, last_drawing_;
};

struct Series {
  char mark;
  std::string name;
  std::vector<std::pair<double, double>> points;  // x, y; by rising x
};
/// The series in `columns` x `rows` characters, with axes; later ones over earlier ones.
std::string text_plot(const std::vector<Series>& series, int columns = 64, int rows = 14);

}  // namespace wick::cli
