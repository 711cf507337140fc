// Python's operators. `x + y` and the like are the C++ operators or the ops of their meaning.
#include <functional>

#include "bind.h"
#include "casters.h"

namespace wick::python {
namespace {

using TensorType = nb::class_<TensorObject>;
using VarType = nb::class_<VarObject, TensorObject>;

/// A tensor of True or False for an op with `like`: a Number would be an int, which makes a tensor
/// of bool an i64.
Tensor truth(bool value, const Tensor& like) {
  return full({}, value, {DType::kBool, like.device()});
}

/// For an operand that no overload takes. NumPy's arrays leave `array + tensor` and
/// `tensor == array` to the tensor, and where both sides return NotImplemented, Python compares
/// identities.
nb::object refuse_array(const Tensor&, nb::handle other) {
  if (!nb::hasattr(other, "__array_interface__")) return nb::borrow(Py_NotImplemented);
  throw nb::type_error(
      "a Tensor and a NumPy array: make a tensor of the array, wick.Tensor(array), or an array of "
      "the tensor, tensor.numpy()");
}

/// `reversed` runs for a number on the left. If the op takes only tensors on the left, it gets one:
/// 0 b + a.
template <class Op>
void bind_binary(TensorType& type, const char* name, const char* reversed, Op op) {
  type.def(
      name, [op](const Tensor& a, const Tensor& b) -> Tensor { return op(a, b); },
      nb::is_operator(), WithoutGil());
  type.def(
      name, [op](const Tensor& a, bool b) -> Tensor { return op(a, truth(b, a)); },
      nb::is_operator(), WithoutGil());
  type.def(
      name, [op](const Tensor& a, Number b) -> Tensor { return op(a, b); }, nb::is_operator(),
      WithoutGil());
  if (!reversed) {  // Python mirrors comparisons by itself
    type.def(name, &refuse_array, nb::is_operator());
    return;
  }
  const auto from_right = [op](const Tensor& b, Number a) -> Tensor {
    if constexpr (std::invocable<Op, Number, Tensor>)
      return op(a, b);
    else
      return op(add(zeros_like(b), a), b);
  };
  type.def(
      reversed, [op](const Tensor& b, bool a) -> Tensor { return op(truth(a, b), b); },
      nb::is_operator(), WithoutGil());
  type.def(reversed, from_right, nb::is_operator(), WithoutGil());
  type.def(name, &refuse_array, nb::is_operator());
  type.def(reversed, &refuse_array, nb::is_operator());
}

/// `v += x`: writes into v's memory and gives v.
template <class Op>
void bind_in_place(VarType& type, const char* name, Op op) {
  const auto define = [&]<class Operand>() {
    type.def(
        name,
        [op](Target target, const Operand& value) {
          op(target.var, value);
          return target;
        },
        nb::is_operator(), WithoutGil());
  };
  define.template operator()<Tensor>();
  define.template operator()<Number>();
}

}  // namespace

void bind_operators(nb::module_& m) {
  auto type = nb::borrow<TensorType>(m.attr("Tensor"));
  bind_binary(type, "__add__", "__radd__", std::plus<>());
  bind_binary(type, "__sub__", "__rsub__", std::minus<>());
  bind_binary(type, "__mul__", "__rmul__", std::multiplies<>());
  bind_binary(type, "__truediv__", "__rtruediv__", std::divides<>());
  bind_binary(type, "__pow__", "__rpow__", [](const auto& a, const auto& b) { return pow(a, b); });
  bind_binary(type, "__floordiv__", "__rfloordiv__",
              [](const Tensor& a, const auto& b) { return floor_divide(a, b); });
  bind_binary(type, "__mod__", "__rmod__",
              [](const Tensor& a, const auto& b) { return remainder(a, b); });
  bind_binary(type, "__and__", "__rand__",
              [](const Tensor& a, const auto& b) { return bitwise_and(a, b); });
  bind_binary(type, "__or__", "__ror__",
              [](const Tensor& a, const auto& b) { return bitwise_or(a, b); });
  bind_binary(type, "__xor__", "__rxor__",
              [](const Tensor& a, const auto& b) { return bitwise_xor(a, b); });
  bind_binary(type, "__lshift__", "__rlshift__",
              [](const Tensor& a, const auto& b) { return bitwise_left_shift(a, b); });
  bind_binary(type, "__rshift__", "__rrshift__",
              [](const Tensor& a, const auto& b) { return bitwise_right_shift(a, b); });

  bind_binary(type, "__eq__", nullptr, std::equal_to<>());
  bind_binary(type, "__ne__", nullptr, std::not_equal_to<>());
  bind_binary(type, "__lt__", nullptr, std::less<>());
  bind_binary(type, "__le__", nullptr, std::less_equal<>());
  bind_binary(type, "__gt__", nullptr, std::greater<>());
  bind_binary(type, "__ge__", nullptr, std::greater_equal<>());
  // As in PyTorch, a tensor is a key by its identity, although == compares elements.
  nb::setattr(type, "__hash__", nb::handle((PyObject*)&PyBaseObject_Type).attr("__hash__"));

  type.def(
          "__matmul__", [](const Tensor& a, const Tensor& b) { return matmul(a, b); },
          nb::is_operator(), WithoutGil())
      .def("__matmul__", &refuse_array, nb::is_operator())
      .def("__rmatmul__", &refuse_array, nb::is_operator())
      .def(
          "__neg__", [](const Tensor& x) { return neg(x); }, WithoutGil())
      .def("__pos__", [](const Tensor& x) { return x; })
      .def(
          "__abs__", [](const Tensor& x) { return abs(x); }, WithoutGil())
      .def(
          "__invert__", [](const Tensor& x) { return bitwise_not(x); }, WithoutGil());

  auto var = nb::borrow<VarType>(m.attr("Var"));
  bind_in_place(var, "__iadd__", [](Var& v, const auto& x) { add_(v, x); });
  bind_in_place(var, "__isub__", [](Var& v, const auto& x) { sub_(v, x); });
  bind_in_place(var, "__imul__", [](Var& v, const auto& x) { mul_(v, x); });
  bind_in_place(var, "__itruediv__", [](Var& v, const auto& x) { div_(v, x); });
  bind_in_place(var, "__ipow__", [](Var& v, const auto& x) { pow_(v, x); });
}

}  // namespace wick::python
