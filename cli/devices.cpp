// wick devices: lists the devices; for each backend without one, the reason and a remedy.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "wick/core/backend.h"

namespace wick::cli {
namespace {

struct Options {
  bool ops = false;
  std::string device;
};

void print_device(const std::string& name, const DeviceInfo& info) {
  std::printf("%-8s %s, %s, %.1f GiB", name.c_str(), info.name, info.architecture,
              double(info.total_bytes) / double(1 << 30));
  if (info.wave > 1) std::printf(", wave %d, %d compute units", info.wave, info.compute_units);
  if (info.integrated) std::printf(", integrated");
  std::printf("\n");
}

std::string place(const std::string& backend, int ordinal) {
  return backend == "cpu" ? backend : backend + ":" + std::to_string(ordinal);
}

/// A line about copies between the devices of a backend, and one for each pair without them.
void print_copies(const BackendStatus& status) {
  int tested = 0, failed = 0;
  for (const DeviceInfo& from : status.devices)
    for (const DeviceInfo& to : status.devices) {
      const Device a = Device::parse(place(status.name, from.ordinal));
      const Device b = Device::parse(place(status.name, to.ordinal));
      const std::optional<std::string> failure = copy_failure(a, b);
      if (!failure) continue;
      tested++;
      if (failure->empty()) continue;
      failed++;
      std::printf("%-8s copies from %s to %s go through host memory: %s\n", status.name.c_str(),
                  to_string(a).c_str(), to_string(b).c_str(), failure->c_str());
    }
  if (tested > 0)
    std::printf("%-8s copies between devices: tested, %d of %d pairs copy directly\n",
                status.name.c_str(), tested - failed, tested);
}

void print_backends() {
  for (const BackendStatus& status : backend_status()) {
    for (const DeviceInfo& info : status.devices)
      print_device(place(status.name, info.ordinal), info);
    for (const std::string& why : status.unusable)
      std::printf("%-8s unusable: %s\n", status.name.c_str(), why.c_str());
    if (status.devices.empty() && status.unusable.empty())
      std::printf("%-8s none: %s\n", status.name.c_str(), status.why_none.c_str());
    for (const std::string& line : status.runtime)
      std::printf("%-8s runtime: %s\n", status.name.c_str(), line.c_str());
    if (status.name != "emu") print_copies(status);
  }
  std::printf("best     %s\n", to_string(Device::best()).c_str());
}

/// The kernels of an op for a dtype, with an operand of any dtype ("*") of that dtype too, else of
/// the first one that has kernels.
std::vector<KernelSummary> kernels_with_any(const Device& device, const Op& op, DType dtype) {
  auto kernels = kernels_of(device, op, dtype);
  const bool has_any = std::string_view(op.operands).find('*') != std::string_view::npos;
  for (int any = 0; has_any && kernels.empty() && any < kNumDTypes; any++)
    kernels = kernels_of(device, op, dtype, DType(any));
  return kernels;
}

/// Prints, per op and dtype, K: a kernel of wick, L: a vendor library, -: no kernel. Ops without a
/// kernel may run as composites.
void print_ops(const Device& device) {
  std::printf("%s: K kernel, L library, - none\n%-24s", to_string(device).c_str(), "");
  for (int d = 0; d < kNumDTypes; d++) std::printf("%8s", dtype_name(DType(d)));
  std::printf("\n");
  for (const Op* op : ops_of(Device::cpu())) {
    std::printf("%-24s", op->name);
    for (int d = 0; d < kNumDTypes; d++) {
      const auto kernels = kernels_with_any(device, *op, DType(d));
      std::printf("%8s", kernels.empty() ? "-" : kernels[0].library ? "L" : "K");
    }
    std::printf("\n");
  }
}

}  // namespace

void add_devices(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("devices", "what is there, and for what is not: why, and what would help");
  const auto options = std::make_shared<Options>();
  command->add_flag("--ops", options->ops, "who serves each op and dtype on the device");
  command->add_option("--device", options->device,
                      "cpu, rocm[:N], cuda[:N], emu:32, emu:64 or auto (with --ops)");
  command->callback([options] {
    if (options->ops)
      print_ops(Device::parse(options->device.empty() ? "auto" : options->device));
    else if (!options->device.empty()) {
      const Device device = Device::parse(options->device);
      print_device(to_string(device), device.info());
    } else {
      print_backends();
    }
  });
}

}  // namespace wick::cli
