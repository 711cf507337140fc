#include "wick/media/image.h"

#include "../expect.h"
#include "../temporary_folder.h"
#include "golden.h"
#include "wick/io/file.h"

namespace wick {
namespace {

using test::difference;
using test::Expected;
using test::image_files;
using test::kImages;

TEST(ReadImage, GivesThePixelsOfPillow) {
  const Expected expected("decoded.safetensors");
  const std::vector<std::string> files = image_files();
  EXPECT_EQ(files.size(), expected.names().size());
  for (const std::string& file : files)
    EXPECT_EQ(difference(read_image(kImages + file), expected[file]), "") << file;
}

TEST(ReadImage, RecognizesAFileByItsBytes) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("image.txt", read_file(kImages + "rgb.jpg"));
  EXPECT_EQ(difference(read_image(path), Expected("decoded.safetensors")["rgb.jpg"]), "");
}

TEST(ReadImage, RefusesOtherFiles) {
  const test::TemporaryFolder folder;
  EXPECT_ERROR(read_image(folder.file("missing.png")), kIo, "missing.png");
  EXPECT_ERROR(read_image(folder.write("a.png", "GIF89a")), kFormat,
               "a.png: expected a PNG, JPEG or WebP image, got a file of another kind");
  EXPECT_ERROR(decode_image("", "x"), kFormat,
               "x: expected a PNG, JPEG or WebP image, got an empty file");
  EXPECT_ERROR(decode_image("RIFF\4\0\0\0WAVE", "x"), kFormat, "another kind");
}

TEST(ReadImage, RefusesAnImageOfMorePixelsThanTheLimit) {
  // photo.png has 53 x 37 pixels, the others 23 x 19.
  EXPECT_EQ(read_image(kImages + "photo.png", {.max_pixels = 53 * 37}).width, 53);
  EXPECT_ERROR(read_image(kImages + "photo.png", {.max_pixels = 53 * 37 - 1}), kFormat,
               "expected at most 1960 pixels, got 53 x 37");
  for (const char* file : {"rgb.jpg", "cmyk.jpg", "lossy.webp", "animated.webp"})
    EXPECT_ERROR(read_image(kImages + file, {.max_pixels = 436}), kFormat, "got 23 x 19");
  EXPECT_ERROR(read_image(kImages + "rgb.jpg", {.max_pixels = 0}), kInvalidArgument, "max_pixels");
}

TEST(ReadImage, TakesNoMemoryForAnImageBeyondTheLimit) {
  // A PNG's width and height are the bytes 16 to 23; the checksum of the header follows.
  std::string bytes = read_file(kImages + "rgb.png");
  bytes.replace(16, 8, std::string("\x7f\xff\xff\xff\x7f\xff\xff\xff", 8));
  bytes.replace(29, 4, std::string("\x9b\xab\x9c\x31", 4));
  EXPECT_ERROR(decode_image(bytes, "x"), kFormat, "expected at most 89478485 pixels");
}

TEST(ReadImage, RefusesEveryFileThatIsCutShort) {
  for (const char* file : {"rgb.png", "interlaced.png", "rgb.jpg", "progressive.jpg", "cmyk.jpg",
                           "lossy.webp", "lossless.webp", "alpha.webp"}) {
    const std::string bytes = read_file(kImages + file);
    // A JPEG without its two last bytes, the end marker, is whole.
    for (size_t size = 0; size + 3 < bytes.size(); size++)
      EXPECT_ERROR(decode_image(std::string_view(bytes).substr(0, size), file), kFormat, file);
  }
}

TEST(ReadImage, SurvivesEveryDamagedByte) {
  int refused = 0;
  for (const std::string& file : image_files()) {
    if (file == "photo.png") continue;  // large
    const std::string whole = read_file(kImages + file);
    for (size_t i = 0; i < whole.size(); i++) {
      std::string bytes = whole;
      bytes[i] = char(bytes[i] ^ (i % 2 ? 0xff : 0x01));
      try {
        const Image image = decode_image(bytes, file, {.max_pixels = 10000});
        EXPECT_EQ(image.pixels.size(), size_t(3 * image.width * image.height)) << file << " " << i;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::kFormat) << file << " " << i << ": " << e.what();
        EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
        refused++;
      }
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace wick
