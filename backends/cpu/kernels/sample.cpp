// The weights that sample draws by.
#include "dispatch/sample.h"

#include "kernels/fold.h"
#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {
namespace {

template <class C>
void weights(const void* from, double largest, double temperature, void* to, int64 n) {
  using L = Lanes<C>;
  const C* x = static_cast<const C*>(from);
  C* w = static_cast<C*>(to);
  const L m{C(largest)}, t{C(temperature)};
  each<C>(
      n, [&](auto at) __attribute__((always_inline)) { at.store(exp((at(x) - m) / t), w); });
}

template <class T>
constexpr Sampling kSampling = {reading<T, Compute<T>>(), weights<Compute<T>>};

}  // namespace

template <>
void add_family<"sample">(Table& table) {
  for_each(FloatTypes{}, [&]<class T>() {
    table.add(kSample, kDTypeOf<T>, DType::kI32,
              {.accepts = accepts_unit_strides,
               .scratch_bytes = sample_scratch,
               .run = run_sample,
               .data = &kSampling<T>});
  });
  table.add(
      kAppendTokens, DType::kI64,
      {.accepts = accepts_unit_strides, .run = run_append_tokens, .flags = kKernelAccumulates});
}

}  // namespace wick::cpu::WICK_ISA
