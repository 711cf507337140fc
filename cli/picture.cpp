#include "picture.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "font.h"
#include "report.h"

namespace wick::cli {
namespace {

constexpr int kWidth = 960, kHeight = 560;
constexpr int kFine = 2;  // drawn this much larger, then averaged: smooth edges
constexpr int kLeft = 80, kRight = 30, kTop = 50, kBottom = 64;
constexpr Colour kBlack = {40, 40, 40}, kGrey = {225, 225, 225}, kMiddle = {130, 130, 130};

/// Not std::hypot, which g++ 12 on Debian 12 binds to a symbol of glibc 2.35.
double length(double x, double y) { return std::sqrt(x * x + y * y); }

/// Pixels, in coordinates of the finished picture.
class Canvas {
 public:
  Canvas() : pixels_(size_t(kWidth * kFine) * (kHeight * kFine), Colour{255, 255, 255}) {}

  void dot(double x, double y, double radius, Colour colour) {
    const double cx = x * kFine, cy = y * kFine, r = radius * kFine;
    for (int py = int(std::floor(cy - r)); py <= int(std::ceil(cy + r)); py++)
      for (int px = int(std::floor(cx - r)); px <= int(std::ceil(cx + r)); px++)
        if (length(px + 0.5 - cx, py + 0.5 - cy) <= r) set(px, py, colour);
  }
  void line(double x0, double y0, double x1, double y1, double width, Colour colour) {
    const int steps = 1 + int(length(x1 - x0, y1 - y0) * kFine * 2);
    for (int i = 0; i <= steps; i++) {
      const double at = double(i) / steps;
      dot(x0 + (x1 - x0) * at, y0 + (y1 - y0) * at, width / 2, colour);
    }
  }
  void box(double x0, double y0, double x1, double y1, Colour colour) {
    for (int y = int(y0 * kFine); y < int(y1 * kFine); y++)
      for (int x = int(x0 * kFine); x < int(x1 * kFine); x++) set(x, y, colour);
  }
  /// Draws text with its upper left corner at (x, y); upwards: turned by a quarter, its lower left
  /// corner there.
  void text(double x, double y, const std::string& text, Colour colour, int size = 2,
            bool upwards = false) {
    for (size_t i = 0; i < text.size(); i++) {
      const int letter = text[i] >= ' ' && text[i] <= '~' ? text[i] - ' ' : '?' - ' ';
      for (int c = 0; c < kLetterColumns; c++)
        for (int r = 0; r < kLetterRows; r++) {
          if (!(kLetters[letter][c] >> r & 1)) continue;
          const double along = (double(i) * (kLetterColumns + 1) + c) * size, down = r * size;
          const double px = upwards ? x + down : x + along,
                       py = upwards ? y - along - size : y + down;
          box(px, py, px + size, py + size, colour);
        }
    }
  }

  /// Rows of red, green, blue bytes.
  std::vector<uint8_t> finished() const {
    std::vector<uint8_t> bytes;
    bytes.reserve(size_t(kWidth) * kHeight * 3);
    for (int y = 0; y < kHeight; y++)
      for (int x = 0; x < kWidth; x++)
        for (size_t channel = 0; channel < 3; channel++) {
          int sum = 0;
          for (int i = 0; i < kFine * kFine; i++)
            sum += at(x * kFine + i % kFine, y * kFine + i / kFine)[channel];
          bytes.push_back(uint8_t(sum / (kFine * kFine)));
        }
    return bytes;
  }

 private:
  const Colour& at(int x, int y) const { return pixels_[size_t(y) * (kWidth * kFine) + size_t(x)]; }
  void set(int x, int y, Colour colour) {
    if (x >= 0 && y >= 0 && x < kWidth * kFine && y < kHeight * kFine)
      pixels_[size_t(y) * (kWidth * kFine) + size_t(x)] = colour;
  }

  std::vector<Colour> pixels_;
};

int text_width(const std::string& text, int size = 2) {
  return int(text.size()) * (kLetterColumns + 1) * size;
}

/// From values to a place on the canvas, with ticks at round values.
struct Axis {
  double low, high;  // values
  double from, to;   // places
  double tick;
  Axis(double low, double high, double from, double to, int ticks) : from(from), to(to) {
    if (!(high > low)) high = low + 1;
    const double rough = (high - low) / ticks, power = std::pow(10, std::floor(std::log10(rough)));
    tick = power * (rough / power <= 1 ? 1 : rough / power <= 2 ? 2 : rough / power <= 5 ? 5 : 10);
    this->low = std::floor(low / tick) * tick;
    this->high = std::ceil(high / tick) * tick;
  }
  double place(double value) const {
    return from + (std::clamp(value, low, high) - low) / (high - low) * (to - from);
  }
  int count() const { return int(std::lround((high - low) / tick)); }
  double value(int i) const { return low + i * tick; }
  std::string label(int i) const {
    const int digits = std::max(0, -int(std::floor(std::log10(tick) + 1e-9)));
    return digits == 0 ? grouped(std::llround(value(i))) : decimal(value(i), digits);
  }
};

void draw_axes(Canvas& canvas, const Picture& picture, const Axis& x, const Axis& y) {
  for (int i = 0; i <= x.count(); i++) {
    const double at = x.place(x.value(i));
    canvas.line(at, y.from, at, y.to, 1, kGrey);
    canvas.text(at - text_width(x.label(i)) / 2.0, y.from + 10, x.label(i), kBlack);
  }
  for (int i = 0; i <= y.count(); i++) {
    const double at = y.place(y.value(i));
    canvas.line(x.from, at, x.to, at, 1, kGrey);
    canvas.text(x.from - 10 - text_width(y.label(i)), at - 7, y.label(i), kBlack);
  }
  canvas.line(x.from, y.from, x.to, y.from, 1.5, kBlack);
  canvas.line(x.from, y.from, x.from, y.to, 1.5, kBlack);
  canvas.text(x.from, 18, picture.title, kBlack);
  canvas.text((x.from + x.to - text_width(picture.x_label)) / 2, kHeight - 26, picture.x_label,
              kBlack);
  canvas.text(8, (y.from + y.to + text_width(picture.y_label)) / 2, picture.y_label, kBlack, 2,
              true);
}

void draw_curve(Canvas& canvas, const Curve& curve, const Axis& x, const Axis& y) {
  const auto& points = curve.points;
  for (size_t i = 0; i < points.size(); i++) {
    const double px = x.place(points[i].first), py = y.place(points[i].second);
    if (i > 0)
      canvas.line(x.place(points[i - 1].first), y.place(points[i - 1].second), px, py, 2,
                  curve.colour);
    if (curve.dots) canvas.dot(px, py, 4, curve.colour);
  }
}

void draw_legend(Canvas& canvas, const Picture& picture) {
  int widest = 0;
  for (const Curve& curve : picture.curves) widest = std::max(widest, text_width(curve.name));
  const double left = kWidth - kRight - widest - 60;
  double top = kTop + 12;
  for (const Curve& curve : picture.curves) {
    canvas.line(left, top + 7, left + 30, top + 7, 3, curve.colour);
    if (curve.dots) canvas.dot(left + 15, top + 7, 4, curve.colour);
    canvas.text(left + 42, top, curve.name, kBlack);
    top += 24;
  }
}

void write_bytes(png_structp png, png_bytep data, png_size_t length) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<char*>(data), length);
}

std::string encode(const std::vector<uint8_t>& pixels) {
  std::string bytes;
  const auto fail = [](png_structp, png_const_charp text) { throw std::runtime_error(text); };
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, fail, nullptr);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  if (!info) {
    png_destroy_write_struct(&png, nullptr);
    throw std::runtime_error("no memory for a picture");
  }
  png_set_write_fn(png, &bytes, write_bytes, nullptr);
  png_set_IHDR(png, info, kWidth, kHeight, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int y = 0; y < kHeight; y++) png_write_row(png, pixels.data() + size_t(y) * kWidth * 3);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

}  // namespace

std::string png_of(const Picture& picture) {
  double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
  for (const Curve& curve : picture.curves)
    for (const auto& [x, y] : curve.points) {
      x0 = std::min(x0, x), x1 = std::max(x1, x);
      y0 = std::min(y0, y), y1 = std::max(y1, y);
    }
  for (const auto& [name, height] : picture.heights)
    y0 = std::min(y0, height), y1 = std::max(y1, height);
  if (x0 > x1) x0 = y0 = 0, x1 = y1 = 1;
  const Axis x(x0, x1, kLeft, kWidth - kRight, 10), y(y0, y1, kHeight - kBottom, kTop, 8);
  Canvas canvas;
  draw_axes(canvas, picture, x, y);
  for (const auto& [name, height] : picture.heights) {
    for (double at = x.from; at < x.to; at += 12)
      canvas.line(at, y.place(height), at + 6, y.place(height), 1.5, kMiddle);
    canvas.text(x.from + 8, y.place(height) - 18, name, kMiddle);
  }
  for (const Curve& curve : picture.curves) draw_curve(canvas, curve, x, y);
  draw_legend(canvas, picture);
  return encode(canvas.finished());
}

}  // namespace wick::cli
