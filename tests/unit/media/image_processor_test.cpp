#include "wick/media/image_processor.h"

#include <algorithm>
#include <cmath>

#include "../expect.h"
#include "golden.h"
#include "wick/io/json.h"
#include "wick/ops/cast.h"

namespace wick {
namespace {

using test::Expected;
using test::kImages;

ImageProcessor processor(const std::string& json) {
  return ImageProcessor(parse_json(json, "p.json"));
}

TEST(ImageProcessor, GivesTheValuesOfTransformers) {
  const Settings file = read_json(kImages + "processors.json");
  const auto& configs = std::get<Setting::List>(file.find("configs")->value);
  const Expected expected("processors.safetensors");
  EXPECT_EQ(expected.names().size(), 2 * configs.size());
  for (size_t i = 0; i < configs.size(); i++) {
    const ImageProcessor process(std::get<Settings>(configs[i].value));
    for (const char* name : {"photo.png", "tall.png"}) {
      const Tensor want = expected[std::to_string(i) + "." + name];
      const Image image = read_image(kImages + name);
      const Tensor got = process({&image, 1});
      ASSERT_EQ(got.shape(), want.shape()) << i << " " << name;
      EXPECT_EQ(got.to_vector<float>(), want.to_vector<float>()) << i << " " << name;
    }
  }
}

TEST(ImageProcessor, TakesSeveralImages) {
  const Image images[] = {read_image(kImages + "photo.png"), read_image(kImages + "tall.png")};
  const ImageProcessor vit =
      processor(R"({"image_processor_type": "ViTImageProcessor", "size": 9})");
  const Tensor both = vit(images);
  EXPECT_EQ(both.shape(), (Shape{2, 3, 9, 9}));
  std::vector<float> apart = vit({images, 1}).to_vector<float>();
  const std::vector<float> second = vit({images + 1, 1}).to_vector<float>();
  apart.insert(apart.end(), second.begin(), second.end());
  EXPECT_EQ(both.to_vector<float>(), apart);
  EXPECT_EQ(vit(images, {.dtype = DType::kBf16}).dtype(), DType::kBf16);
  EXPECT_EQ(cast(vit(images, {.dtype = DType::kF64}), DType::kF32).to_vector<float>(), apart);
  EXPECT_ERROR(vit({}), kInvalidArgument, "expected images, got none");
  EXPECT_ERROR(vit(images, {.dtype = DType::kI32}), kDTypeMismatch, "got i32");
  const ImageProcessor shortest = processor(
      R"({"image_processor_type": "CLIPImageProcessor", "size": 9, "do_center_crop": false})");
  EXPECT_ERROR(shortest(images), kShapeMismatch, "image 1 becomes 23 x 9, the first one 9 x 12");
}

TEST(ImageProcessor, TakesTheTypeFromTheProcessorWhereNoneIsGiven) {
  const Image image{1, 1, 3, {0, 0, 0}};
  EXPECT_EQ(processor(R"({"processor_class": "CLIPProcessor"})")({&image, 1}).shape(),
            (Shape{1, 3, 224, 224}));
  EXPECT_EQ(
      processor(R"({"processor_class": "ColPaliProcessor", "size": {"height": 5, "width": 4}})")(
          {&image, 1})
          .shape(),
      (Shape{1, 3, 5, 4}));
}

TEST(ImageProcessor, RefusesWhatItDoesNotKnow) {
  const auto siglip = [](const std::string& rest) {
    return processor(R"({"image_processor_type": "SiglipImageProcessor", )" + rest + "}");
  };
  EXPECT_ERROR(processor("{}"), kUnsupported,
               "p.json: expected the image processor of Siglip, CLIP or ViT");
  EXPECT_ERROR(processor(R"({"image_processor_type": "ViTDetImageProcessor"})"), kUnsupported,
               "ViTDetImageProcessor");
  EXPECT_ERROR(siglip(R"("do_pad": true)"), kUnsupported, "\"do_pad\" is not supported, got true");
  EXPECT_ERROR(siglip(R"("crop_pct": 0.9)"), kUnsupported, "crop_pct");
  EXPECT_ERROR(siglip(R"("data_format": "channels_last")"), kUnsupported, "data_format");
  EXPECT_NO_THROW(siglip(R"("do_pad": false, "crop_pct": null, "data_format": "channels_first")"));
  EXPECT_ERROR(siglip(R"("resample": 6)"), kFormat, "\"resample\": expected 0 to 5, got 6");
  EXPECT_ERROR(siglip(R"("size": {"longest_edge": 5})"), kFormat, "height");
  EXPECT_ERROR(siglip(R"("size": {"height": 5, "width": 4, "depth": 3})"), kFormat, "depth");
  EXPECT_ERROR(siglip(R"("size": [])"), kFormat, "size");
  EXPECT_ERROR(siglip(R"("size": 0)"), kFormat, "size");
  EXPECT_ERROR(siglip(R"("size": {"height": 0, "width": 4})"), kFormat, "height");
  EXPECT_ERROR(siglip(R"("image_std": [0.5, 0, 0.5])"), kFormat, "image_std");
  EXPECT_ERROR(siglip(R"("image_mean": [0.5, 0.5])"), kFormat, "image_mean");
  EXPECT_ERROR(siglip(R"("do_center_crop": true)"), kFormat, "crop_size");
  EXPECT_ERROR(siglip(R"("do_center_crop": true, "crop_size": {"shortest_edge": 4})"), kFormat,
               "crop_size");
}

TEST(ImageProcessor, RefusesResultsBeyondTheLimit) {
  const Image line{1000, 1, 3, std::vector<uint8_t>(3000)};
  const auto clip = [&](const std::string& rest) {
    return processor(R"({"image_processor_type": "CLIPImageProcessor", )" + rest + "}")({&line, 1});
  };
  EXPECT_ERROR(clip(R"("size": 1000000000000)"), kInvalidArgument, "resize: expected");
  EXPECT_ERROR(clip(R"("size": 1, "crop_size": 1000000000000)"), kInvalidArgument, "crop");
  EXPECT_ERROR(clip(R"("size": {"shortest_edge": 5, "longest_edge": 10})"), kInvalidArgument,
               "got 10 x 0");
}

}  // namespace
}  // namespace wick
