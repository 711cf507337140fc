#include "wick/models/forward.h"

#include "../expect.h"
#include "../small_config.h"
#include "wick/models/decoder.h"
#include "wick/ops/autograd.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

Decoder small_decoder(bool trainable = false) {
  Device::cpu().set_seed(3);
  DecoderConfig config = test::small_config();
  config.vocab_size = 32, config.hidden_size = 16, config.intermediate_size = 24;
  config.num_hidden_layers = 2, config.num_key_value_heads = 2, config.head_dim = 8;
  config.initializer_range = 0.5;
  Parameters parameters({.device = Device::cpu(), .trainable = trainable});
  return Decoder(config, parameters);
}
Tensor ids_of(const std::vector<int64_t>& ids, const Shape& shape) {
  return Tensor::from(ids, shape);
}
void expect_equal(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  const auto x = a.to_vector<float>(), y = b.to_vector<float>();
  for (size_t i = 0; i < x.size(); i++) EXPECT_NEAR(x[i], y[i], 1e-5) << "at " << i;
}

TEST(Forward, PaddingAtEitherSideChangesNoLogits) {
  const Decoder decoder = small_decoder();
  const auto alone = [&](const std::vector<int64_t>& ids) {
    const int64_t t = int64_t(ids.size());
    return decoder.forward(ids_of(ids, {1, t}), positions_from_0(1, t, Device::cpu()));
  };
  const NamedTensors out =
      forward(decoder, {{"input_ids", ids_of({0, 0, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4}, {3, 4})},
                        {"attention_mask", ids_of({0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1}, {3, 4})}});
  ASSERT_EQ(out.size(), 1u);
  const Tensor& logits = out.at("logits");
  EXPECT_EQ(logits.shape(), Shape({3, 4, 32}));
  expect_equal(narrow(narrow(logits, 0, 0, 1), 1, 2, 2), alone({5, 6}));
  expect_equal(narrow(narrow(logits, 0, 1, 1), 1, 0, 3), alone({7, 8, 9}));
  expect_equal(narrow(logits, 0, 2, 1), alone({1, 2, 3, 4}));
  expect_equal(narrow(narrow(logits, 0, 0, 1), 1, 0, 2), zeros({1, 2, 32}));
}

TEST(Forward, GivesWhatLayersRead) {
  const Decoder decoder = small_decoder();
  const NamedTensors out =
      forward(decoder, {{"input_ids", ids_of({1, 2, 3}, {1, 3})}}, {.hidden = true});
  EXPECT_EQ(out.size(), 5u);  // logits, last_hidden_state, the embedding, after each of two layers
  expect_equal(out.at("hidden_states.2"), out.at("last_hidden_state"));
  expect_equal(decoder.logits(out.at("last_hidden_state")), out.at("logits"));
  // The embeddings, in place of their ids.
  const NamedTensors again = forward(decoder, {{"inputs_embeds", out.at("hidden_states.0")}});
  expect_equal(again.at("logits"), out.at("logits"));
}

TEST(Forward, OfNothingButPaddingIsZeros) {
  const Decoder decoder = small_decoder();
  const NamedTensors out = forward(
      decoder, {{"input_ids", ids_of({1, 2}, {1, 2})}, {"attention_mask", ids_of({0, 0}, {1, 2})}});
  expect_equal(out.at("logits"), zeros({1, 2, 32}));
  const Tensor nothing = zeros({0, 3}, {.dtype = DType::kI64});
  EXPECT_EQ(forward(decoder, {{"input_ids", nothing}}).at("logits").shape(), Shape({0, 3, 32}));
}

TEST(Forward, RefusesWhatTheModelDoesNotRead) {
  const Decoder decoder = small_decoder();
  const Tensor ids = ids_of({1, 2, 3}, {1, 3});
  EXPECT_ERROR(forward(decoder, {{"input_ids", ids}, {"pixel_values", ids}}), kInvalidArgument,
               "forward: a model of type llama does not read \"pixel_values\"");
  EXPECT_ERROR(forward(decoder, {{"attention_mask", ids}}), kInvalidArgument,
               "expected either input_ids or inputs_embeds, got neither");
  EXPECT_ERROR(
      forward(decoder, {{"input_ids", ids}, {"attention_mask", ids_of({1, 0, 1}, {1, 3})}}),
      kInvalidArgument, "expected padding to the left or the right of row 0's tokens");
  EXPECT_ERROR(forward(decoder, {{"input_ids", ids}, {"attention_mask", ids_of({1, 0}, {1, 2})}}),
               kShapeMismatch, "attention_mask: expected [1, 3], got [1, 2]");
  EXPECT_ERROR(forward(decoder, {{"input_ids", zeros({1, 3})}}), kDTypeMismatch,
               "input_ids: expected integers, got f32");
  EXPECT_ERROR(forward(decoder, {{"inputs_embeds", zeros({1, 3, 5})}}), kShapeMismatch,
               "inputs_embeds: expected [B, T, 16], got [1, 3, 5]");
  EXPECT_ERROR(forward(decoder, {{"input_ids", ids_of({1, 32}, {1, 2})}}), kOutOfRange, "32");
}

}  // namespace
}  // namespace wick
