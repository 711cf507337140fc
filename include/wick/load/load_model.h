// Loads a model from a folder as the HuggingFace hub has it, or from a GGUF file.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wick/dist/process_group.h"
#include "wick/load/sampling.h"
#include "wick/media/image_processor.h"
#include "wick/models/causal_model.h"
#include "wick/models/decoder.h"
#include "wick/text/chat_template.h"
#include "wick/text/tokenizer.h"

namespace wick {

/// The layers of a model over several devices: docs/how-to/more-than-a-card.md.
struct SplitOptions {
  /// The devices, in the layers' order: the first one has the embedding too, the last one the final
  /// norm and the output layer. Empty: LoadOptions::device alone.
  std::vector<Device> devices = {};
  /// The number of layers on each of them; one number more is the CPU's, after them. Empty: as many
  /// as the free memory has room for, and on the CPU those that have no room elsewhere. A CPU whose
  /// memory another of the devices shares gets no layers.
  std::vector<int64_t> layers = {};
  /// Without layers, beside a single device: the CPU has the first layers if the device has no room
  /// for all. A look at the embedding costs the CPU nothing, an output layer costs it much.
  bool with_cpu = false;
  /// The tokens for whose cache that leaves room; 0: 4096, or the model's positions if there are
  /// fewer.
  int64_t context = 0;
  int64_t sequences = 1;             // of so many tokens each
  CacheType kv = CacheType::kModel;  // as of CacheOptions::type
  /// The experts of so many first layers are on the CPU, which computes them there.
  int64_t cpu_experts = 0;
};

struct LoadOptions {
  Device device = Device::best();
  std::optional<DType> dtype = {};  // of the computation; missing: device.preferred_dtype()
  int64_t positions = 0;            // the maximum number of positions; 0: the config's
  std::string tokenizer_pre = {};   // see load_tokenizer
  SplitOptions split = {};
  /// The ranks that share the weights and compute the model together (tensor parallelism), each on
  /// its device; missing: this process has them all. Every rank loads the model with the same
  /// options and gets its part: rank 0 can use it as any other, the others must `follow`
  /// (wick/models/tensor_parallel.h). Their group should have a long time-out: they wait for rank
  /// 0's calls.
  std::optional<ProcessGroup> group = {};
  /// Called after each tensor with the bytes read and the bytes of all tensors.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

/// How the hidden states of a text become its embedding: one token's, or their mean.
enum class Pooling { kLast, kFirst, kMean };

/// A text and images as a session reads them.
struct Prompt {
  std::vector<int64_t> ids;
  Tensor pixel_values;  // of the images whose placeholders are among the ids; empty without images
};

/// The texts around queries and images of a model with a vector for each token.
struct RetrievalTexts {
  std::string query_prefix;  // before a query
  std::string query_suffix;  // after it: tokens that the model may use as it likes
  std::string image_text;    // after an image
};

/// A model and its files' settings.
struct WICK_API LanguageModel {
  std::shared_ptr<const CausalModel> model;
  std::optional<Tokenizer> tokenizer;         // missing if the files lack it
  std::optional<ChatTemplate> chat_template;  // missing if the files lack it
  /// Missing if the files lack it or the model reads no images.
  std::optional<ImageProcessor> image_processor = {};
  std::string bos_token, eos_token;           // texts, "" if the files lack them; for templates
  std::vector<int64_t> stop_ids;              // tokens that end a text or a turn
  std::optional<Sampling> sampling;           // generation_config.json's, if it samples
  Pooling pooling = Pooling::kLast;           // kLast if the files do not say
  RetrievalTexts retrieval = {};              // empty unless the model has a vector for each token
  std::map<std::string, TensorInfo> weights;  // as they lie on the device
  /// A line that names the layers and the bytes of each device; empty if the options named one.
  std::string split = {};
  std::vector<std::string> warnings;  // one line each, such as keys that wick does not know

  const ModelFacts& facts() const { return model->facts(); }
  /// sampling; if the files say nothing, temperature 0.3 and min_p 0.2: close to the likeliest
  /// text, as questions want it, yet another one with another seed.
  Sampling default_sampling() const;
  /// The ids of a text to be continued: special tokens' texts are read as tokens; the beginning
  /// that the files ask for is added, an end is not. A text that gives no token starts with a
  /// newline.
  /// Errors: kUnsupported if there is no tokenizer.
  std::vector<int64_t> prompt_ids(const std::string& text) const;
  /// A text about images to be continued, as PaliGemma is trained: the placeholders of the images,
  /// the token that begins a text, the text and a newline. A text may have the placeholders itself,
  /// one token ("<image>") for each image; the beginning then stands after the last one. Without
  /// images: prompt_ids.
  /// Errors: as prompt_ids and pixel_values; kInvalidArgument if the text has placeholders for
  /// more or fewer images; kFormat if the tokenizer has no placeholder.
  Prompt prompt(const std::string& text, std::span<const Image> images) const;
  /// The input [M, channels, height, width] of the model for images, f32 on the CPU.
  /// Errors: kUnsupported if the model reads no images or the files lack an image processor; as
  /// ImageProcessor.
  Tensor pixel_values(std::span<const Image> images) const;
  /// The embedding [hidden_size] of a text, f32 on the CPU: the pooled hidden states after the
  /// final norm, scaled to the length 1. The beginning and end that the files ask for are added.
  /// Errors: kUnsupported if there is no tokenizer, or for a model with a vector for each token;
  /// kOutOfRange for more tokens than the model has positions.
  Tensor embed(const std::string& text) const;
  /// The ids of a query, as ColPali is trained: the token that begins a text, the query between its
  /// prefix and suffix, and a newline. Texts of special tokens are read as tokens.
  /// Errors: kUnsupported if the model has no vector for each token, or no tokenizer;
  /// kInvalidArgument if the query has the placeholder of an image.
  std::vector<int64_t> query_ids(const std::string& query) const;
  /// The vectors [tokens, embedding_dim] of a query, f32 on the CPU, each of length 1:
  /// late_interaction compares them with an image's vectors.
  /// Errors: as query_ids; kOutOfRange for more tokens than the model has positions; kFormat if a
  /// vector is not finite.
  Tensor embed_query(const std::string& query) const;
  /// The vectors [tokens, embedding_dim] of an image, such as a page: of its own tokens and of the
  /// text after it. Errors: as embed_query and prompt.
  Tensor embed_image(const Image& image) const;
  /// The ids of a conversation, as the template lays it out, ready for the assistant's answer
  /// unless the options say otherwise. Their bos_token and eos_token, if "", are the model's. The
  /// placeholders of a message's images stand before its content. Text of messages, tools and
  /// documents is never read as special tokens: see ChatTemplate::render_marked. bos_token,
  /// eos_token and the other variables of the options are the program's, and are.
  ///
  /// A model that reads images and has no template gets plain turns, without a mark of who speaks:
  /// each message is the placeholders of its images, its content and a newline; the token that
  /// begins a text stands before the first content. The options do not change them.
  /// Errors: kUnsupported without a tokenizer, without a template if the model reads texts alone,
  /// and for images if it does; kInvalidArgument if the template leaves out a content with
  /// images; kFormat, kInvalidArgument of the template.
  std::vector<int64_t> chat_ids(const std::vector<ChatMessage>& messages,
                                ChatOptions options = {}) const;
};

/// The file or folder that holds the model: the path itself, or the only GGUF file in a folder
/// without model.safetensors and its index; of a split set, the first part.
/// Errors: FileError; kFormat if there are several GGUF files.
WICK_API std::string model_path(const std::string& path);

/// Loads a folder with config.json, model.safetensors or its shards, and, as far as they are there,
/// tokenizer.json, tokenizer_config.json, chat_template.jinja and generation_config.json; or a GGUF
/// file, or a folder with only that (see model_path). Each weight is read once, straight to the
/// device; on the CPU it stays where the file is mapped if its dtype is the computation's or a
/// block dtype, so the file must not be cut short while the model exists.
/// Errors: FileError and kFormat, naming the file; kInvalidArgument for a dtype other than f32,
/// bf16, f16 and f64; kUnsupported for an architecture, a type or a pooling that wick lacks;
/// kOutOfMemory, before a weight is read, if the weights exceed a device's free memory: the text
/// names the missing bytes, the largest tensors and the largest type of quantize_model that fits;
/// kInvalidArgument for layers of SplitOptions that are not the model's; kUnsupported if the layers
/// of such a model cannot be split; of several ranks kUnsupported, naming the part, for a model
/// whose weights they cannot share, and kInvalidArgument for sizes that are too few for them.
WICK_API LanguageModel load_model(const std::string& path, const LoadOptions& options = {});
/// The facts of a model, from its files without the weights. Errors: as load_model.
WICK_API ModelFacts load_facts(const std::string& path);
/// The config of a decoder. Errors: as load_model.
WICK_API DecoderConfig load_config(const std::string& path);
/// The tokenizer alone: of a GGUF file, or of a folder with tokenizer.json, the
/// spiece.model of a SigLIP, or one GGUF file.
/// Errors: as load_model; kFormat if there is no tokenizer. pre: replaces a GGUF file's
/// "tokenizer.ggml.pre", see Tokenizer::from_gguf. Errors: kInvalidArgument if the
/// tokenizer comes from a folder's own files.
WICK_API Tokenizer load_tokenizer(const std::string& path, const std::string& pre = "");

}  // namespace wick
