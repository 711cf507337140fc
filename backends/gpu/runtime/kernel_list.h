// How kernels get into the backend's table. Each file kernels/<family>.cpp has one function that adds
// its kernels:
//
//   template <>
//   void add_family<"rope">(KernelList& list) {
//     add_kernel<Rope<float>, kAllFamilies>(list, "pairs");
//   }
//
// and registry.cpp lists the family's name. The added type L has
//
//   static constexpr Signature signature;                          // op, dtype, flags
//   static const char* accepts(const Call&, const DeviceInfo&);    // nullptr: accepts; else the reason
//   static int64 scratch_bytes(const Call&, const DeviceInfo&);    // optional
//
// and either is itself a kernel (device/ctx.h) with
//
//   static Args args(const Call&);                                 // on the host
//
// or launches some:
//
//   static Status run(const Call&);                                // launch<K1>(args1, call) ...
#pragma once
#include "device/ctx.h"
#include "runtime/rt.h"
#include "wick/abi/backend.h"

namespace wick::gpu {

struct Signature {
  Op op;
  DType dtype;       // the op's; it determines the operands' dtypes
  uint32 flags = 0;  // KernelFlags
};

struct KernelEntry {
  Kernel kernel;
  Op op;
  OperandDTypes dtypes;
  unsigned families;
  KernelEntry* next;
  char name[64];  // "rope_f32_pairs"
};

/// Kernels in the order of addition, which is the order of preference. Never freed.
struct KernelList {
  KernelEntry* first = nullptr;
  KernelEntry* last = nullptr;

  /// form: distinguishes the op's kernels; the last part of the name. any: the dtype of an operand "*".
  void add(const Signature& signature, DType any, const char* form, unsigned families,
           const Kernel& kernel) {
    last = (last ? last->next : first) =
        new KernelEntry{kernel,   signature.op, operand_dtypes(signature.op, signature.dtype, any),
                        families, nullptr,      {}};
    int n = 0;
    const char* const parts[] = {signature.op.name, "_", dtype_name(signature.dtype), "_", form};
    for (const char* part : parts)
      for (; *part; part++) last->name[n++] = *part;
    last->kernel.name = last->name;
    last->kernel.flags = signature.flags;
  }
};

template <class L>
Status run_kernel([[maybe_unused]] const Kernel* kernel, const Call* call) {
  const auto run = [](const Call& c) -> Status {
    if constexpr (requires { L::run(c); })
      return L::run(c);
    else
      return launch<L>(L::args(c), c);
  };
#if defined(WICK_EMULATED)
  return emu::run_kernel(*kernel, *call, run);  // in check mode several times, in different ways
#else
  return run(*call);
#endif
}
template <class L>
const char* accepts_call(const Kernel*, const Call* call, const DeviceInfo* info) {
  return L::accepts(*call, *info);
}
template <class L>
int64 scratch_of(const Kernel*, const Call* call, const DeviceInfo* info) {
  if constexpr (requires { L::scratch_bytes(*call, *info); })
    return L::scratch_bytes(*call, *info);
  else
    return 0;
}

/// Adds L under the given signature, for an L whose code serves several.
template <class L, unsigned families>
void add_kernel(KernelList& list, const char* form, const Signature& signature, DType any) {
  // A device pass for a target of other families does not instantiate L, so an object contains only
  // the kernels of its target.
  if constexpr ((kPassFamilies & families) != 0)
    list.add(signature, any, form, families,
             {.accepts = accepts_call<L>, .scratch_bytes = scratch_of<L>, .run = run_kernel<L>});
}
template <class L, unsigned families>
void add_kernel(KernelList& list, const char* form, const Signature& signature) {
  add_kernel<L, families>(list, form, signature, signature.dtype);
}
template <class L, unsigned families>
void add_kernel(KernelList& list, const char* form) {
  if constexpr ((kPassFamilies & families) != 0) add_kernel<L, families>(list, form, L::signature);
}

/// Adds L<T> for every type T of the list.
template <template <class> class L, class... T>
void add_kernels(KernelList& list, const char* form, TypeList<T...>) {
  (add_kernel<L<T>, kAllFamilies>(list, form), ...);
}

/// Adds a family's kernels. Each kernels/<family>.cpp specializes it.
template <Text family>
void add_family(KernelList&);

}  // namespace wick::gpu
