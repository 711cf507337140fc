// Every element of a tensor becomes one value: of elements only the size matters.
#include "wick/abi/ops/create.h"
#include "kernels/common.h"

namespace wick::gpu {
namespace {

// out[i] = value, contiguous. A thread writes 16 bytes; the first threads also write the rest.
template <int bytes>
struct Fill {
  using T = Bits<bytes>;
  static constexpr int kThreads = 256, kPack = kPackSize<T>;
  struct Args {
    T* out;  // 16-byte aligned
    T value;
    int32 numel;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.numel, kThreads * kPack)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int first = (ctx.block().x * kThreads + ctx.thread()) * kPack;
    if (first + kPack <= a.numel) {
      Pack<T, kPack> pack;
      for (int e = 0; e < kPack; e++) pack.v[e] = a.value;
      store_pack(a.out + first, pack);
    } else {
      for (int i = first; i < a.numel; i++) a.out[i] = a.value;
    }
  }
};

// out[i] = value, any strides or alignment.
template <int bytes>
struct StridedFill {
  using T = Bits<bytes>;
  static constexpr int kThreads = 256;
  struct Args {
    T* out;
    T value;
    Indexer<1> at;
    int32 numel;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.numel, kThreads)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int i = ctx.block().x * kThreads + ctx.thread();
    if (i >= a.numel) return;
    uint32 offset[1];
    a.at.locate(i, offset);
    a.out[offset[0]] = a.value;
  }
};

template <class K>
Status launch_parts(const Call& call) {
  const auto& attributes = *static_cast<const FillAttributes*>(call.attributes);
  return for_each_part(operands_of<0>(call), [&](const Operands<1>& part) {
    typename K::Args args{};
    args.out = reinterpret_cast<decltype(args.out)>(part.data[0]);
    args.value = decltype(args.value)(attributes.bits);
    if constexpr (requires { args.at; }) args.at = part.indexer(part.rank);
    args.numel = int32(part.numel());
    return launch<K>(args, call);
  });
}

template <class T>
struct FillSignature {
  static constexpr Signature signature{kFill, kDTypeOf<T>};
};

template <class T>
struct FillLaunch : FillSignature<T> {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    if (!operands_of<0>(call).contiguous()) return "the output is not contiguous";
    return is_aligned(call.out[0].data) ? nullptr : "the output is not aligned to 16 bytes";
  }
  static Status run(const Call& call) { return launch_parts<Fill<sizeof(T)>>(call); }
};

template <class T>
struct StridedFillLaunch : FillSignature<T> {
  static const char* accepts(const Call&, const DeviceInfo&) { return nullptr; }
  static Status run(const Call& call) { return launch_parts<StridedFill<sizeof(T)>>(call); }
};

// Not for_each with a lambda: nvcc does not see kernels that only a generic lambda names.
template <class... T>
void add_for(KernelList& list, TypeList<T...>) {
  (add_kernel<FillLaunch<T>, kAllFamilies>(list, "contiguous"), ...);
  (add_kernel<StridedFillLaunch<T>, kAllFamilies>(list, "strided"), ...);
}

}  // namespace

template <>
void add_family<"create">(KernelList& list) {
  add_for(list, StoredTypes{});
}

}  // namespace wick::gpu
