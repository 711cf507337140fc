#include "wick/models/finite.h"

#include "models/usable.h"
#include "wick/ops/autograd.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// Reads the tokens [begin, end) of a text after those that the cache holds; whether the logits of
/// the last one are finite.
bool reads_finite(const CausalModel& model, const std::vector<int64_t>& ids, size_t begin,
                  size_t end, ModelCache* cache) {
  const Device device = model.options().device;
  const int64_t count = int64_t(end - begin);
  const std::vector<int64_t> part(ids.begin() + int64_t(begin), ids.begin() + int64_t(end));
  const Tensor positions =
      narrow(positions_from_0(1, int64_t(end), device), 1, int64_t(begin), count);
  cache->prepare({int64_t(begin)}, {int64_t(end)});
  const Tensor hidden = model.hidden(Tensor::from(part, {1, count}, device), positions, cache);
  return is_usable(model.logits(select(hidden, 1, count - 1))).item<bool>();
}

}  // namespace

void fail_not_finite(std::string_view op, const CausalModel& model,
                     const std::vector<int64_t>& ids) {
  const NoGrad off;
  // Within a part, a token may see the NaN of a later one, for 0 times NaN is NaN: the part that
  // has the token is read again token by token.
  constexpr size_t kPart = 64;
  const auto new_cache = [&] {
    return model.make_cache({.capacity = int64_t(ids.size()), .chunk = int64_t(ids.size())});
  };
  size_t at = 0;
  for (const auto cache = new_cache();
       at + kPart < ids.size() && reads_finite(model, ids, at, at + kPart, cache.get());)
    at += kPart;
  const auto cache = new_cache();
  if (at > 0) reads_finite(model, ids, 0, at, cache.get());
  while (at + 1 < ids.size() && reads_finite(model, ids, at, at + 1, cache.get())) at++;
  fail(ErrorCode::kFormat, op, "the logits of token ", at, " (id ", ids[at],
       ") are not finite: a weight is not, or the computation overflows ",
       dtype_name(model.options().dtype));
}

}  // namespace wick
