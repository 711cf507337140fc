#include "picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "report.h"

namespace wick::cli {
namespace {

// Lengths are units of the picture, y downwards.
constexpr int kWidth = 1200, kHeight = 800;
constexpr double kLeft = 125, kTop = 75, kBottom = 710;  // of the frame; the legend is to its right
constexpr double kMargin = 22, kGap = 12;
constexpr double kTitleSize = 26, kTextSize = 21, kTickSize = 19;  // of fonts
// An em's share of a letter, from above: the viewer chooses the font, so no width is known here.
constexpr double kLetter = 0.62;
constexpr double kSample = 34, kLegendLine = 30;
constexpr int kMaxX = 6, kMaxY = 9;  // steps between ticks: their labels have room

constexpr const char *kInk = "#222222", *kGrid = "#e4e4e4", *kEdge = "#888888", *kWhite = "#ffffff";
/// Apart for every kind of colour vision: Okabe & Ito 2008, without the yellow, too light on white.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#000000"};

using Places = std::vector<std::pair<double, double>>;  // x, y

struct Axis {
  double low, high;  // values
  double from, to;   // their places
  double place(double value) const {
    // Far outside is as good as farther, and not too far for a viewer's numbers.
    return from + std::clamp((value - low) / (high - low), -100.0, 100.0) * (to - from);
  }
};

Axis y_axis(const Picture& picture) {
  double low = INFINITY, high = -INFINITY, usual = -INFINITY;
  for (const Curve& curve : picture.curves) {
    std::vector<double> values;
    for (const auto& [x, y] : curve.points) values.push_back(y);
    if (values.empty()) continue;
    std::sort(values.begin(), values.end());
    low = std::min(low, values.front()), high = std::max(high, values.back());
    usual = std::max(usual, values[values.size() - 1 - values.size() / 20]);
  }
  if (low > high) return {0, 1, kBottom, kTop};
  if (usual > low) high = std::min(high, low + 4 * (usual - low));
  const double space = std::max({(high - low) / 20, std::abs(high) / 1000, 1e-6});
  return {std::max(low - space, std::min(low, 0.0)), high + space, kBottom, kTop};  // no loss < 0
}

/// A length with at most two digits after the point.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string result = text;
  result.erase(result.find_last_not_of('0') + 1);
  if (result.back() == '.') result.pop_back();
  return result == "-0" ? "0" : result;
}

/// NAME="VALUE", after a space.
std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + value + "\"";
}
std::string attribute(const char* name, double value) { return attribute(name, number(value)); }

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

double text_width(const std::string& text, double size) {
  const auto letters =
      std::count_if(text.begin(), text.end(), [](char c) { return (uint8_t(c) & 0xc0) != 0x80; });
  return double(letters) * kLetter * size;
}

enum class Anchor { kStart, kMiddle, kEnd };

/// A line of text whose middle has the height y; the anchor is the part of it that lies at x.
std::string text_at(double x, double y, const std::string& text, double size,
                    Anchor anchor = Anchor::kStart, bool upwards = false) {
  constexpr const char* kNames[] = {"start", "middle", "end"};
  std::string out = "<text" + attribute("x", x) + attribute("y", y) + attribute("dy", "0.35em") +
                    attribute("font-size", size) + attribute("fill", kInk) +
                    attribute("text-anchor", kNames[size_t(anchor)]);
  if (upwards) out += attribute("transform", "rotate(-90 " + number(x) + " " + number(y) + ")");
  return out + ">" + escaped(text) + "</text>\n";
}

std::string line_through(const Places& places, const char* colour, double width) {
  std::string points;
  for (const auto& [x, y] : places)
    points += (points.empty() ? "" : " ") + number(x) + "," + number(y);
  return "<polyline" + attribute("points", points) + attribute("stroke", colour) +
         attribute("stroke-width", width) + "/>\n";
}

std::string curve_through(const Places& places, Stroke stroke, size_t index) {
  const char* colour = kColours[index % std::size(kColours)];
  std::string out = line_through(places, colour, 2.4);
  if (stroke == Stroke::kLineWithDots || places.size() == 1)
    for (const auto& [x, y] : places)
      out += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", 5.5) +
             attribute("fill", colour) + attribute("stroke", kWhite) + "/>\n";
  return out;
}

std::string axes(const Picture& picture, const Axis& x, const Axis& y) {
  std::string out;
  for (const Tick& tick : ticks(x.low, x.high, kMaxX)) {
    const double at = x.place(tick.value);
    out += line_through({{at, kTop}, {at, kBottom}}, kGrid, 1);
    out += text_at(at, kBottom + kGap + kTickSize / 2, tick.label, kTickSize, Anchor::kMiddle);
  }
  for (const Tick& tick : ticks(y.low, y.high, kMaxY)) {
    const double at = y.place(tick.value);
    out += line_through({{kLeft, at}, {x.to, at}}, kGrid, 1);
    out += text_at(kLeft - kGap, at, tick.label, kTickSize, Anchor::kEnd);
  }
  out += line_through({{kLeft, kTop}, {kLeft, kBottom}, {x.to, kBottom}}, kEdge, 1.5);
  out += text_at(kMargin, kMargin + kTitleSize / 2, picture.title, kTitleSize);
  const double middle_x = (kLeft + x.to) / 2, middle_y = (kTop + kBottom) / 2;
  const double edge = kMargin + kTextSize / 2;
  out += text_at(middle_x, kHeight - edge, picture.x_label, kTextSize, Anchor::kMiddle);
  return out + text_at(edge, middle_y, picture.y_label, kTextSize, Anchor::kMiddle, true);
}

std::string drawn(const Picture& picture) {
  double widest = 0, last = 1;
  for (const Curve& curve : picture.curves) {
    widest = std::max(widest, text_width(curve.name, kTextSize));
    for (const auto& [x, y] : curve.points) last = std::max(last, x);
  }
  const double legend = kWidth - kMargin - widest - kGap - kSample;
  const Axis x = {0, last, kLeft, legend - kMargin}, y = y_axis(picture);
  std::string out = axes(picture, x, y), curves;
  for (size_t i = 0; i < picture.curves.size(); i++) {
    const Curve& curve = picture.curves[i];
    const double line = kTop + kLegendLine * (double(i) + 0.5);
    out += curve_through({{legend, line}, {legend + kSample, line}}, curve.stroke, i);
    out += text_at(legend + kSample + kGap, line, curve.name, kTextSize);

    Places places;
    for (const auto& [at, value] : curve.points) places.push_back({x.place(at), y.place(value)});
    if (!places.empty()) curves += curve_through(places, curve.stroke, i);
  }
  return out + "<clipPath id=\"frame\"><rect" + attribute("x", kLeft - kGap) +
         attribute("y", kTop) + attribute("width", x.to - kLeft + 2 * kGap) +
         attribute("height", kBottom - kTop + kGap) +
         "/></clipPath>\n<g clip-path=\"url(#frame)\">\n" + curves + "</g>\n";
}

}  // namespace

std::vector<Tick> ticks(double low, double high, int most) {
  const double least = (high - low) / most;
  double step = std::pow(10, std::floor(std::log10(least)));  // or 2, 5, 10 times that
  for (const double factor : {2.0, 2.5, 2.0})
    if (step < least) step *= factor;
  const int digits = -int(std::floor(std::log10(step) + 1e-9));
  std::vector<Tick> result;
  // A bound that is a multiple but for its rounding is one.
  const auto last = int64_t(std::floor(high / step + 1e-6));
  for (auto i = int64_t(std::ceil(low / step - 1e-6)); i <= last; i++) {
    const double value = double(i) * step;
    char scientific[32];
    std::snprintf(scientific, sizeof scientific, "%g", value);
    result.push_back({value, std::abs(digits) > 6 ? scientific
                             : digits > 0         ? decimal(value, digits)
                                                  : grouped(std::llround(value))});
  }
  return result;
}

std::string svg_of(const Picture& given) {
  Picture picture = given;
  for (Curve& curve : picture.curves)
    std::erase_if(curve.points, [](const auto& point) {
      return !(std::abs(point.first) <= 1e300 && std::abs(point.second) <= 1e300);
    });
  return "<svg" + attribute("xmlns", "http://www.w3.org/2000/svg") + attribute("width", kWidth) +
         attribute("height", kHeight) +
         attribute("viewBox", "0 0 " + number(kWidth) + " " + number(kHeight)) +
         attribute("font-family", "sans-serif") + ">\n<rect" + attribute("width", "100%") +
         attribute("height", "100%") + attribute("fill", kWhite) + "/>\n<g" +
         attribute("fill", "none") + attribute("stroke-linejoin", "round") +
         attribute("stroke-linecap", "round") + ">\n" + drawn(picture) + "</g>\n</svg>\n";
}

}  // namespace wick::cli
