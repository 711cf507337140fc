// Tokenizers, language models and their sessions.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "bind.h"
#include "casters.h"
#include "wick/load/chat_window.h"
#include "wick/load/load_model.h"
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
      .def("is_special", &Tokenizer::is_special, nb::arg("id"));

  nb::class_<TokenStream>(m, "TokenStream", "Decodes token by token into whole characters.")
      .def(nb::init<const Tokenizer&, bool>(), nb::arg("tokenizer"),
           nb::arg("skip_special") = false)
      .def("push", &TokenStream::push, nb::arg("id"), "The text that this token completes.")
      .def("finish", &TokenStream::finish, "The rest of the text.");

  nb::class_<StopStrings>(m, "StopStrings", "Passes a text on, up to the first of these strings.")
      .def(nb::init<std::vector<std::string>>(), nb::arg("stops"))
      .def("push", &StopStrings::push, nb::arg("piece"), "The text that can be passed on.")
      .def("finish", &StopStrings::finish, "The text that was held back.")
      .def_prop_ro("stopped", &StopStrings::stopped, "Whether a stop string has occurred.");
}

/// The model's sampling where a keyword is None, as the program `wick` has it.
Sampling sampling_of(const LanguageModel& model, std::optional<double> temperature,
                     std::optional<int64_t> top_k, std::optional<double> top_p,
                     std::optional<double> min_p, std::optional<double> repetition_penalty) {
  Sampling s = model.default_sampling();
  s.temperature = temperature.value_or(s.temperature);
  s.top_k = top_k.value_or(s.top_k);
  s.top_p = top_p.value_or(s.top_p);
  s.min_p = min_p.value_or(s.min_p);
  s.repetition_penalty = repetition_penalty.value_or(s.repetition_penalty);
  return s;
}

void bind_session(nb::module_& m) {
  nb::class_<Session>(m, "Session", "Sequences of tokens that grow together, with their cache.")
      .def("append", &Session::append, nb::arg("ids"), WithoutGil(), "Adds tokens.")
      .def("append_each", &Session::append_each, nb::arg("ids"), WithoutGil(),
           "Adds tokens to each sequence: a list of lists.")
      .def("step", &Session::step, WithoutGil(),
           "Samples the next token of each sequence and returns the tokens.")
      .def("rewind", &Session::rewind, nb::arg("length"), nb::arg("sequence") = 0, WithoutGil(),
           "Keeps the first `length` tokens of a sequence.")
      .def("length", &Session::length, nb::arg("sequence") = 0)
      .def("stopped", &Session::stopped, nb::arg("sequence") = 0,
           "Whether the sequence has sampled a stop id since its last append.")
      .def("history", &Session::history, nb::arg("sequence") = 0, WithoutGil(),
           "All tokens of a sequence.")
      .def_prop_ro("capacity", &Session::capacity, "Tokens that a sequence may have.");
}

/// A message is a dict with role and content, as chat templates and servers have it.
std::vector<ChatMessage> messages_of(const nb::list& list) {
  std::vector<ChatMessage> messages;
  for (const nb::handle item : list) {
    const auto text = [&](const char* key) {
      return nb::cast<std::string>(nb::cast<nb::dict>(item)[key]);
    };
    messages.push_back({text("role"), text("content")});
  }
  return messages;
}

/// Behind wick.KvCache: a cache whose sequences all have the same length.
struct Cache {
  std::unique_ptr<KvCache> cache;
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
            c.length = length;
          },
          nb::arg("length"), "Keeps the first `length` tokens of each sequence.");
}

/// Hidden states of ids [B, T] after the tokens of the cache, which then holds these too.
Tensor hidden(const LanguageModel& model, std::string_view op, const Tensor& ids, Cache* cache) {
  check(ids.rank() == 2, ErrorCode::kShapeMismatch, op, "ids: expected [B, T], got ",
        to_string(ids.shape()));
  const int64_t batch = ids.size(0), count = ids.size(1);
  if (!cache) return model.decoder.hidden(ids, positions_from_0(batch, count, ids.device()));
  check(batch == cache->batch, ErrorCode::kShapeMismatch, op, "ids: expected ", cache->batch,
        " sequences, as the cache has, got ", batch);
  const int64_t length = cache->length + count;
  cache->cache->cover(length);
  const Tensor at = narrow(positions_from_0(batch, length, ids.device()), 1, cache->length, count);
  const std::vector<int64_t> lengths(size_t(batch), length);
  const Tensor states = model.decoder.hidden(ids, at, cache->cache.get(), lengths);
  cache->length = length;
  return states;
}

LanguageModel load(const std::filesystem::path& path, const std::optional<DeviceArgument>& device,
                   std::optional<DType> dtype, int64_t positions, const nb::object& progress) {
  LoadOptions options{.dtype = dtype, .positions = positions};
  if (device) options.device = *device;
  options.progress = [&](int64_t done, int64_t total) {
    const nb::gil_scoped_acquire python;
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();  // Ctrl-C
    if (!progress.is_none()) progress(done, total);
  };
  const ReleasedGil others_run;
  return load_model(path.string(), options);
}

}  // namespace

void bind_language(nb::module_& m) {
  bind_tokenizer(m);
  bind_session(m);
  bind_cache(m);
  nb::class_<LanguageModel>(m, "_LanguageModel", nb::is_final())
      .def_ro("tokenizer", &LanguageModel::tokenizer)
      .def_ro("stop_ids", &LanguageModel::stop_ids)
      .def_ro("warnings", &LanguageModel::warnings)
      .def_prop_ro("vocab_size",
                   [](const LanguageModel& model) { return model.config().vocab_size; })
      .def_prop_ro(
          "max_position_embeddings",
          [](const LanguageModel& model) { return model.config().max_position_embeddings; })
      .def_prop_ro("device",
                   [](const LanguageModel& model) { return model.decoder.options().device; })
      .def_prop_ro("has_chat_template",
                   [](const LanguageModel& model) { return model.chat_template.has_value(); })
      .def("prompt_ids", &LanguageModel::prompt_ids, nb::arg("text"), WithoutGil())
      .def(
          "chat_ids",
          [](const LanguageModel& model, const nb::list& messages) {
            const std::vector<ChatMessage> list = messages_of(messages);
            const ReleasedGil others_run;
            return model.chat_ids(list);
          },
          nb::arg("messages"))
      .def(
          "chat_window",
          [](const LanguageModel& model, const nb::list& messages, int64_t capacity,
             int64_t answer) {
            const std::vector<ChatMessage> list = messages_of(messages);
            const ReleasedGil others_run;
            ChatWindow window = chat_window(model, list, capacity, answer);
            return std::pair(std::move(window.ids), window.left_out);
          },
          nb::arg("messages"), nb::arg("capacity"), nb::arg("answer"))
      .def("embed", &LanguageModel::embed, nb::arg("text"), WithoutGil())
      .def(
          "hidden",
          [](const LanguageModel& model, const Tensor& ids, Cache* cache) {
            return hidden(model, "hidden", ids, cache);
          },
          nb::arg("ids"), nb::arg("cache") = nb::none(), WithoutGil())
      .def(
          "logits",
          [](const LanguageModel& model, const Tensor& ids, Cache* cache) {
            return model.decoder.logits(hidden(model, "logits", ids, cache));
          },
          nb::arg("ids"), nb::arg("cache") = nb::none(), WithoutGil())
      .def(
          "make_cache",
          [](const LanguageModel& model, int64_t batch, int64_t capacity) {
            if (capacity == 0) capacity = model.decoder.positions();
            return Cache{model.decoder.make_cache(batch, capacity), batch};
          },
          nb::arg("batch") = 1, nb::arg("capacity") = 0, WithoutGil())
      .def(
          "session",
          [](const LanguageModel& model, int64_t sequences, int64_t capacity,
             std::optional<double> temperature, std::optional<int64_t> top_k,
             std::optional<double> top_p, std::optional<double> min_p,
             std::optional<double> repetition_penalty) {
            return model.session({.sequences = sequences,
                                  .capacity = capacity,
                                  .sampling = sampling_of(model, temperature, top_k, top_p, min_p,
                                                          repetition_penalty)});
          },
          nb::kw_only(), nb::arg("sequences") = 1, nb::arg("capacity") = 0,
          nb::arg("temperature") = nb::none(), nb::arg("top_k") = nb::none(),
          nb::arg("top_p") = nb::none(), nb::arg("min_p") = nb::none(),
          nb::arg("repetition_penalty") = nb::none(), WithoutGil());
  m.def("_load", &load, nb::arg("path"), nb::arg("device") = nb::none(),
        nb::arg("dtype") = nb::none(), nb::arg("positions") = 0, nb::arg("progress") = nb::none());
  m.def(
      "load_tokenizer",
      [](const std::filesystem::path& path) { return load_tokenizer(path.string()); },
      nb::arg("path"), WithoutGil(),
      "The tokenizer of a folder with tokenizer.json, or of a GGUF file.");
}

}  // namespace wick::python
