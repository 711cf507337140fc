// The registry's row of decoders.
#include "models/architectures.h"
#include "models/decoder/family.h"
#include "models/decoder/parallel_decoder.h"
#include "models/names/decoder_names.h"
#include "wick/models/decoder.h"

namespace wick {
namespace {

class Config final : public ModelConfig {
 public:
  explicit Config(DecoderConfig config) : config_(std::move(config)) {}

  ModelFacts facts() const override { return facts_of(config_); }
  int64_t num_layers() const override { return config_.num_hidden_layers; }
  const std::vector<int64_t>& eos_token_ids() const override { return config_.eos_token_ids; }
  const std::vector<std::string>& ignored_keys() const override { return config_.ignored_keys; }
  void require_parallel() const override { wick::require_parallel(config_); }
  TensorSource tensors(const TensorSource& files) const override {
    return decoder_tensors(files, config_);
  }
  std::shared_ptr<const CausalModel> make(Parameters& parameters,
                                          int64_t positions) const override {
    if (parameters.options().ranks)
      return std::make_shared<ParallelDecoder>(config_, parameters, positions);
    return std::make_shared<Decoder>(config_, parameters, positions);
  }

 private:
  DecoderConfig config_;
};

}  // namespace

const Architecture kDecoders = {
    .name = "decoder",
    .model_types =
        [] {
          std::vector<std::string_view> types(std::begin(kTextAndImages), std::end(kTextAndImages));
          for (const Family* family : families()) types.push_back(family->model_type);
          return types;
        },
    .ggufs =
        [] {
          std::vector<std::string_view> names;
          for (const Family* family : families())
            if (!family->gguf.empty()) names.push_back(family->gguf);
          return names;
        },
    .of_folder = [](const Settings& settings, const TensorSource* tensors,
                    std::vector<std::string>* warnings) -> std::unique_ptr<ModelConfig> {
      DecoderConfig config = decoder_config(settings);
      if (tensors) keep_own_head(*tensors, config, *warnings);
      return std::make_unique<Config>(std::move(config));
    },
    .of_gguf = [](const Settings& metadata,
                  const TensorSource& tensors) -> std::unique_ptr<ModelConfig> {
      return std::make_unique<Config>(decoder_config_of_gguf(metadata, tensors));
    }};

}  // namespace wick
