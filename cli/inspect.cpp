// wick inspect: prints the contents of a model's file or folder.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "hub.h"
#include "printable.h"
#include "report.h"
#include "wick/io/file.h"
#include "wick/io/gguf.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/load/load_model.h"

namespace wick::cli {
namespace {

struct Options {
  std::string path;
  bool tensors = false, json = false;
};

struct Item {
  std::string type;
  Shape shape;
  int64_t bytes;
};

struct Contents {
  std::string format;
  std::string architecture;  // empty if the files do not name one
  std::map<std::string, Item> tensors;
  Settings config;  // of a folder
  Settings metadata;
};

/// The tensors of one type.
struct Total {
  std::string type;
  int64_t tensors = 0, elements = 0, bytes = 0;
};

bool is_gguf(const std::string& path) {
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  return path.ends_with(".gguf") || std::string_view(magic, sizeof magic) == "GGUF";
}

Contents contents_of_gguf(const std::string& path) {
  const GgufReader reader(path);
  Contents contents;
  contents.format = "GGUF " + std::to_string(reader.version());
  contents.metadata = reader.metadata();
  contents.architecture = reader.metadata().text_or("general.architecture", "");
  for (const auto& [name, entry] : reader.tensors())
    contents.tensors[name] = {entry.type, entry.shape, entry.bytes};
  return contents;
}

Contents contents_of_safetensors(const std::string& path) {
  const SafetensorsReader reader(path);
  Contents contents;
  contents.format = "safetensors";
  for (const auto& [key, value] : reader.metadata()) contents.metadata.set(key, value);
  for (const auto& [name, info] : reader.tensors())
    contents.tensors[name] = {dtype_name(info.dtype), info.shape,
                              bytes_of(info.dtype, numel(info.shape))};
  return contents;
}

Contents contents_of(const std::string& given) {
  const std::string path = model_path(given);
  if (!is_folder(path)) {
    // Opening a FIFO would wait for a writer.
    check(std::filesystem::is_regular_file(path), ErrorCode::kIo, path, "not a regular file");
    return is_gguf(path) ? contents_of_gguf(path) : contents_of_safetensors(path);
  }
  Contents contents = contents_of_safetensors(path);
  if (const std::string config = path + "/config.json"; is_there(config)) {
    contents.config = read_json(config);
    contents.architecture = contents.config.text_or("model_type", "");
  }
  return contents;
}

/// Totals per type, the type with most bytes first.
std::vector<Total> totals_of(const Contents& contents) {
  std::map<std::string, Total> totals;
  for (const auto& [name, item] : contents.tensors) {
    Total& total = totals[item.type];
    total.type = item.type;
    total.tensors++;
    total.elements += numel(item.shape);
    total.bytes += item.bytes;
  }
  std::vector<Total> order;
  for (const auto& [type, total] : totals) order.push_back(total);
  std::stable_sort(order.begin(), order.end(),
                   [](const Total& a, const Total& b) { return a.bytes > b.bytes; });
  return order;
}

Total sum_of(const std::vector<Total>& totals) {
  Total sum;
  for (const Total& total : totals) {
    sum.tensors += total.tensors;
    sum.elements += total.elements;
    sum.bytes += total.bytes;
  }
  return sum;
}

std::string mebibytes(int64_t bytes) {
  return decimal(double(bytes) / double(1 << 20), 2) + " MiB";
}

/// Prints entries, a line each; the names in nested objects begin with the outer key.
void print_settings(const std::string& before, const Settings& settings, size_t width) {
  for (const auto& [key, value] : settings.entries()) {
    const std::string name = before + printable(key);
    if (const auto* inner = std::get_if<Settings>(&value.value))
      print_settings(name + ".", *inner, width);
    else
      std::printf("  %-*s  %s\n", int(width), name.c_str(), shown(value).c_str());
  }
}

void print_group(const char* title, const Settings& settings) {
  constexpr size_t kWidest = 44;
  if (settings.entries().empty()) return;
  size_t width = 0;
  for (const auto& [key, value] : settings.entries())
    width = std::max(width, printable(key).size());
  std::printf("%s\n", title);
  print_settings("", settings, std::min(width, kWidest));
}

void print_tensors(const std::map<std::string, Item>& tensors) {
  size_t name_width = 0, type_width = 0;
  for (const auto& [name, item] : tensors) {
    name_width = std::max(name_width, printable(name).size());
    type_width = std::max(type_width, item.type.size());
  }
  for (const auto& [name, item] : tensors)
    std::printf("  %-*s  %-*s  %s\n", int(std::min(name_width, size_t(80))),
                printable(name).c_str(), int(type_width), item.type.c_str(),
                to_string(item.shape).c_str());
}

void print_text(const Contents& contents, bool with_tensors) {
  const std::vector<Total> totals = totals_of(contents);
  const Total sum = sum_of(totals);
  std::printf("format        %s\n", contents.format.c_str());
  if (!contents.architecture.empty())
    std::printf("architecture  %s\n", printable(contents.architecture).c_str());
  std::printf("parameters    %s\n", grouped(sum.elements).c_str());
  print_group("config", contents.config);
  print_group("metadata", contents.metadata);
  std::printf("tensors       %s, %s\n", grouped(sum.tensors).c_str(), mebibytes(sum.bytes).c_str());
  for (const Total& total : totals)
    std::printf("  %-8s %8s %18s parameters %14s\n", total.type.c_str(),
                grouped(total.tensors).c_str(), grouped(total.elements).c_str(),
                mebibytes(total.bytes).c_str());
  if (with_tensors) print_tensors(contents.tensors);
}

void print_json(const Contents& contents, bool with_tensors) {
  const std::vector<Total> totals = totals_of(contents);
  const Total sum = sum_of(totals);
  Settings types, s;
  for (const Total& total : totals) {
    Settings type;
    type.set("tensors", total.tensors).set("parameters", total.elements).set("bytes", total.bytes);
    types.set(total.type, std::move(type));
  }
  s.set("format", contents.format);
  if (!contents.architecture.empty()) s.set("architecture", contents.architecture);
  s.set("parameters", sum.elements).set("bytes", sum.bytes).set("types", std::move(types));
  if (!contents.config.entries().empty()) s.set("config", shortened(contents.config));
  s.set("metadata", shortened(contents.metadata));
  if (with_tensors) {
    std::vector<Settings::Entry> tensors;
    for (const auto& [name, item] : contents.tensors) {
      Settings tensor;
      tensor.set("type", item.type)
          .set("shape", Setting::List(item.shape.begin(), item.shape.end()))
          .set("bytes", item.bytes);
      tensors.push_back({name, std::move(tensor)});
    }
    s.set("tensors", Settings("", std::move(tensors)));
  }
  std::printf("%s\n", to_json(s, -1).c_str());
}

void inspect(const Options& options) {
  const Contents contents = reading_input([&] { return contents_of(options.path); });
  if (options.json)
    print_json(contents, options.tensors);
  else
    print_text(contents, options.tensors);
}

}  // namespace

void add_inspect(CLI::App& app) {
  CLI::App* command = app.add_subcommand("inspect", "what a model's file or folder holds");
  const auto o = std::make_shared<Options>();
  command
      ->add_option("path", o->path,
                   "a GGUF file, a safetensors file, a folder with one of them, or a model of the "
                   "HuggingFace hub: ORG/NAME[:FILE or TYPE][@REVISION]")
      ->required();
  command->add_flag("--tensors", o->tensors, "also each tensor's name, type and shape");
  command->add_flag("--json", o->json, "one line of JSON");
  command->callback([o] {
    o->path = fetch_argument(o->path, "");
    inspect(*o);
  });
}

}  // namespace wick::cli
