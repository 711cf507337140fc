// The optimizer.
#include <nanobind/stl/map.h>

#include "bind.h"
#include "casters.h"
#include "wick/nn/optimizer.h"

namespace wick::python {

void bind_optim(nb::module_& m) {
  nb::class_<AdamW>(m, "_AdamW")
      .def(
          "__init__",
          [](AdamW* self, const nb::dict& parameters, double beta1, double beta2, double eps,
             double weight_decay, double clip_norm, bool decays_vectors) {
            NamedVars vars;
            for (const auto& [name, var] : parameters)
              vars.emplace(nb::cast<std::string>(name), nb::cast<VarObject&>(var).var());
            new (self) AdamW(vars, {beta1, beta2, eps, weight_decay, clip_norm, decays_vectors});
          },
          nb::arg("parameters"), nb::arg("beta1"), nb::arg("beta2"), nb::arg("eps"),
          nb::arg("weight_decay"), nb::arg("clip_norm"), nb::arg("decays_vectors"))
      .def("step", &AdamW::step, nb::arg("rate"), WithoutGil())
      .def("state", &AdamW::state, WithoutGil())
      .def(
          "restore",
          [](AdamW& optimizer, const NamedTensors& state, int64_t steps_done) {
            optimizer.restore(source_of(state, "load_state_dict"), steps_done);
          },
          nb::arg("state"), nb::arg("steps_done"), WithoutGil())
      .def_prop_ro("steps_done", &AdamW::steps_done);
  m.def(
      "cosine_rate",
      [](int64_t step, double peak, int64_t steps, int64_t warmup, double last) {
        return CosineRate{.peak = peak, .last = last, .warmup = warmup, .steps = steps}.at(step);
      },
      nb::arg("step"), nb::arg("peak"), nb::arg("steps"), nb::arg("warmup") = 0,
      nb::arg("last") = 0.0,
      "The learning rate of a step in [0, steps): rises linearly to `peak` during `warmup` steps, "
      "then falls to `last` along half a cosine.");
}

}  // namespace wick::python
