#include "core/launch.h"

#include <algorithm>

#include "base/assert.h"
#include "core/stream.h"
#include "core/work_gate.h"
#include "wick/abi/merge.h"
#include "wick/abi/ops/cast.h"
#include "wick/core/numerics.h"

namespace wick {
namespace {

constexpr int kMaxInputs = 3;  // of an elementwise op

/// The reason that the current settings forbid the kernel, regardless of operands; nullptr if
/// allowed.
const char* forbidden(const Kernel& kernel) {
  if ((kernel.flags & kKernelUnordered) != 0 && deterministic())
    return "its order of summation varies, which set_deterministic(true) forbids";
  if ((kernel.flags & kKernelRoundsInputs) != 0 && !round_activations())
    return "it rounds activations, which set_round_activations(false) forbids";
  if ((kernel.flags & kKernelRoundsF32) != 0 && matmul_precision() == MatmulPrecision::kF32)
    return "it rounds f32 operands, which set_matmul_precision does not permit";
  return nullptr;
}

Call make_call(const Device& device, const Op& op, std::span<const View> in,
               std::span<const View> out, Attributes attributes) {
  Call call{};
  call.in = in.data();
  call.out = out.data();
  call.num_in = int32_t(in.size());
  call.num_out = int32_t(out.size());
  call.attributes = attributes.data;
  call.device = device.state().device();
  call.stream = current_stream(device.state());
  call.op = &op;
  return call;
}

/// Gives the call the scratch memory that the kernel asks for; nullptr if none.
std::shared_ptr<Storage> add_scratch(const Device& device, const Kernel& kernel, Call* call) {
  call->scratch = nullptr;
  call->scratch_bytes =
      kernel.scratch_bytes ? kernel.scratch_bytes(&kernel, call, &device.state().info) : 0;
  if (call->scratch_bytes <= 0) return nullptr;
  std::shared_ptr<Storage> scratch = Storage::allocate(device, call->scratch_bytes);
  call->scratch = scratch->data();
  return scratch;
}

}  // namespace

Operand operand(const Tensor& x) { return {x.data(), x.dtype(), x.strides()}; }
Operand operand(const Tensor& x, const Shape& broadcast) {
  Operand result{x.data(), x.dtype(), {}};
  if (!broadcast_strides(x.layout(), broadcast, &result.strides))
    fail(ErrorCode::kShapeMismatch, "broadcast", "shape ", x.shape(), " does not broadcast to ",
         broadcast);
  return result;
}

Shape collapse(const Shape& shape, std::span<Dims*> strides) {
  Shape kept(shape.size(), 1);
  int rank = 0;
  for (int d = 0; d < shape.size(); d++)  // in place: rank is at most d
    rank = append_dim(
        kept.data(), rank, shape[d], int(strides.size()),
        [&](int o) { return strides[size_t(o)]->data(); },
        [&](int o) { return (*strides[size_t(o)])[d]; });
  for (Dims* s : strides) *s = Dims(std::span<const int64_t>(s->data(), size_t(rank)));
  return Shape(std::span<const int64_t>(kept.data(), size_t(rank)));
}

View make_view(void* data, DType dtype, const Shape& shape, const Dims& strides) {
  View view{};
  view.data = data;
  view.dtype = dtype;
  view.rank = shape.size();
  std::copy(shape.begin(), shape.end(), view.shape);
  std::copy(strides.begin(), strides.end(), view.strides);
  return view;
}

View make_view(const Tensor& x) { return make_view(x.data(), x.dtype(), x.shape(), x.strides()); }

bool try_launch(const Device& device, const Op& op, std::span<const View> in,
                std::span<const View> out, Attributes attributes, Declined* declined) {
  DeviceState& state = device.state();
  DType dtypes[2 * kMaxOperands];
  int count = 0;
  for (const View& v : in) dtypes[count++] = v.dtype;
  for (const View& v : out) dtypes[count++] = v.dtype;
  WICK_ASSERT(attributes.facts == op.attributes);
  const KernelQuery query{&op, dtypes, int32_t(in.size()), int32_t(out.size())};
  Call call = make_call(device, op, in, out, attributes);
  for (const Kernel& kernel : state.kernels(query)) {
    const char* why = forbidden(kernel);
    if (!why && kernel.accepts) why = kernel.accepts(&kernel, &call, &state.info);
    if (why) {
      if (declined) declined->why = why;
      continue;
    }
    const std::shared_ptr<Storage> scratch = add_scratch(device, kernel, &call);
    const Status status = [&] {
      const QueueScope queueing(state);
      return kernel.run(&kernel, &call);
    }();
    if (status.code != StatusCode::kDeclined) {
      state.require(status, op.name);
      return true;
    }
    if (declined) declined->why = status.text ? status.text : "it gave no reason";
  }
  return false;
}

bool try_elementwise(const Device& device, const Op& op, const Shape& shape,
                     std::span<const Operand> in, std::span<const Operand> out,
                     Attributes attributes, Declined* declined) {
  if (numel(shape) == 0) return true;
  Dims strides[kMaxInputs + 1];
  Dims* pointers[kMaxInputs + 1];
  const size_t count = in.size() + out.size();
  const auto at = [&](size_t i) -> const Operand& {
    return i < in.size() ? in[i] : out[i - in.size()];
  };
  for (size_t i = 0; i < count; i++) {
    strides[i] = at(i).strides;
    pointers[i] = &strides[i];
  }
  const Shape collapsed = collapse(shape, {pointers, count});
  const int outer = std::max(0, collapsed.size() - kMaxRank);  // outer dims looped over here
  const Shape inner(std::span(collapsed.data() + outer, size_t(collapsed.size() - outer)));
  View views[kMaxInputs + 1];
  for (size_t i = 0; i < count; i++)
    views[i] =
        make_view(at(i).data, at(i).dtype, inner,
                  Dims(std::span<const int64_t>(strides[i].data() + outer, size_t(inner.size()))));
  int64_t loops = 1;
  for (int d = 0; d < outer; d++) loops *= collapsed[d];
  for (int64_t loop = 0; loop < loops; loop++) {
    for (size_t i = 0; i < count && outer > 0; i++) {
      int64_t rest = loop, offset = 0;
      for (int d = outer; d-- > 0; rest /= collapsed[d])
        offset += rest % collapsed[d] * strides[i][d];
      views[i].data = static_cast<char*>(at(i).data) + bytes_of(views[i].dtype, offset);
    }
    if (!try_launch(device, op, {views, in.size()}, {views + in.size(), out.size()}, attributes,
                    declined))
      return false;
  }
  return true;
}

void fail_unsupported(const Device& device, const Op& op, DType dtype, const Declined& declined,
                      const char* composite) {
  const std::string of = detail::called(op.name) == op.name ? "" : std::string(" of ") + op.name;
  if (declined.why.empty())
    fail(ErrorCode::kUnsupported, op.name, "no ", dtype_name(dtype), " kernel", of, " on ", device,
         ", ", composite);
  fail(ErrorCode::kUnsupported, op.name, "no ", dtype_name(dtype), " kernel", of, " on ", device,
       " accepts the call: ", declined.why, "; ", composite);
}

void elementwise(const Device& device, const Op& op, const Shape& shape,
                 std::span<const Operand> in, std::span<const Operand> out, Attributes attributes) {
  Declined declined;
  if (!try_elementwise(device, op, shape, in, out, attributes, &declined))
    fail_unsupported(device, op, (in.empty() ? out : in)[0].dtype, declined);
}

void launch(const Device& device, const Op& op, std::span<const View> in, std::span<const View> out,
            Attributes attributes) {
  Declined declined;
  if (!try_launch(device, op, in, out, attributes, &declined))
    fail_unsupported(device, op, (in.empty() ? out : in)[0].dtype, declined);
}

bool may_run_in_place(const Device& device, const Op& op, std::initializer_list<DType> dtypes,
                      int num_in) {
  const KernelQuery query{&op, dtypes.begin(), num_in, int32_t(dtypes.size()) - num_in};
  const auto kernels = device.state().kernels(query);
  return !kernels.empty() && (kernels[0].flags & kKernelInPlace) != 0;
}

Tensor as_bytes(const Tensor& x) {
  Layout layout = x.layout();
  const int last = layout.rank() - 1;
  for (int d = 0; d < last; d++)
    layout.strides[d] = layout.shape[d] == 1 ? 0 : bytes_of(x.dtype(), layout.strides[d]);
  layout.shape[last] = bytes_of(x.dtype(), layout.shape[last]);
  layout.offset = bytes_of(x.dtype(), layout.offset);
  return Tensor(x.storage(), layout, DType::kU8);
}

void copy_elements(const Tensor& from, const Tensor& to) {
  if (is_block(from.dtype()) && from.dtype() == to.dtype())
    return copy_elements(as_bytes(from), as_bytes(to));
  const Operand in = operand(from), out = operand(to);
  elementwise(from.device(), kCast, from.shape(), {&in, 1}, {&out, 1});
}

Tensor own_copy(const Tensor& x) {
  const Tensor own = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  copy_elements(x, own);
  return own;
}

Tensor apart_from(const Tensor& target, const Tensor& x) {
  const Layout &at = target.layout(), &from = x.layout();
  const bool in_step = x.dtype() == target.dtype() && from.shape == at.shape &&
                       from.strides == at.strides && from.offset == at.offset;
  return x.storage() == target.storage() && !in_step ? own_copy(x) : x;
}

}  // namespace wick
