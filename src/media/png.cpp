#include <png.h>

#include <cstring>
#include <new>
#include <vector>

#include "base/file.h"
#include "media/formats.h"
#include "media/orientation.h"
#include "wick/base/error.h"

namespace wick::media {
namespace {

/// A file that libpng reads. A step runs between setjmp and longjmp and holds plain values alone.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error,
                                  [](png_structp, const char*) {});
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      fail(ErrorCode::kOutOfMemory, where, "png: no memory for the decoder");
    }
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Errors: kFormat, with libpng's reason.
  void run(void (*step)(Reader&)) {
    if (!returns(step)) fail(ErrorCode::kFormat, where_, "png: ", message_);
  }

  // The steps.
  static void read_header(Reader& r);
  static void read_pixels(Reader& r);
  static void read_end(Reader& r) { png_read_end(r.png_, r.info_); }

  int64_t width() const { return png_get_image_width(png_, info_); }
  int64_t height() const { return png_get_image_height(png_, info_); }
  bool is_gray16() const {
    return png_get_bit_depth(png_, info_) == 16 &&
           png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY;
  }
  /// What read_pixels fills: rows of row_bytes. Set before it runs.
  uint8_t* out = nullptr;
  size_t row_bytes = 0;

  std::string_view exif() {
    png_uint_32 count = 0;
    png_bytep exif = nullptr;
    if (!png_get_eXIf_1(png_, info_, &count, &exif)) return {};
    return {reinterpret_cast<const char*>(exif), count};
  }

 private:
  bool returns(void (*step)(Reader&)) {
    if (setjmp(png_jmpbuf(png_))) return false;
    step(*this);
    return true;
  }
  static void on_error(png_structp png, const char* message) {
    auto* r = static_cast<Reader*>(png_get_error_ptr(png));
    // libpng takes parts of a message from the file.
    size_t i = 0;
    for (; message[i] && i + 1 < sizeof r->message_; i++)
      r->message_[i] = message[i] >= ' ' && message[i] <= '~' ? message[i] : '?';
    r->message_[i] = 0;
    png_longjmp(png, 1);
  }
  static void on_read(png_structp png, png_bytep to, size_t count) {
    auto* r = static_cast<Reader*>(png_get_io_ptr(png));
    if (count > r->bytes_.size() - r->at_) png_error(png, kCutShort.data());
    std::memcpy(to, r->bytes_.data() + r->at_, count);
    r->at_ += count;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  const std::string& where_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char message_[200] = "";
};

void Reader::read_header(Reader& r) {
  png_set_read_fn(r.png_, &r, on_read);
  png_set_user_limits(r.png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // set_size checks the size
  png_set_chunk_malloc_max(r.png_, 8'000'000);
  // Color profiles and texts, which Pillow's convert() does not use either.
  static constexpr png_byte kSkipped[] = "iCCP\0zTXt\0iTXt\0tEXt";
  png_set_keep_unknown_chunks(r.png_, PNG_HANDLE_CHUNK_NEVER, kSkipped, 4);
  png_read_info(r.png_, r.info_);
  png_set_expand(r.png_);  // palettes, gray of less than 8 bits, transparency
  png_set_strip_alpha(r.png_);
  if (!r.is_gray16()) {
    png_set_strip_16(r.png_);
    png_set_gray_to_rgb(r.png_);
  }
}

void Reader::read_pixels(Reader& r) {
  const int passes = png_set_interlace_handling(r.png_);
  png_read_update_info(r.png_, r.info_);
  if (png_get_rowbytes(r.png_, r.info_) != r.row_bytes)
    png_error(r.png_, "unexpected size of rows");
  const png_uint_32 height = png_get_image_height(r.png_, r.info_);
  for (int pass = 0; pass < passes; pass++)
    for (png_uint_32 y = 0; y < height; y++) png_read_row(r.png_, r.out + y * r.row_bytes, nullptr);
}

}  // namespace

Decoded decode_png(std::string_view bytes, const std::string& where, int64_t max_pixels) {
  Reader reader(bytes, where);
  reader.run(Reader::read_header);
  Decoded decoded;
  Image& image = decoded.image;
  set_size(image, reader.width(), reader.height(), where, max_pixels);
  std::vector<uint8_t>& pixels = image.pixels;
  reader.out = pixels.data();
  reader.row_bytes = size_t(image.width) * (reader.is_gray16() ? 2 : 3);
  const bool gray16 = reader.is_gray16();
  reader.run(Reader::read_pixels);
  if (gray16)
    // From the last, because two bytes become three in the same memory.
    for (int64_t i = image.width * image.height - 1; i >= 0; i--) {
      const uint8_t value = pixels[size_t(2 * i)] ? 255 : pixels[size_t(2 * i + 1)];
      for (int64_t c = 0; c < 3; c++) pixels[size_t(3 * i + c)] = value;
    }
  reader.run(Reader::read_end);
  decoded.orientation = exif_orientation(reader.exif());
  return decoded;
}

}  // namespace wick::media
