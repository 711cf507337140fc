#include "device.h"
#include "bind.h"
#include "casters.h"
#include "seeds.h"
#include "wick/doctor/doctor.h"

namespace wick::python {
namespace {

/// "rocm" of "rocm:0".
std::string type_of(const Device& device) {
  const std::string name = to_string(device);
  return name.substr(0, name.find(':'));
}

/// Whether the text names the device; without an ordinal it names ordinal 0.
bool is_named(const Device& device, std::string_view text) {
  const std::string name = to_string(device);
  return text == name || (text.find(':') == text.npos && std::string(text) + ":0" == name);
}

}  // namespace

std::vector<Device> all_devices() {
  std::vector<Device> all;
  for (const BackendStatus& backend : backend_status())
    for (const DeviceInfo& info : backend.devices)
      all.push_back(backend.name == "cpu" ? Device::cpu()
                    : backend.name == "emu"
                        ? Device::emulated(info.wave)
                        : Device::parse(backend.name + ":" + std::to_string(info.ordinal)));
  return all;
}

void bind_device(nb::module_& m) {
  nb::class_<Device>(m, "Device",
                     "A device that exists: \"cpu\", \"rocm:0\", \"cuda:1\", \"emu:32\".")
      .def(
          "__init__",
          [](Device* self, std::string_view name) {
            enter_wick();
            new (self) Device(Device::parse(name));
          },
          nb::arg("name"), "Parses a name; \"auto\" is the best device of this machine.")
      .def_prop_ro("type", &type_of, "The kind of device: \"cpu\", \"rocm\", \"cuda\", \"emu\".")
      .def_prop_ro("index", &Device::ordinal, "The ordinal among devices of its type.")
      .def_prop_ro(
          "name", [](const Device& device) { return std::string(device.info().name); },
          "The product's name: \"AMD Radeon RX 7900 XTX\".")
      .def_prop_ro(
          "architecture",
          [](const Device& device) { return std::string(device.info().architecture); },
          "\"gfx1100\", \"sm_90\", \"x86-64-v4\".")
      .def("synchronize", &Device::synchronize, WithoutGil(),
           "Waits for all work on the device and raises the errors of its kernels.")
      .def("empty_cache", &Device::empty_cache, WithoutGil(),
           "Returns the memory that wick holds unused to the device.")
      .def("manual_seed", &seed_device, nb::arg("seed"),
           "Sets the random seed. The same seed gives the same numbers on every device; sessions "
           "that are begun afterwards without a seed of their own depend on it too.")
      .def(
          "memory",
          [](const Device& device) {
            const Device::Memory memory = device.memory();
            return nb::make_tuple(memory.free_bytes, memory.total_bytes);
          },
          "The device's memory in bytes: (free, total).")
      .def(
          "__eq__", [](const Device& a, const Device& b) { return a == b; }, nb::is_operator())
      .def("__eq__", &is_named, nb::is_operator())
      .def("__hash__",
           [](const Device& device) { return nb::hash(nb::str(to_string(device).c_str())); })
      .def("__str__", [](const Device& device) { return to_string(device); })
      .def("__repr__",
           [](const Device& device) { return "wick.Device('" + to_string(device) + "')"; })
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(self.type(), nb::make_tuple(nb::str(self)));
      });

  m.def("devices", &all_devices, WithoutGil(),
        "All devices of this machine, the emulators included.");
  m.def(
      "doctor", [] { return to_text(examine(this_machine())); }, WithoutGil(),
      "The causes that keep this machine's GPUs from working in this process, and their cures, as "
      "a "
      "text: drivers, rights, containers, runtimes (also two in one process), variables.");
  m.def("rocm_is_available", &rocm_is_available, WithoutGil());
  m.def("rocm_device_count", &rocm_device_count, WithoutGil());
  m.def("cuda_is_available", &cuda_is_available, WithoutGil());
  m.def("cuda_device_count", &cuda_device_count, WithoutGil());
}

}  // namespace wick::python
