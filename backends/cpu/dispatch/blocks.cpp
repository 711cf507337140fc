#include "dispatch/blocks.h"

#include <algorithm>

#include "base/parallel.h"
#include "dispatch/walk.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 16384;  // elements a thread takes at least

/// Calls f(offset of the input, offset of the output, elements) for pieces of rows, of whole blocks and
/// at most kChunk elements.
template <class F>
void for_pieces(const Call& call, int64 block, const F& f) {
  const View* const views[2] = {&call.in[0], &call.out[0]};
  const Space<2> space = space_of(views);
  const int64 grain = std::max<int64>(1, kGrain / block);
  parallel_for(space.numel / block, grain, [&](int64 begin, int64 end) {
    Position<2> at(space, begin * block);
    for (int64 left = (end - begin) * block; left > 0;) {
      const int64 n = std::min({left, at.rest(), kChunk});
      f(at.offset(0), at.offset(1), n, space.row_stride(0), space.row_stride(1));
      at.advance(n);
      left -= n;
    }
  });
}

}  // namespace

Status run_decode(const Kernel* kernel, const Call* call) {
  const BlockCast& cast = *static_cast<const BlockCast*>(kernel->data);
  const char* const from = call->in[0].as<char>();
  char* const to = call->out[0].as<char>();
  for_pieces(*call, cast.elements, [&](int64 in, int64 out, int64 n, int64, int64 stride) {
    alignas(64) float buffer[kChunk];
    char* const y = to + out * cast.other.size;
    const bool direct = cast.other.direct && stride == 1;
    float* const decoded = direct ? reinterpret_cast<float*>(y) : buffer;
    cast.decode(from + in / cast.elements * cast.bytes, n / cast.elements, decoded);
    if (!direct) cast.other.store(decoded, y, stride, n);
  });
  return {};
}

Status run_encode(const Kernel* kernel, const Call* call) {
  const BlockCast& cast = *static_cast<const BlockCast*>(kernel->data);
  const char* const from = call->in[0].as<char>();
  char* const to = call->out[0].as<char>();
  for_pieces(*call, cast.elements, [&](int64 in, int64 out, int64 n, int64 stride, int64) {
    alignas(64) float buffer[kChunk];
    cast.other.load(from + in * cast.other.size, stride, n, buffer);
    cast.encode(buffer, n / cast.elements, to + out / cast.elements * cast.bytes);
  });
  return {};
}

}  // namespace wick::cpu
