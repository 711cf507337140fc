#include "generate/sampled_rows.h"

#include <algorithm>
#include <cmath>

#include "base/calling.h"
#include "scalar/round_up.h"
#include "wick/base/error.h"
#include "wick/ops/autograd.h"
#include "wick/ops/create.h"
#include "wick/ops/inplace.h"

namespace wick {
namespace {

TensorOptions ids_on(const Device& device) { return {.dtype = DType::kI64, .device = device}; }

SampleOptions options_of(const Sampling& s) {
  return {.temperature = s.temperature,
          .top_k = s.top_k,
          .top_p = s.top_p,
          .min_p = s.min_p,
          .repetition_penalty = s.repetition_penalty,
          .frequency_penalty = s.frequency_penalty,
          .presence_penalty = s.presence_penalty};
}

}  // namespace

std::vector<int32_t> mask_row(GrammarState& grammar, int64_t vocab_size) {
  const size_t width = size_t(ceil_div(vocab_size, int64_t{32}));
  // A tokenizer may have ids that the model lacks.
  std::vector<uint32_t> words(std::max(width, size_t(ceil_div(grammar.mask_size(), int64_t{32}))));
  grammar.mask(words);
  if (vocab_size % 32) words[width - 1] &= (uint32_t(1) << (vocab_size % 32)) - 1;
  return {words.begin(), words.begin() + ptrdiff_t(width)};
}

void check_sampling(const char* op, const Sampling& s, int64_t vocab_size) {
  const Calling calling(op);
  (void)sample_settings({options_of(s)});
  for (const auto& [id, bias] : s.logit_bias) {
    check(id >= 0 && id < vocab_size, ErrorCode::kInvalidArgument, op,
          "logit_bias: expected ids of the vocabulary, got ", id);
    check(!std::isnan(bias), ErrorCode::kInvalidArgument, op, "logit_bias: expected a number, got ",
          bias);
  }
}

SampledRows::SampledRows(int64_t sequences, int64_t capacity, const Device& device)
    : tokens(zeros({sequences, 1}, ids_on(device)), false),
      positions(zeros({sequences, 1}, ids_on(device)), false),
      sampled(zeros({sequences, 1}, ids_on(device)), false),
      history(zeros({sequences, capacity + 1}, ids_on(device)), false),
      advance(ones({sequences, 1}, ids_on(device)), false),
      settings(zeros({sequences, kSampleSettings}, {.device = device}), false),
      state(zeros({sequences, kSampleState}, ids_on(device)), false) {}

SampledRows SampledRows::rows(int64_t first, int64_t count) const {
  const auto part = [&](const Var& x) { return x.defined() ? x.rows(first, count) : Var(); };
  SampledRows part_of;
  part_of.tokens = part(tokens), part_of.positions = part(positions);
  part_of.sampled = part(sampled), part_of.history = part(history);
  part_of.advance = part(advance), part_of.settings = part(settings), part_of.state = part(state);
  part_of.bias_ids = part(bias_ids), part_of.bias = part(bias), part_of.mask = part(mask);
  part_of.replaced = replaced;
  return part_of;
}

void SampledRows::write_settings(const std::vector<Sampling>& each) {
  std::vector<SampleOptions> all;
  size_t most = 0;
  for (const Sampling& own : each) {
    all.push_back(options_of(own));
    most = std::max(most, own.logit_bias.size());
  }
  copy_(settings, sample_settings(all, device()));
  if (bias.defined()) most = std::max(most, size_t(bias.shape()[1]));
  if (most == 0) return;
  std::vector<int64_t> ids;
  std::vector<float> biases;
  for (const Sampling& own : each) {
    const size_t end = ids.size() + most;
    for (const auto& [id, value] : own.logit_bias)
      ids.push_back(id), biases.push_back(float(value));
    ids.resize(end, -1), biases.resize(end, 0);
  }
  const Shape shape = {sequences(), int64_t(most)};
  if (!bias.defined() || bias.shape() != shape) {
    replaced++;
    bias_ids = Var(zeros(shape, ids_on(device())), false);
    bias = Var(zeros(shape, {.device = device()}), false);
  }
  copy_(bias_ids, Tensor::from(ids, shape, device()));
  copy_(bias, Tensor::from(biases, shape, device()));
}

void SampledRows::set_mask(const Tensor& x) {
  if (!x) {
    if (mask.defined()) replaced++;
    mask = Var();
    return;
  }
  const Tensor here = x.to(device());
  if (mask.defined() && mask.tensor().dtype() == here.dtype()) {
    copy_(mask, here);
  } else {
    replaced++;
    mask = Var(here, false);
  }
}

Tensor SampledRows::draw(const Tensor& logits) const {
  return sample(logits, {.settings = settings,
                         .state = state,
                         .tokens = history,
                         .bias_ids = bias_ids.tensor(),
                         .bias = bias.tensor(),
                         .mask = mask.tensor(),
                         .marks_unusable = true});
}

void SampledRows::append(const Tensor& ids) {
  append_tokens_({tokens, sampled, positions, state, history}, ids, advance.tensor());
}

}  // namespace wick
