#include "model_folder.h"

#include "failure.h"
#include "paths.h"
#include "wick/io/json.h"

namespace wick::cli {

DecoderConfig read_config(const std::string& path) {
  if (!is_there(path)) fail_input(path, "no such file");
  return decoder_config(read_json(path));
}

Decoder open_model(const std::string& folder, DType dtype, const Device& device,
                   int64_t positions) {
  const DecoderConfig config = read_config(folder + "/config.json");
  Parameters parameters(decoder_tensors(SafetensorsReader(folder).source(), config),
                        {.dtype = dtype, .device = device});
  const Decoder decoder(config, parameters, positions);
  for (const std::string& name : parameters.left())
    fail(ErrorCode::kFormat, folder, "tensor \"", name, "\" is not part of a model of type ",
         config.model_type);
  return decoder;
}

void require_bytes(const std::string& folder, const DecoderConfig& config) {
  if (config.vocab_size != 256 || is_there(folder + "/tokenizer.json"))
    fail(ErrorCode::kUnsupported, folder,
         "expected a model of bytes, with 256 tokens and no tokenizer.json, got ",
         config.vocab_size, " tokens; tokenizers are not supported yet");
}

}  // namespace wick::cli
