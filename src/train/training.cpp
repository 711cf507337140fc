#include "wick/train/training.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "train/checksum.h"
#include "train/scored_windows.h"
#include "wick/abi/backend.h"
#include "wick/base/hash.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/loss.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"
#include "wick/text/tokenizer.h"

namespace wick {
namespace {

// Keys in the file's metadata; older versions wrote kPlanKey alone.
constexpr const char* kPlanKey = "wick_training";
constexpr const char* kArchitecturesKey = "wick_architectures";
constexpr const char* kChecksumKey = "wick_checksum";
constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kTokenizerFile = "tokenizer.json";
constexpr const char* kConfigFile = "config.json";

Settings settings_of(const TrainingPlan& plan) {
  Settings s;
  s.set("config", to_settings(plan.config));
  s.set("data", Setting::List(plan.data.begin(), plan.data.end()));
  s.set("valid_fraction", plan.valid_fraction);
  s.set("data_checksum", std::to_string(plan.data_checksum));
  s.set("steps", plan.steps).set("batch", plan.batch).set("context", plan.context);
  if (plan.parts != 1) s.set("parts", plan.parts);
  s.set("rate", plan.rate).set("seed", std::to_string(plan.seed));
  s.set("beta1", plan.optimizer.beta1).set("beta2", plan.optimizer.beta2);
  s.set("eps", plan.optimizer.eps).set("weight_decay", plan.optimizer.weight_decay);
  s.set("clip_norm", plan.optimizer.clip_norm);
  return s;
}

/// Reads a 64-bit number stored as a string of digits, because not all JSON readers hold 64 bits.
uint64_t digits(const Settings& s, const char* key) {
  const std::string text = s.text(key);
  if (text.empty() || text.size() > 20 || text.find_first_not_of("0123456789") != text.npos)
    s.fail_expected(key, "a string of digits");
  return std::strtoull(text.c_str(), nullptr, 10);
}

TrainingPlan plan_of(const Settings& s) {
  TrainingPlan plan;
  const Settings* config = s.group("config");
  if (!config) s.fail_expected("config", "an object");
  plan.config = decoder_config(*config);
  plan.data = s.texts("data");
  plan.valid_fraction = s.real("valid_fraction");
  plan.data_checksum = digits(s, "data_checksum");
  plan.steps = s.integer("steps", 1);
  plan.batch = s.integer("batch", 1);
  plan.context = s.integer("context", 1);
  plan.parts = s.integer_or("parts", 1, 1);
  plan.rate = s.real("rate");
  plan.seed = digits(s, "seed");
  plan.optimizer = {.beta1 = s.real("beta1"),
                    .beta2 = s.real("beta2"),
                    .eps = s.real("eps"),
                    .weight_decay = s.real("weight_decay"),
                    .clip_norm = s.real("clip_norm"),
                    .decays_vectors = false};
  return plan;
}

/// Of the metadata other than the checksum itself, and of the names, dtypes, shapes and bytes of the
/// tensors: 16 hexadecimal digits.
std::string checksum_of(const Metadata& metadata, const TensorSource& tensors) {
  Checksum checksum;
  for (const auto& [key, value] : metadata) {
    if (key == kChecksumKey) continue;
    checksum.add(key);
    checksum.add(value);
  }
  std::vector<uint8_t> bytes;
  for (const auto& [name, info] : tensors.tensors) {
    checksum.add(name);
    checksum.add(dtype_name(info.dtype));
    for (const int64_t size : info.shape) checksum.add(size);
    const Tensor tensor = tensors.load(name, Device::cpu());
    bytes.resize(size_t(bytes_of(info.dtype, tensor.numel())));
    tensor.read(bytes.data());
    checksum.add(bytes.data(), bytes.size());
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, checksum.value());
  return text;
}

std::string text_of(const TrainingPlan& plan) { return to_json(settings_of(plan), -1); }

/// Refuses ranks whose texts differ. subject: their name in the error.
void require_same(const std::string& text, const char* subject, const ProcessGroup& group) {
  Fnv1a hash;
  hash.add(text.data(), text.size());
  const std::vector<int64_t> all =
      group.all_gather(Tensor::from({int64_t(hash.value())})).to_vector<int64_t>();
  for (size_t rank = 1; rank < all.size(); rank++)
    check(all[rank] == all[0], ErrorCode::kInvalidArgument, "train", "the ", subject, " of rank ",
          rank, " differ from those of rank 0");
}

ParameterOptions trained_on(const Device& device) {
  return {.dtype = DType::kF32, .device = device, .trainable = true};
}

Parameters drawn(const TrainingPlan& plan, const Device& device) {
  device.set_seed(plan.seed);
  return Parameters(trained_on(device));
}

}  // namespace

DecoderConfig byte_model_config(int64_t context) {
  return {.vocab_size = 256,
          .hidden_size = 128,
          .intermediate_size = 344,
          .num_hidden_layers = 4,
          .num_attention_heads = 4,
          .num_key_value_heads = 4,
          .head_dim = 32,
          .max_position_embeddings = context,
          .rms_norm_eps = 1e-5,
          .initializer_range = 0.08,
          .tie_word_embeddings = true};
}

void require_byte_model(const DecoderConfig& config, int64_t context, const std::string& where) {
  const ErrorCode code = ErrorCode::kInvalidArgument;
  check(config.vocab_size == 256, code, where,
        "\"vocab_size\": expected 256, a token per byte, got ", config.vocab_size);
  check(config.is_causal, code, where,
        "\"is_causal\": expected true, as the model learns to predict the next byte, got false");
  check(config.max_position_embeddings >= context, code, where,
        "\"max_position_embeddings\": expected at least the context ", context, ", got ",
        config.max_position_embeddings);
}

CosineRate TrainingPlan::schedule() const {
  return {.peak = rate, .last = 0, .warmup = std::min<int64_t>(200, steps / 9), .steps = steps};
}

void require_memory(const TrainingPlan& plan, const Device& device, int ranks) {
  const DecoderConfig& c = plan.config;
  const int64_t of_rank = (plan.batch + ranks - 1) / ranks;
  const int64_t at_once = (of_rank + plan.parts - 1) / plan.parts;
  const double tokens = double(at_once) * double(plan.context);
  // Per token: ids and targets, logits and their gradient; per layer its input, the norms' outputs,
  // and the halves of the feed-forward part.
  const double of_layer = 4 * double(c.hidden_size) + 2 * double(c.intermediate_size);
  const double of_token =
      16 + 4 * (2 * double(c.vocab_size) + double(c.num_hidden_layers) * of_layer);
  // Weights and gradients, and this rank's share of the averages.
  const double of_weight = 8 + 8.0 / ranks;
  const double bytes = of_weight * double(num_parameters(c)) + tokens * of_token;
  const int64_t room = device.info().total_bytes;  // 0: unknown
  const auto gibibytes = [](double n) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", n / (1 << 30));
    return std::string(text);
  };
  check(room <= 0 || bytes <= double(room), ErrorCode::kOutOfMemory, "train", "steps of ", at_once,
        " sequences of ", plan.context, " bytes take at least ", gibibytes(bytes), " GiB on ",
        device, ", which has ", gibibytes(double(room)));
}

// ---- the file

/// A file written by save.
struct Training::Saved {
  std::shared_ptr<SafetensorsReader> reader;
  std::string path;
  TrainingPlan plan;
  std::vector<std::string> architectures;
  std::string checksum;  // of an unchecked file: its plan
  bool unchecked;

  explicit Saved(const std::string& path)
      : reader(std::make_shared<SafetensorsReader>(path)), path(path) {
    const Metadata& metadata = reader->metadata();
    const auto text = metadata.find(kPlanKey);
    check(text != metadata.end(), ErrorCode::kFormat, path,
          "not a training state: its metadata has no \"", kPlanKey, "\"");
    unchecked = metadata.size() == 1;
    checksum = text->second;
    if (!unchecked) {
      const auto written = metadata.find(kChecksumKey);
      check(written != metadata.end(), ErrorCode::kFormat, path, "damaged: its metadata has no \"",
            kChecksumKey, "\"");
      const std::string computed = checksum_of(metadata, reader->source());
      check(written->second == computed, ErrorCode::kFormat, path, "damaged: its checksum is ",
            written->second, ", that of its contents ", computed);
      checksum = computed;
      const auto list = metadata.find(kArchitecturesKey);
      check(list != metadata.end(), ErrorCode::kFormat, path, "its metadata has no \"",
            kArchitecturesKey, "\"");
      architectures = parse_json(list->second, path).texts("architectures");
    }
    plan = plan_of(parse_json(text->second, path));
  }

  /// The tensors whose names start with the prefix, with the prefix removed.
  TensorSource source(const std::string& prefix) const {
    return without_prefix(reader->source(), prefix);
  }

  template <class T>
  std::vector<T> list(const std::string& name) const {
    const auto entry = reader->tensors().find(name);
    check(entry != reader->tensors().end() && entry->second.dtype == kDTypeOf<T> &&
              entry->second.shape.size() == 1,
          ErrorCode::kFormat, path, "expected a list \"", name, "\" of ", dtype_name(kDTypeOf<T>));
    return reader->load(name).to_vector<T>();
  }
};

Training::Training(const TrainingPlan& plan, Parameters parameters, const ProcessGroup& group)
    : plan_(plan),
      group_(group),
      parameters_(std::move(parameters)),
      decoder_(plan.config, parameters_, plan.context),
      positions_(positions_from_0(plan.batch, plan.context, parameters_.options().device)) {
  if (group.world_size() == 1)
    optimizer_ = std::make_unique<AdamW>(parameters_.vars(), plan.optimizer);
  else
    shared_optimizer_ = std::make_unique<DataParallel>(parameters_.vars(), plan.optimizer, group);
}

Training::Training(const TrainingPlan& plan, const Device& device, const ProcessGroup& group)
    : Training(plan, (require_same(text_of(plan), "plans or texts", group), drawn(plan, device)),
               group) {}

Training::Training(const std::string& path, const Device& device, const ProcessGroup& group)
    : Training(Saved(path), device, group) {}

Training::Training(const Saved& saved, const Device& device, const ProcessGroup& group)
    : Training(saved.plan,
               (require_same(saved.checksum, "files", group),
                Parameters(saved.source("parameter."), trained_on(device))),
               group) {
  architectures_ = saved.architectures;
  unchecked_ = saved.unchecked;
  history_.train = saved.list<float>("train_loss");
  const auto steps = saved.list<int64_t>("held_out_steps");
  const auto losses = saved.list<double>("held_out_loss");
  check(steps.size() == losses.size(), ErrorCode::kFormat, saved.path,
        "\"held_out_steps\" and \"held_out_loss\" differ in length");
  for (size_t i = 0; i < steps.size(); i++) history_.held_out.push_back({steps[i], losses[i]});
  const auto steps_done = int64_t(history_.train.size());
  if (optimizer_)
    optimizer_->restore(saved.source("optimizer."), steps_done);
  else
    shared_optimizer_->restore(saved.source("optimizer."), steps_done);
}

void Training::save(const std::string& folder) {
  const NoGrad off;
  settle();
  NamedTensors model, all;
  for (const auto& [name, parameter] : parameters_.vars()) {
    model[name] = parameter.tensor();
    all["parameter." + name] = parameter.tensor();
  }
  const NamedTensors averages = optimizer_ ? optimizer_->state() : shared_optimizer_->state();
  if (group_.rank() > 0) return;
  for (const auto& [name, tensor] : averages) all["optimizer." + name] = tensor;
  std::vector<int64_t> steps;
  std::vector<double> losses;
  for (const LossHistory::HeldOut& point : history_.held_out) {
    steps.push_back(point.step);
    losses.push_back(point.loss);
  }
  all["train_loss"] = Tensor::from(history_.train);
  all["held_out_steps"] = Tensor::from(steps);
  all["held_out_loss"] = Tensor::from(losses);
  Settings architectures;
  architectures.set("architectures", Setting::List(architectures_.begin(), architectures_.end()));
  Metadata metadata = {{kPlanKey, text_of(plan_)}, {kArchitecturesKey, to_json(architectures, -1)}};
  const TensorSource state = source_of(all, "train");
  metadata[kChecksumKey] = checksum_of(metadata, state);
  save_safetensors_from(folder + "/" + kTrainingFile, state, metadata);
  save_safetensors_from(folder + "/" + kModelFile,
                        folder_tensors(source_of(model, "train"), plan_.config),
                        {{"format", "pt"}});
  write_json(folder + "/" + kTokenizerFile, byte_tokenizer_json());
  write_json(folder + "/" + kConfigFile, to_settings(plan_.config));
}

std::vector<FileSize> Training::files(const std::string& folder) const {
  int64_t weights = 0;
  for (const auto& [name, parameter] : parameters_.vars())
    weights += bytes_of(DType::kF32, parameter.tensor().numel());
  const int64_t losses = plan_.steps * int64_t(sizeof(float));
  return {{folder + "/" + kTrainingFile, 3 * weights + losses},  // and two averages of each weight
          {folder + "/" + kModelFile, weights},
          {folder + "/" + kTokenizerFile},
          {folder + "/" + kConfigFile}};
}

// ---- steps

std::string Training::architecture() const {
  const std::string of_device = decoder_.options().device.info().architecture;
  return group_.world_size() == 1
             ? of_device
             : of_device + " in " + std::to_string(group_.world_size()) + " ranks";
}

Tensor Training::loss_of_rows(const Tensor& ids, const Tensor& targets, int64_t first,
                              int64_t count) const {
  const int64_t t = plan_.context;
  const Tensor logits =
      decoder_.forward(narrow(ids, 0, first, count), narrow(positions_, 0, 0, count));
  const Tensor rows = reshape(logits, {count * t, plan_.config.vocab_size});
  const Tensor of_rows = narrow(targets, 0, first * t, count * t);
  if (count == plan_.batch) return cross_entropy(rows, of_rows);
  // Divided by the same number in every part, so that all gradients are rounded alike.
  return cross_entropy(rows, of_rows, {.reduction = Reduction::kSum}) / double(plan_.batch * t);
}

void Training::step(const Tensor& ids, const Tensor& targets) {
  if (const std::string here = architecture();
      std::find(architectures_.begin(), architectures_.end(), here) == architectures_.end())
    architectures_.push_back(here);
  const int64_t ranks = group_.world_size(), rank = group_.rank();
  const int64_t begin = plan_.batch * rank / ranks;
  const int64_t rows = plan_.batch * (rank + 1) / ranks - begin;
  const int64_t parts = std::max<int64_t>(1, std::min(plan_.parts, rows));
  Tensor total;
  for (int64_t part = 0; part < parts; part++) {
    const int64_t first = rows * part / parts, count = rows * (part + 1) / parts - first;
    const Tensor loss = count > 0 ? loss_of_rows(ids, targets, begin + first, count) : Tensor();
    if (shared_optimizer_ && part == parts - 1)
      shared_optimizer_->backward(loss);
    else
      backward(loss);
    if (loss) total = total ? total + loss.detach() : loss.detach();
  }
  const double rate = plan_.schedule().at(steps_done());
  if (optimizer_) {
    optimizer_->step(rate);
    pending_.push_back(total);
    return;
  }
  shared_optimizer_->step(rate);
  const NoGrad off;
  pending_.push_back(group_.all_reduce(total ? total : zeros({}, {.device = ids.device()})));
}

void Training::settle() {
  while (!pending_.empty()) {
    const float loss = pending_.front().item<float>();
    check(std::isfinite(loss), ErrorCode::kInvalidArgument, "train", "the loss of step ",
          history_.train.size() + 1, " is not finite; a plan.rate below ", plan_.rate, " may help");
    history_.train.push_back(loss);
    pending_.pop_front();
  }
}

double Training::loss_of(const std::vector<std::string>& texts) const {
  const NoGrad off;
  const Device device = decoder_.options().device;
  const int64_t t = plan_.context;
  const ScoredWindows windows = windows_of(texts, t);
  double total = 0;
  // The ranks take turns at batches.
  const int64_t stride = plan_.batch * group_.world_size();
  for (int64_t from = plan_.batch * group_.rank(); from < windows.count; from += stride) {
    const int64_t n = std::min(plan_.batch, windows.count - from);
    const auto part = [&](const auto& values, const Shape& shape) {
      return Tensor::from(std::span(values).subspan(size_t(from * t), size_t(n * t)), shape,
                          device);
    };
    const Tensor logits = decoder_.forward(part(windows.ids, {n, t}), narrow(positions_, 0, 0, n));
    const Tensor of_target = gather(log_softmax(reshape(logits, {n * t, logits.size(2)})), 1,
                                    part(windows.targets, {n * t, 1}));
    total -= double(sum(of_target * part(windows.scored, {n * t, 1})).item<float>());
  }
  total = group_.all_reduce(Tensor::from({total})).item<double>();
  return total / double(windows.bytes);
}

double Training::validate(const std::vector<std::string>& texts) {
  const double loss = loss_of(texts);
  history_.held_out.push_back({steps_done(), loss});
  return loss;
}

}  // namespace wick
