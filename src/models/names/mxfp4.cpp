#include "models/names/mxfp4.h"

#include <cstring>

namespace wick {
namespace {

constexpr int64_t kElements = 32, kQuants = 16;  // of a block; bytes of its elements

Tensor packed(const Tensor& blocks, const Tensor& scales, const Shape& shape) {
  const Tensor quants = blocks.to(Device::cpu()).contiguous(),
               exponents = scales.to(Device::cpu()).contiguous();
  Tensor result = Tensor::empty(shape, {.dtype = DType::kMXFP4});
  const auto* in = static_cast<const uint8_t*>(quants.data());
  const auto* scale = static_cast<const uint8_t*>(exponents.data());
  auto* out = static_cast<uint8_t*>(result.data());
  for (int64_t block = 0; block < exponents.numel(); block++) {
    *out++ = scale[block];
    for (int64_t i = 0; i < kQuants; i++) {
      const int shift = i % 2 == 0 ? 0 : 4;
      const int low = in[i / 2] >> shift & 15, high = in[kQuants / 2 + i / 2] >> shift & 15;
      *out++ = uint8_t(low | high << 4);
    }
    in += kQuants;
  }
  return result;
}

}  // namespace

void pack_mxfp4(TensorPlan& plan) {
  constexpr std::string_view kBlocks = "_blocks";
  for (const std::string& name : plan.names()) {
    if (!name.ends_with(kBlocks)) continue;
    const std::string base = name.substr(0, name.size() - kBlocks.size()),
                      scales = base + "_scales";
    if (!plan.has(scales)) continue;
    const TensorInfo blocks = plan.info(name), exponents = plan.info(scales);
    Shape expected = exponents.shape;
    expected.insert(expected.size(), kQuants);
    check(blocks.dtype == DType::kU8 && exponents.dtype == DType::kU8 &&
              exponents.shape.size() > 0 && blocks.shape == expected,
          ErrorCode::kFormat, plan.where(), "tensors \"", name, "\" and \"", scales,
          "\": expected u8 [..., blocks, 16] and [..., blocks], got ", dtype_name(blocks.dtype),
          " ", blocks.shape, " and ", dtype_name(exponents.dtype), " ", exponents.shape);
    Shape shape = exponents.shape;
    shape[shape.size() - 1] *= kElements;
    plan.add(
        base + ".weight", {name, scales}, {DType::kMXFP4, shape},
        [shape](const std::vector<Tensor>& inputs) { return packed(inputs[0], inputs[1], shape); });
    plan.drop(name);
    plan.drop(scales);
  }
}

}  // namespace wick
