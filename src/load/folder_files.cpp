#include "load/folder_files.h"

#include "wick/io/file.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/models/registry.h"

namespace wick {

Settings read_config(const std::string& folder) {
  check(is_there(folder + "/config.json"), ErrorCode::kFormat, folder,
        "expected config.json or a GGUF file in the folder");
  return read_json(folder + "/config.json");
}

void require_decoder(const Settings& config) {
  const std::string_view name = architecture_of_folder(config).name;
  check(name == "decoder", ErrorCode::kUnsupported, config.where(),
        "expected a decoder of text alone, got a model of type ", config.text("model_type"));
}

TensorSource folder_source(const std::string& folder) {
  if (!is_there(folder + "/model.safetensors.index.json"))
    check(is_there(folder + "/model.safetensors"), ErrorCode::kFormat, folder,
          "expected model.safetensors in the folder");
  return SafetensorsReader(folder).source();
}

std::optional<Tokenizer> folder_tokenizer(const std::string& folder) {
  const std::string path = folder + "/tokenizer.json";
  if (is_there(path)) return Tokenizer::from_json(read_json(path));
  const std::string model = folder + "/spiece.model";
  if (!is_there(model)) return std::nullopt;
  const std::string config_path = folder + "/tokenizer_config.json";
  const Settings config = is_there(config_path) ? read_json(config_path) : Settings(config_path);
  std::string kind = config.text_or("tokenizer_class", "");
  if (kind.empty() && is_there(folder + "/config.json") &&
      read_config(folder).text_or("model_type", "") == "siglip")
    kind = "SiglipTokenizer";
  if (kind != "SiglipTokenizer") return std::nullopt;
  return Tokenizer::from_siglip(read_file(model), model, config);
}

// Source of the order: transformers, ImageProcessingMixin.get_image_processor_dict.
std::optional<ImageProcessor> folder_image_processor(const std::string& folder) {
  if (const std::string path = folder + "/processor_config.json"; is_there(path)) {
    const Settings settings = read_json(path);
    if (const Settings* own = settings.group("image_processor")) return ImageProcessor(*own);
  }
  const std::string path = folder + "/preprocessor_config.json";
  return is_there(path) ? std::optional(ImageProcessor(read_json(path))) : std::nullopt;
}

}  // namespace wick
