// <jpeglib.h> needs <cstdio>'s FILE and size_t.
#include <csetjmp>
#include <cstdio>
//
#include <jerror.h>
#include <jpeglib.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"
#include "media/formats.h"
#include "media/orientation.h"
#include "wick/base/error.h"

namespace wick::media {
namespace {

// A progressive file that is no attack has some ten scans. Each costs a walk over all pixels,
// however short it is.
constexpr int kMaxScans = 100;

/// A file that libjpeg reads. A step runs between setjmp and longjmp and holds plain values alone.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    errors_.output_message = [](j_common_ptr) {};
    jpeg_.client_data = this;
    progress_.progress_monitor = on_progress;
  }
  ~Reader() { jpeg_destroy_decompress(&jpeg_); }  // also where nothing was created
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Errors: kFormat, with libjpeg's reason.
  void run(void (*step)(Reader&)) {
    if (!returns(step)) fail(ErrorCode::kFormat, where_, "jpeg: ", message_);
  }

  // The steps.
  static void read_header(Reader& r);
  static void start(Reader& r);
  static void read_row(Reader& r);

  int64_t width() const { return jpeg_.image_width; }
  int64_t height() const { return jpeg_.image_height; }
  /// Of the values that read_row gives: 3, RGB, or 4, CMYK as Adobe stores it: 255 is no ink.
  int channels() const { return jpeg_.output_components; }
  uint8_t* row = nullptr;  // where read_row puts the next row

  std::string exif() const {
    std::string exif;
    constexpr std::string_view kPrefix("Exif\0\0", 6);
    for (auto* marker = jpeg_.marker_list; marker; marker = marker->next) {
      const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
      // Data of more than 64 kB goes on in the next marker.
      if (data.starts_with(kPrefix)) exif += data.substr(kPrefix.size());
    }
    return exif;
  }

 private:
  bool returns(void (*step)(Reader&)) {
    if (setjmp(jump_)) return false;
    step(*this);
    return true;
  }
  [[noreturn]] void jump(const char* message) {
    std::strncpy(message_, message, sizeof message_ - 1);
    std::longjmp(jump_, 1);
  }
  static Reader& reader_of(j_common_ptr jpeg) { return *static_cast<Reader*>(jpeg->client_data); }
  static void on_error(j_common_ptr jpeg) {
    char message[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, message);
    reader_of(jpeg).jump(message);
  }
  static void on_message(j_common_ptr jpeg, int) {
    // libjpeg would fill the rest with gray. Of other warnings Pillow makes nothing either.
    if (jpeg->err->msg_code == JWRN_JPEG_EOF) reader_of(jpeg).jump(kCutShort.data());
  }
  static void on_progress(j_common_ptr jpeg) {
    if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMaxScans)
      reader_of(jpeg).jump("expected at most 100 scans");
  }

  std::string_view bytes_;
  const std::string& where_;
  jpeg_decompress_struct jpeg_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  jmp_buf jump_ = {};
  char message_[JMSG_LENGTH_MAX] = "";
};

void Reader::read_header(Reader& r) {
  jpeg_create_decompress(&r.jpeg_);
  r.jpeg_.progress = &r.progress_;
  jpeg_mem_src(&r.jpeg_, reinterpret_cast<const unsigned char*>(r.bytes_.data()), r.bytes_.size());
  jpeg_save_markers(&r.jpeg_, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(&r.jpeg_, TRUE);
}

void Reader::start(Reader& r) {
  const int components = r.jpeg_.num_components;
  if (components != 1 && components != 3 && components != 4)
    r.jump("expected 1, 3 or 4 components");
  r.jpeg_.out_color_space = components == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&r.jpeg_);
}

void Reader::read_row(Reader& r) {
  JSAMPROW rows[] = {r.row};
  jpeg_read_scanlines(&r.jpeg_, rows, 1);
}

/// Round(a b / 255) for bytes, as Pillow computes it.
int scaled(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

}  // namespace

Decoded decode_jpeg(std::string_view bytes, const std::string& where, int64_t max_pixels) {
  Reader reader(bytes, where);
  reader.run(Reader::read_header);
  Decoded decoded;
  decoded.orientation = exif_orientation(reader.exif());
  Image& image = decoded.image;
  set_size(image, reader.width(), reader.height(), where, max_pixels);
  reader.run(Reader::start);
  const bool is_cmyk = reader.channels() == 4;
  std::vector<uint8_t> inks(is_cmyk ? size_t(4 * image.width) : 0);
  for (int64_t y = 0; y < image.height; y++) {
    uint8_t* to = image.pixels.data() + 3 * image.width * y;
    reader.row = is_cmyk ? inks.data() : to;
    reader.run(Reader::read_row);
    if (!is_cmyk) continue;
    for (int64_t x = 0; x < image.width; x++) {
      const uint8_t* ink = inks.data() + 4 * x;
      // white = 255 - black; color = white - white * ink / 255, of inks that count from 0.
      const int white = ink[3];
      for (int c = 0; c < 3; c++) *to++ = uint8_t(white - scaled(255 - ink[c], white));
    }
  }
  return decoded;
}

}  // namespace wick::media
