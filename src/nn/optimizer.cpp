#include "wick/nn/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/reduce.h"
#include "wick/ops/unary.h"

namespace wick {

double CosineRate::at(int64_t step) const {
  if (step < warmup) return peak * double(step + 1) / double(warmup);
  const double way = double(step - warmup) / double(std::max<int64_t>(1, steps - warmup));
  return last + (peak - last) * 0.5 * (1 + std::cos(std::numbers::pi * std::min(way, 1.0)));
}

Tensor global_norm(const std::vector<Tensor>& gradients) {
  Tensor squares;
  for (const Tensor& gradient : gradients) {
    const Tensor wide = cast(gradient, DType::kF32);
    const Tensor of_one = sum(wide * wide);
    squares = squares ? squares + of_one : of_one;
  }
  return squares ? sqrt(squares) : zeros({});
}

Tensor AdamW::load_average(const TensorSource& state, const std::string& name,
                           const Tensor& parameter) {
  const auto found = state.tensors.find(name);
  check(found != state.tensors.end(), ErrorCode::kFormat, state.where, "no tensor is named \"",
        name, "\"");
  const Tensor value = state.load(name, parameter.device());
  check(value.shape() == parameter.shape() && value.dtype() == parameter.dtype(),
        ErrorCode::kFormat, state.where, "tensor \"", name, "\": expected ", describe(parameter),
        ", got ", describe(value));
  return value;
}

AdamW::AdamW(const NamedVars& parameters, const AdamWSettings& settings) : settings_(settings) {
  for (const auto& [name, parameter] : parameters) {
    const Tensor& p = parameter.tensor();
    const bool known = std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
      return slot.parameter.tensor().storage() == p.storage();  // Vars share no other memory
    });
    if (known) continue;
    const auto nothing = [&] {
      return Var(zeros(p.shape(), {.dtype = p.dtype(), .device = p.device()}), false);
    };
    slots_.push_back({name, parameter, nothing(), nothing()});
  }
}

void AdamW::step(double rate) {
  const NoGrad off;
  std::vector<Slot*> moved;
  std::vector<Tensor> gradients;
  for (Slot& slot : slots_)
    if (const Tensor gradient = slot.parameter.grad()) {
      moved.push_back(&slot);
      gradients.push_back(gradient);
    }
  steps_done_++;
  if (moved.empty()) return;
  Tensor scale;  // at most 1
  if (settings_.clip_norm > 0)
    scale = settings_.clip_norm / maximum(global_norm(gradients), settings_.clip_norm);
  for (size_t i = 0; i < moved.size(); i++) {
    Slot& slot = *moved[i];
    const Tensor& gradient = gradients[i];
    const AdamWOptions options{
        .rate = rate,
        .beta1 = settings_.beta1,
        .beta2 = settings_.beta2,
        .eps = settings_.eps,
        .weight_decay = settings_.decays_vectors || slot.parameter.shape().size() > 1
                            ? settings_.weight_decay
                            : 0};
    adamw_(slot.parameter, scale ? gradient * cast(scale, gradient.dtype()) : gradient, slot.mean,
           slot.square, steps_done_, options);
    slot.parameter.zero_grad();
  }
}

NamedTensors AdamW::state() const {
  NamedTensors tensors;
  for (const Slot& slot : slots_) {
    tensors["mean." + slot.name] = slot.mean;
    tensors["square." + slot.name] = slot.square;
  }
  return tensors;
}

void AdamW::restore(const TensorSource& state, int64_t steps_done) {
  for (Slot& slot : slots_) {
    copy_(slot.mean, load_average(state, "mean." + slot.name, slot.mean));
    copy_(slot.square, load_average(state, "square." + slot.name, slot.square));
  }
  steps_done_ = steps_done;
}

}  // namespace wick
