#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>

#include "media/formats.h"
#include "media/orientation.h"
#include "wick/base/error.h"

namespace wick::media {

Decoded decode_webp(std::string_view bytes, const std::string& where, int64_t max_pixels) {
  const WebPData data{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  const std::unique_ptr<WebPDemuxer, void (*)(WebPDemuxer*)> demuxer(WebPDemux(&data),
                                                                     WebPDemuxDelete);
  check(demuxer != nullptr, ErrorCode::kFormat, where, "webp: damaged or cut short");
  Decoded decoded;
  Image& image = decoded.image;
  set_size(image, WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH),
           WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT), where, max_pixels);
  WebPIterator frame = {};
  check(WebPDemuxGetFrame(demuxer.get(), 1, &frame), ErrorCode::kFormat, where, "webp: no image");
  const std::unique_ptr<WebPIterator, void (*)(WebPIterator*)> release_frame(
      &frame, WebPDemuxReleaseIterator);
  // The first frame of an animation may cover a part of the canvas; the rest stays black.
  int width = 0, height = 0;
  check(WebPGetInfo(frame.fragment.bytes, frame.fragment.size, &width, &height) &&
            width == frame.width && height == frame.height && frame.x_offset >= 0 &&
            frame.y_offset >= 0 && width <= image.width - frame.x_offset &&
            height <= image.height - frame.y_offset,
        ErrorCode::kFormat, where, "webp: a frame that does not fit its canvas");
  const int64_t at = 3 * (frame.y_offset * image.width + frame.x_offset);
  check(WebPDecodeRGBInto(frame.fragment.bytes, frame.fragment.size, image.pixels.data() + at,
                          image.pixels.size() - size_t(at), int(3 * image.width)) != nullptr,
        ErrorCode::kFormat, where, "webp: the image is damaged or cut short");

  WebPChunkIterator chunk = {};
  if (WebPDemuxGetChunk(demuxer.get(), "EXIF", 1, &chunk))
    decoded.orientation =
        exif_orientation({reinterpret_cast<const char*>(chunk.chunk.bytes), chunk.chunk.size});
  WebPDemuxReleaseChunkIterator(&chunk);
  return decoded;
}

}  // namespace wick::media
