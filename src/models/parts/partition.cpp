#include "models/parts/partition.h"

#include <algorithm>

#include "scalar/round_up.h"
#include "wick/base/error.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/reduce.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

/// The columns up to the next ends of blocks of the matrix.
Range whole_blocks(const Parameters& p, const std::string& name, const Range& own,
                   int64_t columns) {
  const int64_t unit = p.column_unit(name), begin = own.begin - own.begin % unit;
  return {begin, std::min(columns, round_up(own.begin + own.count, unit)) - begin};
}

LinearOptions with_part(LinearOptions options, const ParameterPart& part) {
  options.part = part;
  return options;
}

Range range_of(int64_t units, int64_t rank, int64_t ranks) {
  const int64_t least = units / ranks, larger = units % ranks;
  return {rank * least + std::min(rank, larger), least + (rank < larger ? 1 : 0)};
}

}  // namespace

Range range_of(int64_t units, const Ranks* ranks) {
  return ranks ? range_of(units, ranks->rank(), ranks->count()) : Range{0, units};
}

HeadsPart heads_part(const std::string& name, int64_t heads, int64_t key_value_heads,
                     const Ranks* ranks) {
  if (!ranks) return {{0, heads}, {0, key_value_heads}};
  const int64_t rank = ranks->rank(), count = ranks->count(), group = heads / key_value_heads;
  check(heads % key_value_heads == 0, ErrorCode::kInvalidArgument, "tensor parallel", name,
        ": expected as many of the ", heads, " heads for each of the ", key_value_heads,
        " key heads");
  if (key_value_heads >= count) {
    const Range keys = range_of(key_value_heads, rank, count);
    return {{keys.begin * group, keys.count * group}, keys};
  }
  // The ranks [first, first + sharing) compute the same key head.
  int64_t key = 0, first = 0, sharing = 0;
  for (int64_t i = 0; i < key_value_heads; i++) {
    const Range of_key = range_of(count, i, key_value_heads);
    if (rank >= of_key.begin) key = i, first = of_key.begin, sharing = of_key.count;
  }
  check(sharing <= group, ErrorCode::kInvalidArgument, "tensor parallel", name, ": ", heads,
        " heads, of which ", group, " share a key head, are too few for ", count, " ranks");
  const Range own = range_of(group, rank - first, sharing);
  return {{key * group + own.begin, own.count}, {key, 1}, rank == first};
}

Range inner_part(const Parameters& p, const std::string& name, int64_t size) {
  const Ranks* const ranks = p.options().ranks.get();
  if (!ranks) return {0, size};
  const int64_t block = p.column_unit(name), count = ranks->count();
  check(size / block >= count, ErrorCode::kInvalidArgument, "tensor parallel", name, ": ", size,
        " columns", block > 1 ? ", in blocks of " + std::to_string(block) + ", " : " ",
        "are too few for ", count, " ranks");
  // Kernels are faster with sizes that are multiples of a power of two.
  int64_t unit = block;
  constexpr int64_t kFast = 64;
  while (unit < kFast && size % (2 * unit) == 0 && size / (2 * unit) >= count) unit *= 2;
  const Range units = range_of(size / unit, ranks);
  return {units.begin * unit, units.count * unit};
}

ParameterPart part_of(int dim, const Range& range, const Ranks* ranks) {
  return ranks ? ParameterPart{dim, range.begin, range.count} : ParameterPart{};
}

HeadsOutput::HeadsOutput(Parameters& p, const std::string& name, int64_t all, const Range& own,
                         int64_t hidden_size, LinearOptions options)
    : columns(whole_blocks(p, name + ".weight", own, all)),
      projection(p, name, all, hidden_size,
                 with_part(options, part_of(1, columns, p.options().ranks.get()))),
      padding{own.begin - columns.begin, columns.begin + columns.count - own.begin - own.count},
      sum{p.options().ranks} {}

Tensor HeadsOutput::operator()(const Tensor& y, const Tensor& residual) const {
  const bool is_whole = padding.before == 0 && padding.after == 0;
  return sum(projection(is_whole ? y : pad(y, {padding}), {.residual = sum.once(residual)}));
}

SplitRmsNorm::SplitRmsNorm(Parameters& p, const std::string& name, int64_t size, const Range& own,
                           const NormOptions& options, bool counts)
    : ranks(p.options().ranks),
      size(size),
      eps(options.eps),
      adds_one(options.adds_one),
      counts(counts),
      weight(p.take(name + ".weight", {size}, {options.adds_one ? 0.0 : 1.0, 0},
                    part_of(0, own, ranks.get()))) {}

Tensor SplitRmsNorm::operator()(const Tensor& x) const {
  const DType wide = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor values = cast(x, wide);
  const Tensor squares = wick::sum(square(values), {.dims = {-1}, .keepdim = true});
  const Tensor all = ranks->sum(counts ? squares : zeros_like(squares));
  const Tensor scale = cast(weight, wide);
  const Tensor y = values * rsqrt(all / double(size) + eps);
  return cast(y * (adds_one ? scale + 1 : scale), x.dtype());
}

}  // namespace wick
