#include "core/image_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/file.h"
#include "base/host_compiler.h"
#include "wick/base/error.h"

namespace wick {

ImageCache::ImageCache(const std::string& inputs)
    : key_(cache_key(inputs)), path_(cache_folder() + "/" + key_ + ".image") {}

/// "wick image 1 KEY KEY-OF-THE-IMAGE\n", which the image follows.
std::string ImageCache::header_of(std::string_view image) const {
  return "wick image 1 " + key_ + " " + cache_key(std::string(image)) + "\n";
}

std::optional<std::string> ImageCache::read() const {
  if (!only_we_write(path_)) return std::nullopt;
  try {
    std::string file = read_text_file(path_);
    const size_t line = file.find('\n');
    if (line == file.npos) return std::nullopt;
    const std::string image = file.substr(line + 1);
    if (file.compare(0, line + 1, header_of(image)) != 0) return std::nullopt;
    return image;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void ImageCache::write(std::string_view image) const {
  try {
    const std::string part = temporary_path(".image");
    write_text_file(part, header_of(image) + std::string(image));
    // Whatever the umask: read() refuses what others could have written.
    if (chmod(part.c_str(), S_IRUSR | S_IWUSR) != 0 ||
        std::rename(part.c_str(), path_.c_str()) != 0)
      unlink(part.c_str());
  } catch (const Error&) {
  }
}

}  // namespace wick
