// Files of tensors.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>

#include "bind.h"
#include "casters.h"
#include "wick/io/gguf.h"
#include "wick/io/safetensors.h"

namespace wick::python {
namespace {

Device or_cpu(const std::optional<DeviceArgument>& device) {
  return device ? Device(*device) : Device::cpu();
}

}  // namespace

void bind_files(nb::module_& m) {
  m.def(
      "load_safetensors",
      [](const std::filesystem::path& path, const std::optional<DeviceArgument>& device) {
        return load_safetensors(path.string(), or_cpu(device));
      },
      nb::arg("path"), nb::arg("device") = nb::none(), WithoutGil(),
      "The tensors of a safetensors file, or of a folder with one or its shards: a dict.");
  m.def(
      "save_safetensors",
      [](const std::filesystem::path& path, const NamedTensors& tensors, const Metadata& metadata) {
        save_safetensors(path.string(), tensors, metadata);
      },
      nb::arg("path"), nb::arg("tensors"), nb::arg("metadata") = Metadata(), WithoutGil(),
      "Writes a dict of tensors. The file appears under its name only when complete.");
  m.def(
      "load_gguf",
      [](const std::filesystem::path& path, const std::optional<DeviceArgument>& device) {
        const GgufReader reader(path.string());
        NamedTensors tensors;
        for (const auto& [name, entry] : reader.tensors())
          tensors.emplace(name, reader.load(name, or_cpu(device)));
        return tensors;
      },
      nb::arg("path"), nb::arg("device") = nb::none(), WithoutGil(),
      "The tensors of a GGUF file: a dict. Quantized ones have block dtypes, such as q4_k.");
}

}  // namespace wick::python
