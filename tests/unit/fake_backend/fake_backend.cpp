#include "fake_backend.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "wick/abi/ops/cast.h"
#include "wick/abi/ops/create.h"
#include "wick/abi/ops/gather.h"
#include "wick/abi/ops/matmul.h"
#include "wick/abi/ops/reduce.h"

namespace fake {
namespace {

using namespace wick;

int launched = 0;

// ---- kernels

/// Calls f(offsets) for each index of `shape`, in row-major order; offsets[i] is where operand i's
/// element is.
template <int operands, class F>
void walk(const View& shape, const View* const (&views)[operands], const F& f) {
  int64 index[kMaxRank] = {};
  for (int64 n = shape.numel(); n > 0; n--) {
    int64 offsets[operands] = {};
    for (int i = 0; i < operands; i++)
      for (int d = 0; d < shape.rank; d++) offsets[i] += index[d] * views[i]->strides[d];
    f(offsets);
    for (int d = shape.rank; d-- > 0 && ++index[d] == shape.shape[d];) index[d] = 0;
  }
}

using Unary = float (*)(float);
using Binary = float (*)(float, float);

/// A kernel that does not say kKernelInPlace is never asked to write over what it reads.
Status check_apart(const Call& call) {
  for (int i = 0; i < call.num_in; i++) {
    if (call.in[i].data == call.out[0].data && call.out[0].numel() > 0)
      return {StatusCode::kDeviceError, "the output is an input"};
  }
  return {};
}

template <Unary f>
Status run_unary(const Kernel*, const Call* call) {
  if (const Status status = check_apart(*call); !status.ok()) return status;
  launched++;
  const float* x = call->in[0].as<float>();
  float* y = call->out[0].as<float>();
  walk(call->out[0], {&call->in[0], &call->out[0]},
       [&](const int64* at) { y[at[1]] = f(x[at[0]]); });
  return {};
}

template <Binary f>
Status run_binary(const Kernel*, const Call* call) {
  if (const Status status = check_apart(*call); !status.ok()) return status;
  launched++;
  const float *a = call->in[0].as<float>(), *b = call->in[1].as<float>();
  float* y = call->out[0].as<float>();
  walk(call->out[0], {&call->in[0], &call->in[1], &call->out[0]},
       [&](const int64* at) { y[at[2]] = f(a[at[0]], b[at[1]]); });
  return {};
}

/// in [K..., R...], out [K...]: the output is read through the input's shape, with stride 0 along
/// what is reduced.
template <Binary combine>
Status run_reduction(const Kernel* kernel, const Call* call) {
  launched++;
  const int kept = static_cast<const ReduceAttributes*>(call->attributes)->kept;
  const View& in = call->in[0];
  View out = call->out[0];
  float* y = out.as<float>();
  const float identity = *static_cast<const float*>(kernel->data);
  walk(out, {&out}, [&](const int64* at) { y[at[0]] = identity; });
  out.rank = in.rank;
  for (int d = 0; d < in.rank; d++) {
    out.shape[d] = in.shape[d];
    if (d >= kept) out.strides[d] = 0;
  }
  const float* x = in.as<float>();
  walk(in, {&in, &out}, [&](const int64* at) { y[at[1]] = combine(y[at[1]], x[at[0]]); });
  return {};
}

/// y[o, j, i] = x[o, ids[o, j, i], i]
Status run_gather(const Kernel*, const Call* call) {
  launched++;
  const View &x = call->in[0], &ids = call->in[1], &y = call->out[0];
  View x_at_0 = x;  // x without the dim that ids choose in
  x_at_0.strides[1] = 0;
  static char text[96];
  Status status;
  walk(y, {&x_at_0, &ids, &y}, [&](const int64* at) {
    const int64 id = ids.as<int64>()[at[1]];
    if (id < 0 || id >= x.shape[1]) {
      std::snprintf(text, sizeof text, "gather: id %lld is outside [0, %lld)", (long long)id,
                    (long long)x.shape[1]);
      status = {StatusCode::kIdOutOfRange, text};
      return;
    }
    y.as<float>()[at[2]] = x.as<float>()[at[0] + id * x.strides[1]];
  });
  return status;
}

/// y[o, ids[o, j, i], i] += src[o, j, i], for ids in range.
Status run_scatter_add(const Kernel*, const Call* call) {
  launched++;
  const View &src = call->in[0], &ids = call->in[1], &y = call->out[0];
  View y_at_0 = y;  // y without the dim that ids choose in
  y_at_0.strides[1] = 0;
  walk(src, {&src, &ids, &y_at_0}, [&](const int64* at) {
    y.as<float>()[at[2] + ids.as<int64>()[at[1]] * y.strides[1]] += src.as<float>()[at[0]];
  });
  return {};
}

/// The sign, exponent and first 10 bits of the mantissa: TF32.
float rounded(float x) {
  uint32 bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits &= ~uint32(0x1fff);
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/// y[m, n] = sum over k of a[m, k] b[k, n], operands in TF32.
Status run_matmul(const Kernel*, const Call* call) {
  launched++;
  View a = call->in[0], b = call->in[1], y = call->out[0];
  walk(y, {&y}, [&](const int64* at) { y.as<float>()[at[0]] = 0; });
  const View product{nullptr, DType::kF32, 3, {a.shape[0], a.shape[1], b.shape[1]}, {}};
  a.strides[2] = 0;
  b.strides[2] = b.strides[1], b.strides[1] = b.strides[0], b.strides[0] = 0;
  y.strides[2] = y.strides[1], y.strides[1] = 0;
  walk(product, {&a, &b, &y}, [&](const int64* at) {
    y.as<float>()[at[2]] += rounded(a.as<float>()[at[0]]) * rounded(b.as<float>()[at[1]]);
  });
  return {};
}

Status run_fill(const Kernel*, const Call* call) {
  launched++;
  float value;
  std::memcpy(&value, &static_cast<const FillAttributes*>(call->attributes)->bits, sizeof value);
  float* y = call->out[0].as<float>();
  walk(call->out[0], {&call->out[0]}, [&](const int64* at) { y[at[0]] = value; });
  return {};
}

const char* contiguous_alone(const Kernel*, const Call* call, const DeviceInfo*) {
  for (int i = 0; i < call->num_in; i++)
    if (!call->in[i].contiguous()) return "the fake backend's maximum wants contiguous operands";
  return nullptr;
}

float same(float x) { return x; }
float negate(float x) { return -x; }
float exponential(float x) { return std::exp(x); }
float logarithm(float x) { return std::log(x); }
float difference(float a, float b) { return a - b; }
float quotient(float a, float b) { return a / b; }
float total(float a, float b) { return a + b; }
float larger(float a, float b) { return a != a || a > b ? a : b; }

// ---- what it serves

constexpr float kZero = 0, kLowest = -std::numeric_limits<float>::infinity();

struct Served {
  Op op;
  Kernel kernel;
};
const Served kServed[] = {
    {Op("neg", "T:T"), {.name = "fake neg", .run = run_unary<negate>}},
    {Op("exp", "T:T"), {.name = "fake exp", .run = run_unary<exponential>}},
    {Op("log", "T:T"), {.name = "fake log", .run = run_unary<logarithm>}},
    {kCast, {.name = "fake copy", .run = run_unary<same>}},
    {Op("sub", "TT:T"), {.name = "fake sub", .run = run_binary<difference>}},
    {Op("div", "TT:T"), {.name = "fake div", .run = run_binary<quotient>}},
    {Op("maximum", "TT:T"),
     {.name = "fake maximum", .accepts = contiguous_alone, .run = run_binary<larger>}},
    {Op("sum", "T:S", attributes<ReduceAttributes>),
     {.name = "fake sum", .run = run_reduction<total>, .data = &kZero}},
    {Op("max", "T:T", attributes<ReduceAttributes>),
     {.name = "fake max", .run = run_reduction<larger>, .data = &kLowest}},
    {kGather, {.name = "fake gather", .run = run_gather}},
    {kScatterAdd,
     {.name = "fake scatter_add",
      .run = run_scatter_add,
      .flags = kKernelAccumulates | kKernelUnordered}},
    {kFill, {.name = "fake fill", .run = run_fill}},
    {kMatmul, {.name = "fake matmul", .run = run_matmul, .flags = kKernelRoundsF32}},
};

int32 find_kernels(int32, const KernelQuery* query, const Kernel** kernels) {
  for (const Served& served : kServed) {
    if (!same_contract(served.op, *query->op)) continue;
    const OperandDTypes dtypes = operand_dtypes(served.op, DType::kF32);
    if (!(key_of({&served.op, dtypes.all, dtypes.num_in, dtypes.num_out}) == key_of(*query)))
      return 0;
    *kernels = &served.kernel;
    return 1;
  }
  return 0;
}

int32 list_ops(const Op* const** ops) {
  static const std::vector<const Op*> all = [] {
    std::vector<const Op*> list;
    for (const Served& served : kServed) list.push_back(&served.op);
    return list;
  }();
  *ops = all.data();
  return int32(all.size());
}

// ---- the device: host memory, no queue

int32 device_count(const char**) { return 1; }
Status device_info(int32, DeviceInfo* info) {
  *info = {};
  std::strcpy(info->name, "Fake");
  std::strcpy(info->architecture, "fake1");
  info->wave = 1;
  info->host_memory = 1;
  info->total_bytes = int64(1) << 30;
  return {};
}
Status memory_info(int32, int64* free_bytes, int64* total_bytes) {
  *free_bytes = *total_bytes = int64(1) << 30;
  return {};
}
Status alloc(int32, int64 bytes, void** data) {
  *data = std::aligned_alloc(256, size_t(bytes + 255) / 256 * 256);
  return *data ? Status{} : Status{StatusCode::kOutOfMemory, nullptr};
}
void free_memory(int32, void* data) { std::free(data); }
Status copy(int32, void* to, const void* from, int64 bytes, CopyKind, void*) {
  std::memcpy(to, from, size_t(bytes));
  return {};
}
Status fill(int32, void* data, uint8 value, int64 bytes, void*) {
  std::memset(data, value, size_t(bytes));
  return {};
}
Status create(int32, void** handle) {
  *handle = nullptr;
  return {};
}
void destroy(int32, void*) {}
Status synchronize(int32, void*, ErrorRecord* record) {
  *record = {};
  return {};
}
Status record(int32, void*, void*) { return {}; }
Status query_event(int32, void*, int32* done) {
  *done = 1;
  return {};
}

}  // namespace

const Backend* backend() {
  static const Backend table = [] {
    Backend b{};
    b.abi_version = kAbiVersion;
    b.struct_size = sizeof b;
    b.layout_hash = kLayoutHash;
    b.name = "fake";
    b.device_count = device_count;
    b.device_info = device_info;
    b.memory_info = memory_info;
    b.alloc = alloc;
    b.free = free_memory;
    b.copy = copy;
    b.fill = fill;
    b.stream_create = create;
    b.stream_destroy = destroy;
    b.stream_synchronize = synchronize;
    b.event_create = create;
    b.event_destroy = destroy;
    b.event_record = record;
    b.event_query = query_event;
    b.stream_wait = record;
    b.find_kernels = find_kernels;
    b.list_ops = list_ops;
    return b;
  }();
  return &table;
}

int launches() { return launched; }

}  // namespace fake
