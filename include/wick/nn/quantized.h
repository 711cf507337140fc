// Quantized weights as a type of their own, with candle's names. Tensors of a block dtype work
// without them: cast, embedding, linear and index_select take such tensors.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "wick/core/tensor.h"

namespace wick {

/// A tensor of a block dtype (q8_0 and the like), or of f32, f16 or bf16, as GGUF files hold them.
/// Copies share the data. Rows of blocks are whole: the last dim is a multiple of the block.
class WICK_API QTensor {
 public:
  /// Errors: kDTypeMismatch for another dtype; kInvalidArgument for an empty Tensor() or one of
  /// rank 0.
  explicit QTensor(Tensor values);
  /// x rounded to the dtype, on x's device. Errors: as QTensor() and cast.
  static QTensor quantize(const Tensor& x, DType dtype);
  /// The same, then copied to a device.
  static QTensor quantize_onto(const Tensor& x, DType dtype, const Device& device);
  /// Copies bytes as a file has them. Errors: kInvalidArgument unless they are as many as the shape
  /// takes; as QTensor().
  static QTensor from_data(std::span<const uint8_t> bytes, DType dtype, const Shape& shape,
                           const Device& device = Device::cpu());

  const Tensor& tensor() const { return values_; }
  DType dtype() const { return values_.dtype(); }
  Device device() const { return values_.device(); }
  int rank() const { return values_.rank(); }
  const Shape& shape() const { return values_.shape(); }
  int64_t size_in_bytes() const;
  /// The bytes as a file has them.
  std::vector<uint8_t> data() const;
  /// The values, in a floating dtype.
  Tensor dequantize(DType dtype = DType::kF32) const;
  Tensor dequantize_f16() const { return dequantize(DType::kF16); }
  /// Looks up rows of a matrix [V, D] by ids [...]: [..., D] of f32.
  Tensor embedding(const Tensor& ids) const;

 private:
  Tensor values_;
};

/// A product with a quantized matrix [out, in], by linear: x [..., in] -> [..., out], in
/// x's dtype. Gradients reach x.
class WICK_API QMatMul {
 public:
  /// Errors: kShapeMismatch unless the weight is a matrix.
  explicit QMatMul(QTensor weight);

  const QTensor& weight() const { return weight_; }
  /// Errors: as linear.
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }
  /// The weight dequantized to f16.
  Tensor dequantize_f16() const { return weight_.dequantize_f16(); }
  /// The product with the weight rounded to f16 and x cast to f16, in x's dtype.
  Tensor forward_via_f16(const Tensor& x) const;
  Tensor embedding(const Tensor& ids) const { return weight_.embedding(ids); }

 private:
  QTensor weight_;
};

}  // namespace wick
