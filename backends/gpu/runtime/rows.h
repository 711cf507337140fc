// How a kernel becomes a row of the backend's table. A unit (kernels/*.cpp) has one function that
// adds its rows:
//
//   void add_softmax_rows(RowList& list) { add_row<Softmax<float>, kAllFamilies>(list); }
//
// A kernel K that is a row has, beside what device/ctx.h asks of it,
//   static constexpr Signature signature;                       // op, dtypes, flags
//   static Args args(const Call&);                              // on the host
//   static const char* accepts(const Call&, const DeviceInfo&); // nullptr: takes it; else why not
//   (a constant text) static int64 scratch_bytes(const Call&, const DeviceInfo&); // if it wants
//   scratch
// A row of several launches is a struct R with signature, accepts, scratch_bytes, and
//   static Status run(const Call&)                              // launch<K1>(args1, call),
//   launch<K2>(args2, call) ...
#pragma once
#include "device/ctx.h"
#include "runtime/rt.h"
#include "wick/abi/backend.h"

namespace wick::gpu {

struct Signature {
  OpId op;
  DType dtypes[10];  // of the inputs, then of the outputs
  int num_in, num_out;
  uint32 flags = 0;
  uint32 attributes_size = 0;
  uint64 attributes_hash = 0;
};

struct RowEntry {
  KernelRow row;
  Signature signature;
  unsigned families;
  RowEntry* next;
};

/// Rows in the order in which they were added: the order of preference.
struct RowList {
  RowEntry* first = nullptr;
  RowEntry* last = nullptr;
  void add(RowEntry* entry) {
    (last ? last->next : first) = entry;
    last = entry;
  }
};

template <class R>
Status run_row([[maybe_unused]] const KernelRow* row, const Call* call) {
  const auto run = [](const Call& c) -> Status {
    if constexpr (requires { R::run(c); })
      return R::run(c);
    else
      return launch<R>(R::args(c), c);
  };
#if defined(WICK_EMULATED)
  return emu::run_row(*row, *call, run);  // in check mode several times, in different ways
#else
  return run(*call);
#endif
}
template <class R>
const char* accepts_row(const KernelRow*, const Call* call, const DeviceInfo* info) {
  return R::accepts(*call, *info);
}
template <class R>
int64 scratch_of_row(const KernelRow*, const Call* call, const DeviceInfo* info) {
  if constexpr (requires { R::scratch_bytes(*call, *info); })
    return R::scratch_bytes(*call, *info);
  else
    return 0;
}

/// In a device pass for a target of other families R is not even named, so an object holds its own
/// kernels only.
template <class R, unsigned families>
void add_row(RowList& list, const char* name) {
  if constexpr ((kPassFamilies & families) != 0) {
    static RowEntry entry{
        {name, accepts_row<R>, scratch_of_row<R>, run_row<R>, nullptr, R::signature.flags},
        R::signature,
        families,
        nullptr};
    list.add(&entry);
  }
}

// One per unit, kernels/*.cpp; runtime/registry.cpp calls them all.
void add_elementwise_rows(RowList&);
void add_fill_rows(RowList&);
void add_cast_rows(RowList&);
void add_reduce_rows(RowList&);
void add_matmul_rows(RowList&);
void add_indexing_rows(RowList&);
void add_compare_rows(RowList&);
void add_norm_rows(RowList&);
void add_rope_rows(RowList&);
void add_loss_rows(RowList&);
void add_optimizer_rows(RowList&);
void add_attention_rows(RowList&);
void add_attention_gradient_rows(RowList&);
void add_sample_rows(RowList&);

}  // namespace wick::gpu
