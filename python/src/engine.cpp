// Texts of many requests at once.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "wick/generate/engine.h"

#include "bind.h"
#include "casters.h"
#include "generation.h"
#include "process.h"
#include "session_keywords.h"

namespace wick::python {
namespace {

/// An Engine whose end waits for its thread, which may wait for Python meanwhile.
struct OwnedEngine {
  std::unique_ptr<Engine> engine;
  ~OwnedEngine() {
    if (process_state == ProcessState::kForkedAfterUse) {
      (void)engine.release();  // its thread is the parent's
      return;
    }
    const ReleasedGil others_run;
    engine.reset();
  }
};

void make_engine(OwnedEngine* memory, const LanguageModel& model, int64_t sequences,
                 int64_t capacity, int64_t cache_tokens, int64_t chunk, int64_t queue,
                 const std::string& kv, bool graphs, bool batch_invariant) {
  const EngineOptions options{.sequences = sequences,
                              .capacity = capacity,
                              .cache_tokens = cache_tokens,
                              .chunk = chunk,
                              .queue = queue,
                              .kv = cache_type(kv),
                              .graphs = graphs,
                              .batch_invariant = batch_invariant};
  std::unique_ptr<Engine> engine;
  {
    const ReleasedGil others_run;
    engine = std::make_unique<Engine>(model, options);
  }
  new (memory) OwnedEngine{std::move(engine)};
}

/// on_news: called with the GIL by the Engine's thread; an error in it is Python's to print.
std::function<void()> calling(nb::object on_news) {
  if (on_news.is_none()) return {};
  struct Held {
    nb::object callable;
    ~Held() {
      const nb::gil_scoped_acquire python;
      callable.reset();
    }
  };
  return [held = std::make_shared<Held>(std::move(on_news))] {
    const nb::gil_scoped_acquire python;
    const nb::object result = nb::steal(PyObject_CallNoArgs(held->callable.ptr()));
    if (!result.is_valid()) PyErr_WriteUnraisable(held->callable.ptr());
  };
}

EngineStream submit(OwnedEngine& owned, const std::vector<int64_t>& ids,
                    std::optional<int64_t> max_tokens, const std::vector<std::string>& stop,
                    const std::optional<Grammar>& grammar, std::optional<int64_t> logprobs,
                    bool skip_special, const nb::dict& keywords, const Tensor& pixel_values,
                    nb::object on_news) {
  Engine& engine = *owned.engine;
  const SessionOptions options = with_keywords(default_session_options(engine.model()), keywords);
  EngineRequest request{.prompt = ids,
                        .sampling = options.sampling,
                        .seed = options.seed,
                        .max_tokens = max_tokens,
                        .stop = stop,
                        .stop_ids = options.stop_ids,
                        .grammar = grammar,
                        .skip_special = skip_special,
                        .on_logits = options.on_logits,
                        .logprobs = logprobs,
                        .pixel_values = pixel_values,
                        .on_news = calling(std::move(on_news))};
  const ReleasedGil others_run;
  return engine.submit(std::move(request));
}

using Score = std::pair<int64_t, double>;
using Scores = std::vector<std::pair<Score, std::vector<Score>>>;
Scores scores_of(const std::vector<ScoredToken>& tokens) {
  const auto pair = [](const TokenLogprob& x) { return Score(x.id, x.logprob); };
  Scores scores;
  for (const ScoredToken& token : tokens) {
    std::vector<Score> likeliest;
    for (const TokenLogprob& one : token.likeliest) likeliest.push_back(pair(one));
    scores.emplace_back(pair(token.token), std::move(likeliest));
  }
  return scores;
}

/// The next piece's text, waiting up to so many seconds: "" if nothing came, nothing at the end.
std::optional<std::string> next(EngineStream& stream, double seconds) {
  const ReleasedGil others_run;
  const auto piece =
      stream.next_for(std::chrono::milliseconds(int64_t(std::max(seconds, 0.0) * 1000)));
  return piece ? std::optional(piece->text) : std::nullopt;
}

}  // namespace

void bind_engine(nb::module_& m) {
  nb::class_<EngineStream>(m, "_EngineStream", "A request's text as it grows.")
      .def("next", &next, nb::arg("seconds"),
           "The next piece, waiting up to so many seconds; \"\" if nothing came, None at the end.")
      .def("cancel", &EngineStream::cancel, "Ends the text.")
      .def_prop_ro("text", [](const EngineStream& s) { return s.result().text; })
      .def_prop_ro("ids", [](const EngineStream& s) { return s.result().ids; })
      .def_prop_ro("ending", [](const EngineStream& s) { return to_string(s.result().ending); })
      .def_prop_ro("prompt_tokens", [](const EngineStream& s) { return s.result().prompt_tokens; })
      .def_prop_ro("cached_tokens", [](const EngineStream& s) { return s.result().cached_tokens; })
      .def_prop_ro("logprobs", [](const EngineStream& s) { return scores_of(s.result().tokens); });
  nb::class_<OwnedEngine>(m, "_Engine", "An engine of C++.")
      .def("__init__", &make_engine, nb::arg("model"), nb::arg("sequences"), nb::arg("capacity"),
           nb::arg("cache_tokens"), nb::arg("chunk"), nb::arg("queue"), nb::arg("kv"),
           nb::arg("graphs"), nb::arg("batch_invariant"))
      .def("submit", &submit, nb::arg("ids"), nb::arg("max_tokens").none(), nb::arg("stop"),
           nb::arg("grammar").none(), nb::arg("logprobs").none(), nb::arg("skip_special"),
           nb::arg("keywords"), nb::arg("pixel_values").none(), nb::arg("on_news").none())
      .def_prop_ro("sequences", [](const OwnedEngine& e) { return e.engine->options().sequences; })
      .def_prop_ro("capacity", [](const OwnedEngine& e) { return e.engine->options().capacity; })
      .def("stats", [](const OwnedEngine& e) {
        const EngineStats s = e.engine->stats();
        nb::dict all;
        for (const EngineCount& each : engine_counts()) all[each.name] = s.*each.count;
        return all;
      });
}

}  // namespace wick::python
