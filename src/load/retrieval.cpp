#include "load/retrieval.h"

#include "load/finite_rows.h"
#include "wick/io/file.h"
#include "wick/io/json.h"
#include "wick/models/forward.h"
#include "wick/ops/autograd.h"
#include "wick/ops/cast.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// The vectors [tokens, embedding_dim] of a prompt.
Tensor vectors_of(const char* op, const CausalModel& model, const Prompt& prompt) {
  const NoGrad off;
  NamedTensors inputs = {
      {"input_ids", Tensor::from(prompt.ids, {1, int64_t(prompt.ids.size())}, Device::cpu())}};
  if (prompt.pixel_values) inputs["pixel_values"] = prompt.pixel_values;
  const Tensor embeddings = squeeze(forward(model, inputs).at("embeddings"), 0);
  const Tensor rows = cast(embeddings, DType::kF32).to(Device::cpu());
  require_finite_rows(op, "token", rows, model.options().dtype);
  return rows;
}

}  // namespace

void require_retrieval(const LanguageModel& model, const char* op) {
  check(model.facts().embedding_dim > 0, ErrorCode::kUnsupported, op,
        "expected a model with a vector for each token, such as ColPali, got one of type ",
        model.facts().model_type);
}

// Source of the texts: transformers 5.24 (Apache 2.0), ColPaliProcessor; colpali-engine (MIT), the
// class of the same name.
RetrievalTexts read_retrieval_texts(const std::string& folder, const Settings& config,
                                    const FolderTexts& texts) {
  const std::string path = folder + "/processor_config.json";
  const Settings processor = is_there(path) ? read_json(path) : Settings(path);
  const bool is_of_transformers = config.text("model_type") == "colpali";
  const std::string named = texts.token("pad_token"), pad = named.empty() ? "<pad>" : named;
  RetrievalTexts result{
      .query_prefix =
          processor.text_or("query_prefix", is_of_transformers ? "Question: " : "Query: "),
      .query_suffix = {},
      .image_text = processor.text_or("visual_prompt_prefix", "Describe the image.")};
  constexpr int kPads = 10;
  for (int i = 0; i < kPads; i++) result.query_suffix += pad;
  return result;
}

Tensor LanguageModel::embed_query(const std::string& query) const {
  return vectors_of("embed_query", *model, {.ids = query_ids(query), .pixel_values = {}});
}

Tensor LanguageModel::embed_image(const Image& image) const {
  require_retrieval(*this, "embed_image");
  return vectors_of("embed_image", *model, prompt(retrieval.image_text, {&image, 1}));
}

}  // namespace wick
