#include "model.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <random>

#include "failure.h"
#include "hub.h"
#include "input.h"
#include "printable.h"
#include "ranges.h"
#include "ranks.h"
#include "report.h"
#include "wick/models/tensor_parallel.h"

namespace wick::cli {
namespace {

constexpr const char* kNoProcessor =
    "expected preprocessor_config.json or processor_config.json in the folder";

}  // namespace

void ModelFlags::settle() {
  Places::settle();
  // Of several devices, the CPU has the most room.
  const bool splits = !split.empty() || device.find(',') != device.npos;
  path = fetch_argument(path, splits ? "cpu" : device);
}

void add_model_flags(CLI::App& command, ModelFlags& flags, const FilePlaces& files) {
  flags.add(command,
            "a GGUF file, a folder with one or with config.json and safetensors, or a model of the "
            "HuggingFace hub: ORG/NAME[:FILE or TYPE][@REVISION]",
            files);
  command
      .add_option("--device", flags.device,
                  "cpu, rocm[:N], cuda[:N], emu:32, emu:64 or auto; several, such as "
                  "cuda:0,cuda:1,cpu, share the layers in this order")
      ->capture_default_str();
  command.add_option("--split", flags.split,
                     "the layers on each device, such as 20,12, the last number for the CPU if it "
                     "is not listed; auto: as many on the device as fit, the others on the CPU "
                     "(default with several devices)");
  command
      .add_option("--cpu-experts", flags.cpu_experts,
                  "keep and compute the experts of the first N layers, or of all layers without N, "
                  "on the CPU")
      ->expected(0, 1)
      ->default_str(std::to_string(DecoderConfig::kMaxLayers))
      ->option_text("[N]")
      ->check(integer_from(0, DecoderConfig::kMaxLayers));
  constexpr int64_t kMaxRanks = 64;
  command
      .add_option("--tp", flags.ranks,
                  "tensor parallel: so many processes share the weights and compute together, each "
                  "on a card of its own or with its share of the CPU's cores")
      ->check(integer_from(1, kMaxRanks));
  command.add_option("--dtype", flags.dtype,
                     "dtype of the computation: f32, bf16, f16 or f64 (default: the device's)");
  add_tokenizer_pre_flag(command, flags.tokenizer_pre);
}

void add_cache_flag(CLI::App& command, ModelFlags& flags) {
  command
      .add_option("--kv", flags.kv,
                  "hold keys and values in f16, f8 or q8_0 (default: the dtype of the "
                  "computation): less memory")
      ->check(CLI::IsMember({"f16", "f8", "q8_0"}));
}

void add_tokenizer_pre_flag(CLI::App& command, std::string& name) {
  command.add_option("--tokenizer-pre", name,
                     "pre-tokenizer of a GGUF file that names none or an unknown one, as qwen2");
}

namespace {

/// The parts of a list between commas.
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char c : list)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// The devices of --device and the layers of --split.
SplitOptions split_options(const ModelFlags& flags) {
  SplitOptions options{.context = flags.context,
                       .sequences = flags.sequences,
                       .kv = flags.cache(),
                       .cpu_experts = flags.cpu_experts};
  std::vector<Device> devices;
  for (const std::string& name : parts_of(flags.device)) devices.push_back(Device::parse(name));
  const bool is_auto = flags.split == "auto";
  if (devices.size() == 1 && flags.split.empty()) return options;
  options.devices = devices;
  options.with_cpu = is_auto;
  if (is_auto || flags.split.empty()) return options;
  for (const std::string& part : parts_of(flags.split)) {
    int64_t count = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), count);
    if (error != std::errc() || end != part.data() + part.size() || count < 0)
      fail_input("--split", "expected numbers of layers, such as 20,12, or auto, got ",
                 flags.split);
    options.layers.push_back(count);
  }
  return options;
}

LoadOptions load_options(const ModelFlags& flags) {
  LoadOptions options{.device = Device::parse(parts_of(flags.device).front()),
                      .tokenizer_pre = flags.tokenizer_pre,
                      .split = split_options(flags)};
  if (flags.dtype.empty()) return options;
  constexpr const char* kNames[] = {"f32", "bf16", "f16", "f64"};
  if (std::find(std::begin(kNames), std::end(kNames), flags.dtype) == std::end(kNames))
    fail_input("--dtype", "expected f32, bf16, f16 or f64, got ", flags.dtype);
  options.dtype = dtype_of_name(flags.dtype);
  return options;
}

/// Returns load(options), which loads a model; shows its progress and its warnings, unless this is
/// a rank beside rank 0.
template <class F>
auto loading(LoadOptions options, const OpenOptions& open, const F& load) {
  const bool shows = !options.group || options.group->rank() == 0;
  std::optional<ByteProgress> bar;
  if (open.has_bar && shows) bar.emplace("loaded");
  options.progress = [&](int64_t done, int64_t total) {
    if (bar) bar->update(done, total);
    if (open.progress) open.progress(done, total);
  };
  auto model = reading_input([&] { return load(options); });
  if (bar) bar->finish();
  for (const std::string& warning : shows ? model.warnings : std::vector<std::string>())
    std::fprintf(stderr, "wick: warning: %s\n", printable(warning).c_str());  // quotes keys
  return model;
}

}  // namespace

namespace {

/// A model that ranks share: on rank 0. The others follow it.
template <class F>
LanguageModel open_on_ranks(const LoadOptions& options, const OpenOptions& open, const F& load) {
  std::optional<LanguageModel> loaded;
  try {
    loaded = loading(options, open, load);
  } catch (const Error& error) {
    show_rank_lines(error.what());
    throw;
  }
  show_rank_lines();
  if (!follows(*loaded->model)) return *std::move(loaded);
  follow(*loaded->model);
  throw Followed();
}

}  // namespace

LanguageModel open_model(const ModelFlags& flags, const OpenOptions& open) {
  LoadOptions given = load_options(flags);
  if (flags.ranks > 1) {
    given.group = rank_group(int(flags.ranks));
    given.device = device_of_rank(parts_of(flags.device).front(), *given.group);
  }
  const auto load = [&](LoadOptions& options) {
    options.positions = open.positions;
    // A context beyond the model's own takes more positions.
    if (open.positions == 0 && flags.context > 0 &&
        flags.context > load_facts(flags.path).max_position_embeddings)
      options.positions = flags.context;
    LanguageModel model = load_model(flags.path, options);
    if (!model.split.empty()) std::fprintf(stderr, "wick: %s\n", model.split.c_str());
    return model;
  };
  if (flags.ranks == 1) return loading(std::move(given), open, load);
  return open_on_ranks(given, open, load);
}

LoadedImageText open_image_text(const ModelFlags& flags) {
  check(flags.ranks == 1, ErrorCode::kUnsupported, flags.path,
        "--tp: several ranks cannot share a model that compares images with texts");
  return loading(load_options(flags), {},
                 [&](const LoadOptions& options) { return load_image_text(flags.path, options); });
}

ModelKind kind_of(const ModelFlags& flags) {
  return reading_input([&] { return load_kind(flags.path); });
}

bool has_token_embeddings(const ModelFlags& flags) {
  return kind_of(flags) == ModelKind::kCausal &&
         reading_input([&] { return load_facts(flags.path); }).embedding_dim > 0;
}

void require_continuation(const LanguageModel& model, const std::string& path) {
  const ModelFacts& facts = model.facts();
  check(facts.is_causal, ErrorCode::kUnsupported, path, "a model of type ", facts.model_type,
        " whose tokens see each other both ways continues no text; use wick embed",
        facts.embedding_dim > 0 ? " or wick rank" : "");
}

void require_tokenizer(const LanguageModel& model, const std::string& path) {
  check(model.tokenizer.has_value(), ErrorCode::kUnsupported, path, "the model has no tokenizer");
}

void require_image_processor(const LoadedImageText& model, const std::string& path) {
  check(model.image_processor.has_value(), ErrorCode::kUnsupported, path, kNoProcessor);
}

void require_images(const LanguageModel& model, const std::string& path) {
  check(model.facts().images.has_value(), ErrorCode::kUnsupported, path, "a model of type ",
        model.facts().model_type, " reads no images");
  check(model.image_processor.has_value(), ErrorCode::kUnsupported, path, kNoProcessor);
}

void add_image_flag(CLI::App& command, std::vector<std::string>& files,
                    const std::string& description) {
  command
      .add_option("--image", files,
                  description +
                      ": a PNG, JPEG or WebP file, for a model that reads images "
                      "(PaliGemma); may be repeated")
      ->allow_extra_args(false);
}

Image read_image_input(const std::string& file) {
  return decode_image(read_input(file), input_name(file));
}

std::vector<Image> read_images(const std::vector<std::string>& files) {
  std::vector<Image> images;
  for (const std::string& file : files) images.push_back(read_image_input(file == "-" ? "" : file));
  return images;
}

void add_sampling_flags(CLI::App& command, SamplingFlags& flags) {
  command
      .add_option("--temperature", flags.temperature,
                  "0: always the likeliest token (default: the model's, else 0.3)")
      ->check(real_from({}));
  command.add_option("--top-k", flags.top_k, "keep the k likeliest tokens; 0: all")
      ->check(integer_from(0));
  command
      .add_option("--top-p", flags.top_p, "keep the likeliest tokens that together reach p; 1: all")
      ->check(real_from({.highest = 1, .above_lowest = true}));
  command
      .add_option("--min-p", flags.min_p,
                  "keep tokens of at least p times the likeliest's probability (default: the "
                  "model's, else 0.2)")
      ->check(real_from({.highest = 1}));
  command
      .add_option("--repetition-penalty", flags.repetition_penalty,
                  "makes tokens that occurred less likely; 1: off")
      ->check(real_from({.above_lowest = true}));
  command
      .add_option("--frequency-penalty", flags.frequency_penalty,
                  "subtracted from a token's logit per occurrence")
      ->capture_default_str();
  command
      .add_option("--presence-penalty", flags.presence_penalty,
                  "subtracted from the logits of tokens that occurred")
      ->capture_default_str();
  command.add_option("--logit-bias", flags.logit_bias, "ID=NUMBER, added to a token's logit")
      ->allow_extra_args(false);
  command.add_option("--stop", flags.stop, "text at which the answer ends; may be repeated")
      ->allow_extra_args(false);
  command
      .add_option("--seed", flags.seed,
                  "seed of the random numbers; repeats a run (default: another one each run)")
      ->check(seed_range());
  command.add_flag("--verbose", flags.verbose, "print the seed");
}

uint64_t start_sampling(const SamplingFlags& flags, const LanguageModel& model) {
  // 32 bits: short enough to be typed.
  const uint64_t seed = flags.seed ? *flags.seed : std::random_device{}();
  model.model->options().device.set_seed(seed);
  if (flags.verbose) std::fprintf(stderr, "seed: %llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

Sampling sampling_of(const SamplingFlags& flags, const LanguageModel& model) {
  Sampling s = model.default_sampling();
  s.temperature = flags.temperature.value_or(s.temperature);
  s.top_k = flags.top_k.value_or(s.top_k);
  s.top_p = flags.top_p.value_or(s.top_p);
  s.min_p = flags.min_p.value_or(s.min_p);
  s.repetition_penalty = flags.repetition_penalty.value_or(s.repetition_penalty);
  s.frequency_penalty = flags.frequency_penalty;
  s.presence_penalty = flags.presence_penalty;
  for (const std::string& text : flags.logit_bias) {
    const size_t equals = text.find('=');
    char *id_end = nullptr, *bias_end = nullptr;
    const long long id = std::strtoll(text.c_str(), &id_end, 10);
    const double bias = equals == text.npos ? 0 : std::strtod(text.c_str() + equals + 1, &bias_end);
    const bool good = equals != text.npos && equals > 0 && id_end == text.c_str() + equals &&
                      bias_end != text.c_str() + equals + 1 && *bias_end == 0;
    if (!good) fail_input("--logit-bias", "expected ID=NUMBER, got ", text);
    s.logit_bias[id] = bias;
  }
  return s;
}

}  // namespace wick::cli
