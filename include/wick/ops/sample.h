// Sampling the next token from logits, on the device.
#pragma once
#include <vector>

#include "wick/core/var.h"

namespace wick {

/// How an id is chosen. The steps run in transformers' order (llama.cpp by default divides by the
/// temperature last):
///
/// 1. Bias: added to the logits.
/// 2. Repetition penalty: divides a positive logit of an id that occurred, multiplies a negative
///    one. Source: Keskar et al. 2019, arXiv:1909.05858. Then frequency_penalty is subtracted once
///    per occurrence and presence_penalty once, as OpenAI's API defines them.
/// 3. Mask: an id that is not allowed gets -inf.
/// 4. Temperature: divides the logits. At 0 the first of the largest is taken, and the steps below
///    do nothing.
/// 5. top_k, then top_p among the ids that top_k left, then min_p.
///
/// The remaining ids share the probability. Ids that tie with the last one kept are kept too.
struct SampleOptions {
  double temperature = 1;         // 0: greedy
  int64_t top_k = 0;              // keep the k most likely ids; 0: all
  double top_p = 1;               // keep the fewest ids whose probabilities sum to at least p
  double min_p = 0;               // keep ids of at least min_p times the largest probability
  double repetition_penalty = 1;  // 1: off
  double frequency_penalty = 0;
  double presence_penalty = 0;
};

/// The settings [B, 7] of SampleRows, f32. Errors: kInvalidArgument if temperature or top_k is
/// negative, repetition_penalty is not positive, top_p is outside (0, 1], min_p is outside [0, 1],
/// or a number is not finite.
WICK_API Tensor sample_settings(const std::vector<SampleOptions>& rows,
                                const Device& device = Device::cpu());

/// Everything that a step reads, in device memory: a captured Graph replays with the values of the
/// moment.
struct SampleRows {
  /// [B, 7], f32: the columns are the members of SampleOptions, in their order. No value is an
  /// error: one outside its range counts as the nearest end, and NaN of a temperature as 0.
  Tensor settings;
  /// [B, 3], i64: a seed, an index and a count. A row draws the uniform number Philox(seed, index),
  /// so its id depends on no other row. Its first `count` tokens are those that occurred.
  Tensor state;
  Tensor tokens = {};    // [B, S], any S, i64: counted by the penalties
  Tensor bias_ids = {};  // [B, N], any N, i64; the ids of a row differ, and -1 fills it
  Tensor bias = {};      // [B, N], f32
  Tensor mask = {};      // [B, ceil(V / 32)], i32 or u32: bit i % 32 of word i / 32 allows id i
  /// Makes the id -1 where the given logits hold a NaN or +inf or are all -inf, and -2 where only
  /// the adjusted ones do, as with a mask that allows no id.
  bool marks_unusable = false;
};

/// Draws one id per row of logits [B, V], floating. Returns i64 [B].
///
/// The uniform number u selects the first kept id, in ascending order, at which the cumulative
/// probability exceeds u. Logits may be -inf, which is never drawn; if the adjusted logits hold a
/// NaN or +inf or are all -inf, some id in [0, V) is returned. Ids outside [0, V) in tokens and
/// bias_ids are skipped. Three launches on a card.
///
/// Penalties count a row's tokens anew at each call. A sequence keeps its tokens on the device
/// anyway, so counting needs no memory and no launch of its own, and a rewind has nothing to undo;
/// a card reads `count` ids for every 2048 logits. The bias is sparse, since few ids have one.
///
/// Errors: kShapeMismatch; kDTypeMismatch; kDeviceMismatch; kInvalidArgument if only one of bias
/// and bias_ids is given.
WICK_API Tensor sample(const Tensor& logits, const SampleRows& rows);

/// Draws with one setting for every row and uniform numbers [B], f32 in [0, 1). Errors: also as of
/// sample_settings; kInvalidArgument for a penalty, which needs tokens.
WICK_API Tensor sample(const Tensor& logits, const Tensor& uniform,
                       const SampleOptions& options = {});

/// The sequences that append_tokens_ extends, i64; the copies of a Var share its memory.
struct TokenRows {
  Var tokens;     // [B, 1]: the last token
  Var marked;     // [B, 1]: the last token, or the mark of sample, -1 or -2
  Var positions;  // [B, 1]: the last token's position
  Var state;      // [B, 3]: SampleRows::state
  Var history;    // [B, S]: all tokens by position
};

/// Appends the ids [B] that sample drew to the rows whose `grows` [B, 1], i64, is not 0: position,
/// index and count go up by one. Other rows keep their last token, which is written to the history
/// again. An id below 0 counts as token 0. A position outside the history is not written. One
/// launch. Errors: kShapeMismatch; kDTypeMismatch; kDeviceMismatch; kInvalidArgument for an empty
/// Var().
WICK_API void append_tokens_(const TokenRows& rows, const Tensor& ids, const Tensor& grows);

}  // namespace wick
