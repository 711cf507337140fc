#include "models/caches/cached_rows.h"

#include "ops/fused/stored_rows.h"
#include "wick/abi/ops/quantize.h"
#include "wick/ops/create.h"

namespace wick {
namespace {

int64_t size_of(const Var& x) {
  return x.defined() ? bytes_of(x.tensor().dtype(), x.tensor().numel()) : 0;
}

}  // namespace

CacheType cache_type(std::string_view name) {
  if (name.empty()) return CacheType::kModel;
  if (name == "f16") return CacheType::kF16;
  if (name == "f8") return CacheType::kF8;
  check(name == "q8_0", ErrorCode::kInvalidArgument, "cache_type",
        "expected f16, f8 or q8_0, got \"", name, "\"");
  return CacheType::kQ8;
}

DType stored_dtype(CacheType type, DType model) {
  switch (type) {
    case CacheType::kF16:
      return DType::kF16;
    case CacheType::kF8:
      return DType::kF8E4M3;
    case CacheType::kQ8:
      return DType::kI8;
    default:
      return model;
  }
}

int64_t stored_bytes(CacheType type, DType model, int64_t elements) {
  const int64_t rows = bytes_of(stored_dtype(type, model), elements);
  return type == CacheType::kQ8 ? rows + bytes_of(DType::kF16, elements / kScaleGroup) : rows;
}

CachedRows::CachedRows(const Shape& shape, CacheType type, const TensorOptions& options) {
  TensorOptions of_rows = options, of_scales = options;
  of_rows.dtype = stored_dtype(type, options.dtype);
  of_scales.dtype = DType::kF16;
  rows_ = all_rows_ = Var(zeros(shape, of_rows), false);
  if (type != CacheType::kQ8) return;
  const int last = int(shape.size()) - 1;
  check(shape[last] % kScaleGroup == 0, ErrorCode::kUnsupported, "make_cache",
        "keys and values in q8_0 take heads of whole groups of ", kScaleGroup,
        " elements, which those of ", shape[last], " are not: f8 and f16 take any");
  Shape groups = shape;
  groups[last] /= kScaleGroup;
  scales_ = all_scales_ = Var(zeros(groups, of_scales), false);
}

int64_t CachedRows::bytes() const { return size_of(all_rows_) + size_of(all_scales_); }

void CachedRows::select(int64_t first, int64_t count) {
  const auto selected = [&](const Var& all) {
    const bool is_all = !all.defined() || (first == 0 && count == all.shape()[0]);
    return is_all ? all : all.rows(first, count);
  };
  rows_ = selected(all_rows_), scales_ = selected(all_scales_);
}

std::vector<Var> CachedRows::parts() const {
  std::vector<Var> parts;
  for (const Var& x : {all_rows_, all_scales_})
    if (x.defined()) parts.push_back(x);
  return parts;
}

CachedRows::Stored CachedRows::stored(const Tensor& x) const {
  const auto [rows, scales] = stored_rows(x, rows_.tensor().dtype());
  return {rows, scales};
}

}  // namespace wick
