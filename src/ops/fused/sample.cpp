#include "wick/ops/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "wick/abi/ops/sample.h"

namespace wick {
namespace {

void check_options(const SampleOptions& o) {
  const auto require = [](bool good, const char* name, const char* expected, auto got) {
    check(good, ErrorCode::kInvalidArgument, "sample", name, ": expected ", expected, ", got ",
          got);
  };
  require(o.temperature >= 0 && std::isfinite(o.temperature), "temperature",
          "a number of at least 0", o.temperature);
  require(o.top_k >= 0, "top_k", "at least 0", o.top_k);
  require(o.top_p > 0 && o.top_p <= 1, "top_p", "a number in (0, 1]", o.top_p);
  require(o.min_p >= 0 && o.min_p <= 1, "min_p", "a number in [0, 1]", o.min_p);
  require(o.repetition_penalty > 0 && std::isfinite(o.repetition_penalty), "repetition_penalty",
          "a number above 0", o.repetition_penalty);
  require(std::isfinite(o.frequency_penalty), "frequency_penalty", "a finite number",
          o.frequency_penalty);
  require(std::isfinite(o.presence_penalty), "presence_penalty", "a finite number",
          o.presence_penalty);
}

/// A positive double as an f32 that is positive too.
float positive(double x) {
  const float narrow = float(x);
  return x > 0 && narrow == 0 ? std::numeric_limits<float>::denorm_min() : narrow;
}

/// A Var's memory.
FusedOperand memory(const Var& x) { return as_is(x.tensor()); }

/// An operand, or one without elements in its place.
Tensor or_nothing(const Tensor& x, DType dtype, const Device& device) {
  return x ? x : Tensor::empty({0}, {.dtype = dtype, .device = device});
}

/// The words of a mask as i32.
View mask_view(const Tensor& mask, Tensor* copy) {
  View view = contiguous(mask).view(mask, copy);
  view.dtype = DType::kI32;
  return view;
}

struct RowOperand {
  const char* name;
  const Tensor& x;
  DType dtype;
  int64_t columns;  // -1: any number
};

void check_operand(const RowOperand& o, const Tensor& logits) {
  if (!o.x) return;
  check_same_device("sample", logits, o.x);
  const bool is_mask = o.dtype == DType::kI32 && o.x.dtype() == DType::kU32;
  check(o.x.dtype() == o.dtype || is_mask, ErrorCode::kDTypeMismatch, "sample", o.name,
        ": expected ", dtype_name(o.dtype), ", got ", dtype_name(o.x.dtype()));
  const bool fits = o.x.rank() == 2 && o.x.size(0) == logits.size(0) &&
                    (o.columns < 0 || o.x.size(1) == o.columns);
  check(fits, ErrorCode::kShapeMismatch, "sample", o.name, ": expected [", logits.size(0), ", ",
        o.columns < 0 ? "any" : std::to_string(o.columns), "], got ", o.x.shape());
}

void check_logits(const Tensor& logits) {
  check_defined("sample", logits);
  check(is_floating(logits.dtype()), ErrorCode::kDTypeMismatch, "sample",
        "expected floating logits, got ", dtype_name(logits.dtype()));
  check(logits.rank() == 2 && logits.size(1) > 0, ErrorCode::kShapeMismatch, "sample",
        "expected logits [B, V], got ", logits.shape());
}

Tensor draw(const Tensor& logits, const SampleRows& rows, const Tensor& uniform) {
  const Device& device = logits.device();
  const Tensor ids = Tensor::empty({logits.size(0)}, {.dtype = DType::kI64, .device = device});
  if (ids.numel() == 0) return ids;
  const SampleAttributes attributes{rows.marks_unusable};
  const Tensor state = or_nothing(rows.state, DType::kI64, device),
               number = or_nothing(uniform, DType::kF32, device),
               tokens = or_nothing(rows.tokens, DType::kI64, device),
               bias_ids = or_nothing(rows.bias_ids, DType::kI64, device),
               bias = or_nothing(rows.bias, DType::kF32, device),
               mask = or_nothing(rows.mask, DType::kI32, device);
  launch(kSample,
         {contiguous(logits),
          contiguous(rows.settings),
          contiguous(state),
          contiguous(number),
          contiguous(tokens),
          contiguous(bias_ids),
          contiguous(bias),
          {&mask, mask_view}},
         {as_is(ids)}, attributes_of(attributes));
  return ids;
}

}  // namespace

Tensor sample_settings(const std::vector<SampleOptions>& rows, const Device& device) {
  const Calling calling("sample_settings");
  std::vector<float> values;
  for (const SampleOptions& o : rows) {
    check_options(o);
    // More than 2^24 ids are as many as all: f32 holds the number below.
    const auto top_k = float(std::min<int64_t>(o.top_k, int64_t{1} << 24));
    for (const float value :
         {positive(o.temperature), top_k, positive(o.top_p), positive(o.min_p),
          positive(o.repetition_penalty), float(o.frequency_penalty), float(o.presence_penalty)})
      values.push_back(value);
  }
  return Tensor::from(values, {int64_t(rows.size()), kSampleSettings}, device);
}

Tensor sample(const Tensor& logits, const SampleRows& rows) {
  check_logits(logits);
  check_defined("sample", rows.settings);
  check_defined("sample", rows.state);
  check(bool(rows.bias) == bool(rows.bias_ids), ErrorCode::kInvalidArgument, "sample",
        "expected bias and bias_ids together, got one of them");
  const int64_t biased = rows.bias_ids && rows.bias_ids.rank() == 2 ? rows.bias_ids.size(1) : -1;
  const int64_t words = (logits.size(1) + 31) / 32;
  for (const RowOperand& operand :
       {RowOperand{"settings", rows.settings, DType::kF32, kSampleSettings},
        {"state", rows.state, DType::kI64, kSampleState},
        {"tokens", rows.tokens, DType::kI64, -1},
        {"bias_ids", rows.bias_ids, DType::kI64, -1},
        {"bias", rows.bias, DType::kF32, biased},
        {"mask", rows.mask, DType::kI32, words}})
    check_operand(operand, logits);
  return draw(logits, rows, {});
}

Tensor sample(const Tensor& logits, const Tensor& uniform, const SampleOptions& options) {
  const Calling calling("sample");
  check_logits(logits);
  check_defined("sample", uniform);
  check_same_device("sample", logits, uniform);
  check(uniform.dtype() == DType::kF32, ErrorCode::kDTypeMismatch, "sample",
        "uniform: expected f32, got ", dtype_name(uniform.dtype()));
  check(uniform.shape() == Shape({logits.size(0)}), ErrorCode::kShapeMismatch, "sample",
        "uniform: expected [", logits.size(0), "], got ", uniform.shape());
  check(options.repetition_penalty == 1 && options.frequency_penalty == 0 &&
            options.presence_penalty == 0,
        ErrorCode::kInvalidArgument, "sample", "expected no penalty without tokens");
  const std::vector<SampleOptions> each(size_t(logits.size(0)), options);
  return draw(logits, {.settings = sample_settings(each, logits.device()), .state = {}}, uniform);
}

void append_tokens_(const TokenRows& rows, const Tensor& ids, const Tensor& grows) {
  const Var* const all[] = {&rows.tokens, &rows.marked, &rows.positions, &rows.state,
                            &rows.history};
  for (const Var* x : all)
    check(x->defined(), ErrorCode::kInvalidArgument, "append_tokens_", "a row is an empty Var()");
  check_defined("append_tokens_", ids);
  check_defined("append_tokens_", grows);
  const int64_t b = ids.numel();
  const auto require = [&](const char* name, const Tensor& x, const Shape& shape) {
    check_same_device("append_tokens_", ids, x);
    check(x.dtype() == DType::kI64, ErrorCode::kDTypeMismatch, "append_tokens_", name,
          ": expected i64, got ", dtype_name(x.dtype()));
    check(x.shape() == shape, ErrorCode::kShapeMismatch, "append_tokens_", name, ": expected ",
          shape, ", got ", x.shape());
  };
  for (const Var* x : all)
    check(x->tensor().is_contiguous(), ErrorCode::kInvalidArgument, "append_tokens_",
          "expected rows that lie row-major, got strides ", x->tensor().strides());
  const Tensor& history = rows.history.tensor();
  require("ids", ids, {b});
  require("grows", grows, {b, 1});
  require("tokens", rows.tokens, {b, 1});
  require("marked", rows.marked, {b, 1});
  require("positions", rows.positions, {b, 1});
  require("state", rows.state, {b, kSampleState});
  require("history", history, {b, history.rank() == 2 ? history.size(1) : 0});
  if (b == 0) return;
  launch(kAppendTokens, {contiguous(ids), contiguous(grows)},
         {memory(rows.tokens), memory(rows.marked), memory(rows.positions), memory(rows.state),
          memory(rows.history)});
  for (const Var* x : all) x->tensor().storage()->bump_version();
}

}  // namespace wick
