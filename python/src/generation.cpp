#include "generation.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "casters.h"
#include "messages.h"
#include "on_logits.h"
#include "seeds.h"
#include "session_keywords.h"
#include "wick/generate/chat.h"
#include "wick/generate/generation.h"

namespace wick::python {
namespace {

/// Whether Ctrl-C or another signal has raised an error, which the caller of next then passes on.
bool signalled() {
  const nb::gil_scoped_acquire python;
  return PyErr_CheckSignals() != 0;
}

template <class Text>
std::optional<std::string> next(Text& text) {
  std::optional<std::string> piece;
  {
    const ReleasedGil others_run;
    piece = text.next();
  }
  if (PyErr_Occurred()) nb::raise_python_error();
  return piece;
}

void make_generation(Generation* memory, const LanguageModel& model,
                     const std::vector<int64_t>& ids, std::optional<int64_t> max_tokens,
                     const std::vector<std::string>& stop, const std::optional<Grammar>& grammar,
                     const nb::dict& keywords, const Tensor& pixel_values) {
  const SessionOptions session = session_options(model, keywords);
  const ReleasedGil others_run;
  new (memory) Generation(model, ids,
                          {.max_tokens = max_tokens,
                           .stop = stop,
                           .grammar = grammar,
                           .pixel_values = pixel_values,
                           .interrupted = &signalled},
                          session);
}

void make_chat(Chat* memory, const LanguageModel& model, std::optional<int64_t> max_tokens,
               const std::vector<std::string>& stop, const nb::object& tools,
               const nb::object& variables, const nb::dict& keywords) {
  const ConversationOptions options{.max_tokens = max_tokens,
                                    .stop = stop,
                                    .chat_template = chat_options_of(tools, variables),
                                    .interrupted = &signalled,
                                    .session = session_options(model, keywords)};
  const ReleasedGil others_run;
  new (memory) Chat(model, options);
}

}  // namespace

SessionOptions session_options(const LanguageModel& model, const nb::dict& keywords) {
  SessionOptions options = with_keywords(default_session_options(model), keywords);
  const ReleasedGil others_run;
  if (!options.seed) options.seed = new_session_seed(model.model->options().device);
  return options;
}

void bind_generation(nb::module_& m) {
  m.attr("_MAX_TOKENS") = *GenerationOptions().max_tokens;
  nb::class_<Generation>(m, "_Generation", "A text that a model is generating.",
                         nb::type_slots(generation_slots))
      .def("__init__", &make_generation, nb::arg("model"), nb::arg("ids"),
           nb::arg("max_tokens").none(), nb::arg("stop"), nb::arg("grammar").none(),
           nb::arg("keywords"), nb::arg("pixel_values").none())
      .def("next", &next<Generation>, "The next piece of the text, or None once it has ended.");
  nb::class_<Chat>(m, "_Chat", "A conversation of C++.", nb::type_slots(chat_slots))
      .def("__init__", &make_chat, nb::arg("model"), nb::arg("max_tokens").none(), nb::arg("stop"),
           nb::arg("tools").none(), nb::arg("template").none(), nb::arg("keywords"))
      .def(
          "begin",
          [](Chat& chat, const nb::object& messages, const nb::object& added,
             const std::optional<Grammar>& grammar) {
            const std::vector<ChatMessage> before = messages_of(messages),
                                           list = messages_of(added);
            const ReleasedGil others_run;
            chat.set_messages(before);
            chat.set_grammar(grammar);
            chat.begin(list);
          },
          nb::arg("messages"), nb::arg("added"), nb::arg("grammar").none(),
          "Reads the messages and those added; the grammar holds the answer.")
      .def("next", &next<Chat>, "The next piece of the answer, or None once it has ended.")
      .def(
          "end",
          [](Chat& chat) { return chat.end() ? std::optional(chat.answer().text) : std::nullopt; },
          "Ends the answer and returns its text; None if the question is taken back.")
      .def_prop_ro("forgot", &Chat::forgot,
                   "Whether the last question was read without the oldest turns.")
      .def_prop_ro("length", [](const Chat& chat) { return chat.session().length(); })
      .def_prop_ro("capacity", [](const Chat& chat) { return chat.session().capacity(); })
      .def_prop_ro("seed", [](const Chat& chat) { return *chat.session().options().seed; });
}

}  // namespace wick::python
