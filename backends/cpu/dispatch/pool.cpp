#include "dispatch/pool.h"

#include <algorithm>
#include <cstring>

#include "dispatch/workers.h"
#include "runtime/table.h"
#include "scalar/round_up.h"
#include "wick/abi/ops/pool.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 1 << 15;  // elements of windows that a thread takes at least: some 10 us

const PoolAttributes& attributes_of(const Call& call) {
  return *static_cast<const PoolAttributes*>(call.attributes);
}

/// Parts of a worker's buffer, one after another, each at a multiple of 64 bytes.
class Parts {
 public:
  explicit Parts(char* begin) : begin_(begin) {}
  char* take(int64 bytes) {
    char* const part = begin_ + used_;
    used_ += round_up(bytes, 64);
    return part;
  }
  int64 used() const { return used_; }

 private:
  char* begin_;
  int64 used_ = 0;
};

/// Rows of a plane [N, C, H, W] as what is computed in: where they lie, or converted.
struct Rows {
  Rows(const View& x, const Access& access)
      : x(x), access(access), as_it_lies(access.direct && x.strides[3] == 1) {}
  const void* get(int64 n, int64 c, int64 h, void* buffer) const {
    const char* const from =
        x.as<const char>() + (n * x.strides[0] + c * x.strides[1] + h * x.strides[2]) * access.size;
    if (as_it_lies) return from;
    access.load(from, x.strides[3], x.shape[3], buffer);
    return buffer;
  }

  const View& x;
  const Access& access;
  bool as_it_lies;
};

/// A worker's buffers for a row of places.
struct PoolBuffers {
  PoolBuffers(const Call& call, const Access& in, char* begin) {
    Parts parts(begin);
    const int64 places = call.out[0].shape[3];
    row = parts.take(call.in[0].shape[3] * in.wide_size);
    values = parts.take(places * in.wide_size);
    numbers = parts.take(places * 8);  // taps or divisors
    bytes = parts.used();
  }
  char* row;
  char* values;
  char* numbers;
  int64 bytes;
};

Workers workers_for(const Call& call, const Access& in) {
  const View& y = call.out[0];
  const PoolAttributes& a = attributes_of(call);
  const int64 pieces = y.shape[0] * y.shape[1] * y.shape[2];
  const int64 work = y.numel() * a.kernel[0] * a.kernel[1];
  return Workers(pieces, work / kGrain, PoolBuffers(call, in, nullptr).bytes);
}

int64 scratch_for(const Call& call, const Access& in) {
  return call.out[0].numel() ? workers_for(call, in).scratch() : 0;
}

/// f(n, c, oh, buffer) for every row of places.
template <class F>
Status for_rows(const Call& call, const char* name, Workers workers, int64 pieces, F&& f) {
  alignas(Workers::kAlignment) char local[kLocalBytes];
  char* const buffers = workers.scratch() > 0 ? static_cast<char*>(call.scratch) : local;
  if (!workers.fit(call.scratch_bytes))
    return error(StatusCode::kInvalidArgument, "%s: %lld bytes of scratch are too few", name,
                 (long long)call.scratch_bytes);
  const View& y = call.out[0];
  workers.run(pieces, buffers, [&](int64 piece, char* buffer) {
    const int64 plane = piece / y.shape[2];
    f(plane / y.shape[1], plane % y.shape[1], piece % y.shape[2], buffer);
  });
  return {};
}

/// f(kh, h) for the rows h of x that the windows of a row of places have.
template <class F>
void for_window_rows(const PoolAttributes& a, int64 oh, int64 height, F&& f) {
  for (int64 kh = 0; kh < a.kernel[0]; kh++) {
    const int64 h = oh * a.stride[0] + kh * a.dilation[0] - a.padding[0];
    if (h >= 0 && h < height) f(kh, h);
  }
}

/// The first tap of a window that is not before x, along dim d.
int64 first_tap(const PoolAttributes& a, int d, int64 place) {
  const int64 start = place * a.stride[d] - a.padding[d];
  return start < 0 ? (a.dilation[d] - 1 - start) / a.dilation[d] : 0;
}

WindowRow window_row(const Call& call) {
  const PoolAttributes& a = attributes_of(call);
  return {nullptr,     call.in[0].shape[3], call.out[0].shape[3], a.kernel[1],
          a.stride[1], a.dilation[1],       a.padding[1]};
}

/// How many elements of a window count along a dim: those from -counted to size + counted.
int64 counted(const PoolAttributes& a, int d, int64 place, int64 size) {
  const int64 first = place * a.stride[d] - a.padding[d];
  int64 count = 0;
  for (int64 k = 0; k < a.kernel[d]; k++) {
    const int64 at = first + k * a.dilation[d];
    if (at >= -a.counted[d] && at < size + a.counted[d]) count++;
  }
  return count;
}

char* row_of(const View& y, int64 n, int64 c, int64 h) {
  return y.as<char>() + bytes_of(y.dtype, n * y.strides[0] + c * y.strides[1] + h * y.strides[2]);
}

}  // namespace

int64 max_pool_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  return scratch_for(*call, static_cast<const MaxPool*>(kernel->data)->in);
}

Status run_max_pool(const Kernel* kernel, const Call* call) {
  const MaxPool& op = *static_cast<const MaxPool*>(kernel->data);
  const View &x = call->in[0], &y = call->out[0], &ids = call->out[1];
  if (y.numel() == 0) return {};
  const PoolAttributes& a = attributes_of(*call);
  const int64 width = x.shape[3], places = y.shape[3];
  const Rows rows(x, op.in);
  return for_rows(*call, kernel->name, workers_for(*call, op.in), y.numel() / places,
                  [&](int64 n, int64 c, int64 oh, char* buffer) {
                    const PoolBuffers parts(*call, op.in, buffer);
                    int32* const taps = reinterpret_cast<int32*>(parts.numbers);
                    op.fill_lowest(parts.values, places);
                    // Where all is the lowest, nothing beats it: the first element stays.
                    const int32 first = int32(first_tap(a, 0, oh) * a.kernel[1]);
                    for (int64 o = 0; o < places; o++) taps[o] = first + int32(first_tap(a, 1, o));
                    WindowRow window = window_row(*call);
                    for_window_rows(a, oh, x.shape[2], [&](int64 kh, int64 h) {
                      window.x = rows.get(n, c, h, parts.row);
                      op.row(window, int32(kh * a.kernel[1]), parts.values, taps);
                    });
                    op.store(parts.values, row_of(y, n, c, oh), y.strides[3], places);
                    int64* const to = reinterpret_cast<int64*>(row_of(ids, n, c, oh));
                    const int64 top = oh * a.stride[0] - a.padding[0];
                    const int32 kernel = int32(a.kernel[1]);
                    for (int64 o = 0; o < places; o++) {
                      const int32 kh = taps[o] / kernel, kw = taps[o] - kh * kernel;
                      to[o * ids.strides[3]] = (top + kh * a.dilation[0]) * width +
                                               o * a.stride[1] - a.padding[1] + kw * a.dilation[1];
                    }
                  });
}

int64 avg_pool_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  return scratch_for(*call, static_cast<const AvgPool*>(kernel->data)->in);
}

Status run_avg_pool(const Kernel* kernel, const Call* call) {
  const AvgPool& op = *static_cast<const AvgPool*>(kernel->data);
  const View &x = call->in[0], &y = call->out[0];
  if (y.numel() == 0) return {};
  const PoolAttributes& a = attributes_of(*call);
  const int64 places = y.shape[3];
  const Rows rows(x, op.in);
  return for_rows(*call, kernel->name, workers_for(*call, op.in), y.numel() / places,
                  [&](int64 n, int64 c, int64 oh, char* buffer) {
                    const PoolBuffers parts(*call, op.in, buffer);
                    std::memset(parts.values, 0, size_t(places * op.in.wide_size));
                    WindowRow window = window_row(*call);
                    for_window_rows(a, oh, x.shape[2], [&](int64, int64 h) {
                      window.x = rows.get(n, c, h, parts.row);
                      op.row(window, parts.values);
                    });
                    int64* const divisors = reinterpret_cast<int64*>(parts.numbers);
                    const int64 high = counted(a, 0, oh, x.shape[2]);
                    for (int64 o = 0; o < places; o++)
                      divisors[o] = a.divisor ? a.divisor : high * counted(a, 1, o, x.shape[3]);
                    op.divide(parts.values, divisors, places);
                    op.store(parts.values, row_of(y, n, c, oh), y.strides[3], places);
                  });
}

namespace {

/// A worker's buffers for a row of the image.
struct FoldBuffers {
  FoldBuffers(const Call& call, const Access& in, char* begin) {
    Parts parts(begin);
    sums = parts.take(call.out[0].shape[3] * in.wide_size);
    row = parts.take(call.in[0].shape[5] * in.wide_size);
    bytes = parts.used();
  }
  char* sums;
  char* row;
  int64 bytes;
};

Workers fold_workers(const Call& call, const Access& in) {
  const View& y = call.out[0];
  return Workers(y.shape[0] * y.shape[1] * y.shape[2], call.in[0].numel() / kGrain,
                 FoldBuffers(call, in, nullptr).bytes);
}

}  // namespace

int64 fold_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  if (call->out[0].numel() == 0) return 0;
  return fold_workers(*call, static_cast<const Fold*>(kernel->data)->in).scratch();
}

Status run_fold(const Kernel* kernel, const Call* call) {
  const Fold& op = *static_cast<const Fold*>(kernel->data);
  const View &x = call->in[0], &y = call->out[0];
  if (y.numel() == 0) return {};
  const PoolAttributes& a = attributes_of(*call);
  const int64 width = y.shape[3], stride = a.stride[1];
  const bool as_it_lies = op.in.direct && x.strides[5] == 1;
  return for_rows(
      *call, kernel->name, fold_workers(*call, op.in), y.numel() / width,
      [&](int64 n, int64 c, int64 h, char* buffer) {
        const FoldBuffers parts(*call, op.in, buffer);
        std::memset(parts.sums, 0, size_t(width * op.in.wide_size));
        for (int64 kh = 0; kh < a.kernel[0]; kh++) {
          const int64 at = h + a.padding[0] - kh * a.dilation[0], oh = at / a.stride[0];
          if (at < 0 || at % a.stride[0] != 0 || oh >= x.shape[4]) continue;
          for (int64 kw = 0; kw < a.kernel[1]; kw++) {
            // Windows o with 0 <= o stride + shift < width.
            const int64 shift = kw * a.dilation[1] - a.padding[1];
            const int64 first = shift < 0 ? ceil_div(-shift, stride) : 0;
            const int64 end =
                shift < width ? std::min(x.shape[5], (width - 1 - shift) / stride + 1) : 0;
            if (first >= end) continue;
            const char* from = x.as<const char>() +
                               (n * x.strides[0] + c * x.strides[1] + kh * x.strides[2] +
                                kw * x.strides[3] + oh * x.strides[4] + first * x.strides[5]) *
                                   op.in.size;
            if (!as_it_lies) {
              op.in.load(from, x.strides[5], end - first, parts.row);
              from = parts.row;
            }
            op.add(from, end - first, parts.sums + (first * stride + shift) * op.in.wide_size,
                   stride);
          }
        }
        op.store(parts.sums, row_of(y, n, c, h), y.strides[3], width);
      });
}

}  // namespace wick::cpu
