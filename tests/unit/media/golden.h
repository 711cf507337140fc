// tests/golden/images: files, and what Pillow and transformers make of them.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "wick/io/safetensors.h"
#include "wick/media/image.h"

namespace wick::test {

inline const std::string kImages = WICK_GOLDEN "/images/";

/// The expected tensors of one file.
class Expected {
 public:
  explicit Expected(const std::string& file)
      : source_(SafetensorsReader(kImages + file).source()) {}
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, info] : source_.tensors) names.push_back(name);
    return names;
  }
  Tensor operator[](const std::string& name) const { return source_.load(name, Device::cpu()); }

 private:
  TensorSource source_;
};

/// How the image differs from the expected [H, W, 3]; "" if it is equal.
inline std::string difference(const Image& image, const Tensor& expected) {
  const auto want = expected.to_vector<uint8_t>();
  if (expected.size(0) != image.height || expected.size(1) != image.width)
    return std::to_string(image.height) + " x " + std::to_string(image.width) + " pixels";
  if (want.size() != image.pixels.size()) return std::to_string(image.pixels.size()) + " values";
  for (size_t i = 0; i < want.size(); i++)
    if (want[i] != image.pixels[i])
      return "value " + std::to_string(i) + ": expected " + std::to_string(want[i]) + ", got " +
             std::to_string(image.pixels[i]);
  return "";
}

/// The fixtures to decode.
inline std::vector<std::string> image_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kImages)) {
    const auto ending = entry.path().extension();
    if (ending == ".png" || ending == ".jpg" || ending == ".webp")
      files.push_back(entry.path().filename().string());
  }
  return files;
}

}  // namespace wick::test
