#include "plot_layout.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "report.h"

namespace wick::cli {
namespace {

constexpr double kTitleSize = 26, kTextSize = 21, kTickSize = 19;
constexpr double kLine = 1.25;  // line height relative to the font size
constexpr double kMargin = 22, kGap = 10;
constexpr double kLeader = 26,
                 kSample = 34;  // widths between the frame and a name: a leader line, a line sample
constexpr double kMaxName = 300;

bool plotted(double value) { return std::abs(value) <= kMaxPlotted; }
bool plotted(const std::pair<double, double>& point) {
  return plotted(point.first) && plotted(point.second);
}

constexpr Range kNothing = {INFINITY, -INFINITY};
Range with(Range range, double value) {
  return {std::min(range.low, value), std::max(range.high, value)};
}
Range both(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

/// Widens a range that is too narrow for tick labels to differ: below a millionth of the values'
/// size.
Range widened(Range range) {
  if (range.low > range.high) return {0, 1};
  const double middle = range.low / 2 + range.high / 2, size = std::abs(middle);
  const double least = std::max(1e-6 * size, 1e-290);
  if (range.high - range.low > least) return range;
  const double half = size > 1e-290 ? size / 10 : 1;
  return {middle - half, middle + half};
}

/// The range of all y values; or, for curves of 10 points or more, without the highest and lowest
/// 5%.
Range range_of_y(const Curve& curve, bool all) {
  std::vector<double> values;
  for (const auto& point : curve.points)
    if (plotted(point)) values.push_back(point.second);
  if (values.empty()) return kNothing;
  const size_t few = all || values.size() < 10 ? 0 : std::max<size_t>(1, values.size() / 20);
  const auto nth = [&](size_t n) {
    std::nth_element(values.begin(), values.begin() + ptrdiff_t(n), values.end());
    return values[n];
  };
  return {nth(few), nth(values.size() - 1 - few)};
}
Range range_of_y(const Picture& picture, bool all) {
  Range range = kNothing;
  for (const Curve& curve : picture.curves) range = both(range, range_of_y(curve, all));
  for (const auto& [name, height] : picture.heights)
    if (plotted(height)) range = with(range, height);
  return range;
}

/// The range of y shown, without margins.
Range cropped_y(const Picture& picture) {
  const Range all = range_of_y(picture, true), most = range_of_y(picture, false);
  const double span = most.high - most.low;
  if (!(span > 1e-6 * std::max(std::abs(most.low), std::abs(most.high)))) return all;
  return {std::max(all.low, most.high - 4 * span), std::min(all.high, most.low + 4 * span)};
}

/// "2e6", "-1.5e-7": with enough digits to differ from a value one step away.
std::string scientific(double value, double step) {
  const int digits = int(std::floor(std::log10(std::abs(value)) + 1e-9)) -
                     int(std::floor(std::log10(step) + 1e-9));
  char text[64];
  std::snprintf(text, sizeof text, "%.*e", std::max(0, digits), value);
  const std::string all = text;
  const size_t e = all.find('e');
  return all.substr(0, e + 1) + std::to_string(std::stoi(all.substr(e + 1)));
}

/// The text, truncated with "…" if it does not fit.
std::string fitted(const std::string& text, double size, double room, const TextWidth& width) {
  if (width(text, size) <= room) return text;
  std::vector<size_t> ends;  // character boundaries
  for (size_t i = 0; i < text.size(); i++)
    if ((text[i] & 0xc0) != 0x80) ends.push_back(i);
  const auto cut = [&](size_t end) { return text.substr(0, end) + "…"; };
  const auto longest = std::partition_point(
      ends.begin(), ends.end(), [&](size_t end) { return width(cut(end), size) <= room; });
  return longest == ends.begin() ? "" : cut(*std::prev(longest));
}

/// A text on one line, with the upper left corner of its box at (left, top).
Label label_at(double left, double top, const std::string& text, double size, double room,
               const TextWidth& width) {
  Label label{fitted(text, size, room, width), size};
  label.box = {left, top, left + width(label.text, size), top + size * kLine};
  return label;
}

void move(Rect& box, double right, double down) {
  box.left += right, box.right += right, box.top += down, box.bottom += down;
}

std::string note_of(const Picture& picture, Range shown) {
  const Range all = range_of_y(picture, true);
  const auto number = [&](double value) {  // with three digits
    const double size = std::max(std::abs(value), shown.high - shown.low);
    return tick_labels({std::pow(10, std::floor(std::log10(size)) - 2), {value}})[0];
  };
  std::string note;
  if (all.high > shown.high) note = "up to " + number(all.high) + ", above the frame";
  if (all.low < shown.low)
    note += (note.empty() ? "" : "; ") + ("down to " + number(all.low)) + ", below the frame";
  return note;
}

/// Legend entries at the heights where their lines end; horizontal positions are set later.
std::vector<NameLabel> names_of(const Picture& picture, const Axis& x, const Axis& y,
                                const TextWidth& width) {
  std::vector<NameLabel> names;
  const auto add = [&](const std::string& text, size_t of, double height, bool meets_side) {
    if (text.empty()) return;
    NameLabel name{label_at(0, 0, text, kTextSize, kMaxName, width), of, {}, {}};
    const double place = std::clamp(y.place(height), y.to, y.from);
    move(name.label.box, 0, place - kTextSize * kLine / 2);
    if (meets_side) name.end = place;
    names.push_back(name);
  };
  for (size_t i = 0; i < picture.curves.size(); i++) {
    const auto& points = picture.curves[i].points;
    const auto last = std::find_if(points.rbegin(), points.rend(),
                                   [](const auto& point) { return plotted(point); });
    if (last == points.rend()) continue;
    const bool meets_side = x.range.high - last->first <= (x.range.high - x.range.low) / 50;
    add(picture.curves[i].name, i, last->second, meets_side);
  }
  for (size_t i = 0; i < picture.heights.size(); i++)
    if (const auto& [name, height] = picture.heights[i]; plotted(height))
      add(name, picture.curves.size() + i, height, true);
  return names;
}

/// Places the entries one below another, starting at `left`.
void arrange(std::vector<NameLabel>& names, double left, const Rect& frame,
             const TextWidth& width) {
  const double line = kTextSize * kLine;
  const size_t room = size_t((frame.bottom - frame.top) / line);
  if (names.size() > room) {
    const std::string text = "and " + grouped(int64_t(names.size() - room + 1)) + " more";
    names.resize(room - 1);
    names.push_back({label_at(0, frame.bottom, text, kTextSize, kMaxName, width), {}, {}, {}});
  }
  std::stable_sort(names.begin(), names.end(), [](const NameLabel& a, const NameLabel& b) {
    return a.label.box.top < b.label.box.top;
  });
  std::vector<double> wanted;
  for (const NameLabel& name : names) wanted.push_back(name.label.box.top);
  const std::vector<double> tops = spread(wanted, line, frame.top, frame.bottom - line);
  for (size_t i = 0; i < names.size(); i++) {
    move(names[i].label.box, left + kSample + kGap, tops[i] - wanted[i]);
    names[i].sample = {left, tops[i], left + kSample, tops[i] + line};
  }
}

/// Every n-th tick label, with the smallest n that keeps them apart.
std::vector<Label> with_room(const std::vector<Label>& labels) {
  for (size_t n = 1;; n++) {
    std::vector<Label> some;
    bool apart = true;
    for (size_t i = 0; i < labels.size(); i += n) {
      apart = apart && (some.empty() || some.back().box.right + kGap <= labels[i].box.left);
      some.push_back(labels[i]);
    }
    if (apart) return some;
  }
}

}  // namespace

Ticks ticks(Range range) {
  constexpr int kWanted = 7;  // gives 4 to 10: adjacent steps differ by a factor of at most 2.5
  const auto multiples = [&](double step) {
    // Tolerate rounding: a bound that is nearly a multiple counts as one.
    return std::pair(std::ceil(range.low / step - 1e-6), std::floor(range.high / step + 1e-6));
  };
  const int power = int(std::floor(std::log10((range.high - range.low) / kWanted)));
  double best = 0, least = INFINITY;
  for (const int exponent : {power, power + 1})
    for (const int digit : {1, 2, 5}) {
      const double step = digit * std::pow(10, exponent);
      const auto [first, last] = multiples(step);
      const double off = std::abs(last - first + 1 - kWanted);
      if (off < least) best = step, least = off;
    }
  Ticks result{best, {}};
  const auto [first, last] = multiples(best);
  for (int64_t i = int64_t(first); i <= int64_t(last); i++)
    result.values.push_back(std::clamp(double(i) * best, range.low, range.high));
  return result;
}

std::vector<std::string> tick_labels(const Ticks& ticks) {
  double largest = 0;
  for (const double value : ticks.values) largest = std::max(largest, std::abs(value));
  const int digits = std::max(0, -int(std::floor(std::log10(ticks.step) + 1e-9)));
  std::vector<std::string> labels;
  for (const double value : ticks.values)
    labels.push_back(std::abs(value) < ticks.step / 2         ? "0"
                     : largest >= 1e6 || ticks.step < 0.99e-4 ? scientific(value, ticks.step)
                     : digits == 0                            ? grouped(std::llround(value))
                                                              : decimal(value, digits));
  return labels;
}

Range shown_x(const Picture& picture) {
  Range range = kNothing;
  for (const Curve& curve : picture.curves)
    for (const auto& point : curve.points)
      if (plotted(point)) range = with(range, point.first);
  range = widened(range);
  if (range.low > 0 && range.low < 0.02 * range.high) range.low = 0;
  return range;
}

Range shown_y(const Picture& picture) {
  const Range range = widened(cropped_y(picture));
  const double space = (range.high - range.low) / 20;
  // Do not extend below 0: a loss is never negative.
  const bool above = range.low >= 0, below = range.high <= 0;
  return {above ? std::max(0.0, range.low - space) : range.low - space,
          below ? std::min(0.0, range.high + space) : range.high + space};
}

std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& points,
                                               Range x, int columns) {
  using Point = std::pair<double, double>;
  constexpr double kGapMark = std::numeric_limits<double>::quiet_NaN();
  std::vector<Point> result;
  const auto column_of = [&](double at) { return int((at - x.low) / (x.high - x.low) * columns); };
  int column = -1;
  bool gap = false;  // between the previous point and this one
  const Point *low = nullptr, *high = nullptr, *last = nullptr;
  const auto finish_column = [&] {  // its first point is already in the result
    if (!last) return;
    for (const Point* point : {std::min(low, high), std::max(low, high), last})
      if (*point != result.back()) result.push_back(*point);
    last = nullptr;
  };
  for (const Point& point : points) {
    if (!plotted(point)) {
      gap = true;
      continue;
    }
    if (!last || column_of(point.first) != column) {
      finish_column();
      if (gap && !result.empty()) result.push_back({point.first, kGapMark});
      column = column_of(point.first);
      result.push_back(point);
      low = high = &point;
    }
    if (point.second < low->second) low = &point;
    if (point.second > high->second) high = &point;
    last = &point;
    gap = false;
  }
  finish_column();
  return result;
}

std::vector<double> spread(const std::vector<double>& wanted, double gap, double low, double high) {
  // Subtract i * gap from each place and find the nearest non-decreasing sequence: merge neighbours
  // that would decrease into their mean.
  struct Block {
    double sum;
    int count;
    double mean() const { return sum / count; }
  };
  std::vector<Block> blocks;
  for (size_t i = 0; i < wanted.size(); i++) {
    blocks.push_back({wanted[i] - double(i) * gap, 1});
    while (blocks.size() > 1 && blocks.end()[-2].mean() > blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum, blocks.back().count += last.count;
    }
  }
  std::vector<double> places;
  const double highest = high - gap * (double(wanted.size()) - 1);
  for (const Block& block : blocks)
    for (int i = 0; i < block.count; i++)
      places.push_back(std::max(low, std::min(block.mean(), highest)) +
                       double(places.size()) * gap);
  return places;
}

double Axis::place(double value) const {
  // Clamped, because a drawing uses fixed-point coordinates.
  return from +
         std::clamp((value - range.low) / (range.high - range.low), -100.0, 100.0) * (to - from);
}

Layout layout_of(const Picture& picture, const TextWidth& width) {
  Layout layout;
  const Range x = shown_x(picture), y = shown_y(picture);
  const double all = kPlotWidth - 2 * kMargin;
  layout.x_ticks = ticks(x), layout.y_ticks = ticks(y);

  // The frame takes the space that the surrounding texts leave.
  Rect& frame = layout.frame;
  frame = {kMargin, kMargin, kPlotWidth - 2 * kMargin, kPlotHeight - kMargin};
  layout.title = label_at(frame.left, frame.top, picture.title, kTitleSize, all, width);
  if (!picture.title.empty()) frame.top = layout.title.box.bottom;
  layout.note = label_at(frame.left, frame.top, note_of(picture, y), kTickSize, all, width);
  if (!layout.note.text.empty()) frame.top = layout.note.box.bottom;
  frame.top += 2 * kGap;
  if (!picture.x_label.empty()) frame.bottom -= kTextSize * kLine + kGap;
  const double x_labels_top = frame.bottom - kTickSize * kLine;
  frame.bottom = x_labels_top - kTickSize * kLine / 2;  // the lowest y label lies above
  layout.y = {y, frame.bottom, frame.top};

  if (!picture.y_label.empty()) frame.left += kTextSize * kLine + kGap;
  double widest = 0;
  for (const std::string& text : tick_labels(layout.y_ticks))
    layout.y_labels.push_back(label_at(0, 0, text, kTickSize, all, width)),
        widest = std::max(widest, layout.y_labels.back().box.right);
  for (size_t i = 0; i < layout.y_labels.size(); i++) {
    Rect& box = layout.y_labels[i].box;
    move(box, frame.left + widest - box.right,
         layout.y.place(layout.y_ticks.values[i]) - kTickSize * kLine / 2);
  }
  frame.left += widest + kGap;

  layout.names = names_of(picture, {x, 0, 1}, layout.y, width);
  if (!layout.names.empty()) {
    widest = 0;
    for (const NameLabel& name : layout.names) widest = std::max(widest, name.label.box.right);
    const double left = kPlotWidth - kMargin - widest - kGap - kSample;
    frame.right = left - kLeader;
    arrange(layout.names, left, frame, width);
  }
  layout.x = {x, frame.left, frame.right};

  std::vector<Label> labels;
  const std::vector<std::string> texts = tick_labels(layout.x_ticks);
  for (size_t i = 0; i < texts.size(); i++) {
    labels.push_back(label_at(layout.x.place(layout.x_ticks.values[i]), x_labels_top, texts[i],
                              kTickSize, all, width));
    Rect& box = labels.back().box;
    move(box, -(box.right - box.left) / 2, 0);
    move(box, std::min(0.0, kPlotWidth - kMargin / 2 - box.right), 0);
  }
  layout.x_labels = with_room(labels);

  const double middle = (frame.left + frame.right) / 2;
  layout.x_title = label_at(middle, kPlotHeight - kMargin - kTextSize * kLine, picture.x_label,
                            kTextSize, frame.right - frame.left, width);
  move(layout.x_title.box, -(layout.x_title.box.right - layout.x_title.box.left) / 2, 0);
  layout.y_title.size = kTextSize;
  layout.y_title.text = fitted(picture.y_label, kTextSize, frame.bottom - frame.top, width);
  const double length = width(layout.y_title.text, kTextSize);
  const double top = (frame.top + frame.bottom - length) / 2;
  layout.y_title.box = {kMargin, top, kMargin + kTextSize * kLine, top + length};
  return layout;
}

}  // namespace wick::cli
