// The architectures of models that wick runs.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/settings.h"
#include "wick/models/causal_model.h"
#include "wick/nn/parameters.h"

namespace wick {

/// A model's files without its weights.
class WICK_API ModelConfig {
 public:
  virtual ~ModelConfig() = default;
  virtual ModelFacts facts() const = 0;
  virtual const std::vector<int64_t>& eos_token_ids() const = 0;
  /// The layers that ParameterOptions::layer_devices can place; 0: the model's cannot be placed.
  virtual int64_t num_layers() const { return 0; }
  /// Errors: kUnsupported, naming the part, if several ranks cannot share the model's weights
  /// (ParameterOptions::ranks).
  virtual void require_parallel() const;
  /// Keys of the files that the architecture does not know; worth a warning.
  virtual const std::vector<std::string>& ignored_keys() const = 0;
  /// The files' tensors under the names that the model takes them by. Errors: kFormat.
  virtual TensorSource tensors(const TensorSource& files) const = 0;
  /// The model, which takes its weights from `parameters`. positions: the most tokens of a text; 0:
  /// as many as the model was trained for.
  virtual std::shared_ptr<const CausalModel> make(Parameters& parameters,
                                                  int64_t positions) const = 0;
};

/// A row of the registry: how the models of an architecture are recognized and made.
struct Architecture {
  const char* name;
  /// Its values of "model_type" in config.json.
  std::vector<std::string_view> (*model_types)();
  /// Its values of "general.architecture" in GGUF files.
  std::vector<std::string_view> (*ggufs)();
  /// Reads config.json. tensors: the folder's, which the config may deny; may be
  /// nullptr. warnings: receives a line for each such thing. Errors: kFormat, kUnsupported.
  std::unique_ptr<ModelConfig> (*of_folder)(const Settings& config, const TensorSource* tensors,
                                            std::vector<std::string>* warnings);
  /// Reads a GGUF file's metadata; nullptr without ggufs. Errors: kFormat, kUnsupported.
  std::unique_ptr<ModelConfig> (*of_gguf)(const Settings& metadata, const TensorSource& tensors);
};

/// The kinds of models, by the results that they give, and the class that runs each.
enum class ModelKind {
  kCausal,     // a text's next token or its embedding: CausalModel
  kImageText,  // how well images and texts fit: ImageTextModel
};

/// The kind of a config.json's model. Errors: kFormat if its "model_type" is unknown.
WICK_API ModelKind kind_of_folder(const Settings& config);
/// Checks that a config.json's model has the kind. Errors: kUnsupported, naming the model's kind
/// and the one that the caller needs; kFormat as kind_of_folder.
WICK_API void require_kind(const Settings& config, ModelKind kind);

/// The architecture of a causal model's config.json. Errors: as require_kind.
WICK_API const Architecture& architecture_of_folder(const Settings& config);
/// The architecture of a GGUF file. Errors: kFormat if its "general.architecture" is unknown.
WICK_API const Architecture& architecture_of_gguf(const Settings& metadata);

}  // namespace wick
