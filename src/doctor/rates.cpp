// Copies and matrix products of a device, beside its data sheet.
#include <chrono>
#include <cstdio>

#include "base/subprocess.h"
#include "doctor/data_sheets.h"
#include "doctor/text.h"
#include "wick/abi/backend.h"
#include "wick/core/device.h"
#include "wick/doctor/device_rates.h"
#include "wick/doctor/self_test.h"
#include "wick/io/json.h"

namespace wick {
namespace {

constexpr std::string_view kMark = "wick-rates: ";  // before the JSON, as runtimes write lines too

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
  const Device device = Device::parse(name);
  Rates rates;
  rates.device = to_string(device);
  rates.name = device.info().name;
  rates.architecture = device.info().architecture;
  const auto sheet = doctor::find_data_sheet(rates.name);
  if (sheet) rates.source = sheet->source;
  rates.rates.push_back({"copy", "GB/s", 1e-9 * copy_rate(device), sheet ? sheet->gb_per_s : 0});
  const auto add_products = [&](const char* name, DType dtype, double data_sheet) {
    rates.rates.push_back({name, "TFLOP/s", 1e-12 * product_rate(device, dtype), data_sheet});
  };
  const double f16 = sheet ? sheet->f16_tflop_per_s : 0;
  add_products("f16 products", DType::kF16, f16);
  if (device.supports_bf16()) add_products("bf16 products", DType::kBf16, f16);
  add_products("f32 products", DType::kF32, 0);
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
