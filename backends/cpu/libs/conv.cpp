// oneDNN chooses the layouts that it computes in: blocks of channels. Operands that lie otherwise
// are reordered at each call, the weights too, which costs less than the blocked kernels win. It
// also chooses by the number of threads, and with that the order of its sums: so a convolution is
// cut into parts by its shape alone, each of which one thread computes.
#include "libs/conv.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/parallel.h"
#include "dispatch/matmul.h"
#include "dispatch/workers.h"
#include "libs/conv_cut.h"
#include "libs/onednn.h"
#include "libs/room.h"
#include "runtime/isa.h"
#include "runtime/table.h"
#include "scalar/round_up.h"
#include "wick/abi/ops/conv.h"

namespace wick::cpu {
namespace {

using dnnl::memory;
using onednn::engine, onednn::Key;

/// A view as oneDNN wants it. The stride of a dim of size 1 is free: a dense one.
memory::desc desc_of(const View& view, int64 groups) {
  memory::dims dims, strides;
  for (int d = 0; d < 4; d++) {
    dims.push_back(view.shape[d]);
    strides.push_back(view.strides[d]);
  }
  if (groups > 1) {
    dims[0] /= groups;
    dims.insert(dims.begin(), groups);
    strides.insert(strides.begin(), dims[1] * strides[0]);
  }
  int64 dense = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) strides[d] = dense;
    dense = strides[d] * dims[d];
  }
  const auto type = view.dtype == DType::kBf16 ? memory::data_type::bf16 : memory::data_type::f32;
  return memory::desc(dims, type, strides);
}
memory::desc any_layout(const memory::desc& desc, memory::data_type type) {
  return memory::desc(desc.dims(), type, memory::format_tag::any);
}

constexpr int64 kAlignment = 64;
int64 aligned(int64 bytes) { return round_up(bytes, kAlignment); }

/// An operand: how it lies, how it is computed with, and the way from one to the other, if they
/// differ.
struct Operand {
  memory::desc own, inner;
  std::optional<dnnl::reorder> reorder;
  int64 scratch = 0, reorder_scratch = 0;  // bytes
};

struct Kept {
  const char* refused = nullptr;
  dnnl::primitive primitive;
  Operand x, weight, y;
  int64 primitive_scratch = 0;
  int64 scratch = 0;  // of all
};

void choose(Operand& operand, const memory::desc& own, const memory::desc& inner, bool is_result) {
  operand.own = own;
  operand.inner = inner;
  if (own == inner) return;
  const dnnl::reorder::primitive_desc desc(engine(), is_result ? inner : own, engine(),
                                           is_result ? own : inner, onednn::attributes());
  operand.reorder = dnnl::reorder(desc);
  operand.scratch = aligned(int64(inner.get_size()));
  operand.reorder_scratch = aligned(int64(desc.scratchpad_desc().get_size()));
}

std::shared_ptr<const Kept> make(const Convolution& c) {
  const ConvAttributes& a = c.attributes;
  auto kept = std::make_shared<Kept>();
  const memory::desc x = desc_of(c.x, 1), weight = desc_of(c.weight, a.groups), y = desc_of(c.y, 1);
  // bf16 kernels multiply in pairs, and the one after the last element by 0: NaN there would
  // become the sum's. So weights' gradients compute in f32, and channels that fill no block of the
  // widest kernels (AMX's, of 32) are blocked with zeros at the end.
  const bool bf16 = c.x.dtype == DType::kBf16;
  const auto type =
      bf16 && c.op != kConvWeightGradient ? memory::data_type::bf16 : memory::data_type::f32;
  memory::desc x_any = any_layout(x, type);
  if (bf16 && c.op == kConv && c.weight.shape[1] % 32 != 0)
    x_any = memory::desc(x.dims(), type, memory::format_tag::nChw16c);
  const memory::desc weight_any = any_layout(weight, type), y_any = any_layout(y, type);
  const memory::dims stride(a.stride, a.stride + 2), before(a.padding, a.padding + 2),
      dilation{a.dilation[0] - 1, a.dilation[1] - 1},
      behind{c.padding_behind(0), c.padding_behind(1)};
  const auto finish = [&](const auto& desc, const auto& primitive, const memory::desc& x_inner,
                          const memory::desc& weight_inner, const memory::desc& y_inner) {
    // The plain loops are slower than the composite.
    if (std::string_view(desc.impl_info_str()).starts_with("ref")) {
      kept->refused = "oneDNN has plain loops alone for this";
      return;
    }
    kept->primitive = primitive;
    choose(kept->x, x, x_inner, c.op == kConvInputGradient);
    choose(kept->weight, weight, weight_inner, c.op == kConvWeightGradient);
    choose(kept->y, y, y_inner, c.op == kConv);
    kept->primitive_scratch = aligned(int64(desc.scratchpad_desc().get_size()));
    kept->scratch = kept->primitive_scratch;
    for (const Operand* o : {&kept->x, &kept->weight, &kept->y})
      kept->scratch += o->scratch + o->reorder_scratch;
  };
  try {
    const auto algorithm = dnnl::algorithm::convolution_direct;
    using Forward = dnnl::convolution_forward;
    const Forward::primitive_desc forward(
        Forward::desc(dnnl::prop_kind::forward_training, algorithm, x_any, weight_any, y_any,
                      stride, dilation, before, behind),
        onednn::attributes(), engine());
    if (c.op == kConv) {
      finish(forward, Forward(forward), forward.src_desc(), forward.weights_desc(),
             forward.dst_desc());
    } else if (c.op == kConvInputGradient) {
      using Data = dnnl::convolution_backward_data;
      const Data::primitive_desc desc(
          Data::desc(algorithm, x_any, weight_any, y_any, stride, dilation, before, behind),
          onednn::attributes(), engine(), forward);
      finish(desc, Data(desc), desc.diff_src_desc(), desc.weights_desc(), desc.diff_dst_desc());
    } else {
      using Weights = dnnl::convolution_backward_weights;
      const Weights::primitive_desc desc(
          Weights::desc(algorithm, x_any, weight_any, y_any, stride, dilation, before, behind),
          onednn::attributes(), engine(), forward);
      finish(desc, Weights(desc), desc.src_desc(), desc.diff_weights_desc(), desc.diff_dst_desc());
    }
  } catch (const dnnl::error&) {
    kept->refused = "oneDNN has no such convolution";
  }
  return kept;
}

Key key_of(const Convolution& c) {
  Key key;
  size_t at = 0;
  const ConvAttributes& a = c.attributes;
  for (const int64 n :
       {int64(c.op.id), int64(c.x.dtype), int64(c.weight.dtype), a.groups, a.stride[0], a.stride[1],
        a.padding[0], a.padding[1], a.dilation[0], a.dilation[1]})
    key.numbers[at++] = n;
  for (const View* view : {&c.x, &c.weight, &c.y}) {
    for (int d = 0; d < 4; d++) {
      key.numbers[at++] = view->shape[d];
      key.numbers[at++] = view->strides[d];
    }
  }
  return key;
}

std::shared_ptr<const Kept> kept_for(const Convolution& c) {
  // Never destroyed: oneDNN's own statics may go first.
  static auto* const cache = new onednn::Cache<Kept>;
  return cache->get(key_of(c), [&] { return make(c); });
}

const char* refusal(const ConvCut& cut) {
  const char* refused = nullptr;
  cut.each_shape([&](int64 i) {
    if (!refused) refused = kept_for(cut.part(i, nullptr))->refused;
  });
  return refused;
}

/// In one part where oneDNN has plain loops alone for those that would be computed side by side.
ConvCut cut_of(const Convolution& c) {
  const ConvCut cut(c);
  return cut.parts() > 1 && refusal(cut) ? ConvCut::whole(c) : cut;
}

/// Who computes the parts, with room for the one that needs the most.
Workers workers_for(const ConvCut& cut) {
  int64 scratch = 0;
  cut.each_shape(
      [&](int64 i) { scratch = std::max(scratch, kept_for(cut.part(i, nullptr))->scratch); });
  return {cut.parts(), cut.parts(), scratch};
}

const char* accepts(const Kernel*, const Call* call, const DeviceInfo*) {
  if (call->in[0].dtype == DType::kBf16 && isa() != Isa::kAvx512)
    return "oneDNN has bf16 on AVX-512 only";
  const Convolution c(*call);
  for (const View* view : {&c.x, &c.weight, &c.y})
    if (view->numel() == 0) return "an operand is empty";
  for (int d = 0; d < 2; d++)
    if (c.padding_behind(d) <= -c.attributes.stride[d])
      return "elements behind the windows are more than a stride";
  if (!has_room(kOneDnnRoom)) return "there is no memory for oneDNN's code";
  const SequentialLibraries sequential;
  return refusal(cut_of(c));
}

int64 scratch_bytes(const Kernel*, const Call* call, const DeviceInfo*) {
  const SequentialLibraries sequential;
  const ConvCut cut = cut_of(Convolution(*call));
  return aligned(cut.sum_bytes()) + workers_for(cut).scratch();
}

/// Hands out parts of the scratch memory, one after another.
class Scratch {
 public:
  explicit Scratch(char* begin) : at_(begin) {}
  void* take(int64 bytes) {
    char* const part = at_;
    at_ += bytes;
    return part;
  }
  memory as_bytes(int64 bytes) {
    return memory(memory::desc({bytes}, memory::data_type::u8, memory::format_tag::a), engine(),
                  take(bytes));
  }

 private:
  char* at_;
};

/// Throws dnnl::error.
void compute(const Convolution& c, char* buffer) {
  const std::shared_ptr<const Kept> kept = kept_for(c);
  Scratch scratch(buffer);
  dnnl::stream stream(engine());
  /// The operand's elements in the layout that is computed in, or room for them.
  const auto inner = [&](const Operand& o, const View& view, bool is_result) {
    const memory own(o.own, engine(), view.data);
    if (!o.reorder) return own;
    memory other(o.inner, engine(), scratch.take(o.scratch));
    if (!is_result)
      o.reorder->execute(stream, {{DNNL_ARG_FROM, own},
                                  {DNNL_ARG_TO, other},
                                  {DNNL_ARG_SCRATCHPAD, scratch.as_bytes(o.reorder_scratch)}});
    return other;
  };
  const bool of_x = c.op == kConvInputGradient, of_weight = c.op == kConvWeightGradient,
             of_y = c.op == kConv;
  const memory x = inner(kept->x, c.x, of_x), weight = inner(kept->weight, c.weight, of_weight),
               y = inner(kept->y, c.y, of_y);
  kept->primitive.execute(stream,
                          {{of_x ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, x},
                           {of_weight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, weight},
                           {of_y ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, y},
                           {DNNL_ARG_SCRATCHPAD, scratch.as_bytes(kept->primitive_scratch)}});
  const Operand& result = of_x ? kept->x : of_weight ? kept->weight : kept->y;
  if (result.reorder)
    result.reorder->execute(stream,
                            {{DNNL_ARG_FROM, of_x        ? x
                                             : of_weight ? weight
                                                         : y},
                             {DNNL_ARG_TO, memory(result.own, engine(), c.result().data)},
                             {DNNL_ARG_SCRATCHPAD, scratch.as_bytes(result.reorder_scratch)}});
}

Status run(const Kernel* kernel, const Call* call) {
  const SequentialLibraries sequential;
  try {
    const Convolution c(*call);
    const ConvCut cut = cut_of(c);
    const int64 sum_bytes = aligned(cut.sum_bytes());
    Workers workers = workers_for(cut);
    if (sum_bytes > call->scratch_bytes || !workers.fit(call->scratch_bytes - sum_bytes))
      return error(StatusCode::kInvalidArgument, "%s: expected %lld bytes of scratch, got %lld",
                   kernel->name, (long long)(sum_bytes + workers.scratch()),
                   (long long)call->scratch_bytes);
    char* const scratch = static_cast<char*>(call->scratch);
    float* const sums = reinterpret_cast<float*>(scratch);
    alignas(Workers::kAlignment) char local[kLocalBytes];
    onednn::run_parts(workers, cut.parts(), workers.scratch() > 0 ? scratch + sum_bytes : local,
                      [&](int64 i, char* buffer) { compute(cut.part(i, sums), buffer); });
    if (sum_bytes > 0) cut.add_up(sums);
    return {};
  } catch (const dnnl::error& e) {
    return error(onednn::code_of(e), "%s: oneDNN: %s", kernel->name, e.message);
  }
}

}  // namespace

void add_convolutions(Table& table) {
  for (const Op& op : {kConv, kConvInputGradient, kConvWeightGradient}) {
    if (!libraries_allowed()) continue;
    for (const DType t : {DType::kF32, DType::kBf16})
      table.add(op, t,
                {.accepts = accepts,
                 .scratch_bytes = scratch_bytes,
                 .run = run,
                 .flags = kKernelLibrary});
  }
}

}  // namespace wick::cpu
