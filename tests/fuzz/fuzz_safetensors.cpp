// A safetensors file: its header and every byte of its tensors.
#include "input.h"
#include "wick/io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  const wick::fuzz::File file(bytes, count);
  wick::fuzz::parse([&] {
    const wick::TensorSource source = wick::SafetensorsReader(file.path()).source();
    for (const auto& [name, info] : source.tensors) {
      const wick::Tensor tensor = source.load(name, wick::Device::cpu());
      const auto* data = static_cast<const volatile uint8_t*>(tensor.data());
      for (int64_t i = 0; i < wick::bytes_of(info.dtype, wick::numel(info.shape)); i++)
        (void)data[i];
    }
  });
  return 0;
}
