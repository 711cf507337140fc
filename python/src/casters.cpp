#include "casters.h"

#include <limits>

#include "dtype_names.h"

namespace wick::python {

DType DTypeArgument::value(std::string_view op, std::string_view argument) const {
  if (const auto* dtype = std::get_if<DType>(&given_)) return *dtype;
  const std::string& name = std::get<std::string>(given_);
  if (const auto dtype = dtype_of_any_name(name)) return *dtype;
  std::string names;
  for (int d = 0; d < kNumDTypes; d++)
    names += std::string(d > 0 ? ", " : "") + dtype_name(DType(d));
  fail(ErrorCode::kInvalidArgument, op, argument, ": expected one of ", names, ", got \"", name,
       "\"");
}

}  // namespace wick::python

namespace nanobind::detail {

using wick::python::try_cast;

bool type_caster<wick::DType>::from_python(handle src, uint32_t flags,
                                           cleanup_list* cleanup) noexcept {
  if (const auto name = try_cast<std::string_view>(src, flags, cleanup)) {
    const auto dtype = wick::python::dtype_of_any_name(*name);
    if (dtype) value = *dtype;
    return dtype.has_value();
  }
  int64_t number;
  if (!NB_CALL(enum_from_python)(NB_CTX_C(cleanup), &typeid(wick::DType), src.ptr(), &number,
                                 flags))
    return false;
  value = wick::DType(number);
  return true;
}

handle type_caster<wick::DType>::from_cpp(wick::DType dtype, rv_policy,
                                          cleanup_list* cleanup) noexcept {
  return NB_CALL(enum_from_cpp)(NB_CTX_C(cleanup), &typeid(wick::DType), int64_t(dtype));
}

bool type_caster<wick::Number>::from_python(handle src, uint32_t, cleanup_list*) noexcept {
  if (PyFloat_Check(src.ptr())) {
    value.emplace(PyFloat_AS_DOUBLE(src.ptr()));
    return true;
  }
  // Tensors and arrays have __index__ and __float__ too, but they are operands of their own.
  if (PyObject_HasAttrString(src.ptr(), "__len__")) return false;
  if (PyIndex_Check(src.ptr())) {
    if (PyBool_Check(src.ptr())) {
      value.emplace(src.ptr() == Py_True);
      return true;
    }
    const object whole = steal(PyNumber_Index(src.ptr()));
    int overflow = 0;
    const long long integer = whole ? PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow) : -1;
    if (overflow > 0)
      value.emplace(PyLong_AsUnsignedLongLong(whole.ptr()));
    else
      value.emplace(integer);
    if (overflow < 0) PyErr_SetString(PyExc_OverflowError, "int below -2^63");
  } else if (PyNumber_Check(src.ptr()) && !PyComplex_Check(src.ptr())) {
    value.emplace(PyFloat_AsDouble(src.ptr()));
  } else {
    return false;
  }
  const bool failed = PyErr_Occurred() != nullptr;
  PyErr_Clear();
  return !failed;
}

bool type_caster<wick::Slice>::from_python(handle src, uint32_t flags,
                                           cleanup_list* cleanup) noexcept {
  if (!PySlice_Check(src.ptr())) return false;
  const auto* slice = reinterpret_cast<PySliceObject*>(src.ptr());
  const std::pair<std::optional<int64_t>*, PyObject*> bounds[] = {
      {&value.start, slice->start}, {&value.stop, slice->stop}, {&value.step, slice->step}};
  for (const auto& [bound, given] : bounds) {
    if (given == Py_None) continue;
    *bound = try_cast<int64_t>(given, flags, cleanup);
    if (!*bound) return false;
  }
  return true;
}

bool type_caster<wick::Index>::from_python(handle src, uint32_t flags,
                                           cleanup_list* cleanup) noexcept {
  if (src.is_none()) {
    value.emplace(wick::kNewAxis);
  } else if (src.ptr() == Py_Ellipsis) {
    value.emplace(wick::kEllipsis);
  } else if (const auto slice = try_cast<wick::Slice>(src, flags, cleanup)) {
    value.emplace(*slice);
  } else if (const auto tensor = try_cast<wick::Tensor>(src, flags, cleanup)) {
    value.emplace(*tensor);
  } else if (const auto number = try_cast<wick::Number>(src, flags, cleanup);
             number && number->is_integer() && !PyBool_Check(src.ptr())) {
    value.emplace(number->integer());
  } else if (!number && !PyUnicode_Check(src.ptr())) {
    try {
      const wick::Tensor ids = wick::python::tensor_of(src);
      // A list without numbers is one without ids.
      const bool is_empty = ids.numel() == 0 && PyList_Check(src.ptr());
      value.emplace(is_empty ? ids.to(wick::DType::kI64) : ids);
    } catch (const std::exception&) {
      return false;
    }
  }
  return value.has_value();
}

}  // namespace nanobind::detail
