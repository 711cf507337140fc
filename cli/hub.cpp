#include "hub.h"

#include <cstdio>
#include <optional>

#include "failure.h"
#include "printable.h"
#include "report.h"
#include "wick/load/fetch_model.h"

namespace wick::cli {

std::string fetch_argument(const std::string& model, const std::string& device, bool with_weights) {
  const auto name = reading_input([&] { return hub_name_of(model); });
  if (!name) return model;
  FetchOptions options{.weights = with_weights};
  if (!device.empty()) options.device = Device::parse(device);
  std::optional<ByteProgress> bar;
  options.progress = [&](int64_t done, int64_t total) {
    if (InterruptWatch::asked()) throw Interrupted();
    if (total == 0) return;
    if (!bar) bar.emplace("downloaded", done);
    bar->update(done, total);
  };
  options.note = [&](const std::string& line) {
    if (bar) bar->clear();
    std::fprintf(stderr, "wick: %s\n", printable(line).c_str());
  };
  const InterruptWatch watch;
  const std::string path = reading_input([&] { return fetch_model(model, options); });
  if (bar) bar->finish();
  return path;
}

}  // namespace wick::cli
