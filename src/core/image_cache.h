// Compiled kernels on disk, for every device.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace wick {

/// The file of one image in the cache's folder. A file that is cut off, damaged, of other inputs, or
/// that another user can write, counts as missing.
class ImageCache {
 public:
  /// inputs: all that the image depends on.
  explicit ImageCache(const std::string& inputs);
  std::optional<std::string> read() const;
  /// Never leaves a partial file. A disk that takes no more is no error.
  void write(std::string_view image) const;
  const std::string& path() const { return path_; }

 private:
  std::string header_of(std::string_view image) const;
  std::string key_, path_;
};

}  // namespace wick
