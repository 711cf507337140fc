#include "wick/models/generator.h"

#include <algorithm>

#include "wick/ops/autograd.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

TensorOptions ids_on(const Decoder& decoder) {
  return {.dtype = DType::kI64, .device = decoder.options().device};
}

}  // namespace

Generator::Generator(const Decoder& decoder, const GeneratorOptions& options)
    : decoder_(decoder),
      options_(options),
      cache_(decoder.make_cache(options.batch, options.capacity > 0
                                                   ? options.capacity
                                                   : decoder.config().max_position_embeddings)),
      tokens_(zeros({options.batch, 1}, ids_on(decoder)), false),
      positions_(zeros({options.batch, 1}, ids_on(decoder)), false),
      uniform_(zeros({kDrawn, options.batch}, {.device = decoder.options().device}), false),
      next_uniform_(zeros({1}, ids_on(decoder)), false),
      one_(ones({1}, ids_on(decoder))) {
  draw();
}

void Generator::draw() {
  copy_(uniform_, rand({kDrawn, options_.batch}, {.device = decoder_.options().device}));
  fill_(next_uniform_, 0);
  used_ = 0;
}

void Generator::prefill(const std::vector<std::vector<int64_t>>& prompts) {
  const NoGrad off;
  const int64_t batch = options_.batch;
  check(int64_t(prompts.size()) == batch, ErrorCode::kShapeMismatch, "prefill", "expected ", batch,
        " prompts, got ", prompts.size());
  int64_t longest = 0;
  for (const auto& prompt : prompts) {
    check(!prompt.empty(), ErrorCode::kInvalidArgument, "prefill",
          "expected at least one token in each prompt, got 0");
    longest = std::max(longest, int64_t(prompt.size()));
  }
  check(longest <= capacity(), ErrorCode::kOutOfRange, "prefill", "a prompt of ", longest,
        " tokens exceeds the capacity ", capacity());
  // Shorter prompts are padded at the end. The padding writes cache positions that attention does
  // not read until later tokens have overwritten them.
  std::vector<int64_t> ids, lengths, last_rows;
  for (int64_t b = 0; b < batch; b++) {
    const auto& prompt = prompts[size_t(b)];
    const int64_t length = int64_t(prompt.size());
    ids.insert(ids.end(), prompt.begin(), prompt.end());
    ids.insert(ids.end(), size_t(longest - length), prompt.back());
    lengths.push_back(length);
    last_rows.push_back(b * longest + length - 1);
  }
  const Device device = decoder_.options().device;
  cache_.cover(longest);
  const Tensor hidden = decoder_.hidden(Tensor::from(ids, {batch, longest}, device),
                                        positions_from_0(batch, longest, device), &cache_);
  copy_(positions_, Tensor::from(lengths, {batch, 1}, device));
  length_ = longest;
  choose(index_select(reshape(hidden, {batch * longest, hidden.size(2)}), 0,
                      Tensor::from(last_rows, device)));
}

void Generator::step() {
  const NoGrad off;
  cache_.cover(length_ + 1);
  const Tensor hidden = decoder_.hidden(tokens_, positions_, &cache_);  // [B, 1, hidden]
  add_(positions_, one_);
  length_++;
  choose(squeeze(hidden, 1));
}

/// Samples the next tokens from hidden states [B, hidden].
void Generator::choose(const Tensor& hidden) {
  if (used_ == kDrawn) draw();
  used_++;
  const Tensor uniform = squeeze(index_select(uniform_, 0, next_uniform_), 0);
  const Tensor next = sample(decoder_.logits(hidden), uniform, options_.sample);
  copy_(tokens_, unsqueeze(next, 1));
  add_(next_uniform_, one_);
}

}  // namespace wick
