// Memory shared with other libraries, and pickling.
#include "interop.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "bind.h"
#include "casters.h"

namespace wick::python {
namespace {

using Array = nb::ndarray<nb::ro>;

/// DLPack's codes of the dtypes that other libraries have too.
struct ArrayType {
  DType dtype;
  nb::dlpack::dtype code;
};
constexpr nb::dlpack::dtype code_of(nb::dlpack::dtype_code code, int bits) {
  return {uint8_t(code), uint8_t(bits), 1};
}
using enum nb::dlpack::dtype_code;
constexpr ArrayType kArrayTypes[] = {
    {DType::kBool, code_of(Bool, 8)},
    {DType::kU8, code_of(UInt, 8)},
    {DType::kI8, code_of(Int, 8)},
    {DType::kU16, code_of(UInt, 16)},
    {DType::kI16, code_of(Int, 16)},
    {DType::kU32, code_of(UInt, 32)},
    {DType::kI32, code_of(Int, 32)},
    {DType::kU64, code_of(UInt, 64)},
    {DType::kI64, code_of(Int, 64)},
    {DType::kBf16, code_of(Bfloat, 16)},
    {DType::kF16, code_of(Float, 16)},
    {DType::kF32, code_of(Float, 32)},
    {DType::kF64, code_of(Float, 64)},
    {DType::kF8E4M3, code_of(Float8_E4M3FN, 8)},
    {DType::kF8E5M2, code_of(Float8_E5M2, 8)},
    {DType::kF8E8M0, code_of(Float8_E8M0FNU, 8)},
};

/// DLPack's numbers of the kinds of devices whose memory other libraries can address.
struct ArrayDevice {
  DeviceKind kind;
  int number;
};
constexpr ArrayDevice kArrayDevices[] = {
    {DeviceKind::kCpu, 1}, {DeviceKind::kCuda, 2}, {DeviceKind::kRocm, 10}};

/// The entry of a table for which `holds`, else TypeError.
template <class Table, class F>
const auto& find(const Table& table, F&& holds, const std::string& complaint) {
  const auto at = std::find_if(std::begin(table), std::end(table), holds);
  if (at == std::end(table)) throw nb::type_error(complaint.c_str());
  return *at;
}

nb::dlpack::dtype code_of(DType dtype) {
  return find(
             kArrayTypes, [&](const ArrayType& t) { return t.dtype == dtype; },
             std::string("other libraries have no dtype ") + dtype_name(dtype) +
                 ": convert it first, with to(wick.f32)")
      .code;
}

int device_number_of(const Device& device) {
  return find(
             kArrayDevices, [&](const ArrayDevice& d) { return d.kind == device.kind(); },
             "other libraries cannot address " + to_string(device) + ": copy to the CPU first")
      .number;
}

/// The tensor's memory as a read-only array: tensors are immutable. Work that is queued on it may
/// not be done.
template <class... Framework>
nb::ndarray<Framework..., nb::ro> array_of(const Tensor& x) {
  const nb::dlpack::dtype code = code_of(x.dtype());
  const int device = device_number_of(x.device());
  const std::vector<size_t> shape(x.shape().begin(), x.shape().end());
  const nb::capsule owner(new Tensor(x), [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  return {x.data(),           shape.size(), shape.data(), owner,
          x.strides().data(), code,         device,       x.device().ordinal()};
}

nb::object numpy_of(const Tensor& x) {
  check(code_of(x.dtype()).code <= uint8_t(Float) || x.dtype() == DType::kBool,
        ErrorCode::kDTypeMismatch, "numpy", "NumPy has no dtype ", dtype_name(x.dtype()),
        ": convert it first, with to(wick.f32)");
  Tensor on_host;
  {
    const ReleasedGil release;
    on_host = x.to(Device::cpu());
    on_host.device().synchronize();
  }
  return nb::cast(array_of<nb::numpy>(on_host));
}

/// Waits for the device's ops. An error that one of them has recorded stays there, for the caller
/// of synchronize.
void wait_for_work(const Device& device) noexcept {
  if (device.is_cpu()) return;
  try {
    Event(Stream::of(device)).synchronize();
  } catch (const std::exception&) {  // then nothing runs any more
  }
}

/// Views the array's memory, which lives until the last tensor that views it is gone. Dims of
/// negative stride, which a Layout cannot have, are listed in `flipped` and read forwards.
Tensor view_of(const Array& array, std::vector<int64_t>* flipped) {
  const DType dtype = find(
                          kArrayTypes, [&](const ArrayType& t) { return t.code == array.dtype(); },
                          "wick has no dtype for this array")
                          .dtype;
  const DeviceKind kind =
      find(
          kArrayDevices, [&](const ArrayDevice& d) { return d.number == array.device_type(); },
          "wick cannot address the device of this array")
          .kind;
  const Device device = Device::at({kind, array.device_id()});
  Layout layout;
  const char* data = static_cast<const char*>(array.data());
  int64_t last = 0;  // offset of the element farthest from `data`
  for (size_t d = 0; d < array.ndim(); d++) {
    const int64_t size = int64_t(array.shape(d)), stride = array.stride(d);
    layout.shape.push_back(size);
    layout.strides.push_back(std::abs(stride));
    last += std::max<int64_t>(size - 1, 0) * std::abs(stride);
    if (stride < 0 && size > 1) {
      flipped->push_back(int64_t(d));
      data += (size - 1) * stride * dtype_size(dtype);
    }
  }
  if (layout.numel() == 0) return Tensor::empty(layout.shape, {dtype, device});
  check(reinterpret_cast<uintptr_t>(data) % size_t(dtype_size(dtype)) == 0,
        ErrorCode::kInvalidArgument, "Tensor", "the array's elements are not aligned");
  const auto release = [held = new Array(array), device] {
    if (!Py_IsInitialized()) return;  // the interpreter and all of its arrays are gone
    wait_for_work(device);            // the owner may write to the memory from then on
    const nb::gil_scoped_acquire acquire;
    delete held;
  };
  const auto storage = std::make_shared<Storage>(device, const_cast<char*>(data),
                                                 (last + 1) * dtype_size(dtype), release);
  return Tensor(storage, layout, dtype);
}

/// The capsule of an array on a GPU, whose owner has made the stream of wick's ops wait for the
/// array's values; other objects themselves.
nb::object ordered(nb::handle object) {
  const nb::object device_of = nb::getattr(object, "__dlpack_device__", nb::none());
  if (device_of.is_none() || nb::isinstance<TensorObject>(object)) return nb::borrow(object);
  const auto [number, ordinal] = nb::cast<std::pair<int, int>>(device_of());
  const auto* at = std::find_if(std::begin(kArrayDevices), std::end(kArrayDevices),
                                [&](const ArrayDevice& d) { return d.number == number; });
  if (at == std::end(kArrayDevices) || at->kind == DeviceKind::kCpu) return nb::borrow(object);
  const Stream stream = Stream::of(Device::at({at->kind, ordinal}));
  const auto handle = reinterpret_cast<uintptr_t>(stream.native());
  return object.attr("__dlpack__")(nb::arg("stream") = handle);
}

Array cast_array(nb::handle object) {
  Array array;
  if (nb::try_cast(ordered(object), array)) return array;
  std::string found = nb::type_name(object.type()).c_str();
  if (nb::hasattr(object, "__array_interface__")) {  // NumPy's
    const nb::object type = object.attr("__array_interface__")["typestr"];
    found = "an array of " + std::string(nb::str(type).c_str());
    if (found.find('>') != found.npos)
      found += ", which is another byte order: use array.astype(array.dtype.newbyteorder(\"=\"))";
  }
  throw nb::type_error(
      ("expected a number, a list or an array of numbers, found " + found).c_str());
}

Tensor from_dlpack(nb::handle object, const std::optional<DeviceArgument>& wanted,
                   std::optional<bool> copy) {
  std::vector<int64_t> flipped;
  const Tensor view = view_of(cast_array(object), &flipped);
  const ReleasedGil release;
  const Device device = wanted ? Device(*wanted) : view.device();
  const bool moves = device != view.device() || !flipped.empty();
  check(!moves || copy != false, ErrorCode::kInvalidArgument, "from_dlpack", "an array on ",
        view.device(), flipped.empty() ? "" : ", with a negative stride,", " is a tensor on ",
        device, " by a copy only, and copy is False");
  const Tensor x = flipped.empty() ? view : flip(view, Dims(flipped));
  return copy == true && !moves ? clone(x) : x.to(device);
}

/// The consumer of a GPU's memory names the stream that it will use; -1: it waits by itself. All
/// queued work is waited for here, so that any stream sees the values.
nb::object to_dlpack(const Tensor& x, nb::handle stream, nb::handle max_version,
                     std::optional<std::tuple<int, int>> wanted, std::optional<bool> copy) {
  Tensor given = x;
  if (wanted && *wanted != std::tuple(device_number_of(x.device()), x.device().ordinal())) {
    if (std::get<0>(*wanted) != device_number_of(Device::cpu()) || copy == false)
      throw nb::buffer_error(
          "__dlpack__: a tensor goes to the CPU, by a copy, or stays on its device");
    const ReleasedGil release;
    given = x.to(Device::cpu());
  } else if (copy == true) {
    const ReleasedGil release;
    given = clone(x);
  }
  const nb::object array = nb::cast(array_of<nb::array_api>(given));
  if (int number; !nb::try_cast(stream, number) || number != -1) {
    const ReleasedGil release;
    given.device().synchronize();
  }
  return array.attr("__dlpack__")(nb::arg("max_version") = max_version);
}

/// Bytes, dtype, shape and device.
nb::tuple state_of(const Tensor& x) {
  std::vector<char> bytes(size_t(bytes_of(x.dtype(), x.numel())));
  {
    const ReleasedGil release;
    x.read(bytes.data());
  }
  return nb::make_tuple(nb::bytes(bytes.data(), bytes.size()), x.dtype(), x.shape(), x.device());
}

Tensor tensor_of_state(const nb::tuple& state) {
  const auto bytes = nb::cast<nb::bytes>(state[0]);
  const auto dtype = nb::cast<DType>(state[1]);
  const auto shape = nb::cast<Shape>(state[2]);
  const int64_t block = facts_of(dtype).block_elements;
  int64_t elements = 1;
  bool fits = true;
  for (const int64_t size : shape)
    fits = fits && size >= 0 && !__builtin_mul_overflow(elements, size, &elements);
  // No element has more than 16 bytes, no block more than 1024 for its elements.
  check(fits && elements <= (int64_t{1} << 52), ErrorCode::kFormat, "pickle",
        "expected the sizes of a tensor, got ", shape);
  check(block == 1 || (!shape.empty() && shape.back() % block == 0), ErrorCode::kFormat, "pickle",
        "expected whole blocks of ", block, " ", dtype_name(dtype), " elements, got ", shape);
  check(int64_t(bytes.size()) == bytes_of(dtype, numel(shape)), ErrorCode::kFormat, "pickle",
        "expected ", bytes_of(dtype, numel(shape)), " bytes, got ", bytes.size());
  return Tensor::from_bytes(bytes.c_str(), dtype, shape, nb::cast<Device>(state[3]));
}

}  // namespace

Tensor copy_of_array(nb::handle object) {
  std::vector<int64_t> flipped;
  const Tensor view = view_of(cast_array(object), &flipped);
  const ReleasedGil release;
  return flipped.empty() ? clone(view) : flip(view, Dims(flipped));
}

void bind_interop(nb::module_& m) {
  m.def(
      "from_dlpack", &from_dlpack, nb::arg("x"), nb::kw_only(), nb::arg("device") = nb::none(),
      nb::arg("copy") = nb::none(),
      "A tensor that shares the memory of an array with __dlpack__ or a buffer. Dims of negative "
      "stride, another device and copy=True make it a copy; with copy=False what needs one is a "
      "ValueError. The array must not be written to while the tensor is in use. An array on a GPU "
      "gets the stream of wick's ops, which its owner makes wait for the values.");

  auto type = nb::borrow<nb::class_<TensorObject>>(m.attr("Tensor"));
  type.def("numpy", &numpy_of, "A read-only NumPy array; on the CPU it shares the tensor's memory.")
      .def(
          "__array__",
          [](const Tensor& x, nb::handle dtype, nb::handle copy) {
            const nb::object array = numpy_of(x);
            if (dtype.is_none() && !nb::cast<bool>(nb::bool_(nb::borrow(copy)))) return array;
            return nb::object(array.attr("astype")(dtype.is_none() ? nb::object(array.attr("dtype"))
                                                                   : nb::borrow(dtype)));
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("__dlpack__", &to_dlpack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none(),
           nb::sig(
               "def __dlpack__(self, *, stream: typing.Any = None, max_version: tuple[int, int] | "
               "None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = "
               "None) -> typing.Any"))
      .def(
          "__array_namespace__",
          [](nb::handle, nb::handle) -> nb::object {
            return nb::module_::import_("wick.array_api");
          },
          nb::kw_only(), nb::arg("api_version") = nb::none(),
          "The module wick.array_api: the functions of the Python array API standard.")
      .def(
          "to_device",
          [](const Tensor& x, const DeviceArgument& device, nb::handle) {
            const FreedGil release;
            return x.to(Device(device));
          },
          nb::arg("device"), nb::kw_only(), nb::arg("stream") = nb::none(),
          "A copy on a device, or the tensor itself if it is there.")
      .def("__dlpack_device__",
           [](const Tensor& x) {
             return nb::make_tuple(device_number_of(x.device()), x.device().ordinal());
           })
      .def("__getstate__", &state_of)
      .def("__setstate__",
           [](TensorObject& self, const nb::tuple& state) {
             new (&self) TensorObject(tensor_of_state(state));
           })
      .def("__copy__", [](nb::handle self) { return nb::borrow(self); })
      .def("__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); });
  // Makes NumPy leave `array * tensor` to the tensor.
  type.attr("__array_ufunc__") = nb::none();

  auto var = nb::borrow<nb::class_<VarObject, TensorObject>>(m.attr("Var"));
  var.def("__getstate__",
          [](const Var& v) {
            return nb::make_tuple(state_of(v.tensor().detach()), v.tensor().requires_grad());
          })
      .def("__setstate__",
           [](VarObject& self, const std::tuple<nb::tuple, bool>& state) {
             new (&self) VarObject(Var(tensor_of_state(std::get<0>(state)), std::get<1>(state)));
           })
      .def("__deepcopy__", [](const Var& v, nb::handle) {
        return Var(v.tensor().detach(), v.tensor().requires_grad());
      });
}

}  // namespace wick::python
