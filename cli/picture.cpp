#include "picture.h"

#include <cairo.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>
#include <stdexcept>

#include "report.h"

namespace wick::cli {
namespace {

// Lengths are units of 2 x 2 pixels, y downwards.
constexpr int kScale = 2, kWidth = 1200, kHeight = 800;
constexpr double kLeft = 125, kTop = 75, kBottom = 710;  // of the frame; the legend is to its right
constexpr double kMargin = 22, kGap = 12;
constexpr double kTitleSize = 26, kTextSize = 21, kTickSize = 19;  // of fonts
constexpr double kSample = 34, kLegendLine = 30;
constexpr int kMostX = 6, kMostY = 9;  // steps between ticks: their labels have room

constexpr int kInk = 0x222222, kGrid = 0xe4e4e4, kEdge = 0x888888, kWhite = 0xffffff;
/// Apart for every kind of colour vision: Okabe & Ito 2008, without the yellow, too light on white.
constexpr int kColours[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x000000};

using Places = std::vector<std::pair<double, double>>;  // x, y

void check_status(cairo_status_t status) {
  if (status != CAIRO_STATUS_SUCCESS)
    throw std::runtime_error(std::string("picture: cairo: ") + cairo_status_to_string(status));
}

struct Axis {
  double low, high;  // values
  double from, to;   // their places
  double place(double value) const {
    // Far outside is as good as farther, and not too far for cairo's fixed point.
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

void set(cairo_t* c, int colour) {
  cairo_set_source_rgb(c, (colour >> 16) / 255.0, (colour >> 8 & 255) / 255.0,
                       (colour & 255) / 255.0);
}

double text_width(cairo_t* c, const std::string& text, double size) {
  cairo_set_font_size(c, size);
  cairo_text_extents_t extents;
  cairo_text_extents(c, text.c_str(), &extents);
  return extents.x_advance;
}

/// A line of text whose middle has the height y; `part` of it lies before x.
void draw_text(cairo_t* c, double x, double y, const std::string& text, double size,
               double part = 0, bool upwards = false) {
  const double width = text_width(c, text, size);
  cairo_font_extents_t font;
  cairo_font_extents(c, &font);
  cairo_save(c);
  cairo_translate(c, x, y);
  if (upwards) cairo_rotate(c, -std::numbers::pi / 2);
  cairo_move_to(c, -part * width, (font.ascent - font.descent) / 2);
  set(c, kInk);
  cairo_show_text(c, text.c_str());
  cairo_restore(c);
}

void draw_line(cairo_t* c, const Places& places, int colour, double width) {
  cairo_new_path(c);
  for (const auto& [x, y] : places) {
    if (!cairo_has_current_point(c)) cairo_move_to(c, x, y);
    cairo_line_to(c, x, y);
  }
  set(c, colour);
  cairo_set_line_width(c, width);
  cairo_stroke(c);
}

void draw_curve(cairo_t* c, const Places& places, Stroke stroke, size_t index) {
  const int colour = kColours[index % std::size(kColours)];
  constexpr double kDash[] = {5, 6};
  const bool dashes = stroke == Stroke::kDashes;
  // Of two levels at one height, each shows in the gaps of the other.
  cairo_set_dash(c, kDash, dashes ? 2 : 0, 5.5 * double(index % 2));
  draw_line(c, places, colour, dashes ? 1.6 : 2.4);
  cairo_set_dash(c, nullptr, 0, 0);
  if (stroke == Stroke::kLineWithDots || places.size() == 1)
    for (const auto& place : places) {
      draw_line(c, {place}, kWhite, 12);
      draw_line(c, {place}, colour, 10);
    }
}

void draw_axes(cairo_t* c, const Picture& picture, const Axis& x, const Axis& y) {
  for (const Tick& tick : ticks(x.low, x.high, kMostX)) {
    const double at = x.place(tick.value);
    draw_line(c, {{at, kTop}, {at, kBottom}}, kGrid, 1);
    draw_text(c, at, kBottom + kGap + kTickSize / 2, tick.label, kTickSize, 0.5);
  }
  for (const Tick& tick : ticks(y.low, y.high, kMostY)) {
    const double at = y.place(tick.value);
    draw_line(c, {{kLeft, at}, {x.to, at}}, kGrid, 1);
    draw_text(c, kLeft - kGap, at, tick.label, kTickSize, 1);
  }
  draw_line(c, {{kLeft, kTop}, {kLeft, kBottom}, {x.to, kBottom}}, kEdge, 1.5);
  draw_text(c, kMargin, kMargin + kTitleSize / 2, picture.title, kTitleSize);
  const double middle_x = (kLeft + x.to) / 2, middle_y = (kTop + kBottom) / 2;
  const double edge = kMargin + kTextSize / 2;
  draw_text(c, middle_x, kHeight - edge, picture.x_label, kTextSize, 0.5);
  draw_text(c, edge, middle_y, picture.y_label, kTextSize, 0.5, true);
}

void draw(cairo_t* c, const Picture& picture) {
  cairo_scale(c, kScale, kScale);
  set(c, kWhite);
  cairo_paint(c);
  cairo_set_line_join(c, CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_cap(c, CAIRO_LINE_CAP_ROUND);
  // The font without serifs that fontconfig chooses, or cairo's own if it has none.
  cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  double widest = 0, last = 1;
  for (const Curve& curve : picture.curves) {
    widest = std::max(widest, text_width(c, curve.name, kTextSize));
    for (const auto& [x, y] : curve.points) last = std::max(last, x);
  }
  const double legend = kWidth - kMargin - widest - kGap - kSample;
  const Axis x = {0, last, kLeft, legend - kMargin}, y = y_axis(picture);
  draw_axes(c, picture, x, y);
  for (size_t i = 0; i < picture.curves.size(); i++) {
    const Curve& curve = picture.curves[i];
    const double line = kTop + kLegendLine * (double(i) + 0.5);
    draw_curve(c, {{legend, line}, {legend + kSample, line}}, curve.stroke, i);
    draw_text(c, legend + kSample + kGap, line, curve.name, kTextSize);

    Places places;
    for (const auto& [at, value] : curve.points) places.push_back({x.place(at), y.place(value)});
    cairo_save(c);
    cairo_rectangle(c, kLeft - kGap, kTop, x.to - kLeft + 2 * kGap, kBottom - kTop + kGap);
    cairo_clip(c);
    draw_curve(c, places, curve.stroke, i);
    cairo_restore(c);
  }
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

std::string png_of(const Picture& given) {
  Picture picture = given;
  for (Curve& curve : picture.curves)
    std::erase_if(curve.points, [](const auto& point) {
      return !(std::abs(point.first) <= 1e300 && std::abs(point.second) <= 1e300);
    });

  const std::shared_ptr<cairo_surface_t> surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, kWidth * kScale, kHeight * kScale),
      cairo_surface_destroy);
  const std::shared_ptr<cairo_t> cairo(cairo_create(surface.get()), cairo_destroy);
  draw(cairo.get(), picture);
  check_status(cairo_status(cairo.get()));
  std::string bytes;
  const auto append = [](void* to, const unsigned char* data, unsigned length) {
    static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), length);
    return CAIRO_STATUS_SUCCESS;
  };
  check_status(cairo_surface_write_to_png_stream(surface.get(), append, &bytes));
  return bytes;
}

}  // namespace wick::cli
