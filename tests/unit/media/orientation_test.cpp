#include "media/orientation.h"

#include <gtest/gtest.h>

#include <string>

namespace wick::media {
namespace {

using namespace std::string_literals;

/// A TIFF header and a directory of one entry, big-endian.
std::string exif(const std::string& entry) { return "MM\0*\0\0\0\10\0\1"s + entry; }

TEST(ExifOrientation, ReadsBothByteOrdersAndTypes) {
  EXPECT_EQ(exif_orientation(exif("\1\x12\0\3\0\0\0\1\0\6\0\0"s)), 6);
  EXPECT_EQ(exif_orientation(exif("\1\x12\0\4\0\0\0\1\0\0\0\10"s)), 8);
  EXPECT_EQ(exif_orientation("Exif\0\0"s + exif("\1\x12\0\3\0\0\0\1\0\3\0\0"s)), 3);
  EXPECT_EQ(exif_orientation("II*\0\10\0\0\0\1\0\x12\1\3\0\1\0\0\0\5\0\0\0"s), 5);
}

TEST(ExifOrientation, IsOneWhereTheDataIsDamaged) {
  const std::string whole = exif("\1\x12\0\3\0\0\0\1\0\6\0\0"s);
  for (size_t size = 0; size < whole.size(); size++)
    EXPECT_EQ(exif_orientation(whole.substr(0, size)), 1) << size;
  EXPECT_EQ(exif_orientation(exif("\1\x12\0\3\0\0\0\1\0\0\0\0"s)), 1);   // 0
  EXPECT_EQ(exif_orientation(exif("\1\x12\0\3\0\0\0\1\0\x9\0\0"s)), 1);  // 9
  EXPECT_EQ(exif_orientation(exif("\1\x12\0\3\0\0\0\2\0\6\0\0"s)), 1);   // two values
  EXPECT_EQ(exif_orientation(exif("\1\x12\0\2\0\0\0\1\0\6\0\0"s)), 1);   // a text
  EXPECT_EQ(exif_orientation(exif("\1\x13\0\3\0\0\0\1\0\6\0\0"s)), 1);   // another tag
  EXPECT_EQ(exif_orientation("MM\0*\xff\xff\xff\xff\0\1\1\x12\0\3\0\0\0\1\0\6\0\0"s), 1);
}

TEST(Upright, TurnsAndMirrors) {
  const Image image{3, 2, 3, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6}};
  const char* rows[] = {"123 456",  "321 654",  "654 321",  "456 123",
                        "14 25 36", "41 52 63", "63 52 41", "36 25 14"};
  for (int orientation = 1; orientation <= 8; orientation++) {
    const Image turned = upright(image, orientation);
    std::string text;
    for (int64_t i = 0; i < turned.width * turned.height; i++) {
      if (i && i % turned.width == 0) text += ' ';
      text += char('0' + turned.pixels[size_t(3 * i)]);
    }
    EXPECT_EQ(text, rows[orientation - 1]) << orientation;
  }
}

}  // namespace
}  // namespace wick::media
