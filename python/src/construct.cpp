// Tensors from Python's numbers and nested lists.
#include <algorithm>
#include <string>
#include <vector>

#include "casters.h"
#include "interop.h"

namespace wick::python {
namespace {

constexpr int kMaxDims = 64;  // of nested lists: NumPy's limit

bool is_list(nb::handle data) { return PyList_Check(data.ptr()) || PyTuple_Check(data.ptr()); }

/// Appends the numbers of nested lists to `numbers`. The shape is the first list's at each
/// level, to which all others are held.
void collect(nb::handle data, int depth, Shape* shape, std::vector<Number>* numbers,
             bool* all_bool) {
  if (!is_list(data)) {
    check(depth == shape->size(), ErrorCode::kShapeMismatch, "Tensor",
          "expected nested lists of one shape, found a number beside a list");
    const auto number = try_cast<Number>(data, 0, nullptr);
    if (!number)
      throw nb::type_error(
          ("Tensor: expected a number, found " + std::string(nb::type_name(data.type()).c_str()))
              .c_str());
    *all_bool &= PyBool_Check(data.ptr()) != 0;
    numbers->push_back(*number);
    return;
  }
  check(depth < kMaxDims, ErrorCode::kInvalidArgument, "Tensor", "expected at most ", kMaxDims,
        " levels of nested lists, got more, or a list that contains itself");
  const int64_t size = int64_t(nb::len(data));
  if (depth == shape->size()) {
    check(numbers->empty(), ErrorCode::kShapeMismatch, "Tensor",
          "expected nested lists of one shape, found a list beside a number");
    shape->push_back(size);
  }
  check((*shape)[depth] == size, ErrorCode::kShapeMismatch, "Tensor",
        "expected lists of one length, got ", (*shape)[depth], " and ", size);
  for (nb::handle item : nb::borrow<nb::iterable>(data))
    collect(item, depth + 1, shape, numbers, all_bool);
}

template <class T, class F>
Tensor tensor_of_numbers(const std::vector<Number>& numbers, const Shape& shape, F&& value) {
  std::vector<T> values;
  for (const Number& number : numbers) values.push_back(value(number));
  return Tensor::from(values, shape);
}

Tensor tensor_of_list(nb::handle data, std::optional<DType> dtype) {
  Shape shape;
  std::vector<Number> numbers;
  bool all_bool = true;
  collect(data, 0, &shape, &numbers, &all_bool);
  const auto any = [&](auto&& holds) { return std::any_of(numbers.begin(), numbers.end(), holds); };
  const bool real = any([](const Number& n) { return !n.is_integer(); });
  if (real || numbers.empty())
    return tensor_of_numbers<double>(numbers, shape, [](const Number& n) { return n.real(); })
        .to(dtype.value_or(DType::kF32));
  const DType integers = all_bool ? DType::kBool : DType::kI64;
  if (any([](const Number& n) { return n.is_above_i64(); }))
    return tensor_of_numbers<uint64_t>(numbers, shape,
                                       [](const Number& n) { return uint64_t(n.integer()); })
        .to(dtype.value_or(DType::kU64));
  return tensor_of_numbers<int64_t>(numbers, shape, [](const Number& n) { return n.integer(); })
      .to(dtype.value_or(integers));
}

}  // namespace

Tensor tensor_of(nb::handle data, std::optional<DType> dtype,
                 const std::optional<DeviceArgument>& device) {
  enter_wick();
  Tensor x;
  if (const auto tensor = try_cast<Tensor>(data, 0, nullptr))
    x = dtype ? tensor->to(*dtype) : *tensor;
  else if (is_list(data) || try_cast<Number>(data, 0, nullptr))
    x = tensor_of_list(data, dtype);
  else
    x = dtype ? copy_of_array(data).to(*dtype) : copy_of_array(data);
  return device ? x.to(Device(*device)) : x;
}

}  // namespace wick::python
