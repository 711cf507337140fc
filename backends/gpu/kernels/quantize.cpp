// Rows in codes of 8 bits with a scale for each group.
#include "kernels/group_codes.h"
#include "kernels/row_groups.h"

namespace wick::gpu {
namespace {

template <class T>
struct QuantizeI8 {
  static constexpr Signature signature{kQuantizeI8, kDTypeOf<T>};
  static constexpr int kThreads = 256;
  struct Args {
    int8* codes;
    f16* scales;
    const T* x;
    int64 codes_row, scales_row, x_row;  // strides
    FastDivide columns;
    int32 numel;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {int(ceil_div(a.numel, kThreads))}; }
  template <class Ctx>
  struct Shared {};

  // A wave holds whole groups.
  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int i = ctx.block().x * kThreads + ctx.thread();
    const bool inside = i < a.numel;
    const int row = inside ? int(a.columns.quotient(uint32(i))) : 0,
              column = inside ? i - row * int(a.columns.divisor) : 0;
    const float x = inside ? widen<float>(a.x[row * a.x_row + column]) : 0;
    static_assert(kScaleGroup == 32);
    const CodeScale scale = CodeScale::of(largest_of<16>(ctx, x));
    if (!inside) return;
    a.codes[row * a.codes_row + column] = scale.code(x);
    if (column % int(kScaleGroup) == 0)
      a.scales[row * a.scales_row + column / int(kScaleGroup)] = round_to<f16>(scale.scale);
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View &x = call.in[0], &codes = call.out[0], &scales = call.out[1];
    if (x.shape[1] % kScaleGroup != 0) return "D is no multiple of a group";
    if (const char* why = check_rows(x, codes)) return why;
    if (x.numel() > kLaunchLimit) return "there is more than a launch covers";
    return scales.rank == 2 && scales.shape[0] == x.shape[0] &&
                   scales.shape[1] == x.shape[1] / kScaleGroup && scales.strides[1] == 1
               ? nullptr
               : "scales are not [N, D / 32] with an inner stride of 1";
  }
  static Status run(const Call& call) {
    const View &x = call.in[0], &codes = call.out[0], &scales = call.out[1];
    if (x.numel() == 0) return {};
    return launch<QuantizeI8>(
        {codes.as<int8>(), scales.as<f16>(), x.as<T>(), codes.strides[0], scales.strides[0],
         x.strides[0], FastDivide::by(x.shape[1]), int32(x.numel())},
        call);
  }
};

template <class... T>
void add(KernelList& list, TypeList<T...>) {
  (add_kernel<QuantizeI8<T>, kAllFamilies>(list, "groups", QuantizeI8<T>::signature, DType::kI8),
   ...);
}

}  // namespace

template <>
void add_family<"quantize">(KernelList& list) {
  add(list, FloatTypes{});
}

}  // namespace wick::gpu
