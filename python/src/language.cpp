// Tokenizers, language models and their sessions.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "bind.h"
#include "casters.h"
#include "generation.h"
#include "image_list.h"
#include "loading.h"
#include "messages.h"
#include "on_logits.h"
#include "session_keywords.h"
#include "values.h"
#include "wick/dist/launch.h"
#include "wick/generate/chat_window.h"
#include "wick/generate/session.h"
#include "wick/load/fetch_model.h"
#include "wick/load/load_model.h"
#include "wick/models/forward.h"
#include "wick/models/tensor_parallel.h"
#include "wick/ops/shape.h"
#include "wick/text/stop_strings.h"

namespace wick::python {
namespace {

void bind_tokenizer(nb::module_& m) {
  nb::class_<Tokenizer>(m, "Tokenizer", "Text to token ids and back, as a model's files state.")
      .def(
          "encode",
          [](const Tokenizer& t, std::string_view text, bool add_special, bool parse_special) {
            return t.encode_ids(text, {.add_special = add_special, .parse_special = parse_special});
          },
          nb::arg("text"), nb::arg("add_special") = true, nb::arg("parse_special") = true,
          WithoutGil(),
          "The ids of a text. add_special adds the tokens that the file puts around a text; "
          "parse_special reads the texts of special tokens as those tokens.")
      .def(
          "encode_with_offsets",
          [](const Tokenizer& t, std::string_view text, bool add_special) {
            const Encoding e = t.encode(text, {.add_special = add_special});
            return std::tuple(e.ids, e.tokens, e.offsets);
          },
          nb::arg("text"), nb::arg("add_special") = true, WithoutGil(),
          "(ids, tokens, offsets): offsets are pairs [begin, end) of code points in the text.")
      .def(
          "decode",
          [](const Tokenizer& t, const std::vector<int64_t>& ids, bool skip_special) {
            return t.decode(ids, skip_special);
          },
          nb::arg("ids"), nb::arg("skip_special") = false, WithoutGil(),
          "The text of the ids. Bytes that form no character become U+FFFD.")
      .def_prop_ro("vocab_size", &Tokenizer::vocab_size, "One more than the largest id.")
      .def_prop_ro("bos", &Tokenizer::bos, "The id that begins a text, or None.")
      .def_prop_ro("eos", &Tokenizer::eos, "The id that ends a text, or None.")
      .def("id_of", &Tokenizer::id_of, nb::arg("token"), "The id of a token, or None.")
      .def("token", &Tokenizer::token, nb::arg("id"), "The token as the vocabulary spells it.")
      .def("is_special", &Tokenizer::is_special, nb::arg("id"),
           "Whether the id is that of a special token, such as one that ends a turn.")
      .def("__repr__", [](const Tokenizer& t) {
        const auto named = [&](const char* name, std::optional<int64_t> id) {
          return id ? std::string(", ") + name + "=" + std::to_string(*id) : "";
        };
        return "wick.Tokenizer(vocab_size=" + std::to_string(t.vocab_size()) +
               named("bos", t.bos()) + named("eos", t.eos()) + ")";
      });

  nb::class_<TokenStream>(m, "TokenStream", "Decodes token by token into whole characters.")
      .def(nb::init<const Tokenizer&, bool>(), nb::arg("tokenizer"),
           nb::arg("skip_special") = false)
      .def("push", &TokenStream::push, nb::arg("id"), "The text that this token completes.")
      .def("finish", &TokenStream::finish, "The rest of the text.");

  nb::class_<StopStrings>(m, "StopStrings", "Passes a text on, up to the first of these strings.")
      .def(nb::init<std::vector<std::string>>(), nb::arg("stops"))
      .def("push", &StopStrings::push, nb::arg("piece"), "The text that can be passed on.")
      .def("finish", &StopStrings::finish, "The text that was held back.")
      .def_prop_ro("stopped", &StopStrings::stopped, "Whether a stop string has occurred.")
      .def("__repr__", [](const StopStrings& s) {
        return "wick.StopStrings(" + std::string(nb::repr(nb::cast(s.stops())).c_str()) +
               (s.stopped() ? ", stopped=True)" : ")");
      });
}

/// A session with these keywords.
Session make_session(const LanguageModel& model, const nb::dict& keywords) {
  const SessionOptions options = session_options(model, keywords);
  const ReleasedGil others_run;
  return Session(model, options);
}

std::string represented(const Session& session) {
  const int64_t sequences = session.options().sequences;
  std::string lengths;
  for (int64_t i = 0; i < sequences; i++)
    lengths += (i > 0 ? ", " : "") + std::to_string(session.length(i));
  return "wick.Session(" + (sequences == 1 ? "length=" + lengths : "lengths=[" + lengths + "]") +
         ", capacity=" + std::to_string(session.capacity()) +
         ", seed=" + std::to_string(*session.options().seed) + ")";
}

void bind_session(nb::module_& m) {
  nb::class_<Session>(m, "Session", "Sequences of tokens that grow together, with their cache.",
                      nb::type_slots(session_slots))
      .def("append", &Session::append, nb::arg("ids"), nb::arg("pixel_values") = nb::none(),
           WithoutGil(),
           "Adds tokens, with the images [M, channels, height, width] of the placeholders among "
           "them.")
      .def("append_each", &Session::append_each, nb::arg("ids"),
           nb::arg("pixel_values") = nb::none(), WithoutGil(),
           "Adds tokens to each sequence: a list of lists. pixel_values: as of append.")
      .def("step", &Session::step, WithoutGil(),
           "Samples the next token of each sequence and returns the tokens.")
      .def("rewind", &Session::rewind, nb::arg("length"), nb::arg("sequence") = 0, WithoutGil(),
           "Keeps the first `length` tokens of a sequence.")
      .def(
          "set_sampling",
          [](Session& s, int64_t sequence, const nb::kwargs& keywords) {
            (void)s.length(sequence);
            const Sampling now = s.options().each[size_t(sequence)].sampling;
            const Sampling next = with_sampling_keywords(now, keywords);
            const ReleasedGil others_run;
            s.set_sampling(next, sequence);
          },
          nb::arg("sequence") = 0, nb::arg("keywords"),
          "Changes keywords of sampling (temperature, top_k ...) of a sequence from its next token "
          "on; the others stay.")
      .def("set_mask", &Session::set_mask, nb::arg("mask") = nb::none(), WithoutGil(),
           "Allows each sequence only some ids: bit i % 32 of word i // 32 of its row allows id i. "
           "mask: i32 or u32 [sequences, ceil(vocab_size / 32)]; None allows all.")
      .def("length", &Session::length, nb::arg("sequence") = 0,
           "The tokens of a sequence, the one sampled last included.")
      .def("stopped", &Session::stopped, nb::arg("sequence") = 0,
           "Whether the sequence has sampled a stop id since its last append.")
      .def("history", &Session::history, nb::arg("sequence") = 0, WithoutGil(),
           "All tokens of a sequence.")
      .def_prop_ro("capacity", &Session::capacity, "Tokens that a sequence may have.")
      .def_prop_ro(
          "sequences", [](const Session& s) { return s.options().sequences; },
          "The number of sequences.")
      .def_prop_ro(
          "seed", [](const Session& s) { return *s.options().seed; },
          "Another session with this seed and the same tokens samples the same.")
      .def("__repr__", &represented);
}

/// The object of wick.KvCache: a cache whose sequences all have the same length.
struct Cache {
  std::unique_ptr<ModelCache> cache;
  int64_t batch = 0, length = 0;
};

void bind_cache(nb::module_& m) {
  nb::class_<Cache>(m, "KvCache",
                    "Keys and values of the tokens so far, of sequences of one length: "
                    "LanguageModel.make_cache makes one, and LanguageModel.logits adds to it.")
      .def_ro("batch", &Cache::batch, "The number of sequences.")
      .def_ro("length", &Cache::length, "The tokens of a sequence so far.")
      .def_prop_ro(
          "capacity", [](const Cache& c) { return c.cache->capacity(); },
          "Tokens that a sequence may have.")
      .def(
          "rewind",
          [](Cache& c, int64_t length) {
            check(0 <= length && length <= c.length, ErrorCode::kOutOfRange, "rewind",
                  "length: expected 0 to ", c.length, ", got ", length);
            int64_t kept = length;
            for (int64_t b = 0; b < c.batch; b++)
              kept = std::min(kept, c.cache->truncate(b, length));
            check(kept == length, ErrorCode::kUnsupported, "rewind",
                  "the model's layers keep states, "
                  "which cannot go back from ",
                  c.length, " tokens to ", length);
            c.length = length;
          },
          nb::arg("length"), "Keeps the first `length` tokens of each sequence.")
      .def("__repr__", [](const Cache& c) {
        return "wick.KvCache(batch=" + std::to_string(c.batch) +
               ", length=" + std::to_string(c.length) +
               ", capacity=" + std::to_string(c.cache->capacity()) + ")";
      });
}

/// Hidden states of ids [B, T] after the tokens of the cache, which then holds these too.
Tensor hidden(const LanguageModel& model, std::string_view op, const Tensor& ids, Cache* cache) {
  check(ids.rank() == 2, ErrorCode::kShapeMismatch, op, "ids: expected [B, T], got ",
        to_string(ids.shape()));
  const int64_t batch = ids.size(0), count = ids.size(1);
  if (!cache) return model.model->hidden(ids, positions_from_0(batch, count, ids.device()));
  check(batch == cache->batch, ErrorCode::kShapeMismatch, op, "ids: expected ", cache->batch,
        " sequences, as the cache has, got ", batch);
  const int64_t length = cache->length + count;
  TokenBatch tokens;
  tokens.ids = reshape(ids, {batch * count});
  tokens.starts.assign(size_t(batch), cache->length);
  for (int64_t b = 0; b <= batch; b++) tokens.offsets.push_back(b * count);
  const Tensor at = narrow(positions_from_0(batch, length, ids.device()), 1, cache->length, count);
  tokens.positions = reshape(at, {batch * count});
  const Tensor states = reshape(model.model->hidden(tokens, cache->cache.get()),
                                {batch, count, model.facts().hidden_size});
  cache->length = length;
  return states;
}

void bind_model(nb::module_& m) {
  nb::class_<LanguageModel>(
      m, "_LanguageModel",
      "What wick.LanguageModel has of C++: the model without its methods that "
      "yield text.")
      .def(nb::init<const LanguageModel&>(), nb::arg("model"))
      .def_ro("tokenizer", &LanguageModel::tokenizer,
              "A Tokenizer, or None if the files have none.")
      .def_ro("stop_ids", &LanguageModel::stop_ids, "Tokens that end a text or a turn.")
      .def_ro("warnings", &LanguageModel::warnings,
              "What the loader has to say of the files, such as keys that wick does not know.")
      .def_prop_ro(
          "model_type", [](const LanguageModel& model) { return model.facts().model_type; },
          "The family, as config.json names it: \"llama\".")
      .def_prop_ro(
          "vocab_size", [](const LanguageModel& model) { return model.facts().vocab_size; },
          "The number of logits of a token.")
      .def_prop_ro(
          "max_position_embeddings",
          [](const LanguageModel& model) { return model.facts().max_position_embeddings; },
          "The tokens of a text that the model was trained for, by its files.")
      .def_prop_ro(
          "positions", [](const LanguageModel& model) { return model.model->positions(); },
          "The most tokens of a text; wick.load's argument raises it.")
      .def_prop_ro(
          "device", [](const LanguageModel& model) { return model.model->options().device; },
          "The Device that computes; of a model on several, the last layer's.")
      .def_prop_ro(
          "devices", [](const LanguageModel& model) { return model.model->devices(); },
          "The Devices of the layers, in order, each once.")
      .def_ro("split", &LanguageModel::split,
              "A line that names the layers and the bytes of each device, if load was asked for "
              "several; else \"\".")
      .def_prop_ro(
          "dtype", [](const LanguageModel& model) { return model.model->options().dtype; },
          "The DType of the computation; weights may have another.")
      .def_prop_ro(
          "has_chat_template",
          [](const LanguageModel& model) { return model.chat_template.has_value(); },
          "Whether the files have a chat template, which chat needs unless the model reads images.")
      .def_prop_ro(
          "reads_images",
          [](const LanguageModel& model) { return model.facts().images.has_value(); },
          "Whether prompts and messages may have images.")
      .def_prop_ro(
          "embedding_dim", [](const LanguageModel& model) { return model.facts().embedding_dim; },
          "The elements of a token's vector, as embed_query and embed_image give them; 0: the "
          "model "
          "has none.")
      .def("prompt_ids", &LanguageModel::prompt_ids, nb::arg("text"), WithoutGil(),
           "The ids of a text to be continued: texts of special tokens are read as tokens, and the "
           "beginning that the files ask for is added. NotImplementedError without a tokenizer.")
      .def(
          "prompt",
          [](const LanguageModel& model, const std::string& text, const nb::object& images) {
            const std::vector<Image> list = images_of(images);
            const ReleasedGil others_run;
            Prompt prompt = model.prompt(text, list);
            return std::pair(std::move(prompt.ids), prompt.pixel_values);
          },
          nb::arg("text"), nb::arg("images"),
          "(ids, pixel_values) of a text about images, as PaliGemma is trained: the placeholders "
          "of "
          "the images, the token that begins a text, the text and a newline. A text may have the "
          "placeholders itself, \"<image>\" for each image. Images are paths, bytes of files, or "
          "pixels u8 [H, W, 3] as tensors or arrays. NotImplementedError for a model without "
          "images; ValueError for a number of placeholders that does not fit.")
      .def(
          "pixel_values",
          [](const LanguageModel& model, const nb::object& images) {
            const std::vector<Image> list = images_of(images);
            const ReleasedGil others_run;
            return model.pixel_values(list);
          },
          nb::arg("images"),
          "The input [M, channels, height, width] of the model for one image or a list of them, as "
          "prompt takes them.")
      .def(
          "chat_ids",
          [](const LanguageModel& model, const nb::object& messages, const nb::object& tools,
             const nb::object& variables, bool add_generation_prompt) {
            const std::vector<ChatMessage> list = messages_of(messages);
            ChatOptions options = chat_options_of(tools, variables);
            options.add_generation_prompt = add_generation_prompt;
            const ReleasedGil others_run;
            return model.chat_ids(list, options);
          },
          nb::arg("messages").none(), nb::kw_only(), nb::arg("tools") = nb::none(),
          nb::arg("template") = nb::none(), nb::arg("add_generation_prompt") = true,
          "The ids of a conversation, as the chat template lays it out, ready for the assistant's "
          "answer.\n\n"
          "messages  dicts of role and content, and what else the template reads, as tool_calls\n"
          "tools     JSON schemas of functions that the model may call, as dicts\n"
          "template  variables of the template: {\"enable_thinking\": False}\n\n"
          "Text of messages and tools is never read as special tokens.\n\n"
          "Errors: TypeError or ValueError for a message of another form; ValueError of the "
          "template; NotImplementedError without a template or tokenizer.")
      .def(
          "chat_window",
          [](const LanguageModel& model, const nb::object& messages, int64_t capacity,
             int64_t answer, const nb::object& tools, const nb::object& variables) {
            const std::vector<ChatMessage> list = messages_of(messages);
            const ChatOptions options = chat_options_of(tools, variables);
            const ReleasedGil others_run;
            ChatWindow window = chat_window(model, list, capacity, answer, options);
            return std::pair(std::move(window.ids), window.left_out);
          },
          nb::arg("messages").none(), nb::arg("capacity"), nb::arg("answer"), nb::kw_only(),
          nb::arg("tools") = nb::none(), nb::arg("template") = nb::none(),
          "(ids, left_out): as chat_ids, but without the oldest turns, left_out messages, if the "
          "conversation and an answer of `answer` tokens, at most a quarter of the context, exceed "
          "`capacity` tokens. IndexError if the system message and the last turn alone do.")
      .def("embed", &LanguageModel::embed, nb::arg("text"), WithoutGil(),
           "The embedding of a text: a Tensor [hidden_size] of f32 and length 1, on the CPU. "
           "NotImplementedError for a model with a vector for each token: see embed_query.")
      .def("query_ids", &LanguageModel::query_ids, nb::arg("query"), WithoutGil(),
           "The ids of a query as ColPali is trained: the token that begins a text, the query "
           "between the texts of the model's processor, and a newline. NotImplementedError for a "
           "model without a vector for each token.")
      .def("embed_query", &LanguageModel::embed_query, nb::arg("query"), WithoutGil(),
           "The vectors of a query's tokens: a Tensor [tokens, embedding_dim] of f32, on the CPU, "
           "with rows of length 1; wick.late_interaction compares them with those of images. "
           "NotImplementedError for a model without a vector for each token.")
      .def(
          "embed_image",
          [](const LanguageModel& model, const nb::object& image) {
            const std::vector<Image> list = images_of(image);
            check(list.size() == 1, ErrorCode::kInvalidArgument, "embed_image",
                  "expected one image, got ", list.size());
            const ReleasedGil others_run;
            return model.embed_image(list[0]);
          },
          nb::arg("image"),
          "The vectors [tokens, embedding_dim] of an image, as embed_query has them: of the "
          "image's "
          "own tokens and of the text after it. The image is a path, bytes of a file, or pixels u8 "
          "[H, W, 3] as a tensor or an array.")
      .def(
          "hidden",
          [](const LanguageModel& model, const Tensor& ids, Cache* cache) {
            return hidden(model, "hidden", ids, cache);
          },
          nb::arg("ids"), nb::arg("cache") = nb::none(), WithoutGil(),
          "The hidden states [B, T, hidden_size] of ids [B, T] after the final norm. With a cache, "
          "the ids continue its tokens and are added to it.")
      .def(
          "logits",
          [](const LanguageModel& model, const Tensor& ids, Cache* cache) {
            return model.model->logits(hidden(model, "logits", ids, cache));
          },
          nb::arg("ids"), nb::arg("cache") = nb::none(), WithoutGil(),
          "The logits [B, T, vocab_size] of ids [B, T]. With a cache, the ids continue its tokens "
          "and are added to it.")
      .def(
          "_forward",
          [](const LanguageModel& model, const NamedTensors& inputs, bool hidden) {
            return forward(*model.model, inputs, {.hidden = hidden});
          },
          nb::arg("inputs"), nb::arg("hidden"), WithoutGil())
      .def(
          "make_cache",
          [](const LanguageModel& model, int64_t batch, int64_t capacity, const std::string& kv) {
            if (capacity == 0) capacity = model.model->positions();
            return Cache{model.model->make_cache(
                             {.sequences = batch, .capacity = capacity, .type = cache_type(kv)}),
                         batch};
          },
          nb::arg("batch") = 1, nb::arg("capacity") = 0, nb::arg("kv") = "", WithoutGil(),
          "An empty KvCache for sequences of up to `capacity` tokens; 0: as many as the model "
          "allows. kv: \"f16\", \"f8\" or \"q8_0\"; without it keys and values are held as the "
          "model computes them.")
      .def("_session", &make_session, nb::arg("keywords"));
  m.def("_session_keywords", [] {
    nb::list all;
    for (const SessionKeyword& k : session_keywords())
      all.append(nb::make_tuple(k.name, k.type, k.doc));
    return all;
  });
  m.def(
      "_check_messages", [](const nb::object& messages) { messages_of(messages); },
      nb::arg("messages").none());
  m.def(
      "_check_chat_options",
      [](const nb::object& tools, const nb::object& variables) {
        chat_options_of(tools, variables);
      },
      nb::arg("tools").none(), nb::arg("template").none());
}

/// Lets several processes share the model; `command` starts those beside this one.
void share_with_ranks(LoadOptions& options, bool names_device, int ranks,
                      const std::vector<std::string>& command) {
  const auto print = [](int rank, bool, std::string_view line) {
    std::fprintf(stderr, "[%d] %.*s\n", rank, int(line.size()), line.data());
  };
  options.group = join_or_start(command, {.processes = ranks, .on_line = print});
  if (!names_device) options.device = device_of_rank("auto", *options.group);
}

LanguageModel load(const std::filesystem::path& path, const std::vector<DeviceArgument>& devices,
                   const nb::object& dtype, int64_t positions, const std::string& tokenizer_pre,
                   const nb::object& progress, const std::vector<int64_t>& layers, bool fits,
                   int64_t cpu_experts, int64_t context, int ranks,
                   const std::vector<std::string>& command) {
  LoadOptions options = load_options(
      devices.empty() ? std::nullopt : std::optional(devices.front()), dtype, progress);
  options.positions = positions;
  options.tokenizer_pre = tokenizer_pre;
  options.split = {
      .layers = layers, .with_cpu = fits, .context = context, .cpu_experts = cpu_experts};
  if (devices.size() > 1)
    for (const DeviceArgument& device : devices) options.split.devices.emplace_back(device);
  const ReleasedGil others_run;
  if (ranks > 1) share_with_ranks(options, !devices.empty(), ranks, command);
  return load_model(path.string(), options);
}

/// fetch_model, with functions of Python as DownloadOptions::progress and note. Ctrl-C ends it.
std::string fetch(const std::string& model, const std::optional<DeviceArgument>& device,
                  bool weights, const nb::object& progress, const nb::object& note) {
  if (!hub_name_of(model)) return model;
  FetchOptions options{.device = device ? Device(*device) : Device::best(), .weights = weights};
  options.progress = [call = nb::handle(progress)](int64_t done, int64_t total) {
    const nb::gil_scoped_acquire python;
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
    call(done, total);
  };
  options.note = [call = nb::handle(note)](const std::string& line) {
    const nb::gil_scoped_acquire python;
    call(line);
  };
  const ReleasedGil others_run;
  return fetch_model(model, options);
}

}  // namespace

void bind_language(nb::module_& m) {
  bind_tokenizer(m);
  bind_session(m);
  bind_cache(m);
  bind_model(m);
  bind_grammars(m);
  bind_generation(m);
  bind_engine(m);
  bind_server(m);
  m.def("_load", &load, nb::arg("path"), nb::arg("devices"), nb::arg("dtype").none(),
        nb::arg("positions"), nb::arg("tokenizer_pre"), nb::arg("progress").none(),
        nb::arg("layers"), nb::arg("fits"), nb::arg("cpu_experts"), nb::arg("context"),
        nb::arg("ranks"), nb::arg("command"));
  m.def(
      "_follow",
      [](const LanguageModel& model) {
        const ReleasedGil others_run;
        if (!follows(*model.model)) return false;
        follow(*model.model);
        return true;
      },
      nb::arg("model"));
  m.def("_fetch", &fetch, nb::arg("model"), nb::arg("device").none(), nb::arg("weights"),
        nb::arg("progress"), nb::arg("note"));
  m.def(
      "_load_tokenizer",
      [](const std::filesystem::path& path, const std::string& tokenizer_pre) {
        return load_tokenizer(path.string(), tokenizer_pre);
      },
      nb::arg("path"), nb::arg("tokenizer_pre"), WithoutGil());
}

}  // namespace wick::python
