#include "table.h"

#include <cstdarg>
#include <cstdio>

#include "conv.h"
#include "fill.h"

namespace wick::cpu {

// In kernels/kernels.cpp, which is compiled once per instruction set.
namespace baseline {
void add_kernels(Table& table);
}
namespace avx2 {
void add_kernels(Table& table);
}
namespace avx512 {
void add_kernels(Table& table);
}

namespace {

constexpr int kMaxKeyOperands = 10;

/// One number per op and dtypes: 5 bits an operand, the op in the top byte.
uint64 key_of(OpId op, const DType* dtypes, int n) {
  uint64 operands = 0;
  for (int i = 0; i < n; i++) operands = operands << 5 | (uint64(dtypes[i]) + 1);
  return uint64(op) << 56 | operands;
}

template <class AddAll>
Table make(AddAll add_all) {
  Table table;
  add_all(table);
  add_fill(table);
  add_convolutions(table);
  return table;
}

}  // namespace

void Table::add(OpId op, std::initializer_list<DType> dtypes, const KernelRow& row) {
  rows_[key_of(op, dtypes.begin(), int(dtypes.size()))].push_back(row);
}

void Table::expect_attributes(OpId op, uint32 size, uint64 hash) {
  attributes_[int(op)] = {size, hash};
}

int Table::find(const KernelQuery& query, const KernelRow** rows) const {
  if (int(query.op) < 0 || int(query.op) >= kNumOps) return 0;
  const Attributes& expected = attributes_[int(query.op)];
  if (query.attributes_size != expected.size) return 0;
  if (expected.size && query.attributes_hash != expected.hash) return 0;
  const int n = query.num_in + query.num_out;
  if (n > kMaxKeyOperands) return 0;
  const auto found = rows_.find(key_of(query.op, query.dtypes, n));
  if (found == rows_.end()) return 0;
  *rows = found->second.data();
  return int(found->second.size());
}

const Table& table_of(Isa isa) {
  if (isa == Isa::kAvx512) {
    static const Table table = make(avx512::add_kernels);
    return table;
  }
  if (isa == Isa::kAvx2) {
    static const Table table = make(avx2::add_kernels);
    return table;
  }
  static const Table table = make(baseline::add_kernels);
  return table;
}

const char* accepts_rows(const KernelRow*, const Call* call, const DeviceInfo*) {
  for (int i = 0; i < call->num_in + call->num_out; i++) {
    const View& x = i < call->num_in ? call->in[i] : call->out[i - call->num_in];
    if (!is_floating(x.dtype) || x.rank == 0) continue;
    if (x.shape[x.rank - 1] > 1 && x.strides[x.rank - 1] != 1) return "an inner stride is not 1";
  }
  return nullptr;
}

Status error(StatusCode code, const char* format, ...) {
  thread_local char text[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return {code, text};
}

}  // namespace wick::cpu
