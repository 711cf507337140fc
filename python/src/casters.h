// Conversions of arguments and results between Python and C++, which nanobind finds by type.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <variant>

#include "objects.h"
#include "process.h"
#include "wick/wick.h"

namespace wick::python {

namespace nb = nanobind;

/// Releases the GIL while a function runs. Arguments are converted before, results after.
using WithoutGil = nb::call_guard<ReleasedGil>;

/// The Var that an in-place function writes into: the caller's object, which the function returns.
struct Target {
  Var var;
  nb::handle object;
};

/// Arguments given one by one, as the ints of `zeros(2, 3)`; another overload is tried if they have
/// other types.
template <class List>
List separate(const nb::args& given) {
  List list;
  if (!nb::try_cast(given, list)) throw nb::next_overload();
  return list;
}

/// An argument that is a Device or its name. The name is parsed when the op runs, so that the
/// caller gets the error of Device::parse and not the binding's, which is that no overload fits.
class DeviceArgument {
 public:
  DeviceArgument() = default;
  explicit DeviceArgument(Device device) : given_(device) {}
  explicit DeviceArgument(std::string name) : given_(std::move(name)) {}

  operator Device() const {  // NOLINT: for options of ops
    const auto* name = std::get_if<std::string>(&given_);
    return name ? Device::parse(*name) : std::get<Device>(given_);
  }

 private:
  std::variant<Device, std::string> given_;
};

/// kNames: pairs of a name and an enumerator; kType: the annotation that lists the names. The
/// generated ops.h specializes it.
template <class E>
struct Names;

/// An argument that is an enumerator's name, "reflect" for PadMode::kReflect. Like a device's name,
/// it is looked up when the op runs.
template <class E>
class EnumArgument {
 public:
  EnumArgument() = default;
  explicit EnumArgument(E value) {
    for (const auto& [name, enumerator] : Names<E>::kNames)
      if (enumerator == value) name_ = name;
  }
  explicit EnumArgument(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  E value(std::string_view op, std::string_view argument) const {
    std::string names;
    for (const auto& [name, enumerator] : Names<E>::kNames) {
      if (name == name_) return enumerator;
      names += (names.empty() ? "\"" : ", \"") + std::string(name) + "\"";
    }
    fail(ErrorCode::kInvalidArgument, op, argument, ": expected one of ", names, ", got \"", name_,
         "\"");
  }

 private:
  std::string name_;
};

/// An argument that is a DType or its name, which is looked up when the op runs.
class DTypeArgument {
 public:
  DTypeArgument() = default;
  explicit DTypeArgument(DType dtype) : given_(dtype) {}
  explicit DTypeArgument(std::string name) : given_(std::move(name)) {}

  DType value(std::string_view op, std::string_view argument) const;

 private:
  std::variant<DType, std::string> given_;
};

/// The C++ value of a Python argument: an enumerator for its name.
template <class E>
E value_of(const EnumArgument<E>& given, std::string_view op, std::string_view argument) {
  return given.value(op, argument);
}
inline DType value_of(const DTypeArgument& given, std::string_view op, std::string_view argument) {
  return given.value(op, argument);
}
inline std::optional<DType> value_of(const std::optional<DTypeArgument>& given, std::string_view op,
                                     std::string_view argument) {
  return given ? std::optional(given->value(op, argument)) : std::nullopt;
}

/// Makes a Tensor of a Tensor, a number, nested lists, or an array (buffer or DLPack), whose values
/// it copies. Raises TypeError for other objects. Without a dtype, ints become i64, floats f32;
/// arrays and tensors keep theirs.
Tensor tensor_of(nb::handle data, std::optional<DType> dtype = {},
                 const std::optional<DeviceArgument>& device = {});

/// The key of x[key]: one index or a tuple of indices.
struct Key {
  std::vector<Index> items;
  std::vector<size_t> lists;  // positions in items of ids that Python gave as lists or arrays

  /// The items for a tensor on this device, which lists and arrays are copied to.
  std::vector<Index> on(const Device& device) const {
    std::vector<Index> result = items;
    for (const size_t i : lists) result[i] = std::get<Tensor>(items[i].item()).to(device);
    return result;
  }
};

/// Makes a function of the module a method of a class, under this name. The receiver is the
/// function's first argument.
inline void add_method(nb::handle type, const char* name, nb::handle function) {
  nb::setattr(type, name, nb::steal(PyInstanceMethod_New(function.ptr())));
}

/// kMembers: the fields of a C++ struct that is a tuple in Python. The generated ops.h specializes
/// it.
template <class T>
struct Fields;

/// The Python type of results of type T: a named tuple. bind_results sets it.
template <class T>
inline PyObject* named_tuple = nullptr;

/// The part of a caster that nanobind's NB_TYPE_CASTER writes, for types without default
/// constructor.
template <class T>
struct ValueCaster {
  using Value = T;
  template <class U>
  using Cast = nb::detail::movable_cast_t<U>;
  template <class U>
  static constexpr bool can_cast() {
    return true;
  }
  explicit operator T*() { return &*value; }
  explicit operator T&() { return *value; }
  explicit operator T&&() { return std::move(*value); }

  std::optional<T> value;
};

/// Converts src to T; empty, without a Python error, if that does not succeed.
template <class T>
std::optional<T> try_cast(nb::handle src, uint32_t flags, nb::detail::cleanup_list* cleanup) {
  nb::detail::make_caster<T> caster;
  if (src.is_none() || !caster.from_python(src, flags, cleanup)) return {};
  return caster.operator nb::detail::cast_t<T>();
}

}  // namespace wick::python

namespace nanobind::detail {

/// None is the empty Tensor, where an argument admits None.
template <>
struct type_caster<wick::Tensor> {
  NB_TYPE_CASTER(wick::Tensor, const_name("wick.Tensor"))

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    if (src.is_none()) {
      value = {};
      return true;
    }
    type_caster_base<wick::python::TensorObject> object;
    if (!object.from_python(src, flags, cleanup)) return false;
    value = object.operator wick::python::TensorObject&().tensor();
    return true;
  }
  static handle from_cpp(const wick::Tensor& x, rv_policy, cleanup_list* cleanup) noexcept {
    if (!x) return none().release();
    return type_caster_base<wick::python::TensorObject>::from_cpp(wick::python::TensorObject(x),
                                                                  rv_policy::move, cleanup);
  }
};

template <>
struct type_caster<wick::Var> {
  NB_TYPE_CASTER(wick::Var, const_name("wick.Var"))

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    type_caster_base<wick::python::VarObject> object;
    if (!object.from_python(src, flags, cleanup)) return false;
    value = object.operator wick::python::VarObject&().var();
    return true;
  }
  static handle from_cpp(const wick::Var& x, rv_policy, cleanup_list* cleanup) noexcept {
    return type_caster_base<wick::python::VarObject>::from_cpp(wick::python::VarObject(x),
                                                               rv_policy::move, cleanup);
  }
};

template <>
struct type_caster<wick::python::Target> {
  NB_TYPE_CASTER(wick::python::Target, const_name("wick.Var"))

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    const auto var = wick::python::try_cast<wick::Var>(src, flags, cleanup);
    if (var) value = {*var, src};
    return var.has_value();
  }
  static handle from_cpp(const wick::python::Target& target, rv_policy, cleanup_list*) noexcept {
    return handle(target.object).inc_ref();
  }
};

/// A wick.DType, or its name: "f32" or "float32".
template <>
struct type_caster<wick::DType> {
  NB_TYPE_CASTER(wick::DType, const_name("wick.DType"))

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept;
  static handle from_cpp(wick::DType dtype, rv_policy, cleanup_list* cleanup) noexcept;
};

template <>
struct type_caster<wick::python::DeviceArgument> {
  NB_TYPE_CASTER(wick::python::DeviceArgument, const_name("wick.Device | str"))

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    if (const auto name = wick::python::try_cast<std::string>(src, flags, cleanup)) {
      value = wick::python::DeviceArgument(*name);
      return true;
    }
    type_caster_base<wick::Device> device;
    if (src.is_none() || !device.from_python(src, flags, cleanup)) return false;
    value = wick::python::DeviceArgument(device.operator wick::Device&());
    return true;
  }
  static handle from_cpp(const wick::python::DeviceArgument& device, rv_policy,
                         cleanup_list* cleanup) noexcept {
    return type_caster_base<wick::Device>::from_cpp(wick::Device(device), rv_policy::move, cleanup);
  }
};

/// An int or a float, of Python or NumPy.
template <>
struct type_caster<wick::Number> : wick::python::ValueCaster<wick::Number> {
  static constexpr auto Name = const_name("float");

  bool from_python(handle src, uint32_t, cleanup_list*) noexcept;
  static handle from_cpp(const wick::Number& x, rv_policy, cleanup_list*) noexcept {
    return x.is_integer() ? PyLong_FromLongLong(x.integer()) : PyFloat_FromDouble(x.real());
  }
};

/// A list or tuple of ints, or one int.
template <>
struct type_caster<wick::Dims> {
  NB_TYPE_CASTER(wick::Dims, const_name("collections.abc.Sequence[int] | int"))

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    if (const auto one = wick::python::try_cast<int64_t>(src, flags, cleanup)) {
      value = {*one};
      return true;
    }
    const auto many = wick::python::try_cast<std::vector<int64_t>>(src, flags, cleanup);
    if (many) value = wick::Dims(*many);
    return many.has_value();
  }
  static handle from_cpp(const wick::Dims& dims, rv_policy, cleanup_list*) noexcept {
    PyObject* result = PyTuple_New(dims.size());
    for (int i = 0; result && i < dims.size(); i++)
      PyTuple_SET_ITEM(result, i, PyLong_FromLongLong(dims[i]));
    return result;
  }
};

template <>
struct type_caster<wick::Slice> {
  NB_TYPE_CASTER(wick::Slice, const_name("slice"))

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept;
};

/// An int, slice, Ellipsis, None, or ids and masks as a Tensor, list or array.
template <>
struct type_caster<wick::Index> : wick::python::ValueCaster<wick::Index> {
  static constexpr auto Name = const_name("int | slice | wick.Tensor | types.EllipsisType | None");

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept;
};

template <>
struct type_caster<wick::python::Key> {
  NB_TYPE_CASTER(wick::python::Key,
                 make_caster<wick::Index>::Name + const_name(" | list | tuple[typing.Any, ...]"))

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    const bool is_tuple = PyTuple_Check(src.ptr());
    const Py_ssize_t count = is_tuple ? PyTuple_GET_SIZE(src.ptr()) : 1;
    for (Py_ssize_t i = 0; i < count; i++) {
      const handle item = is_tuple ? PyTuple_GET_ITEM(src.ptr(), i) : src.ptr();
      make_caster<wick::Index> index;
      if (!index.from_python(item, flags, cleanup)) return false;
      value.items.push_back(std::move(*index.value));
      if (std::holds_alternative<wick::Tensor>(value.items.back().item()) &&
          !isinstance<wick::python::TensorObject>(item))
        value.lists.push_back(value.items.size() - 1);
    }
    return true;
  }
};

template <class E>
struct type_caster<wick::python::EnumArgument<E>> {
  using Argument = wick::python::EnumArgument<E>;
  NB_TYPE_CASTER(Argument, wick::python::Names<E>::kType)

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    const auto name = wick::python::try_cast<std::string>(src, flags, cleanup);
    if (name) value = Argument(*name);
    return name.has_value();
  }
  static handle from_cpp(const Argument& argument, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_FromStringAndSize(argument.name().data(), Py_ssize_t(argument.name().size()));
  }
};

template <>
struct type_caster<wick::python::DTypeArgument> {
  NB_TYPE_CASTER(wick::python::DTypeArgument, const_name("wick.DType | str"))

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    if (const auto dtype = wick::python::try_cast<wick::DType>(src, flags, cleanup))
      value = wick::python::DTypeArgument(*dtype);
    else if (const auto name = wick::python::try_cast<std::string>(src, flags, cleanup))
      value = wick::python::DTypeArgument(*name);
    else
      return false;
    return true;
  }
  static handle from_cpp(const wick::python::DTypeArgument& argument, rv_policy policy,
                         cleanup_list* cleanup) noexcept {  // for defaults
    return type_caster<wick::DType>::from_cpp(argument.value("", "dtype"), policy, cleanup);
  }
};

/// A list of tensors is not a tensor, although that has a length and items.
template <>
struct type_caster<std::vector<wick::Tensor>>
    : list_caster<std::vector<wick::Tensor>, wick::Tensor> {
  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    return !isinstance<wick::python::TensorObject>(src) &&
           list_caster<std::vector<wick::Tensor>, wick::Tensor>::from_python(src, flags, cleanup);
  }
};

/// A struct is a tuple of its fields; one int stands for all of them if C++ takes it so (Pair).
template <class T>
struct TupleCaster : wick::python::ValueCaster<T> {
  static constexpr bool kTakesOne = std::convertible_to<int64_t, T>;  // which aggregates do not
  static constexpr auto Name = const_name<kTakesOne>("int | tuple", "tuple");

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    if constexpr (kTakesOne)
      if (const auto one = wick::python::try_cast<int64_t>(src, flags, cleanup)) {
        this->value.emplace(*one);
        return true;
      }
    return std::apply(
        [&](auto... member) {
          using Types = std::tuple<std::remove_cvref_t<decltype(std::declval<T&>().*member)>...>;
          return from_items<Types>(src, flags, cleanup,
                                   std::index_sequence_for<decltype(member)...>{});
        },
        wick::python::Fields<T>::kMembers);
  }
  static handle from_cpp(const T& x, rv_policy policy, cleanup_list* cleanup) noexcept {
    return std::apply(
        [&](auto... member) -> handle {
          const std::array<object, sizeof...(member)> items{
              steal(make_caster<std::remove_cvref_t<decltype(x.*member)>>::from_cpp(
                  x.*member, policy, cleanup))...};
          const object tuple = steal(PyTuple_New(Py_ssize_t(items.size())));
          if (!tuple) return {};
          for (size_t i = 0; i < items.size(); i++) {
            if (!items[i]) return {};
            PyTuple_SET_ITEM(tuple.ptr(), Py_ssize_t(i), object(items[i]).release().ptr());
          }
          PyObject* type = wick::python::named_tuple<T>;
          return type ? PyObject_CallObject(type, tuple.ptr()) : object(tuple).release().ptr();
        },
        wick::python::Fields<T>::kMembers);
  }

 private:
  template <class Types, size_t... i>
  bool from_items(handle src, uint32_t flags, cleanup_list* cleanup, std::index_sequence<i...>) {
    if (!PyTuple_Check(src.ptr()) && !PyList_Check(src.ptr())) return false;
    if (PySequence_Fast_GET_SIZE(src.ptr()) != Py_ssize_t(sizeof...(i))) return false;
    std::tuple items{wick::python::try_cast<std::tuple_element_t<i, Types>>(
        PySequence_Fast_GET_ITEM(src.ptr(), Py_ssize_t(i)), flags, cleanup)...};
    if (!(std::get<i>(items) && ...)) return false;
    this->value.emplace(T{std::move(*std::get<i>(items))...});
    return true;
  }
};

/// Paddings of convolutions: "same", one int, or a tuple with an int per dim or per side.
template <class T, size_t... sizes>
struct PaddingCaster : wick::python::ValueCaster<T> {
  static constexpr auto Name = const_name("int | tuple | str");

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    using wick::python::try_cast;
    if (const auto text = try_cast<std::string_view>(src, flags, cleanup)) {
      if (*text == "same") this->value.emplace(wick::kSamePadding);
    } else if (const auto one = try_cast<int64_t>(src, flags, cleanup)) {
      this->value.emplace(*one);
    } else if (const auto many = try_cast<std::vector<int64_t>>(src, flags, cleanup)) {
      ((many->size() == sizes ? emplace(*many, std::make_index_sequence<sizes>{}) : void()), ...);
    }
    return this->value.has_value();
  }
  /// For defaults, which are the same on all sides.
  static handle from_cpp(const T& padding, rv_policy, cleanup_list*) noexcept {
    return PyLong_FromLongLong(padding.left);
  }

 private:
  template <size_t... i>
  void emplace(const std::vector<int64_t>& values, std::index_sequence<i...>) {
    this->value.emplace(values[i]...);
  }
};
template <>
struct type_caster<wick::Padding1d> : PaddingCaster<wick::Padding1d, 2> {};
template <>
struct type_caster<wick::Padding2d> : PaddingCaster<wick::Padding2d, 2, 4> {};

}  // namespace nanobind::detail
