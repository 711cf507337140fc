// Blocks: casts from and to them, and rows of them by ids. Shapes count blocks in the last dim.
#include "blocks.h"

#include "shapes.h"
#include "wick/abi/ops/cast.h"
#include "wick/abi/ops/gather.h"
#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"

namespace wick::conformance {
namespace {

/// Where blocks lie, beside what a case says of their bytes.
enum Part : int64_t {
  kAll,
  kInner,  // all but the first row and the first block of each
};

Tensor part_of(const Tensor& x, int64_t part) {
  if (part == kAll) return x;
  const int64_t block = facts_of(x.dtype()).block_elements;
  return narrow(narrow(x, 0, 1, x.size(0) - 1), -1, block, x.size(-1) - block);
}
Array part_of(DType block, const Array& x, int64_t part) {
  if (part == kAll) return x;
  HostShape shape = x.shape;
  shape.front()--;
  shape.back() -= facts_of(block).block_elements;
  return reference::build(x.dtype, shape, [&](Index index) {
    index.front()++;
    index.back() += facts_of(block).block_elements;
    return x.values[std::size_t(reference::position(x.shape, index))];
  });
}

Row decode_row() {
  Row row;
  row.op = "cast of blocks";
  row.make = [](std::size_t, const Case& c, Random& random) {
    return block_bytes(c.dtypes[0], c.geometry.operands[0], c.values, random);
  };
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return cast(part_of(as_blocks(c.dtypes[0], x[0]), c.geometry.dims[0]), c.dtypes[1]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    const Array y =
        part_of(c.dtypes[0], reference::dequantize(c.dtypes[0], x[0]), c.geometry.dims[0]);
    return Result{reference::convert(y, c.dtypes[1]), {}, 0};
  };
  for (const DType from : kBlocks)
    for (const DType to : {DType::kF32, DType::kF16, DType::kBf16, DType::kF64, DType::kI32})
      row.dtypes.push_back({from, to});
  row.geometries = {{{{1}}, {kAll}},       {{{0, 3}}, {kAll}},    {{{7, 3}}, {kAll}},
                    {{{7, 3}}, {kInner}},  {{{3, 5, 2}}, {kAll}}, {{{3, 5, 2}}, {kInner}},
                    {{{2, 40}}, {kInner}}, {{{1, 1}}, {kInner}}};
  row.long_geometries = {{{{67, 19}}, {kAll}}, {{{67, 19}}, {kInner}}};
  row.signed_zero = true;
  row.distinct = {0};
  row.bench = Geometry{{{4096, 16}}, {kAll}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kCast, d[0], DType::kF32}};
  };
  return row;
}

Row encode_row() {
  Row row;
  row.op = "cast to blocks";
  row.make = [](std::size_t, const Case& c, Random& random) {
    Array x = random_array(c.dtypes[0], in_elements(c.dtypes[1], c.geometry.operands[0]), {-3, 3},
                           random);
    // Blocks of zeros, of one value, of one sign, with a logarithm that is rounded to an integer.
    const Real below = std::nextafter(4096.f, 0.f);
    for (std::size_t i = 0; i < x.values.size(); i++) {
      const std::size_t kind = i / 32 % 5;
      if (kind == 1) x.values[i] = 0;
      if (kind == 2) x.values[i] = Real(-1.5);
      if (kind == 3) x.values[i] = std::fabs(x.values[i]);
      if (kind == 4 && i % 32 == 7) x.values[i] = reference::round_to_format(c.dtypes[0], below);
    }
    return x;
  };
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return bytes_of_blocks(cast(x[0], c.dtypes[1]));
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return Result{reference::quantize(c.dtypes[1], reference::convert(x[0], DType::kF32)), {}, 0};
  };
  for (const DType to : kRoundedBlocks)
    for (const DType from : {DType::kF32, DType::kF16, DType::kBf16, DType::kF64})
      row.dtypes.push_back({from, to});
  row.geometries = {{{{1}}}, {{{0, 3}}}, {{{7, 3}}}, {{{3, 5, 2}}}, {{{2, 40}}}};
  row.long_geometries = {{{{67, 19}}}};
  row.special = false;
  row.bench = Geometry{{{4096, 16}}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kCast, DType::kF32, d[1]}};
  };
  return row;
}

Row embedding_row() {
  Row row;
  row.op = "embedding of blocks";
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    const std::size_t dim = c.geometry.dims.empty() ? 0 : std::size_t(c.geometry.dims[0]);
    if (operand == 1) return random_ids(shape, c.geometry.operands[0][dim], random);
    return block_bytes(c.dtypes[0], shape, c.values, random);
  };
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return embedding(as_blocks(c.dtypes[0], x[0]), x[1], c.dtypes[2]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    Result y = reference::embedding(reference::dequantize(c.dtypes[0], x[0]), x[1]);
    y.array = reference::convert(y.array, c.dtypes[2]);
    return y;
  };
  for (const DType block : kBlocks)
    for (const DType to : {DType::kF32, DType::kF16, DType::kBf16})
      row.dtypes.push_back({block, DType::kI64, to});
  row.geometries = {{{{10, 3}, {2, 3}}}, {{{10, 1}, {}}}, {{{5, 2}, {0}}}, {{{50, 3}, {7}}}};
  row.distinct = {0};
  row.bench = Geometry{{{32000, 16}, {512}}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kGather, DType::kU8}, {kCast, d[0], d[2]}};
  };
  return row;
}

/// index_select of blocks gives blocks: compared by their bytes.
Row index_select_row() {
  Row row = embedding_row();
  row.op = "index_select of blocks";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return bytes_of_blocks(index_select(as_blocks(c.dtypes[0], x[0]), c.geometry.dims[0], x[1]));
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::index_select(x[0], c.geometry.dims[0], x[1]);
  };
  row.dtypes.clear();
  for (const DType block : kBlocks) row.dtypes.push_back({block, DType::kI64});
  row.geometries = {{{{7, 3}, {5}}, {0}}, {{{9, 5, 2}, {3}}, {1}}, {{{5, 2}, {0}}, {0}}};
  row.bench = {};
  row.kernels = nullptr;
  return row;
}

}  // namespace

HostShape in_elements(DType block, HostShape shape) {
  shape.back() *= facts_of(block).block_elements;
  return shape;
}

Array block_bytes(DType block, const HostShape& in_blocks, Values values, Random& random) {
  const int64_t size = facts_of(block).block_bytes;
  HostShape shape = in_blocks;
  shape.back() *= size;
  Array bytes =
      reference::build(DType::kU8, shape, [&](const Index&) { return Real(random.below(256)); });
  for (std::size_t b = 0; b < bytes.values.size(); b += std::size_t(size))
    for (const reference::ScaleField& field : reference::scale_fields(block)) {
      const std::vector<Real> specials = special_values(field.dtype);
      const Real lowest = field.dtype == DType::kF8E8M0 ? 0 : -1;
      Real scale = random.uniform(lowest, 1) * std::ldexp(Real(1), -int(random.below(6)));
      if (values == Values::kSpecial)
        scale = specials[std::size_t(random.below(int64_t(specials.size())))];
      unsigned char encoded[2];
      reference::encode(field.dtype, reference::round_to_format(field.dtype, scale), encoded);
      for (int i = 0; i < dtype_size(field.dtype) && !field.in_quarters; i++)
        bytes.values[b + std::size_t(field.byte + i)] = encoded[i];
      for (int i = 0; i < 4 && field.in_quarters; i++) {
        Real& byte = bytes.values[b + std::size_t(field.byte + 2 * i)];
        byte = Real(int(byte) % 16 + (encoded[i / 2] >> i % 2 * 4 & 15) * 16);
      }
    }
  return bytes;
}

Array rounded_activations(const Array& x) {
  constexpr std::size_t kRun = 32;
  Array y = x;
  const std::size_t row = x.shape.empty() ? 1 : std::size_t(x.shape.back());
  for (std::size_t begin = 0; begin < x.values.size(); begin += row)
    for (std::size_t first = begin; first < begin + row; first += kRun) {
      float most = 0;
      bool is_exact = false;
      for (std::size_t i = first; i < first + kRun; i++) {
        is_exact = is_exact || !std::isfinite(x.values[i]);
        most = std::max(most, std::fabs(float(x.values[i])));
      }
      if (most == 0) continue;
      if (is_exact || most < 0x1p-60f || most > 0x1p60f) {
        std::copy_n(&x.values[begin], row, &y.values[begin]);
        break;
      }
      const float step = most / 32512, inverse = 32512 / most;
      for (std::size_t i = first; i < first + kRun; i++)
        y.values[i] = Real(step) * std::nearbyint(float(x.values[i]) * inverse);
    }
  return y;
}

Tensor as_blocks(DType block, const Tensor& bytes) {
  const Tensor own = clone(bytes);
  Shape shape = own.shape();
  shape[own.rank() - 1] =
      shape[own.rank() - 1] / facts_of(block).block_bytes * facts_of(block).block_elements;
  return Tensor(own.storage(), Layout::contiguous(shape), block);
}

Tensor bytes_of_blocks(const Tensor& x) {
  Shape shape = x.shape();
  shape[x.rank() - 1] = bytes_of(x.dtype(), shape[x.rank() - 1]);
  return Tensor(x.storage(), Layout::contiguous(shape), DType::kU8);
}

template <>
std::vector<Row> rows_of<"blocks">() {
  return {decode_row(), encode_row(), embedding_row(), index_select_row()};
}

}  // namespace wick::conformance
