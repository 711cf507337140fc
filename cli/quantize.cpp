// wick quantize: writes a model to a GGUF file with smaller weights.
#include "wick/load/quantize.h"
#include "wick/load/load_model.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "hub.h"
#include "paths.h"
#include "printable.h"
#include "report.h"
#include "wick/io/json.h"

namespace wick::cli {
namespace {

struct Options {
  std::string in, out, type;
  bool requantize = false, allow_overflow = false, force = false, json = false;
};

std::string known_types() {
  std::string names;
  for (const std::string& name : quantized_file_types())
    names += (names.empty() ? "" : ", ") + name;
  return names;
}

void quantize(const Options& options) {
  reading_input([&] { return model_path(options.in); });
  require_place(options.out, options.in, options.force);
  const auto start = std::chrono::steady_clock::now();
  const InterruptWatch watch;
  ByteProgress bar("written");
  const QuantizeReport report = quantize_model(options.in, options.out, options.type,
                                               {.requantize = options.requantize,
                                                .allow_overflow = options.allow_overflow,
                                                .progress = [&](int64_t done, int64_t total) {
                                                  if (InterruptWatch::asked()) throw Interrupted();
                                                  bar.update(done, total);
                                                }});
  bar.finish();
  for (const std::string& warning : report.warnings)
    std::fprintf(stderr, "wick: warning: %s\n", printable(warning).c_str());
  const double seconds = seconds_since(start);
  if (options.json) {
    Settings line;
    line.set("out", options.out)
        .set("type", options.type)
        .set("tensors", report.tensors)
        .set("bytes_before", report.bytes_before)
        .set("bytes_after", report.bytes_after)
        .set("seconds", seconds);
    std::printf("%s\n", to_json(line, -1).c_str());
    return;
  }
  const auto mebibytes = [](int64_t bytes) {
    return decimal(double(bytes) / double(1 << 20), 2) + " MiB";
  };
  std::printf("%s: %s tensors, %s -> %s, %s s\n", printable(options.out).c_str(),
              grouped(report.tensors).c_str(), mebibytes(report.bytes_before).c_str(),
              mebibytes(report.bytes_after).c_str(), decimal(seconds, 1).c_str());
}

}  // namespace

void add_quantize(CLI::App& app) {
  CLI::App* command = app.add_subcommand("quantize", "write a GGUF file with smaller weights");
  const auto o = std::make_shared<Options>();
  command
      ->add_option(
          "in", o->in,
          "a GGUF file, a folder of config.json and safetensors, or a model of the HuggingFace "
          "hub: ORG/NAME")
      ->required();
  command->add_option("out", o->out, "the GGUF file to write")->required();
  command->add_option("--type", o->type, known_types())->required();
  command->add_flag("--requantize", o->requantize,
                    "take weights that are quantized already; their errors add up");
  command->add_flag("--allow-overflow", o->allow_overflow,
                    "weights too large for their type become infinite, instead of an error");
  command->add_flag("--force", o->force, "replace the file if it exists");
  command->add_flag("--json", o->json, "print one line of JSON at the end");
  command->footer(
      "Examples:\n"
      "  wick quantize model-f16.gguf model-q8_0.gguf --type q8_0\n"
      "  wick quantize folder small.gguf --type q4_k_m --force");
  command->callback([o] {
    o->in = fetch_argument(o->in, "");
    quantize(*o);
  });
}

}  // namespace wick::cli
