#include "models/parts/partition.h"

#include <algorithm>

#include "wick/base/error.h"

namespace wick {
namespace {

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
  return {{key * group + own.begin, own.count}, {key, 1}};
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

Range whole_blocks(const Parameters& p, const std::string& name, const Range& own,
                   int64_t columns) {
  const int64_t unit = p.column_unit(name), begin = own.begin - own.begin % unit,
                end = own.begin + own.count;
  return {begin, std::min(columns, (end + unit - 1) / unit * unit) - begin};
}

ParameterPart part_of(int dim, const Range& range, const Ranks* ranks) {
  return ranks ? ParameterPart{dim, range.begin, range.count} : ParameterPart{};
}

}  // namespace wick
