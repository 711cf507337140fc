// A GGUF file: its headers, every byte of its tensors, its config and its tokenizer.
#include "input.h"
#include "wick/io/gguf.h"
#include "wick/models/decoder.h"
#include "wick/text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  const wick::fuzz::File file(bytes, count);
  wick::fuzz::parse([&] {
    const wick::GgufReader reader(file.path());
    const wick::Settings& metadata = reader.metadata();
    wick::fuzz::parse([&] {
      const wick::TensorSource source = reader.source();
      wick::fuzz::parse([&] { wick::decoder_config_of_gguf(metadata, source); });
      for (const auto& [name, info] : source.tensors) {
        const wick::Tensor tensor = source.load(name, wick::Device::cpu());
        const auto* data = static_cast<const volatile uint8_t*>(tensor.data());
        for (int64_t i = 0; i < wick::bytes_of(info.dtype, wick::numel(info.shape)); i++)
          (void)data[i];
      }
    });
    const wick::Tokenizer tokenizer = wick::Tokenizer::from_gguf(metadata);
    tokenizer.decode(tokenizer.encode_ids("Hello, w\xc3\xb6rld 123!\n  <s> \xff"));
  });
  return 0;
}
