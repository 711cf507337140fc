// Images to the input of a vision tower, by the rules of a model's preprocessor_config.json.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "wick/base/export.h"
#include "wick/base/settings.h"
#include "wick/core/tensor.h"
#include "wick/media/image.h"

namespace wick {

/// Pillow's filters, by its numbers. All but kNearest widen with the reduction (antialiasing).
enum class Resample { kNearest, kLanczos, kBilinear, kBicubic, kBox, kHamming };

/// The image resized as Pillow 13 does it, bit for bit: weights of 22 fractional bits, and a pass
/// for each axis, rounded to 8 bits between them. The horizontal pass is first unless the height
/// shrinks by more than twice as many pixels as the width; older releases of Pillow always begin
/// with it, which can differ by a level or two.
///
/// image          [H, W, 3]
/// width, height  >= 1, pixels of the result
/// Errors: kShapeMismatch if image.pixels is not [H, W, 3] or empty; kInvalidArgument for a size
/// below 1 or a result or an intermediate image of more than 89478485 pixels.
/// Source: Pillow's ImagingResample.
WICK_API Image resize(const Image& image, int64_t width, int64_t height, Resample resample);

/// The size that a resize aims at.
struct ResizeTarget {
  enum class Kind {
    kExact,         // height, width
    kShortest,      // the shorter edge gets `shortest`, the longer one keeps the proportion
    kShortestUpTo,  // the same, but the longer edge is at most `longest`
    kWithin,        // the largest of the same proportion within height, width
  };
  Kind kind = Kind::kExact;
  int64_t height = 224, width = 224;
  int64_t shortest = 0, longest = 0;
};

/// Resizes, crops, rescales and normalizes images as transformers' processors of Siglip (PaliGemma
/// and ColPali have it too), CLIP and ViT do with Pillow.
class WICK_API ImageProcessor {
 public:
  /// From the content of a preprocessor_config.json, also of the older form
  /// (feature_extractor_type, sizes as numbers). A missing key has the default of transformers'
  /// class.
  /// Errors: kUnsupported, naming the type or the key that wick does not have; kFormat.
  explicit ImageProcessor(const Settings& preprocessor_config);

  /// images  of any sizes, RGB
  /// options the dtype (f16, bf16, f32 or f64) and device of the result
  /// Returns pixel_values [N, 3, H, W]; each value is computed in f32, as transformers does.
  /// Errors: kInvalidArgument without an image, or for a resize beyond the limit of resize();
  /// kShapeMismatch if an image is not [H, W, 3], or if the results differ in size;
  /// kDTypeMismatch for a dtype that is not floating.
  Tensor operator()(std::span<const Image> images, const TensorOptions& options = {}) const;

  /// The image after resize and crop, still of 8 bits. Errors: as operator() for one image.
  Image crop_and_resize(const Image& image) const;

 private:
  std::optional<ResizeTarget> resize_;
  Resample resample_ = Resample::kBilinear;
  std::optional<std::array<int64_t, 2>> crop_;  // height, width
  std::optional<double> rescale_;
  std::optional<std::array<std::array<double, 3>, 2>> normalize_;  // mean, standard deviation
};

}  // namespace wick
