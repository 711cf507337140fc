// Images, their processors, and models that compare them with texts.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>

#include "bind.h"
#include "casters.h"
#include "image_list.h"
#include "loading.h"
#include "values.h"
#include "wick/load/image_text.h"
#include "wick/media/image.h"
#include "wick/media/image_processor.h"
#include "wick/models/forward.h"
#include "wick/models/late_interaction.h"

namespace wick::python {
namespace {

/// The image as a tensor u8 [H, W, 3].
Tensor tensor_of_image(const Image& image) {
  return Tensor::from(image.pixels, {image.height, image.width, image.channels});
}

/// Errors: kDTypeMismatch; kShapeMismatch.
Image image_of_tensor(const Tensor& x) {
  check(x.dtype() == DType::kU8, ErrorCode::kDTypeMismatch, "image", "expected u8, got ",
        dtype_name(x.dtype()));
  check(x.rank() == 3 && x.size(2) == 3, ErrorCode::kShapeMismatch, "image",
        "expected [H, W, 3], got ", x.shape());
  return {.width = x.size(1), .height = x.size(0), .pixels = x.to_vector<uint8_t>()};
}

bool is_path(nb::handle source) {
  return PyUnicode_Check(source.ptr()) || nb::hasattr(source, "__fspath__");
}

/// Reads the file of a path, or decodes bytes. Runs with the GIL, which it releases meanwhile.
Image read_source(nb::handle source, const ImageReadOptions& options = {}) {
  if (PyBytes_Check(source.ptr())) {
    const auto bytes = nb::borrow<nb::bytes>(source);
    const ReleasedGil others_run;
    return decode_image({bytes.c_str(), bytes.size()}, "image", options);
  }
  if (!is_path(source)) fail_type("image", "a path or bytes", source);
  const auto path = nb::cast<std::filesystem::path>(source);
  const ReleasedGil others_run;
  return read_image(path.string(), options);
}

ImageProcessor processor_of(nb::handle config) {
  if (PyDict_Check(config.ptr())) return ImageProcessor(settings_of(config, "ImageProcessor"));
  if (!is_path(config)) fail_type("ImageProcessor", "a dict or the path of a folder", config);
  const auto path = nb::cast<std::filesystem::path>(config);
  const ReleasedGil others_run;
  return load_image_processor(path.string());
}

void bind_processor(nb::module_& m) {
  nb::class_<ImageProcessor>(
      m, "ImageProcessor",
      "Resizes, crops, rescales and normalizes images by a model's preprocessor_config.json, as "
      "transformers' processors of SigLIP, CLIP and ViT do.")
      .def(
          "__init__",
          [](ImageProcessor* self, const nb::object& config) {
            new (self) ImageProcessor(processor_of(config));
          },
          nb::arg("config"),
          "config: the content of preprocessor_config.json as a dict, or the path of a folder with "
          "that file or processor_config.json. NotImplementedError for a type or key that wick "
          "does not have; ValueError if the folder has neither file.")
      .def(
          "__call__",
          [](const ImageProcessor& p, const nb::object& images, DType dtype,
             const std::optional<DeviceArgument>& device) {
            const std::vector<Image> list = images_of(images);
            const ReleasedGil others_run;
            return p(list, {.dtype = dtype, .device = device ? Device(*device) : Device::cpu()});
          },
          nb::arg("images"), nb::arg("dtype") = DType::kF32, nb::arg("device") = nb::none(),
          "pixel_values [N, 3, H, W] of one image or a list of them: paths, bytes of files, or "
          "pixels u8 [H, W, 3] as tensors or arrays.")
      .def("__repr__", [](const ImageProcessor&) { return "wick.ImageProcessor()"; });
}

/// A text or a list of them.
std::vector<std::string> texts_of(nb::handle texts) {
  if (PyUnicode_Check(texts.ptr())) return {text_of(texts, "texts")};
  std::vector<std::string> result;
  for (nb::handle text : list_of(texts, "texts", "a str or a list of str"))
    result.push_back(text_of(text, "texts"));
  return result;
}

void bind_image_text(nb::module_& m) {
  nb::class_<LoadedImageText>(m, "_ImageTextModel",
                              "The C++ side of wick.ImageTextModel: all but its calls and ranks.")
      .def(nb::init<const LoadedImageText&>(), nb::arg("model"))
      .def_ro("tokenizer", &LoadedImageText::tokenizer,
              "A Tokenizer, or None if the files have none.")
      .def_ro("image_processor", &LoadedImageText::image_processor,
              "An ImageProcessor, or None if the files have none.")
      .def_ro("warnings", &LoadedImageText::warnings,
              "What the loader has to say of the files, such as keys that wick does not know.")
      .def_prop_ro(
          "model_type",
          [](const LoadedImageText& loaded) { return loaded.model->config().model_type; },
          "The family, as config.json names it: \"siglip\".")
      .def_prop_ro(
          "projection_dim",
          [](const LoadedImageText& loaded) { return loaded.model->config().projection_dim; },
          "The number of features of an image or a text.")
      .def_prop_ro(
          "device", [](const LoadedImageText& loaded) { return loaded.model->options().device; },
          "The Device that computes.")
      .def_prop_ro(
          "dtype", [](const LoadedImageText& loaded) { return loaded.model->options().dtype; },
          "The DType of the computation; weights may have another.")
      .def(
          "embed_images",
          [](const LoadedImageText& loaded, const nb::object& images) {
            const std::vector<Image> list = images_of(images);
            const ReleasedGil others_run;
            return loaded.embed_images(list);
          },
          nb::arg("images"),
          "The features of one image or a list of them: a Tensor [N, projection_dim] of f32, on "
          "the CPU, with rows of length 1. Images are paths, bytes of files, or pixels u8 "
          "[H, W, 3] as tensors or arrays. NotImplementedError without an image processor.")
      .def(
          "embed_texts",
          [](const LoadedImageText& loaded, const nb::object& texts) {
            const std::vector<std::string> list = texts_of(texts);
            const ReleasedGil others_run;
            return loaded.embed_texts(list);
          },
          nb::arg("texts"),
          "The features of a text or a list of them: a Tensor [B, projection_dim] of f32, on the "
          "CPU, with rows of length 1. NotImplementedError without a tokenizer.")
      .def("scores", &LoadedImageText::scores, nb::arg("texts"), nb::arg("images"), WithoutGil(),
           "How well images fit texts, [B, N], from what embed_texts and embed_images give: a "
           "SigLIP's probability that the two belong together, a CLIP's cosine times its scale.")
      .def(
          "_forward",
          [](const LoadedImageText& loaded, const NamedTensors& inputs, bool hidden) {
            return forward(*loaded.model, inputs, {.hidden = hidden});
          },
          nb::arg("inputs"), nb::arg("hidden"), WithoutGil());
}

}  // namespace

std::vector<Image> images_of(nb::handle images) {
  const auto image_of = [](nb::handle item) {
    return is_path(item) || PyBytes_Check(item.ptr()) ? read_source(item)
                                                      : image_of_tensor(tensor_of(item, {}, {}));
  };
  std::vector<Image> result;
  if (!PyList_Check(images.ptr()) && !PyTuple_Check(images.ptr())) {
    result.push_back(image_of(images));
  } else {
    for (nb::handle item : nb::borrow<nb::iterable>(images)) result.push_back(image_of(item));
  }
  return result;
}

void bind_images(nb::module_& m) {
  m.def(
      "read_image",
      [](const nb::object& source, int64_t max_pixels) {
        return tensor_of_image(read_source(source, {.max_pixels = max_pixels}));
      },
      nb::arg("source"), nb::arg("max_pixels") = ImageReadOptions{}.max_pixels,
      "The pixels of a PNG, JPEG or WebP image, a path or the bytes of a file: a Tensor u8 "
      "[H, W, 3], turned upright and without alpha, as Pillow's "
      "ImageOps.exif_transpose(Image.open(source)).convert(\"RGB\").\n\n"
      "Errors: FileNotFoundError and other OSErrors; ValueError for bytes of another kind, a "
      "damaged image, or one of more than max_pixels.");
  bind_processor(m);
  bind_image_text(m);
  m.def(
      "late_interaction",
      [](const Tensor& query, const std::vector<Tensor>& documents) {
        return late_interaction(query, documents);
      },
      nb::arg("query"), nb::arg("documents"), WithoutGil(),
      "The scores f32 [N] of N documents, each [P, D], for a query [T, D], as ColBERT and ColPali "
      "compare them: for each of the query's vectors the largest product with one of the "
      "document's, summed.");
  m.def(
      "_load_image_text",
      [](const std::filesystem::path& path, const std::optional<DeviceArgument>& device,
         const nb::object& dtype, const nb::object& progress) {
        const LoadOptions options = load_options(device, dtype, progress);
        const ReleasedGil others_run;
        return load_image_text(path.string(), options);
      },
      nb::arg("path"), nb::arg("device") = nb::none(), nb::arg("dtype") = nb::none(),
      nb::arg("progress") = nb::none());
}

}  // namespace wick::python
