// wick convert: writes a folder's model to a GGUF file, or a GGUF file's model to a folder.
#include "wick/load/convert.h"

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
#include "wick/core/tensor.h"
#include "wick/io/file.h"
#include "wick/io/json.h"
#include "wick/load/load_model.h"

namespace wick::cli {
namespace {

struct Options {
  std::string in, out, dtype;
  bool force = false, allow_overflow = false, json = false;
};

void convert(const Options& options) {
  const bool from_folder = is_folder(reading_input([&] { return model_path(options.in); }));
  require_place(options.out, options.in, options.force);
  if (!from_folder && is_there(options.out) && !is_folder(options.out))
    fail_input(options.out, "expected a folder, as a GGUF file is converted to one");
  const auto start = std::chrono::steady_clock::now();
  const InterruptWatch watch;
  ByteProgress bar("written");
  ConvertOptions converting{.allow_overflow = options.allow_overflow};
  if (!options.dtype.empty()) converting.dtype = dtype_of_name(options.dtype);
  converting.progress = [&](int64_t done, int64_t total) {
    if (InterruptWatch::asked()) throw Interrupted();
    bar.update(done, total);
  };
  const ConvertReport report = reading_input(
      [&] {
        return from_folder ? convert_to_gguf(options.in, options.out, converting)
                           : convert_to_folder(options.in, options.out, converting);
      },
      options.out);
  bar.finish();
  for (const std::string& warning : report.warnings)
    std::fprintf(stderr, "wick: warning: %s\n", printable(warning).c_str());
  const double seconds = seconds_since(start);
  if (options.json) {
    Settings line;
    line.set("out", options.out)
        .set("tensors", report.tensors)
        .set("bytes", report.bytes)
        .set("seconds", seconds);
    std::printf("%s\n", to_json(line, -1).c_str());
    return;
  }
  std::printf("%s: %s tensors, %s MiB, %s s\n", printable(options.out).c_str(),
              grouped(report.tensors).c_str(),
              decimal(double(report.bytes) / double(1 << 20), 2).c_str(),
              decimal(seconds, 1).c_str());
}

}  // namespace

void add_convert(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "convert", "write a folder's model to a GGUF file, or a GGUF file's model to a folder");
  const auto o = std::make_shared<Options>();
  command
      ->add_option(
          "in", o->in,
          "a folder of config.json and safetensors, a GGUF file, or a model of the HuggingFace "
          "hub: ORG/NAME")
      ->required();
  command->add_option("out", o->out, "the GGUF file or the folder to write")->required();
  command->add_option(
      "--dtype", o->dtype,
      "dtype of the weights: f32, f16 or bf16 (default: the input's; f16 if that is quantized)");
  command->add_flag("--allow-overflow", o->allow_overflow,
                    "weights too large for their type become infinite, instead of an error");
  command->add_flag("--force", o->force, "replace the file, or files in the folder, if they exist");
  command->add_flag("--json", o->json, "print one line of JSON at the end");
  command->footer(
      "Examples:\n"
      "  wick convert folder model.gguf\n"
      "  wick convert folder model-f16.gguf --dtype f16 --force\n"
      "  wick convert model.gguf folder");
  command->callback([o] {
    o->in = fetch_argument(o->in, "");
    convert(*o);
  });
}

}  // namespace wick::cli
