#include "session_keywords.h"

#include <string_view>

#include "on_logits.h"
#include "values.h"
#include "wick/base/error.h"

namespace wick::python {
namespace {

namespace nb = nanobind;

template <auto member>
void set_number(SessionOptions& options, nb::handle value, const std::string& where) {
  options.sampling.*member = number_of(value, where);
}

template <auto member>
void set_integer(SessionOptions& options, nb::handle value, const std::string& where) {
  options.*member = integer_of(value, where);
}

void set_top_k(SessionOptions& options, nb::handle value, const std::string& where) {
  options.sampling.top_k = integer_of(value, where);
}

void set_seed(SessionOptions& options, nb::handle value, const std::string& where) {
  if (!PyIndex_Check(value.ptr())) fail_type(where, "an int", value);
  const nb::object whole = nb::steal(PyNumber_Index(value.ptr()));
  if (!whole.is_valid()) nb::raise_python_error();
  options.seed = PyLong_AsUnsignedLongLong(whole.ptr());
  if (!PyErr_Occurred()) return;
  PyErr_Clear();
  fail(ErrorCode::kInvalidArgument, where, "expected an int from 0 to 2^64 - 1, got ",
       described(value));
}

void set_logit_bias(SessionOptions& options, nb::handle value, const std::string& where) {
  if (!PyDict_Check(value.ptr())) fail_type(where, "a dict of token ids and numbers", value);
  options.sampling.logit_bias.clear();
  for (const auto& [id, bias] : nb::borrow<nb::dict>(value))
    options.sampling.logit_bias[integer_of(id, where)] = number_of(bias, where);
}

void set_stop_ids(SessionOptions& options, nb::handle value, const std::string& where) {
  std::vector<int64_t>& stop_ids = options.stop_ids.emplace();
  const nb::object ids = list_of(value, where, "a list of token ids");
  for (const nb::handle id : ids) stop_ids.push_back(integer_of(id, where));
}

void set_kv(SessionOptions& options, nb::handle value, const std::string& where) {
  options.kv = cache_type(text_of(value, where));
}

void set_graphs(SessionOptions& options, nb::handle value, const std::string& where) {
  if (!PyBool_Check(value.ptr())) fail_type(where, "a bool", value);
  options.graphs = nb::cast<bool>(value);
}

void set_on_logits(SessionOptions& options, nb::handle value, const std::string& where) {
  options.on_logits = on_logits_of(value, where);
}

void set_each(SessionOptions& options, nb::handle value, const std::string& where);

constexpr SessionKeyword kKeywords[] = {
    {"temperature", "float", "0: always the likeliest token", &set_number<&Sampling::temperature>,
     true},
    {"top_k", "int", "keeps the k likeliest tokens; 0: all", &set_top_k, true},
    {"top_p", "float", "keeps the likeliest tokens that together reach p; 1: all",
     &set_number<&Sampling::top_p>, true},
    {"min_p", "float", "keeps tokens of at least p times the likeliest's probability; 0: all",
     &set_number<&Sampling::min_p>, true},
    {"repetition_penalty", "float",
     "makes tokens that occurred, in the prompt too, less likely; 1: off",
     &set_number<&Sampling::repetition_penalty>, true},
    {"frequency_penalty", "float", "subtracted from a token's logit per occurrence",
     &set_number<&Sampling::frequency_penalty>, true},
    {"presence_penalty", "float", "subtracted from the logits of tokens that occurred",
     &set_number<&Sampling::presence_penalty>, true},
    {"logit_bias", "dict[int, float]", "added to the logits of these tokens", &set_logit_bias,
     true},
    {"seed", "int",
     "repeats the random numbers; sequence b has seed + b; without it each session draws another",
     &set_seed},
    {"on_logits", "Callable[[Tensor], Tensor]",
     "takes the logits [1, V] of the next token, and gives those to sample from", &set_on_logits},
    {"stop_ids", "list[int]", "tokens that end a text, instead of the model's; []: no token does",
     &set_stop_ids},
    {"capacity", "int",
     "tokens that the cache holds for a sequence; 0: a session all that the model allows, a text "
     "what it "
     "needs, a chat 4096",
     &set_integer<&SessionOptions::capacity>},
    {"chunk", "int", "tokens of a prompt that are read at once",
     &set_integer<&SessionOptions::chunk>},
    {"sequences", "int", "sequences that grow together", &set_integer<&SessionOptions::sequences>},
    {"each", "list[dict]",
     "for each sequence the keywords of sampling, seed among them, that differ from the others'",
     &set_each},
    {"kv", "str",
     "how the cache holds keys and values: \"f16\", \"f8\" or \"q8_0\"; without it as the "
     "model computes them",
     &set_kv},
    {"graphs", "bool", "captures steps that are alike once, and queues them at once", &set_graphs},
};

/// The options with one more keyword's value, unless it is None.
void set_keyword(SessionOptions& options, nb::handle key, nb::handle value, bool only_sampling) {
  const std::string name = text_of(key, "session");
  const SessionKeyword* found = nullptr;
  for (const SessionKeyword& keyword : kKeywords)
    if (name == keyword.name && (keyword.of_sampling || !only_sampling)) found = &keyword;
  check(found != nullptr, ErrorCode::kDTypeMismatch, "session",
        only_sampling ? "no keyword of sampling: " : "no keyword ", name);
  if (!value.is_none()) found->set(options, value, name);
}

void set_each(SessionOptions& options, nb::handle value, const std::string& where) {
  options.each.clear();
  for (const nb::handle own : list_of(value, where, "a list of dicts, one for each sequence")) {
    if (!PyDict_Check(own.ptr())) fail_type(where, "a dict of keywords for each sequence", own);
    SessionOptions one;
    one.sampling = options.sampling;
    for (const auto& [key, setting] : nb::borrow<nb::dict>(own)) {
      const bool is_seed = text_of(key, where) == "seed";
      set_keyword(one, key, setting, !is_seed);
    }
    options.each.push_back({.sampling = one.sampling, .seed = one.seed});
  }
}

}  // namespace

std::span<const SessionKeyword> session_keywords() { return kKeywords; }

SessionOptions with_keywords(SessionOptions options, const nb::dict& keywords) {
  nb::object each = nb::none();
  for (const auto& [key, value] : keywords) {
    if (text_of(key, "session") == "each")
      each = nb::borrow(value);  // last: the sequences have the others' values
    else
      set_keyword(options, key, value, false);
  }
  if (!each.is_none()) set_each(options, each, "each");
  return options;
}

Sampling with_sampling_keywords(const Sampling& sampling, const nb::dict& keywords) {
  SessionOptions options;
  options.sampling = sampling;
  for (const auto& [key, value] : keywords) set_keyword(options, key, value, true);
  return options.sampling;
}

}  // namespace wick::python
