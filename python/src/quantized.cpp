// wick.QTensor and wick.QMatMul.
#include "wick/nn/quantized.h"
#include "bind.h"
#include "casters.h"

namespace wick::python {
namespace {

QTensor from_data(const nb::bytes& data, const DTypeArgument& dtype, const Shape& shape,
                  const std::optional<DeviceArgument>& device) {
  const std::span bytes(static_cast<const uint8_t*>(data.data()), data.size());
  return QTensor::from_data(bytes, value_of(dtype, "from_data", "dtype"), shape,
                            device ? Device(*device) : Device::cpu());
}

nb::bytes data(const QTensor& q) {
  std::vector<uint8_t> bytes;
  {
    const FreedGil release;
    bytes = q.data();
  }
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void bind_quantized(nb::module_& m) {
  nb::class_<QTensor>(
      m, "QTensor",
      "A tensor of a block dtype (q8_0 and the like), or of f32, f16 or bf16, as GGUF files hold "
      "them. Tensors of a block dtype work without it: linear, embedding and to take them.")
      .def(nb::init<Tensor>(), nb::arg("values"), "Holds the tensor, without a copy.")
      .def_static(
          "quantize",
          [](const Tensor& x, const DTypeArgument& name,
             const std::optional<DeviceArgument>& device) {
            const DType dtype = value_of(name, "quantize", "dtype");
            return device ? QTensor::quantize_onto(x, dtype, Device(*device))
                          : QTensor::quantize(x, dtype);
          },
          nb::arg("x"), nb::arg("dtype"), nb::arg("device") = nb::none(), WithoutGil(),
          "x rounded to the dtype, on its own device or copied to another. The last dim is a "
          "multiple of the block.")
      .def_static("from_data", &from_data, nb::arg("data"), nb::arg("dtype"), nb::arg("shape"),
                  nb::arg("device") = nb::none(), "Copies bytes as a file has them.")
      .def("data", &data, "The bytes as a file has them.")
      .def_prop_ro("tensor", [](const QTensor& q) { return q.tensor(); })
      .def_prop_ro("dtype", &QTensor::dtype)
      .def_prop_ro("device", &QTensor::device)
      .def_prop_ro("shape", [](const QTensor& q) { return q.shape(); })
      .def_prop_ro("ndim", &QTensor::rank)
      .def_prop_ro("nbytes", &QTensor::size_in_bytes)
      .def(
          "dequantize",
          [](const QTensor& q, const DTypeArgument& dtype) {
            return q.dequantize(value_of(dtype, "dequantize", "dtype"));
          },
          nb::arg("dtype") = DTypeArgument(DType::kF32), WithoutGil(),
          "The values, in a floating dtype.")
      .def("embedding", &QTensor::embedding, nb::arg("ids"), WithoutGil(),
           "Rows of a matrix [V, D] by ids [...]: [..., D] of f32.")
      .def("__repr__", [](const QTensor& q) {
        return "wick.QTensor(shape=" + to_string(q.shape()) + ", dtype=" + dtype_name(q.dtype()) +
               ", device=" + to_string(q.device()) + ")";
      });

  nb::class_<QMatMul>(m, "QMatMul",
                      "A product with a quantized matrix [out, in]: x [..., in] -> [..., out], in "
                      "x's dtype. Gradients reach x.")
      .def(nb::init<QTensor>(), nb::arg("weight"))
      .def_prop_ro("weight", &QMatMul::weight)
      .def("__call__", &QMatMul::operator(), nb::arg("x"), WithoutGil())
      .def("forward_via_f16", &QMatMul::forward_via_f16, nb::arg("x"), WithoutGil(),
           "The product with the weight rounded to f16 and x cast to f16, in x's dtype.");
}

}  // namespace wick::python
