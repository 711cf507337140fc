#include "wick/nn/quantized.h"

#include "../exact_activations.h"
#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

/// Values that q8_0 holds exactly: blocks of 32 whose largest is 127 / 8.
Tensor exact_values(const Shape& shape) {
  std::vector<float> values(size_t(numel(shape)));
  for (size_t i = 0; i < values.size(); i++)
    values[i] = i % 32 == 31 ? 127 / 8.0f : float(i * 37 % 255) / 8 - 127 / 8.0f;
  return Tensor::from(values, shape);
}

TEST(QTensor, QuantizesAndGivesItsValuesAndBytesBack) {
  const Tensor x = exact_values({3, 64});
  const QTensor q = QTensor::quantize(x, DType::kQ8_0);
  EXPECT_EQ(q.dtype(), DType::kQ8_0);
  EXPECT_EQ(q.shape(), (Shape{3, 64}));
  EXPECT_EQ(q.rank(), 2);
  EXPECT_EQ(q.device(), Device::cpu());
  EXPECT_EQ(q.size_in_bytes(), 3 * 2 * 34);
  EXPECT_EQ(q.dequantize().to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(q.dequantize_f16().dtype(), DType::kF16);
  const QTensor same = QTensor::from_data(q.data(), DType::kQ8_0, {3, 64});
  EXPECT_EQ(same.data(), q.data());
  EXPECT_EQ(same.dequantize().to_vector<float>(), x.to_vector<float>());
  const Tensor ids = Tensor::from({int64_t(2), int64_t(0)});
  EXPECT_EQ(q.embedding(ids).to_vector<float>(), wick::embedding(x, ids).to_vector<float>());
}

TEST(QTensor, AViewIsQuantizedAsItReads) {
  const Tensor table = exact_values({4, 64}), rows = narrow(table, 0, 1, 2);
  EXPECT_EQ(QTensor::quantize(rows, DType::kQ8_0).dequantize().to_vector<float>(),
            rows.to_vector<float>());
}

TEST(QTensor, MovesToADevice) {
  const Tensor x = exact_values({2, 32});
  const QTensor q = QTensor::quantize_onto(x, DType::kQ8_0, Device::emulated(32));
  EXPECT_EQ(q.device(), Device::emulated(32));
  EXPECT_EQ(q.data(), QTensor::quantize(x, DType::kQ8_0).data());
}

TEST(QTensor, RefusesOtherDTypesAndParts) {
  EXPECT_ERROR(QTensor(zeros({2}, {.dtype = DType::kI64})), kDTypeMismatch,
               "QTensor: expected a block dtype, f32, f16 or bf16, got i64");
  EXPECT_ERROR(QTensor(Tensor()), kInvalidArgument, "QTensor: the tensor is an empty Tensor()");
  EXPECT_ERROR(QTensor(zeros({})), kInvalidArgument, "QTensor: expected rank 1 or more, got 0");
  EXPECT_ERROR(QTensor::quantize(zeros({2, 33}), DType::kQ8_0), kInvalidArgument, "33");
  EXPECT_ERROR(QTensor::quantize(zeros({2, 32}), DType::kI64), kDTypeMismatch, "got i64");
  const std::vector<uint8_t> bytes(67);
  EXPECT_ERROR(QTensor::from_data(bytes, DType::kQ8_0, {2, 32}), kInvalidArgument,
               "QTensor: bytes: expected 68 for q8_0 [2, 32], got 67");
  EXPECT_ERROR(QTensor::quantize(zeros({1, 32}), DType::kQ8_0).dequantize(DType::kI64),
               kDTypeMismatch, "dequantize: expected a floating dtype, got i64");
  EXPECT_ERROR(QMatMul(QTensor(zeros({2}))), kShapeMismatch,
               "QMatMul: expected weight [out, in], got [2]");
}

TEST(QMatMul, MultipliesByTheTransposeAndPassesGradientsToX) {
  const ExactActivations unrounded;
  const Tensor weight = exact_values({5, 64});
  const QMatMul product(QTensor::quantize(weight, DType::kQ8_0));
  const Var x(exact_values({3, 64}) / 16);
  const Tensor y = product(x), expected = matmul(x, transpose(weight));
  EXPECT_EQ(y.shape(), (Shape{3, 5}));
  EXPECT_LT(max(abs(y - expected)).item<float>(), 1e-3f);
  EXPECT_LT(max(abs(product.forward_via_f16(x) - expected)).item<float>(), 1.0f);
  backward(sum(y));
  const std::vector<float> sums = sum(weight, {.dims = {0}}).to_vector<float>();
  const std::vector<float> gradient = x.grad().to_vector<float>();
  for (size_t i = 0; i < gradient.size(); i++) EXPECT_NEAR(gradient[i], sums[i % 64], 1e-3f);
}

}  // namespace
}  // namespace wick
