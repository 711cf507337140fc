// wick cache: the models that were downloaded from the HuggingFace hub.
#include "wick/hub/cache.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "printable.h"
#include "report.h"
#include "wick/io/json.h"
#include "wick/load/fetch_model.h"

namespace wick::cli {
namespace {

struct Options {
  std::string action;
  std::vector<std::string> models;
  bool json = false;
};

std::string size_text(int64_t bytes) {
  const bool large = bytes >= int64_t{1} << 30;
  return decimal(double(bytes) / double(large ? 1 << 30 : 1 << 20), large ? 1 : 2) +
         (large ? " GiB" : " MiB");
}

std::string date_text(int64_t seconds) {
  const std::time_t time = std::time_t(seconds);
  std::tm parts{};
  char text[32] = "";
  if (seconds > 0 && localtime_r(&time, &parts)) std::strftime(text, sizeof text, "%F", &parts);
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

HubName hub_name(const std::string& text) {
  const auto name = reading_input([&] { return parse_hub_name(text); });
  if (!name) fail_input(text, "expected ORG/NAME[:FILE or TYPE][@REVISION]");
  return *name;
}

// ---- list

void print_json(const std::vector<CachedModel>& models) {
  for (const CachedModel& model : models) {
    Settings line;
    line.set("model", model.repository)
        .set("revisions", Setting::List(model.revisions.begin(), model.revisions.end()))
        .set("types", Setting::List(model.types.begin(), model.types.end()))
        .set("files", model.files)
        .set("bytes", model.bytes)
        .set("incomplete_bytes", model.incomplete_bytes)
        .set("used", model.used)
        .set("path", model.folder);
    std::printf("%s\n", to_json(line, -1).c_str());
  }
}

void print_table(const std::vector<CachedModel>& models) {
  size_t width = 0;
  int64_t bytes = 0;
  for (const CachedModel& model : models) {
    width = std::max(width, model.repository.size());
    bytes += model.bytes;
  }
  for (const CachedModel& model : models) {
    std::string rest = joined(model.revisions);
    if (!model.types.empty()) rest += "  " + joined(model.types);
    if (model.incomplete_bytes > 0)
      rest += (rest.empty() ? "" : "  ") + size_text(model.incomplete_bytes) + " incomplete";
    std::printf("%-*s  %11s  %10s  %s\n", int(width), model.repository.c_str(),
                size_text(model.bytes).c_str(), date_text(model.used).c_str(),
                printable(rest).c_str());
  }
  std::fprintf(stderr, "%s models, %s in %s\n", grouped(int64_t(models.size())).c_str(),
               size_text(bytes).c_str(), printable(hub_cache()).c_str());
}

void list(const Options& options) {
  if (!options.models.empty()) fail_input("cache list", "unexpected argument ", options.models[0]);
  const std::vector<CachedModel> models = reading_input(&list_cached_models);
  options.json ? print_json(models) : print_table(models);
}

// ---- rm and path

void remove(const Options& options) {
  if (options.models.empty()) fail_input("cache rm", "expected a model: ORG/NAME");
  std::vector<HubName> names;
  for (const std::string& model : options.models) names.push_back(hub_name(model));
  for (size_t i = 0; i < names.size(); i++) {
    const bool has_revision = options.models[i].find('@') != std::string::npos;
    const int64_t freed =
        reading_input([&] { return remove_cached_model(names[i], !has_revision); });
    if (options.json) {
      Settings line;
      std::printf("%s\n",
                  to_json(line.set("model", options.models[i]).set("bytes", freed), -1).c_str());
    } else {
      std::printf("%s: removed, %s\n", printable(options.models[i]).c_str(),
                  size_text(freed).c_str());
    }
  }
}

void print_paths(const Options& options) {
  std::vector<std::string> paths;
  for (const std::string& model : options.models) {
    const auto path = reading_input([&] { return find_downloaded(hub_name(model)); });
    if (!path) fail_input(model, "the cache ", hub_cache(), " does not have it");
    paths.push_back(*path);
  }
  if (options.models.empty()) paths.push_back(reading_input(&hub_cache));
  for (const std::string& path : paths) std::printf("%s\n", printable(path).c_str());
}

}  // namespace

void add_cache(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("cache", "the models that were downloaded from the HuggingFace hub");
  const auto o = std::make_shared<Options>();
  command
      ->add_option("action", o->action,
                   "list: the models, with size, day of the last use, revisions and types; rm: "
                   "remove models; path: of the cache, or of models in it")
      ->required()
      ->check(CLI::IsMember({"list", "rm", "path"}));
  command->add_option("model", o->models,
                      "ORG/NAME[:FILE or TYPE][@REVISION]; rm takes all files and revisions unless "
                      "it says which");
  command->add_flag("--json", o->json, "list and rm: print a line of JSON for each model");
  command->footer(
      "The cache is that of Python's huggingface_hub: HF_HUB_CACHE, else HF_HOME/hub, else "
      "~/.cache/huggingface/hub.\n"
      "Examples:\n"
      "  wick cache list\n"
      "  wick cache rm ORG/NAME ORG/OTHER-GGUF:Q8_0\n"
      "  wick cache path ORG/NAME");
  command->callback([o] {
    if (o->action == "list") return list(*o);
    if (o->action == "rm") return remove(*o);
    print_paths(*o);
  });
}

}  // namespace wick::cli
