#include "wick/nn/quantized.h"

#include "wick/ops/cast.h"
#include "wick/ops/gather.h"
#include "wick/ops/matmul.h"

namespace wick {

QTensor::QTensor(Tensor values) : values_(std::move(values)) {
  check(bool(values_), ErrorCode::kInvalidArgument, "QTensor", "the tensor is an empty Tensor()");
  const DType dtype = values_.dtype();
  check(is_block(dtype) || dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16,
        ErrorCode::kDTypeMismatch, "QTensor", "expected a block dtype, f32, f16 or bf16, got ",
        dtype_name(dtype));
  check(values_.rank() > 0, ErrorCode::kInvalidArgument, "QTensor",
        "expected rank 1 or more, got 0");
}

QTensor QTensor::quantize(const Tensor& x, DType dtype) { return QTensor(cast(x, dtype)); }

QTensor QTensor::quantize_onto(const Tensor& x, DType dtype, const Device& device) {
  return QTensor(cast(x, dtype).to(device));
}

QTensor QTensor::from_data(std::span<const uint8_t> bytes, DType dtype, const Shape& shape,
                           const Device& device) {
  const int64_t expected = bytes_of(dtype, numel(shape));
  check(int64_t(bytes.size()) == expected, ErrorCode::kInvalidArgument, "QTensor",
        "bytes: expected ", expected, " for ", dtype_name(dtype), " ", shape, ", got ",
        bytes.size());
  return QTensor(Tensor::from_bytes(bytes.data(), dtype, shape, device));
}

int64_t QTensor::size_in_bytes() const { return bytes_of(dtype(), values_.numel()); }

std::vector<uint8_t> QTensor::data() const {
  std::vector<uint8_t> bytes(static_cast<size_t>(size_in_bytes()));
  values_.read(bytes.data());
  return bytes;
}

Tensor QTensor::dequantize(DType dtype) const {
  check(is_floating(dtype), ErrorCode::kDTypeMismatch, "dequantize",
        "expected a floating dtype, got ", dtype_name(dtype));
  return cast(values_, dtype);
}

Tensor QTensor::embedding(const Tensor& ids) const {
  return wick::embedding(values_, ids, DType::kF32);
}

QMatMul::QMatMul(QTensor weight) : weight_(std::move(weight)) {
  check(weight_.rank() == 2, ErrorCode::kShapeMismatch, "QMatMul",
        "expected weight [out, in], got ", weight_.shape());
}

Tensor QMatMul::operator()(const Tensor& x) const { return linear(x, weight_.tensor()); }

Tensor QMatMul::forward_via_f16(const Tensor& x) const {
  const Tensor y = linear(cast(x, DType::kF16), weight_.dequantize_f16());
  return cast(y, x.dtype());
}

}  // namespace wick
