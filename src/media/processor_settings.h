// preprocessor_config.json: the steps that it asks for.
#pragma once
#include <array>
#include <optional>

#include "wick/base/settings.h"
#include "wick/media/image_processor.h"

namespace wick::media {

struct ProcessorSettings {
  std::optional<ResizeTarget> resize;
  Resample resample = Resample::kBilinear;
  std::optional<std::array<int64_t, 2>> crop;  // height, width
  std::optional<double> rescale;
  std::optional<std::array<std::array<double, 3>, 2>> normalize;  // mean, standard deviation
};

/// Errors: kUnsupported, naming the type or the key; kFormat.
ProcessorSettings read_processor_settings(const Settings& config);

}  // namespace wick::media
