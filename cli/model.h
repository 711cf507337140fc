// Flags shared by the commands that run a model, and their effects.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "places.h"
#include "wick/load/image_text.h"
#include "wick/load/load_model.h"

namespace wick::cli {

struct ModelFlags : Places {
  std::string device = "auto", dtype, tokenizer_pre;  // device: or several, after commas
  std::string split;        // the layers on each device, after commas, or auto; empty: see --split
  int64_t cpu_experts = 0;  // see SplitOptions
  int64_t ranks = 1;        // processes that share the weights
  int64_t sequences = 1;    // for whose cache a split leaves room
  int64_t context = 0;      // 0: the model's own
  std::string kv;  // how the cache holds keys and values; empty: as the model computes them
  CacheType cache() const { return cache_type(kv); }
  /// As Places::settle; a name of the hub becomes the path of the downloaded model. Errors: as of
  /// fetch_argument.
  void settle();
};
/// files: the input files that the command takes beside the model. Call settle after parsing.
void add_model_flags(CLI::App& command, ModelFlags& flags, const FilePlaces& files = {});
/// --kv, for the commands that have a cache.
void add_cache_flag(CLI::App& command, ModelFlags& flags);
/// --tokenizer-pre: see load_tokenizer.
void add_tokenizer_pre_flag(CLI::App& command, std::string& name);
struct OpenOptions {
  int64_t positions = 0;  // see LoadOptions
  bool has_bar = true;    // shows the progress if stderr is a terminal
  std::function<void(int64_t done, int64_t total)> progress = {};  // see LoadOptions
};
/// Loads the model and prints the loader's warnings on stderr. Of several ranks, those beside rank
/// 0 do its work here, and throw Followed when it has ended. Errors: as load_model and rank_group.
LanguageModel open_model(const ModelFlags& flags, const OpenOptions& options = {});
/// The same for a model that compares images with texts. Errors: as load_image_text.
LoadedImageText open_image_text(const ModelFlags& flags);
/// The kind of the model. Errors: as load_kind; kInvalidArgument if a file cannot be read.
ModelKind kind_of(const ModelFlags& flags);

/// Whether the model has a vector for each token, such as a ColPali. Errors: as kind_of.
bool has_token_embeddings(const ModelFlags& flags);

/// Errors: kUnsupported if the model gives embeddings alone.
void require_continuation(const LanguageModel& model, const std::string& path);
/// Errors: kUnsupported if the model has no tokenizer.
void require_tokenizer(const LanguageModel& model, const std::string& path);
/// Errors: kUnsupported if the model has no image processor.
void require_image_processor(const LoadedImageText& model, const std::string& path);
/// Errors: kUnsupported if the model reads no images or has no image processor.
void require_images(const LanguageModel& model, const std::string& path);
/// --image FILE, which may be repeated.
void add_image_flag(CLI::App& command, std::vector<std::string>& files,
                    const std::string& description);
/// Reads a PNG, JPEG or WebP image from the file, or from stdin if `file` is empty. Errors: as
/// read_input and decode_image.
Image read_image_input(const std::string& file);
/// The same for several files; "-" is stdin.
std::vector<Image> read_images(const std::vector<std::string>& files);

struct SamplingFlags {
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<int64_t> top_k;
  double frequency_penalty = 0, presence_penalty = 0;
  std::vector<std::string> logit_bias, stop;
  std::optional<uint64_t> seed;
  bool verbose = false;
};
void add_sampling_flags(CLI::App& command, SamplingFlags& flags);
/// Seeds the model's device: with --seed, else with a seed of this run's own. Prints it on stderr
/// if --verbose is given. Returns it.
uint64_t start_sampling(const SamplingFlags& flags, const LanguageModel& model);
/// The flags, then LanguageModel::default_sampling.
Sampling sampling_of(const SamplingFlags& flags, const LanguageModel& model);

}  // namespace wick::cli
