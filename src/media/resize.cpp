#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>

#include "media/checks.h"
#include "wick/base/error.h"
#include "wick/media/image_processor.h"

namespace wick {
namespace {

constexpr int kFractionBits = 22;  // 32, less 8 of the pixel and 2 of headroom

double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }
double triangle(double x) {
  x = std::abs(x);
  return x < 1 ? 1 - x : 0;
}
double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}
double hamming(double x) {
  x = std::abs(x);
  if (x == 0) return 1;
  if (x >= 1) return 0;
  x *= std::numbers::pi;
  return std::sin(x) / x * (0.54 + 0.46 * std::cos(x));
}
// Keys 1981 with a = -1/2.
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}
double lanczos(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

struct Filter {
  double (*weight)(double);
  double support;  // weight(x) is 0 where |x| exceeds it
};
// By Resample; kNearest has none.
constexpr Filter kFilters[] = {{nullptr, 0}, {lanczos, 3}, {triangle, 1},
                               {cubic, 2},   {box, 0.5},   {hamming, 1}};

/// The pixels that make up pixel i of the result along an axis, and their weights of kFractionBits.
struct Window {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

Window window_of(int64_t i, int64_t in, int64_t out, const Filter& filter) {
  const double scale = double(in) / double(out);
  const double widening = std::max(scale, 1.0), support = filter.support * widening;
  const double center = (double(i) + 0.5) * scale;
  const int64_t first = std::max<int64_t>(int64_t(center - support + 0.5), 0);
  const int64_t end = std::min<int64_t>(int64_t(center + support + 0.5), in);
  std::vector<double> weights;
  double sum = 0;
  for (int64_t x = first; x < end; x++) {
    weights.push_back(filter.weight((double(x) - center + 0.5) * (1.0 / widening)));
    sum += weights.back();
  }
  Window window{first, {}};
  for (double w : weights) {
    if (sum != 0) w /= sum;
    w *= 1 << kFractionBits;
    window.weights.push_back(int32_t(w < 0 ? w - 0.5 : w + 0.5));
  }
  return window;
}

/// in [outer, size, inner], resized along the middle dim: out [outer, out_size, inner]. The windows
/// come first, because those of a long and narrow image would need much memory at once.
void resize_axis(const uint8_t* in, int64_t outer, int64_t size, int64_t inner, int64_t out_size,
                 const Filter& filter, uint8_t* out) {
  std::vector<int32_t> sums(size_t(inner), 0);
  for (int64_t i = 0; i < out_size; i++) {
    const Window window = window_of(i, size, out_size, filter);
    for (int64_t o = 0; o < outer; o++) {
      std::fill(sums.begin(), sums.end(), 1 << (kFractionBits - 1));
      const uint8_t* from = in + (o * size + window.first) * inner;
      for (const int32_t weight : window.weights) {
        for (int64_t j = 0; j < inner; j++) sums[size_t(j)] += from[j] * weight;
        from += inner;
      }
      uint8_t* to = out + (o * out_size + i) * inner;
      for (const int32_t sum : sums) *to++ = uint8_t(std::clamp(sum >> kFractionBits, 0, 255));
    }
  }
}

/// The pixels below the centers of `out` pixels over `in`. Pillow adds up the steps, which rounds.
std::vector<int64_t> nearest_of(int64_t in, int64_t out) {
  const double step = double(in) / double(out);
  std::vector<int64_t> nearest;
  double at = step * 0.5;
  for (int64_t i = 0; i < out; i++, at += step) nearest.push_back(int64_t(at));
  return nearest;
}

void check_size(int64_t width, int64_t height) {
  constexpr int64_t kMaxPixels = ImageReadOptions{}.max_pixels;
  check(width >= 1 && height >= 1 && width <= kMaxPixels / height, ErrorCode::kInvalidArgument,
        "resize", "expected sides of at least 1 and at most ", kMaxPixels, " pixels, got ", width,
        " x ", height);
}

Image blank(int64_t width, int64_t height) {
  check_size(width, height);
  return {width, height, 3, std::vector<uint8_t>(size_t(3 * width * height))};
}

/// The rows with another number of columns, and the columns with another number of rows.
Image resize_columns(const Image& image, int64_t width, const Filter& filter) {
  if (width == image.width) return image;
  Image result = blank(width, image.height);
  resize_axis(image.pixels.data(), image.height, image.width, 3, width, filter,
              result.pixels.data());
  return result;
}
Image resize_rows(const Image& image, int64_t height, const Filter& filter) {
  if (height == image.height) return image;
  Image result = blank(image.width, height);
  resize_axis(image.pixels.data(), 1, image.height, 3 * image.width, height, filter,
              result.pixels.data());
  return result;
}

Image resize_nearest(const Image& image, int64_t width, int64_t height) {
  Image result = blank(width, height);
  const std::vector<int64_t> columns = nearest_of(image.width, width);
  const std::vector<int64_t> rows = nearest_of(image.height, height);
  uint8_t* to = result.pixels.data();
  for (const int64_t row : rows)
    for (const int64_t column : columns) {
      // A rounded-up sum of steps can lead past the last pixel, where Pillow leaves black.
      if (row < image.height && column < image.width)
        std::copy_n(image.pixels.data() + 3 * (row * image.width + column), 3, to);
      to += 3;
    }
  return result;
}

}  // namespace

Image resize(const Image& image, int64_t width, int64_t height, Resample resample) {
  media::check_image(image, "resize");
  if (width == image.width && height == image.height) return image;
  if (resample == Resample::kNearest) return resize_nearest(image, width, height);
  check_size(width, height);
  const Filter& filter = kFilters[size_t(resample)];
  // Pillow 13 begins with the axis that leaves less to do; older ones always with the horizontal one.
  const int64_t fewer_rows = image.height - height, fewer_columns = image.width - width;
  if (fewer_rows > 0 && fewer_rows > 2 * fewer_columns)
    return resize_columns(resize_rows(image, height, filter), width, filter);
  return resize_rows(resize_columns(image, width, filter), height, filter);
}

}  // namespace wick
