#include "wick/media/image_processor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "media/checks.h"
#include "media/processor_settings.h"
#include "wick/base/error.h"

namespace wick {
namespace {

/// Of a side that may leave int64_t; resize() refuses what is too large. Cut as Python's int() does.
int64_t side_of(double side) { return int64_t(std::min(side, 1e15)); }

/// The height and width that the image gets. Source: transformers, get_resize_output_image_size,
/// get_size_with_aspect_ratio and get_image_size_for_max_height_width.
std::array<int64_t, 2> size_of(const ResizeTarget& target, const Image& image) {
  using Kind = ResizeTarget::Kind;
  const double height = double(image.height), width = double(image.width);
  const bool is_tall = image.width <= image.height;
  const double shorter = std::min(height, width), longer = std::max(height, width);
  switch (target.kind) {
    case Kind::kExact:
      return {target.height, target.width};
    case Kind::kWithin: {
      const double scale = std::min(double(target.height) / height, double(target.width) / width);
      return {side_of(height * scale), side_of(width * scale)};
    }
    case Kind::kShortest: {
      const int64_t other = side_of(double(target.shortest) * longer / shorter);
      return is_tall ? std::array{other, target.shortest} : std::array{target.shortest, other};
    }
    case Kind::kShortestUpTo:
      break;
  }
  double exact = double(target.shortest);  // of the shorter edge, before it is rounded
  if (longer / shorter * exact > double(target.longest))
    exact = double(target.longest) * shorter / longer;
  const int64_t shortest = side_of(std::nearbyint(exact));
  if (shorter == double(shortest)) return {image.height, image.width};
  const int64_t other = side_of(exact * longer / shorter);
  return image.width < image.height ? std::array{other, shortest} : std::array{shortest, other};
}

/// The middle of the image; where the image is smaller it gets a black border. Source:
/// transformers, center_crop.
Image center_crop(const Image& image, int64_t height, int64_t width) {
  const int64_t limit = ImageReadOptions{}.max_pixels;
  check(width <= limit / height, ErrorCode::kInvalidArgument, "image processor",
        "expected a crop of at most ", limit, " pixels, got ", height, " x ", width);
  Image out{width, height, 3, std::vector<uint8_t>(size_t(3 * width * height))};
  struct Span {
    int64_t from, to, count;
  };
  const auto span_of = [](int64_t in, int64_t out) -> Span {
    return in >= out ? Span{(in - out) / 2, 0, out} : Span{0, (out - in + 1) / 2, in};
  };
  const Span rows = span_of(image.height, height), columns = span_of(image.width, width);
  for (int64_t y = 0; y < rows.count; y++)
    std::copy_n(image.pixels.data() + 3 * ((rows.from + y) * image.width + columns.from),
                3 * columns.count, out.pixels.data() + 3 * ((rows.to + y) * width + columns.to));
  return out;
}

/// The value of every level of every channel: rescaled in f64, rounded, normalized in f32.
std::array<std::array<float, 256>, 3> levels_of(
    const std::optional<double>& rescale,
    const std::optional<std::array<std::array<double, 3>, 2>>& normalize) {
  std::array<std::array<float, 256>, 3> levels;
  for (size_t c = 0; c < 3; c++)
    for (size_t level = 0; level < 256; level++) {
      float value = rescale ? float(double(level) * *rescale) : float(level);
      if (normalize) value = (value - float((*normalize)[0][c])) / float((*normalize)[1][c]);
      levels[c][level] = value;
    }
  return levels;
}

}  // namespace

ImageProcessor::ImageProcessor(const Settings& preprocessor_config) {
  media::ProcessorSettings settings = media::read_processor_settings(preprocessor_config);
  resize_ = settings.resize;
  resample_ = settings.resample;
  crop_ = settings.crop;
  rescale_ = settings.rescale;
  normalize_ = settings.normalize;
}

Image ImageProcessor::crop_and_resize(const Image& image) const {
  media::check_image(image, "image processor");
  Image result = image;
  if (resize_) {
    const auto [height, width] = size_of(*resize_, image);
    result = resize(image, width, height, resample_);
  }
  return crop_ ? center_crop(result, (*crop_)[0], (*crop_)[1]) : result;
}

Tensor ImageProcessor::operator()(std::span<const Image> images,
                                  const TensorOptions& options) const {
  check(!images.empty(), ErrorCode::kInvalidArgument, "image processor",
        "expected images, got none");
  const bool is_floating = options.dtype == DType::kF16 || options.dtype == DType::kBf16 ||
                           options.dtype == DType::kF32 || options.dtype == DType::kF64;
  check(is_floating, ErrorCode::kDTypeMismatch, "image processor",
        "expected f16, bf16, f32 or f64, got ", dtype_name(options.dtype));
  const auto levels = levels_of(rescale_, normalize_);
  std::vector<float> values;
  int64_t height = 0, width = 0;
  for (size_t i = 0; i < images.size(); i++) {
    const Image image = crop_and_resize(images[i]);
    if (i == 0) {
      height = image.height;
      width = image.width;
      values.reserve(images.size() * image.pixels.size());
    }
    check(image.height == height && image.width == width, ErrorCode::kShapeMismatch,
          "image processor", "image ", int64_t(i), " becomes ", image.height, " x ", image.width,
          ", the first one ", height, " x ", width);
    for (size_t c = 0; c < 3; c++)
      for (size_t p = c; p < image.pixels.size(); p += 3)
        values.push_back(levels[c][image.pixels[p]]);
  }
  const Tensor pixels = Tensor::from(values, {int64_t(images.size()), 3, height, width});
  return pixels.to(options.dtype).to(options.device);
}

}  // namespace wick
