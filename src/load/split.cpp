#include "load/split.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "wick/abi/backend.h"

namespace wick {
namespace {

constexpr std::string_view kLayers = "model.layers.";

/// The layer of a tensor with a Decoder's name; -1 outside of the layers.
int64_t layer_of(std::string_view name) {
  int64_t layer = -1;
  if (name.starts_with(kLayers))
    std::from_chars(name.data() + kLayers.size(), name.data() + name.size(), layer);
  return layer;
}

bool is_of_experts(std::string_view name) { return name.find(".experts.") != name.npos; }
bool is_output(std::string_view name) {
  return name.starts_with("model.norm.") || name.starts_with("lm_head.");
}

/// The bytes of a weight on the device; 0 for one that stays in its file.
int64_t bytes_on(const Device& device, const TensorInfo& info, DType dtype) {
  const DType kept = Parameters::kept_dtype(info, dtype);
  return device.is_cpu() && kept == info.dtype ? 0 : bytes_of(kept, numel(info.shape));
}

bool has_tied_output(const TensorSource& tensors) {
  return tensors.tensors.count("lm_head.weight") == 0;
}
const char* const kEmbedding = "model.embed_tokens.weight";

std::vector<Device> spread(const std::vector<Device>& devices, const std::vector<int64_t>& counts) {
  std::vector<Device> layers;
  for (size_t i = 0; i < devices.size(); i++)
    layers.insert(layers.end(), size_t(counts[i]), devices[i]);
  return layers;
}

Placement placement_on(const std::vector<Device>& layers, int64_t cpu_experts) {
  return {layers.front(), layers.back(), layers, cpu_experts};
}

CacheOptions cache_options(const CausalModel& model, const SplitOptions& options) {
  constexpr int64_t kDefault = 4096;
  const int64_t most = model.positions();
  return {
      .sequences = options.sequences,
      .capacity = options.context > 0 ? std::min(options.context, most) : std::min(kDefault, most),
      .type = options.kv};
}

// ---- the layers that fit

/// The sizes of a model's parts on each device.
struct Sizes {
  const std::vector<Device>& devices;
  const TensorSource& tensors;
  DType dtype;
  int64_t cpu_experts;
  std::vector<int64_t> cache;  // of each layer
  int64_t workspace;           // of a call, on each device

  /// The bytes on `device` if it has the layers [begin, end).
  int64_t of(const Device& device, int64_t begin, int64_t end) const {
    const int64_t layers = int64_t(cache.size());
    int64_t bytes = workspace;
    for (const auto& [name, info] : tensors.tensors) {
      const int64_t layer = layer_of(name);
      const bool is_elsewhere =
          is_of_experts(name) && layer < cpu_experts && !device.is_cpu() && layer >= 0;
      const bool is_here = layer >= 0        ? begin <= layer && layer < end
                           : is_output(name) ? end == layers
                                             : begin == 0;
      const bool is_tied_output = name == kEmbedding && has_tied_output(tensors) && end == layers;
      if ((is_here || is_tied_output) && !is_elsewhere) bytes += bytes_on(device, info, dtype);
    }
    for (int64_t i = begin; i < end; i++) bytes += cache[size_t(i)];
    return bytes;
  }
};

/// The largest counts of layers that fit: devices before the CPU are filled from the first layer
/// on, the devices after it from the last layer back, and the CPU has the others.
std::vector<int64_t> fitting_layers(const Sizes& sizes) {
  const std::vector<Device>& devices = sizes.devices;
  const int64_t layers = int64_t(sizes.cache.size());
  std::vector<int64_t> counts(devices.size(), 0);
  const auto cpu = std::find_if(devices.begin(), devices.end(),
                                [](const Device& device) { return device.is_cpu(); });
  const size_t middle = size_t(cpu - devices.begin());
  int64_t begin = 0, end = layers;  // the layers that no device has yet
  const auto fits = [&](const Device& device, int64_t from, int64_t to) {
    // Of the rest, the allocator rounds sizes up and libraries take some.
    const int64_t free = device.memory().free_bytes;
    return sizes.of(device, from, to) <= free - free / 32;
  };
  for (size_t i = 0; i < middle; i++) {
    int64_t to = end;
    while (to > begin && !fits(devices[i], begin, to)) to--;
    counts[i] = to - begin;
    begin = to;
  }
  for (size_t i = devices.size(); i-- > middle + 1 && begin < end;) {
    int64_t from = begin;
    while (from < end && !fits(devices[i], from, end)) from++;
    counts[i] = end - from;
    end = from;
  }
  // Without a CPU, layers that fit nowhere are the last device's, whose lack of memory is an error.
  counts[middle < devices.size() ? middle : devices.size() - 1] += end - begin;
  return counts;
}

/// The devices to spread layers over: without the CPU if another one shares its memory. Emulators,
/// which do so too, stand for cards.
std::vector<Device> separate(std::vector<Device> devices) {
  const bool shares = std::any_of(devices.begin(), devices.end(), [](const Device& device) {
    return !device.is_cpu() && !device.is_emulated() && device.info().integrated != 0;
  });
  if (shares) std::erase_if(devices, [](const Device& device) { return device.is_cpu(); });
  return devices;
}

/// The temporary memory of a call: a matrix in the computation's dtype, and some activations of a
/// part of a prompt.
int64_t workspace_of(const TensorSource& tensors, const ModelFacts& facts, DType dtype) {
  constexpr int64_t kTokens = 512, kActivations = 16;
  int64_t largest = 0;
  for (const auto& [name, info] : tensors.tensors)
    if (layer_of(name) >= 0 && !is_of_experts(name))
      largest = std::max(largest, bytes_of(dtype, numel(info.shape)));
  return largest + bytes_of(dtype, kTokens * kActivations * facts.hidden_size);
}

std::vector<int64_t> chosen_layers(const ModelConfig& config, const TensorSource& tensors,
                                   const LoadOptions& options, const std::vector<Device>& devices) {
  const DType dtype = dtype_of(options);
  Parameters shapes = Parameters::of_shapes(dtype);
  const auto model = config.make(shapes, options.positions);
  return fitting_layers({.devices = devices,
                         .tensors = tensors,
                         .dtype = dtype,
                         .cpu_experts = options.split.cpu_experts,
                         .cache = model->cache_bytes(cache_options(*model, options.split)),
                         .workspace = workspace_of(tensors, config.facts(), dtype)});
}

}  // namespace

std::string size_text(double bytes) {
  const bool large = bytes >= double(1 << 30);
  char text[32];
  std::snprintf(text, sizeof text, large ? "%.1f GiB" : "%.2f MiB",
                bytes / double(large ? 1 << 30 : 1 << 20));
  return text;
}

const Device& Placement::device_of(const std::string& name) const {
  static const Device cpu;
  const int64_t layer = layer_of(name);
  if (layer >= 0 && layer < cpu_experts && is_of_experts(name)) return cpu;
  if (layer >= 0 && layer < int64_t(layers.size())) return layers[size_t(layer)];
  return is_output(name) ? last : first;
}

std::vector<Device> Placement::devices() const {
  std::vector<Device> devices = {first};
  const auto add = [&](const Device& device) {
    if (std::find(devices.begin(), devices.end(), device) == devices.end())
      devices.push_back(device);
  };
  for (const Device& device : layers) add(device);
  if (cpu_experts > 0) add(Device::cpu());
  return devices;
}

Placement placed_on(const Device& device) { return {.first = device, .last = device}; }

DType dtype_of(const LoadOptions& options) {
  if (options.dtype) return *options.dtype;
  for (const Device& device : options.split.devices)
    if (!device.is_cpu()) return device.preferred_dtype();
  return options.device.preferred_dtype();
}

Placement placement_of(const std::string& path, const ModelConfig& config,
                       const TensorSource& tensors, const LoadOptions& options) {
  const SplitOptions& split = options.split;
  const int64_t layers = config.num_layers();
  const bool splits =
      !split.devices.empty() || !split.layers.empty() || split.with_cpu || split.cpu_experts > 0;
  if (!splits) return placed_on(options.device);
  check(layers > 0, ErrorCode::kUnsupported, path, "the layers of a model of type ",
        config.facts().model_type, " cannot be split over devices");
  check(split.cpu_experts >= 0, ErrorCode::kInvalidArgument, path,
        "cpu_experts: expected at least 0, got ", split.cpu_experts);
  std::vector<Device> devices =
      split.devices.empty() ? std::vector<Device>{options.device} : split.devices;
  if (split.layers.empty()) {
    if (split.with_cpu && devices.size() == 1 && !devices[0].is_cpu())
      devices.insert(devices.begin(), Device::cpu());
    devices = separate(std::move(devices));
    const std::vector<int64_t> counts = devices.size() > 1
                                            ? chosen_layers(config, tensors, options, devices)
                                            : std::vector<int64_t>{layers};
    return placement_on(spread(devices, counts), split.cpu_experts);
  }
  if (split.layers.size() == devices.size() + 1) devices.push_back(Device::cpu());
  check(split.layers.size() == devices.size(), ErrorCode::kInvalidArgument, path,
        "split: expected a number of layers for each of ", devices.size(), " devices, got ",
        split.layers.size());
  int64_t sum = 0;
  for (const int64_t count : split.layers) {
    check(count >= 0 && count <= layers, ErrorCode::kInvalidArgument, path, "split: expected 0 to ",
          layers, " layers on a device, got ", count);
    sum += count;
  }
  check(sum == layers, ErrorCode::kInvalidArgument, path, "split: expected the model's ", layers,
        " layers in all, got ", sum);
  return placement_on(spread(devices, split.layers), split.cpu_experts);
}

std::vector<std::string> Placement::tensors_on(const Device& device,
                                               const TensorSource& tensors) const {
  std::vector<std::string> names;
  for (const auto& [name, info] : tensors.tensors) {
    const bool is_tied_output = name == kEmbedding && has_tied_output(tensors) && last == device;
    if (device_of(name) == device || is_tied_output) names.push_back(name);
  }
  return names;
}

int64_t weight_bytes(const Placement& placement, const TensorSource& tensors, DType dtype,
                     const Device& device) {
  int64_t bytes = 0;
  for (const std::string& name : placement.tensors_on(device, tensors))
    bytes += bytes_on(device, tensors.tensors.at(name), dtype);
  return bytes;
}

std::string text_of(const Placement& placement, const TensorSource& tensors,
                    const CausalModel& model, const SplitOptions& options) {
  const std::vector<Device> devices = placement.devices();
  if (devices.size() == 1 && options.devices.size() < 2 && !options.with_cpu) return "";
  const std::vector<int64_t> cache = model.cache_bytes(cache_options(model, options));
  std::string text;
  for (const Device& device : devices) {
    text += (text.empty() ? "" : "; ") + to_string(device) + ":";
    int64_t of_cache = 0, first = -1, last = -1;
    for (size_t i = 0; i < placement.layers.size(); i++) {
      if (placement.layers[i] != device) continue;
      of_cache += cache[i];
      if (first < 0) first = int64_t(i);
      last = int64_t(i);
    }
    if (first >= 0)
      text += " layers " + std::to_string(first) + " to " + std::to_string(last) + ",";
    if (placement.cpu_experts > 0 && device.is_cpu())
      text +=
          " experts of layers 0 to " +
          std::to_string(std::min(placement.cpu_experts, int64_t(placement.layers.size())) - 1) +
          ",";
    int64_t of_weights = 0;
    for (const std::string& name : placement.tensors_on(device, tensors)) {
      const TensorInfo& info = tensors.tensors.at(name);
      of_weights +=
          bytes_of(Parameters::kept_dtype(info, model.options().dtype), numel(info.shape));
    }
    text += " " + size_text(double(of_weights)) + " of weights";
    if (of_cache > 0) text += ", " + size_text(double(of_cache)) + " of cache";
  }
  return text;
}

}  // namespace wick
