// Tensors from nothing: full (the op `fill`), the random ones.
#include <stdexcept>

#include "placement.h"
#include "shapes.h"
#include "wick/abi/ops/create.h"
#include "wick/ops/create.h"

namespace wick::conformance {
namespace {

/// The stored dtypes but those whose range ends before -300: for these it is an error.
std::vector<DType> with_large_negatives() {
  std::vector<DType> result;
  for (const DType dtype : kStored)
    if (dtype == DType::kBool || reference::convert(DType::kI64, dtype, Real(-300)) < Real(-200))
      result.push_back(dtype);
  return result;
}

/// The operand says shape, dtype and device alone.
Row fill_row(const char* name, Number value, const std::vector<DType>& dtypes) {
  Row row;
  row.op = name;
  row.run = [value](std::vector<Tensor> x, const Case& c) {
    return full(x[0].shape(), value, {.dtype = c.dtypes[0], .device = x[0].device()});
  };
  row.reference = [value](const std::vector<Array>& x, const Case& c) {
    const DType from = value.is_integer() ? DType::kI64 : DType::kF64;
    const Real number = value.is_integer() ? Real(value.integer()) : Real(value.real());
    const Real element = reference::convert(from, c.dtypes[0], number);
    return Result{
        reference::build(c.dtypes[0], x[0].shape, [&](const Index&) { return element; }), {}, 0};
  };
  for (const DType dtype : dtypes) row.dtypes.push_back({dtype});
  row.geometries = one_operand();
  row.long_geometries = {{{{300007}}}};
  row.special = false;
  row.signed_zero = true;
  row.bench = Geometry{{{1 << 22}}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kFill, d[0]}};
  };
  return row;
}

/// What draws on a device gives the bits that it gives on the CPU under the same seed.
Behaviour same_bits(const char* op, std::function<Tensor(const Device&)> draw) {
  return {op, "the same seed gives the same bits on every device", [draw](const Device& device) {
            const Device cpu;
            device.set_seed(17);
            const Tensor here = draw(device);
            if (!(here.device() == device)) throw std::runtime_error("it is on another device");
            cpu.set_seed(17);
            const Tensor there = draw(cpu);
            if (read_bytes(here) != read_bytes(there))
              throw std::runtime_error(describe(there) + ": other bits than on the CPU");
            device.set_seed(18);
            if (read_bytes(draw(device)) == read_bytes(there))
              throw std::runtime_error("another seed gives the same bits");
          }};
}

}  // namespace

template <>
std::vector<Row> rows_of<"create">() {
  const std::vector<DType> all(std::begin(kStored), std::end(kStored));
  return {fill_row("fill", 3.7, all), fill_row("fill(-300)", -300, with_large_negatives()),
          fill_row("fill(-0.0)", -0.0, all)};
}

template <>
std::vector<Behaviour> behaviours_of<"create">() {
  std::vector<Behaviour> result;
  for (const DType dtype :
       {DType::kF64, DType::kF32, DType::kF16, DType::kBf16, DType::kF8E4M3, DType::kF8E5M2}) {
    const auto options = [dtype](const Device& d) {
      return TensorOptions{.dtype = dtype, .device = d};
    };
    result.push_back(same_bits("rand", [=](const Device& d) {
      return rand({5, 205}, options(d), -1, 3);
    }));
    result.push_back(same_bits("randn", [=](const Device& d) {
      return randn({5, 205}, options(d), -1, 3);
    }));
    result.push_back(same_bits("dropout_mask", [=](const Device& d) {
      return dropout_mask({33, 65}, 0.4, options(d));
    }));
    result.push_back(same_bits("bernoulli(p)", [=](const Device& d) {
      return bernoulli(rand({5, 205}, options(d)));
    }));
  }
  for (const DType dtype : {DType::kU8, DType::kI16, DType::kU32, DType::kI64, DType::kF32}) {
    const auto options = [dtype](const Device& d) {
      return TensorOptions{.dtype = dtype, .device = d};
    };
    result.push_back(same_bits("randint", [=](const Device& d) {
      return randint(3, 250, {5, 205}, options(d));
    }));
    result.push_back(
        same_bits("randperm", [=](const Device& d) { return randperm(255, options(d)); }));
    result.push_back(same_bits("bernoulli", [=](const Device& d) {
      return bernoulli(0.25, {5, 205}, options(d));
    }));
  }
  result.push_back(same_bits("multinomial", [](const Device& d) {
    return multinomial(rand({40, 9}, {.device = d}), 4);
  }));
  return result;
}

}  // namespace wick::conformance
