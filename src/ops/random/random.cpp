#include "wick/ops/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/calling.h"
#include "base/parallel.h"
#include "core/device_state.h"
#include "ops/elementwise/dtypes.h"
#include "ops/random/normal.h"
#include "ops/random/philox.h"
#include "scalar/cast.h"
#include "scalar/round_up.h"
#include "wick/ops/cast.h"

namespace wick {
namespace {

/// Elements generated at a time; their words fit in the L1 cache.
constexpr int64_t kChunk = 1024;
constexpr int64_t kGrain = 8;  // chunks, about 20 us

uint64_t blocks_of(int64_t words) { return ceil_div(uint64_t(words), 4u); }

/// The words of one call: blocks reserved from a device's generator.
struct Stream {
  Stream(const Device& device, int64_t words)
      : seed(device.state().seed),
        first(device.state().random_counter.fetch_add(blocks_of(words))) {}
  uint64_t seed, first;
};

/// Calls f(words, begin, count) for chunks of n elements, with words_each words per element.
template <int words_each, class F>
void for_chunks(const Device& device, int64_t n, F f) {
  const Stream stream(device, n * words_each);
  parallel_for(ceil_div(n, kChunk), kGrain, [&](int64_t from, int64_t to) {
    uint32_t words[kChunk * words_each];
    for (int64_t chunk = from; chunk < to; chunk++) {
      const int64_t begin = chunk * kChunk, count = std::min(kChunk, n - begin);
      philox_words(stream.first + uint64_t(begin * words_each / 4), stream.seed, words,
                   ceil_div(count * words_each, 4));
      f(static_cast<const uint32_t*>(words), begin, count);
    }
  });
}

/// Bits of a dtype's significand. A number in [0, 1) with no more bits does not round up to 1.
int significand_bits(DType dtype) {
  switch (dtype) {
    case DType::kF8E5M2:
      return 3;
    case DType::kF8E4M3:
      return 4;
    case DType::kBf16:
      return 8;
    case DType::kF16:
      return 11;
    case DType::kF32:
      return 24;
    default:
      return 53;
  }
}

uint64_t pair_of(const uint32_t* words) { return uint64_t(words[0]) << 32 | words[1]; }

/// Host memory for a tensor that will be moved to options.device.
Tensor on_host(const Shape& shape, const TensorOptions& options) {
  return Tensor::empty(shape, {.dtype = options.dtype});
}

void check_floating(const char* op, DType dtype, const char* instead = "") {
  check(is_floating(dtype) && is_computed(dtype), ErrorCode::kDTypeMismatch, op,
        "expected a floating dtype, got ", dtype_name(dtype), instead);
}
/// Checks that an integer dtype or bool can represent both bounds; floats round to the nearest.
void check_holds(const char* op, DType dtype, int64_t lowest, int64_t highest) {
  check(is_computed(dtype), ErrorCode::kDTypeMismatch, op,
        "expected a dtype that ops compute in, got ", dtype_name(dtype));
  dispatch(dtype, BitTypes{}, [&]<class T>() {
    const bool holds = convert<int64>(convert<T>(int64(lowest))) == lowest &&
                       convert<int64>(convert<T>(int64(highest))) == highest &&
                       !(kSame<T, uint64> && lowest < 0);
    check(holds, ErrorCode::kInvalidArgument, op, dtype_name(dtype), " cannot represent all of ",
          lowest, " to ", highest);
  });
}
void check_probability(const char* op, double p) {
  check(0 <= p && p <= 1, ErrorCode::kInvalidArgument, op, "expected p in [0, 1], got ", p);
}

/// yes with probability p, else no.
template <class T>
void choose(const Device& device, double p, T yes, T no, Tensor& y) {
  const auto below = uint64_t(std::ldexp(p, 32));  // the number of 32-bit words that give yes
  T* out = static_cast<T*>(y.data());
  for_chunks<1>(device, y.numel(), [&](const uint32_t* words, int64_t begin, int64_t count) {
    for (int64_t i = 0; i < count; i++) out[begin + i] = words[i] < below ? yes : no;
  });
}

Tensor uniform(const Shape& shape, const TensorOptions& options, double low, double high) {
  const Tensor y = on_host(shape, options);
  const int bits = significand_bits(options.dtype);
  const double step = std::ldexp(high - low, -bits);
  dispatch(options.dtype, FloatTypes{}, [&]<class T>() {
    constexpr int kWords = kSame<T, double> ? 2 : 1;
    const T lowest = convert<T>(low);
    T* out = static_cast<T*>(y.data());
    for_chunks<kWords>(options.device, y.numel(), [&](const uint32_t* w, int64_t begin, int64_t n) {
      for (int64_t i = 0; i < n; i++) {
        const uint64_t u = kWords == 2 ? pair_of(w + 2 * i) >> 11 : w[i] >> (32 - bits);
        const T x = convert<T>(low + step * double(int64_t(u)));
        // Rounding may reach high, which the interval excludes.
        out[begin + i] = convert<double>(x) < high ? x : lowest;
      }
    });
  });
  return y.to(options.device);
}

}  // namespace

Tensor rand(const Shape& shape, const TensorOptions& options, double low, double high) {
  const Calling calling("rand");
  check_floating("rand", options.dtype, "; randint makes integers");
  check(low <= high && std::isfinite(high - low), ErrorCode::kInvalidArgument, "rand",
        "expected a finite interval, got [", low, ", ", high, ")");
  return uniform(shape, options, low, high);
}

Tensor randn(const Shape& shape, const TensorOptions& options, double mean, double deviation) {
  const Calling calling("randn");
  check_floating("randn", options.dtype);
  check(std::isfinite(mean) && std::isfinite(deviation) && deviation >= 0,
        ErrorCode::kInvalidArgument, "randn",
        "expected a finite mean and a finite deviation of at least 0, ", "got ", mean, " and ",
        deviation);
  const Tensor y = on_host(shape, options);
  dispatch(options.dtype, FloatTypes{}, [&]<class T>() {
    using C = Compute<T>;
    constexpr int kWords = kSame<C, double> ? 2 : 1;
    T* out = static_cast<T*>(y.data());
    for_chunks<kWords>(options.device, y.numel(),
                       [&](const uint32_t* words, int64_t begin, int64_t count) {
                         C normal[kChunk];
                         normal_pairs(words, normal, ceil_div(count, 2));
                         for (int64_t i = 0; i < count; i++)
                           out[begin + i] = convert<T>(C(C(mean) + C(deviation) * normal[i]));
                       });
  });
  return y.to(options.device);
}

Tensor rand_like(const Tensor& x, double low, double high) {
  const Calling calling("rand_like");
  check_defined("rand_like", x);
  return rand(x.shape(), {.dtype = x.dtype(), .device = x.device()}, low, high);
}
Tensor randn_like(const Tensor& x, double mean, double deviation) {
  const Calling calling("randn_like");
  check_defined("randn_like", x);
  return randn(x.shape(), {.dtype = x.dtype(), .device = x.device()}, mean, deviation);
}

Tensor randint(int64_t low, int64_t high, const Shape& shape, const CountOptions& given) {
  const Calling calling("randint");
  const TensorOptions options{given.dtype.value_or(DType::kI64), given.device};
  check(low < high, ErrorCode::kInvalidArgument, "randint", "expected low < high, got ", low,
        " and ", high);
  check_holds("randint", options.dtype, low, high - 1);
  const Tensor y = on_host(shape, options);
  const uint64_t range = uint64_t(high) - uint64_t(low);
  dispatch(options.dtype, AllTypes{}, [&]<class T>() {
    T* out = static_cast<T*>(y.data());
    for_chunks<2>(options.device, y.numel(), [&](const uint32_t* w, int64_t begin, int64_t count) {
      for (int64_t i = 0; i < count; i++) {
        __extension__ using Wide = unsigned __int128;
        const uint64_t offset = uint64_t(Wide(pair_of(w + 2 * i)) * range >> 64);
        out[begin + i] = convert<T>(int64(uint64_t(low) + offset));
      }
    });
  });
  return y.to(options.device);
}

Tensor randperm(int64_t n, const CountOptions& given) {
  const Calling calling("randperm");
  const TensorOptions options{given.dtype.value_or(DType::kI64), given.device};
  check(n >= 0, ErrorCode::kInvalidArgument, "randperm", "expected n of at least 0, got ", n);
  check_holds("randperm", options.dtype, 0, std::max<int64_t>(n - 1, 0));
  const Tensor y = Tensor::empty({n}, {.dtype = DType::kI64});
  auto* order = static_cast<int64*>(y.data());
  std::iota(order, order + n, int64{0});
  const Stream stream(options.device, 2 * n);
  // Fisher-Yates shuffle: the element for index i is drawn uniformly from those left.
  uint32_t words[kChunk];
  for (int64_t i = 0; i + 1 < n; i++) {
    const int64_t within = i % (kChunk / 2);
    if (within == 0)
      philox_words(stream.first + uint64_t(i / 2), stream.seed, words,
                   ceil_div(std::min(2 * (n - i), kChunk), 4));
    __extension__ using Wide = unsigned __int128;
    const auto step = int64_t(Wide(pair_of(words + 2 * within)) * uint64_t(n - i) >> 64);
    std::swap(order[i], order[i + step]);
  }
  return cast(y, options.dtype).to(options.device);
}

Tensor bernoulli(double p, const Shape& shape, const TensorOptions& options) {
  const Calling calling("bernoulli");
  check_elements("bernoulli", options.dtype);
  check_probability("bernoulli", p);
  Tensor y = on_host(shape, options);
  dispatch(options.dtype, StoredTypes{}, [&]<class T>() {
    choose(options.device, p, convert<T>(int64{1}), convert<T>(int64{0}), y);
  });
  return y.to(options.device);
}

Tensor bernoulli(const Tensor& p) {
  const Calling calling("bernoulli");
  check_defined("bernoulli", p);
  check_floating("bernoulli", p.dtype());
  const Tensor chances = cast(p.detach(), DType::kF64).to(Device::cpu()).contiguous();
  const auto* chance = static_cast<const double*>(chances.data());
  const int64_t n = p.numel();
  for (int64_t i = 0; i < n; i++) check_probability("bernoulli", chance[i]);
  const Tensor y = on_host(p.shape(), {.dtype = p.dtype()});
  dispatch(p.dtype(), FloatTypes{}, [&]<class T>() {
    const T one = convert<T>(int64{1}), zero = convert<T>(int64{0});
    T* out = static_cast<T*>(y.data());
    for_chunks<1>(p.device(), n, [&](const uint32_t* words, int64_t begin, int64_t count) {
      for (int64_t i = 0; i < count; i++)
        out[begin + i] = double(words[i]) < chance[begin + i] * 0x1p32 ? one : zero;
    });
  });
  return y.to(p.device());
}

Tensor dropout_mask(const Shape& shape, double p, const TensorOptions& options) {
  const Calling calling("dropout_mask");
  check_floating("dropout_mask", options.dtype);
  check_probability("dropout_mask", p);
  Tensor y = on_host(shape, options);
  dispatch(options.dtype, FloatTypes{}, [&]<class T>() {
    const T kept = convert<T>(p < 1 ? 1 / (1 - p) : 0.0);
    choose(options.device, p, convert<T>(0.0), kept, y);
  });
  return y.to(options.device);
}

Tensor multinomial(const Tensor& weights, int64_t count, const MultinomialOptions& options) {
  const Calling calling("multinomial");
  check_defined("multinomial", weights);
  check_floating("multinomial", weights.dtype());
  check(weights.rank() >= 1, ErrorCode::kShapeMismatch, "multinomial",
        "expected weights [..., N], got a scalar");
  check(count >= 0, ErrorCode::kInvalidArgument, "multinomial", "expected a count of at least 0, ",
        "got ", count);
  const int64_t n = weights.size(-1);
  Shape shape = weights.shape();
  shape[shape.size() - 1] = count;
  const Tensor y = Tensor::empty(shape, {.dtype = DType::kI64});
  const int64_t rows = n == 0 ? numel(shape) : weights.numel() / n;
  const std::vector<double> w =
      cast(weights.detach(), DType::kF64).to(Device::cpu()).to_vector<double>();
  auto* ids = static_cast<int64*>(y.data());
  const int64_t draws = options.replacement ? count : n;
  const Stream stream(weights.device(), 4 * rows * draws);
  const auto uniform = [&](int64_t i) {  // in (0, 1)
    const auto words = philox4x32(stream.first + uint64_t(i), 0, stream.seed);
    return (double(pair_of(words.w) >> 12) + 0.5) * 0x1p-52;
  };
  std::vector<double> keys(static_cast<size_t>(n));
  std::vector<int64> order(static_cast<size_t>(n));
  for (int64_t row = 0; row < rows; row++) {
    const double* weight = w.data() + row * n;
    int64_t possible = 0;
    for (int64_t i = 0; i < n; i++) {
      check(weight[i] >= 0 && std::isfinite(weight[i]), ErrorCode::kInvalidArgument, "multinomial",
            "expected finite weights of at least 0, got ", weight[i], " in row ", row);
      possible += weight[i] > 0;
    }
    check(possible >= (options.replacement ? std::min<int64_t>(count, 1) : count),
          ErrorCode::kInvalidArgument, "multinomial", "row ", row, " has ", possible,
          " weights above 0, too few for ", count, " draws");
    if (options.replacement) {
      std::partial_sum(weight, weight + n, keys.begin());
      for (int64_t j = 0; j < count; j++) {
        const double at = uniform(row * draws + j) * keys.back();
        auto found = std::upper_bound(keys.begin(), keys.end(), at);
        // Rounding may reach the last sum: take the last weight above 0.
        if (found == keys.end()) found = std::lower_bound(keys.begin(), keys.end(), keys.back());
        *ids++ = found - keys.begin();
      }
    } else {
      // Sorting exponential waiting times with these rates gives the order of draws without
      // replacement.
      for (int64_t i = 0; i < n; i++)
        keys[size_t(i)] =
            weight[i] > 0 ? -std::log(uniform(row * draws + i)) / weight[i] : HUGE_VAL;
      std::iota(order.begin(), order.end(), int64{0});
      const auto earlier = [&](int64_t a, int64_t b) {
        const double ka = keys[size_t(a)], kb = keys[size_t(b)];
        return ka != kb ? ka < kb : a < b;
      };
      std::partial_sort(order.begin(), order.begin() + count, order.end(), earlier);
      ids = std::copy(order.begin(), order.begin() + count, ids);
    }
  }
  return y.to(weights.device());
}

}  // namespace wick
