// Copies and matrix products of a device, beside its data sheet.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "base/subprocess.h"
#include "doctor/data_sheets.h"
#include "doctor/text.h"
#include "wick/abi/backend.h"
#include "wick/core/device.h"
#include "wick/core/tensor.h"
#include "wick/core/var.h"
#include "wick/doctor/self_test.h"
#include "wick/io/json.h"
#include "wick/ops/autograd.h"
#include "wick/ops/create.h"
#include "wick/ops/matmul.h"
#include "wick/ops/random.h"

namespace wick {
namespace {

constexpr std::string_view kMark = "wick-rates: ";  // before the JSON, as runtimes write lines too
constexpr int64_t kMebi = int64_t{1} << 20;

/// Seconds of one call: the least of some batches, each long enough for the clock.
template <class F>
double seconds_of(const Device& device, const F& f) {
  using Clock = std::chrono::steady_clock;
  constexpr int kBatches = 5;
  constexpr double kBatchSeconds = 0.02;
  int64_t calls = 1;
  double least = INFINITY;
  for (int batch = 0; batch <= kBatches; batch++) {
    device.synchronize();
    const Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < calls; i++) f();
    device.synchronize();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (batch == 0)  // compiles and allocates
      calls = std::clamp<int64_t>(int64_t(kBatchSeconds / std::max(seconds, 1e-6)), 1, 1000);
    else
      least = std::min(least, seconds / double(calls));
  }
  return least;
}

/// The best rate of sizes from `first`, doubled up to `last` or until a call takes 0.25 s.
template <class Seconds, class Work>
double best_rate(int64_t first, int64_t last, const Seconds& seconds, const Work& work) {
  double best = 0;
  for (int64_t size = first; size <= last; size *= 2) {
    const double taken = seconds(size);
    best = std::max(best, work(size) / taken);
    if (taken > 0.25) break;
  }
  return best;
}

/// Bytes read and written by copies of tensors, in GB/s.
double copy_rate(const Device& device) {
  // Far larger than a cache, and small beside the memory.
  const int64_t room = device.info().total_bytes / 8;
  const bool is_card = device.is_rocm() || device.is_cuda();
  const int64_t last = is_card ? std::clamp<int64_t>(room, 64 * kMebi, 2048 * kMebi) : 64 * kMebi;
  return best_rate(
             std::min(last, is_card ? 512 * kMebi : 16 * kMebi), last,
             [&](int64_t bytes) {
               const TensorOptions options{.dtype = DType::kF32, .device = device};
               const Tensor x = zeros({bytes / 4}, options);
               Var y(zeros({bytes / 4}, options), false);
               return seconds_of(device, [&] { copy_(y, x); });
             },
             [](int64_t bytes) { return 2.0 * double(bytes); }) *
         1e-9;
}

double product_rate(const Device& device, DType dtype) {
  const bool is_card = device.is_rocm() || device.is_cuda();
  return best_rate(
             is_card ? 2048 : 64, is_card ? 8192 : 512,
             [&](int64_t n) {
               const TensorOptions options{.dtype = dtype, .device = device};
               const Tensor a = randn({n, n}, options), b = randn({n, n}, options);
               return seconds_of(device, [&] { matmul(a, b); });
             },
             [](int64_t n) { return 2 * std::pow(double(n), 3); }) *
         1e-12;
}

Rates rates_of(const Settings& from) {
  Rates rates;
  rates.device = from.text("device");
  rates.name = from.text("name");
  rates.architecture = from.text("architecture");
  rates.source = from.text("source");
  const auto* const list = std::get_if<Setting::List>(&from.find("rates")->value);
  check(list, ErrorCode::kFormat, "rates", "expected a list");
  for (const Setting& item : *list) {
    const auto& rate = std::get<Settings>(item.value);
    rates.rates.push_back(
        {rate.text("name"), rate.text("unit"), rate.real("measured"), rate.real("data_sheet")});
  }
  return rates;
}

}  // namespace

namespace doctor {

std::optional<DataSheet> find_data_sheet(std::string_view card) {
  static const Settings all = parse_json(kDataSheetsText, "data_sheets.json");
  for (const Setting& item : std::get<Setting::List>(all.find("cards")->value)) {
    const auto& entry = std::get<Settings>(item.value);
    const std::string name = entry.text("name");
    if (card.find(name) == std::string_view::npos) continue;
    return DataSheet{name, entry.real("gb_per_s"), entry.real("f16_tflop_per_s"),
                     entry.text("source")};
  }
  return std::nullopt;
}

}  // namespace doctor

Rates measure_rates(const std::string& name) {
  const NoGrad no_grad;
  const Device device = Device::parse(name);
  Rates rates;
  rates.device = to_string(device);
  rates.name = device.info().name;
  rates.architecture = device.info().architecture;
  const auto sheet = doctor::find_data_sheet(rates.name);
  if (sheet) rates.source = sheet->source;
  rates.rates.push_back({"copy", "GB/s", copy_rate(device), sheet ? sheet->gb_per_s : 0});
  const double f16 = sheet ? sheet->f16_tflop_per_s : 0;
  rates.rates.push_back({"f16 products", "TFLOP/s", product_rate(device, DType::kF16), f16});
  if (device.supports_bf16())
    rates.rates.push_back({"bf16 products", "TFLOP/s", product_rate(device, DType::kBf16), f16});
  rates.rates.push_back({"f32 products", "TFLOP/s", product_rate(device, DType::kF32), 0});
  return rates;
}

std::string rates_line(const std::string& device) {
  return std::string(kMark) + to_json(to_settings(measure_rates(device)), -1);
}

Rates measure_rates_by(const std::vector<std::string>& command) {
  Rates none;
  try {
    const Finished finished = run_program(command, ProgramLimits{.time = std::chrono::minutes(10)});
    const size_t mark = finished.output.rfind(kMark);
    if (finished.status == 0 && mark != std::string::npos) {
      const size_t start = mark + kMark.size();
      return rates_of(parse_json(
          finished.output.substr(start, finished.output.find('\n', start) - start), "rates"));
    }
    none.broken = "the process that measures rates " + ending_of(finished);
  } catch (const Error& error) {
    none.broken = error.what();
  }
  return none;
}

Settings to_settings(const Rates& rates) {
  Settings settings("rates");
  settings.set("device", rates.device);
  settings.set("name", rates.name);
  settings.set("architecture", rates.architecture);
  settings.set("broken", rates.broken);
  Setting::List list;
  for (const Rate& rate : rates.rates) {
    Settings entry("rate");
    entry.set("name", rate.name);
    entry.set("unit", rate.unit);
    entry.set("measured", rate.measured);
    entry.set("data_sheet", rate.data_sheet);
    list.push_back(entry);
  }
  settings.set("rates", list);
  settings.set("source", rates.source);
  return settings;
}

std::string to_text(const Rates& rates) {
  std::string out = doctor::padded("rates of " + rates.device, 26) + "  measured  data sheet\n";
  if (!rates.broken.empty()) doctor::append_paragraph(&out, "  ", "not measured: " + rates.broken);
  for (const Rate& rate : rates.rates) {
    char line[128];
    const int digits = rate.measured < 10 ? 3 : rate.measured < 100 ? 1 : 0;
    std::snprintf(line, sizeof line, "  %-16s%-8s%10.*f", rate.name.c_str(), rate.unit.c_str(),
                  digits, rate.measured);
    out += line;
    if (rate.data_sheet > 0) {
      std::snprintf(line, sizeof line, "%12.0f  %3.0f%%", rate.data_sheet,
                    100 * rate.measured / rate.data_sheet);
      out += line;
    }
    out += "\n";
  }
  if (!rates.source.empty()) out += "  data sheet: " + rates.source + "\n";
  return out;
}

void add_findings(const Rates& rates, Diagnosis* diagnosis) {
  if (!rates.broken.empty())
    diagnosis->add({.id = "rates-broken",
                    .severity = Severity::kProblem,
                    .problem = "the rates could not be measured: " + rates.broken,
                    .cure = "sudo dmesg shows whether the GPU is hung, which a restart cures"});
  for (const Rate& rate : rates.rates) {
    constexpr double kSlowCopy = 0.5;  // of the data sheet; whole GPUs reach 0.75 and more
    if (rate.name != "copy" || rate.data_sheet <= 0 || rate.measured > kSlowCopy * rate.data_sheet)
      continue;
    char text[96];
    std::snprintf(text, sizeof text, "copies reach %.0f of the %.0f GB/s of the data sheet on ",
                  rate.measured, rate.data_sheet);
    diagnosis->add({.id = "slow-memory",
                    .severity = Severity::kWarning,
                    .problem = text + rates.device,
                    .cure =
                        "end other programs that use the GPU; look at its power limit, temperature "
                        "and memory clock (rocm-smi or nvidia-smi)",
                    .sources = {rates.source}});
  }
}

}  // namespace wick
