// Grammars, which hold generated texts to a form.
#include "wick/text/grammar.h"

#include "bind.h"
#include "casters.h"
#include "generation.h"
#include "values.h"
#include "wick/io/json.h"
#include "wick/text/tokenizer.h"

namespace wick::python {
namespace {

constexpr const char* kSchema = "json schema";  // the beginning of errors

/// The schema as JSON text, as the value that JSON's readers give, or as pydantic's models have it.
Setting schema_of(nb::handle schema) {
  if (PyUnicode_Check(schema.ptr())) return parse_json_value(text_of(schema, kSchema), kSchema);
  const nb::object method = nb::getattr(schema, "model_json_schema", nb::none());
  if (!method.is_none()) return setting_of(method(), kSchema);
  if (!PyDict_Check(schema.ptr()) && !PyBool_Check(schema.ptr()))
    fail_type(kSchema, "a dict, a bool, JSON text, or a class with model_json_schema()", schema);
  return setting_of(schema, kSchema);
}

/// The ids that may come next, in the layout of Session.set_mask.
Tensor mask_of(GrammarState& state) {
  std::vector<uint32_t> words(size_t((state.mask_size() + 31) / 32));
  const ReleasedGil others_run;
  state.mask(words);
  return Tensor::from(words);
}

bool accept_text(GrammarState& state, nb::handle text) {
  if (PyUnicode_Check(text.ptr())) return state.accept_text(text_of(text, "accept_text"));
  if (!PyBytes_Check(text.ptr())) fail_type("accept_text", "a str or bytes", text);
  return state.accept_text({PyBytes_AS_STRING(text.ptr()), size_t(PyBytes_GET_SIZE(text.ptr()))});
}

void bind_grammar(nb::module_& m) {
  nb::class_<Grammar>(
      m, "Grammar",
      "The texts that a generation may give: `grammar=` of LanguageModel.generate, "
      "LanguageModel.chat, a Chat's call and Engine.submit.\n\n"
      "    schema = {\"type\": \"object\", \"properties\": {\"age\": {\"type\": \"integer\"}}, "
      "\"required\": [\"age\"]}\n"
      "    text = \"\".join(model.generate(prompt, grammar=wick.Grammar.json_schema(schema)))\n\n"
      "The methods gbnf, regex, choice, json_object and json_schema make one. Keep a Grammar that "
      "several texts need: it remembers the tokens that its states allow. Errors of all of them: "
      "ValueError, naming the place, for a text that is no such grammar or a grammar without any "
      "text; NotImplementedError, naming construct and place, for a construct that wick lacks.")
      .def_static(
          "gbnf", [](const std::string& text) { return Grammar::gbnf(text); }, nb::arg("text"),
          WithoutGil(), "GBNF, llama.cpp's format; a text is one of the rule \"root\".")
      .def_static(
          "regex", [](const std::string& text) { return Grammar::regex(text); }, nb::arg("text"),
          WithoutGil(),
          "A regular expression for the whole text: | * + ? {m,n} . [ ] ( ) (?: ) (?P<name> ) and "
          "escapes, as ECMAScript and Python have them. \\d \\w and \\s have ASCII's characters. "
          "Other assertions than \"^\" at the start and \"$\" at the end, back references, flags "
          "and possessive quantifiers are not supported.")
      .def_static("choice", &Grammar::choice, nb::arg("texts"), WithoutGil(), "One of the texts.")
      .def_static("json_object", &Grammar::json_object, WithoutGil(),
                  "A JSON object with any content.")
      .def_static(
          "json_schema",
          [](const nb::object& schema) {
            const Setting setting = schema_of(schema);
            const ReleasedGil others_run;
            return Grammar::json_schema(setting, kSchema);
          },
          nb::arg("schema").none(),
          nb::sig("def json_schema(schema: dict[str, typing.Any] | bool | str | "
                  "typing.Any) -> Grammar"),
          "The JSON values that a JSON Schema allows: a dict, a bool, JSON text, or a class with "
          "model_json_schema(), as those of pydantic are. Properties come in the order of "
          "\"properties\". An object has further properties unless \"additionalProperties\" is "
          "False, of pydantic's models: model_config = {\"extra\": \"forbid\"}. "
          "docs/how-to/run-a-model.md lists the keywords; another one raises NotImplementedError.")
      .def("matches", &Grammar::matches, nb::arg("text"), WithoutGil(),
           "Whether this is one of the texts.");
}

void bind_state(nb::module_& m) {
  nb::class_<GrammarState>(
      m, "GrammarState",
      "Where one text stands in a Grammar, for a sampling of your own:\n\n"
      "    state = wick.GrammarState(grammar, model.tokenizer, model.stop_ids)\n"
      "    while not state.has_ended:\n"
      "        session.set_mask(state.mask()[None])\n"
      "        state.accept(session.step()[0])\n\n"
      "copy.copy(state) goes on independently.")
      .def(
          "__init__",
          [](GrammarState* memory, const Grammar& grammar, const Tokenizer& tokenizer,
             std::vector<int64_t> end_ids) {
            const ReleasedGil others_run;
            new (memory) GrammarState(grammar, tokenizer.token_table(), std::move(end_ids));
          },
          nb::arg("grammar"), nb::arg("tokenizer"), nb::arg("end_ids") = std::vector<int64_t>(),
          "end_ids: tokens that end a text, allowed where it may end, and only there.")
      .def("mask", &mask_of,
           "The ids that may come next, u32 [ceil(mask_size / 32)]: bit i % 32 of word i // 32 for "
           "id i, as Session.set_mask has rows. NotImplementedError if the vocabulary lacks the "
           "bytes to go on.")
      .def_prop_ro("mask_size", &GrammarState::mask_size,
                   "The bits of mask: the vocabulary's size.")
      .def("accept", &GrammarState::accept, nb::arg("id"), WithoutGil(),
           "Moves on by a token. False, and nothing moves, for an id that may not come next.")
      .def("accept_text", &accept_text, nb::arg("text"),
           nb::sig("def accept_text(self, text: str | bytes) -> bool"),
           "The same by a text, or by bytes, which need not be whole tokens or characters.")
      .def_prop_ro("may_end", &GrammarState::may_end,
                   "Whether the text may end here. False after an end id.")
      .def_prop_ro("has_ended", &GrammarState::has_ended,
                   "Whether the text has ended: by an end id, or since nothing can follow it.")
      .def("__copy__", [](const GrammarState& state) { return GrammarState(state); });
}

}  // namespace

void bind_grammars(nb::module_& m) {
  bind_grammar(m);
  bind_state(m);
}

}  // namespace wick::python
