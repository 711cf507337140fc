#include "picture.h"

#include <cairo.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <numbers>
#include <span>
#include <stdexcept>

#include "plot_layout.h"

namespace wick::cli {
namespace {

constexpr int kScale = 2;     // pixels per unit
constexpr double kDot = 5.5;  // radius of a dot

struct Colour {
  double red, green, blue;
};
constexpr Colour from_hex(int hex) {
  return {(hex >> 16) / 255.0, (hex >> 8 & 255) / 255.0, (hex & 255) / 255.0};
}
constexpr Colour kInk = from_hex(0x222222), kFaint = from_hex(0x555555), kGrid = from_hex(0xe4e4e4),
                 kEdge = from_hex(0x888888), kLevel = from_hex(0x666666);
/// Distinguishable for all kinds of colour vision: Okabe & Ito 2008, without yellow, which is too
/// light on white.
constexpr Colour kColours[] = {from_hex(0x0072b2), from_hex(0xd55e00), from_hex(0x009e73),
                               from_hex(0xcc79a7), from_hex(0xe69f00), from_hex(0x56b4e9),
                               from_hex(0x000000)};
constexpr double kLongDashes[] = {14, 5}, kShortDashes[] = {6, 4}, kDots[] = {2, 4};
const std::span<const double> kDashes[] = {{}, kLongDashes, kShortDashes, kDots};

struct Line {
  Colour colour;
  std::span<const double> dashes;
  double width;
  bool dots;
};
Line line_of(const Picture& picture, size_t of) {
  const size_t count = std::size(kColours);
  if (of >= picture.curves.size()) return {kLevel, kShortDashes, 1.6, false};
  return {kColours[of % count], kDashes[of / count % std::size(kDashes)], 2.4,
          picture.curves[of].dots};
}

struct Free {
  void operator()(cairo_t* c) const { cairo_destroy(c); }
  void operator()(cairo_surface_t* s) const { cairo_surface_destroy(s); }
};

void check_status(cairo_status_t status) {
  if (status == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
  if (status != CAIRO_STATUS_SUCCESS)
    throw std::runtime_error(std::string("picture: cairo: ") + cairo_status_to_string(status));
}

/// Draws in layout units, in a sans-serif font chosen by fontconfig, or cairo's built-in font.
class Canvas {
 public:
  Canvas(double width, double height)
      : surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, int(width) * kScale,
                                            int(height) * kScale)),
        cairo_(cairo_create(surface_.get())) {
    cairo_scale(*this, kScale, kScale);
    cairo_select_font_face(*this, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_font_options_t* options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(*this, options);
    cairo_font_options_destroy(options);
    cairo_set_line_join(*this, CAIRO_LINE_JOIN_ROUND);
    cairo_set_source_rgb(*this, 1, 1, 1);
    cairo_paint(*this);
  }
  operator cairo_t*() const { return cairo_.get(); }

  double width(const std::string& text, double size) const {
    cairo_set_font_size(*this, size);
    cairo_text_extents_t extents;
    cairo_text_extents(*this, text.c_str(), &extents);
    return extents.x_advance;
  }
  void text(const Label& label, Colour colour, bool upwards = false) const {
    const auto& [left, top, right, bottom] = label.box;
    const double across = upwards ? right - left : bottom - top;
    cairo_set_font_size(*this, label.size);
    cairo_font_extents_t font;
    cairo_font_extents(*this, &font);
    const double down = (across + font.ascent - font.descent) / 2;
    cairo_save(*this);
    cairo_translate(*this, upwards ? left + down : left, upwards ? bottom : top + down);
    if (upwards) cairo_rotate(*this, -std::numbers::pi / 2);
    cairo_move_to(*this, 0, 0);
    set(colour);
    cairo_show_text(*this, label.text.c_str());
    cairo_restore(*this);
  }
  void set(Colour colour) const {
    cairo_set_source_rgb(*this, colour.red, colour.green, colour.blue);
  }
  /// Strokes the current path.
  void stroke(Colour colour, double width, std::span<const double> dashes = {}) const {
    set(colour);
    cairo_set_line_width(*this, width);
    cairo_set_dash(*this, dashes.data(), int(dashes.size()), 0);
    cairo_set_line_cap(*this, dashes.empty() ? CAIRO_LINE_CAP_ROUND : CAIRO_LINE_CAP_BUTT);
    cairo_stroke(*this);
  }
  void line(double x0, double y0, double x1, double y1) const {
    cairo_move_to(*this, x0, y0);
    cairo_line_to(*this, x1, y1);
  }
  void dot(double x, double y, Colour colour) const {
    cairo_new_path(*this);
    cairo_arc(*this, x, y, kDot, 0, 2 * std::numbers::pi);
    set(colour);
    cairo_fill_preserve(*this);
    stroke({1, 1, 1}, 1.2);
  }

  std::string png() const {
    check_status(cairo_status(*this));
    std::string bytes;
    const auto append = [](void* to, const unsigned char* data, unsigned length) {
      static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), length);
      return CAIRO_STATUS_SUCCESS;
    };
    check_status(cairo_surface_write_to_png_stream(surface_.get(), append, &bytes));
    return bytes;
  }

 private:
  std::unique_ptr<cairo_surface_t, Free> surface_;
  std::unique_ptr<cairo_t, Free> cairo_;
};

/// Makes a text acceptable to cairo: control characters become spaces, and if it is not UTF-8, each
/// non-ASCII byte becomes "?".
std::string drawable(std::string text) {
  for (char& c : text)
    if (uint8_t(c) < ' ' || c == 127) c = ' ';
  const Canvas canvas(1, 1);
  canvas.width(text, 10);
  if (cairo_status(canvas) == CAIRO_STATUS_INVALID_STRING)
    for (char& c : text)
      if (uint8_t(c) > 127) c = '?';
  return text;
}

void draw_axes(const Canvas& canvas, const Layout& layout) {
  const Rect& frame = layout.frame;
  for (const double value : layout.x_ticks.values)
    canvas.line(layout.x.place(value), frame.top, layout.x.place(value), frame.bottom);
  for (const double value : layout.y_ticks.values)
    canvas.line(frame.left, layout.y.place(value), frame.right, layout.y.place(value));
  canvas.stroke(kGrid, 1);
  cairo_move_to(canvas, frame.left, frame.top);
  cairo_line_to(canvas, frame.left, frame.bottom);
  cairo_line_to(canvas, frame.right, frame.bottom);
  canvas.stroke(kEdge, 1.5);
  for (const Label& label : layout.x_labels) canvas.text(label, kInk);
  for (const Label& label : layout.y_labels) canvas.text(label, kInk);
  canvas.text(layout.title, kInk);
  canvas.text(layout.note, kFaint);
  canvas.text(layout.x_title, kInk);
  canvas.text(layout.y_title, kInk, true);
}

void draw_curve(const Canvas& canvas, const Layout& layout, const Curve& curve, const Line& line) {
  const Rect& frame = layout.frame;
  const auto points = thinned(curve.points, layout.x.range, int(frame.right - frame.left) * kScale);
  const auto is_gap = [&](size_t i) { return i >= points.size() || std::isnan(points[i].second); };
  cairo_save(canvas);
  cairo_rectangle(canvas, frame.left - 2, frame.top, frame.right - frame.left + 4,
                  frame.bottom - frame.top + 2);
  cairo_clip(canvas);
  for (size_t i = 0; i < points.size(); i++) {
    if (is_gap(i)) continue;
    const double x = layout.x.place(points[i].first), y = layout.y.place(points[i].second);
    if (is_gap(i - 1))
      cairo_move_to(canvas, x, y);
    else
      cairo_line_to(canvas, x, y);
  }
  canvas.stroke(line.colour, line.width, line.dashes);
  cairo_restore(canvas);
  double last = -INFINITY;
  for (size_t i = 0; i < points.size(); i++) {
    if (is_gap(i)) continue;
    const double x = layout.x.place(points[i].first), y = layout.y.place(points[i].second);
    const bool alone = is_gap(i - 1) && is_gap(i + 1);  // no line makes the point visible
    if (!(alone || (line.dots && x - last >= 2 * kDot)) || y < frame.top || y > frame.bottom)
      continue;
    canvas.dot(x, y, line.colour);
    last = x;
  }
}

void draw_names(const Canvas& canvas, const Layout& layout, const Picture& picture) {
  for (const NameLabel& name : layout.names) {
    canvas.text(name.label, name.of ? kInk : kFaint);
    if (!name.of) continue;
    const Line line = line_of(picture, *name.of);
    const auto& [left, top, right, bottom] = name.sample;
    const double y = (top + bottom) / 2;
    canvas.line(left, y, right, y);
    canvas.stroke(line.colour, line.width, line.dashes);
    if (line.dots) canvas.dot((left + right) / 2, y, line.colour);
    if (!name.end) continue;
    canvas.line(layout.frame.right + 8, *name.end, left - 4, y);
    canvas.stroke(line.colour, 0.8);
  }
}

}  // namespace

double text_width(const std::string& text, double size) {
  // A separate canvas: a text that is not UTF-8 leaves it in an error state.
  return Canvas(1, 1).width(text, size);
}

std::string png_of(const Picture& given) {
  Picture picture = given;
  for (std::string* text : {&picture.title, &picture.x_label, &picture.y_label})
    *text = drawable(*text);
  for (Curve& curve : picture.curves) curve.name = drawable(curve.name);
  for (auto& [name, height] : picture.heights) name = drawable(name);

  const Canvas canvas(kPlotWidth, kPlotHeight);
  const Layout layout = layout_of(picture, text_width);
  draw_axes(canvas, layout);
  for (size_t i = 0; i < picture.heights.size(); i++) {
    const double height = picture.heights[i].second, y = layout.y.place(height);
    if (!(std::abs(height) <= kMaxPlotted)) continue;
    const Line line = line_of(picture, picture.curves.size() + i);
    canvas.line(layout.frame.left, y, layout.frame.right, y);
    canvas.stroke(line.colour, line.width, line.dashes);
  }
  for (size_t i = 0; i < picture.curves.size(); i++)
    draw_curve(canvas, layout, picture.curves[i], line_of(picture, i));
  draw_names(canvas, layout, picture);
  return canvas.png();
}

}  // namespace wick::cli
