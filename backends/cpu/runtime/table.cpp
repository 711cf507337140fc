#include "runtime/table.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "dispatch/create.h"
#include "libs/conv.h"

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

template <class AddAll>
Table make(AddAll add_all) {
  Table table;
  add_all(table);
  add_fill(table);
  add_convolutions(table);
  return table;
}

}  // namespace

/// The table's own record of the op. Two ops of one id would serve each other's calls.
const Op* Table::known(const Op& op) {
  for (const Op* known : ops_) {
    if (!(*known == op)) continue;
    if (same_contract(*known, op)) return known;
    std::fprintf(stderr, "wick: two ops of one id: \"%s\" (%s) and \"%s\" (%s)\n", known->name,
                 known->operands, op.name, op.operands);
    std::abort();
  }
  return ops_.emplace_back(&records_.emplace_back(op));
}

void Table::add(const Op& op, DType t, const Kernel& kernel) { add(op, t, t, kernel); }

void Table::add(const Op& op, DType t, DType any, const Kernel& kernel) {
  const OperandDTypes dtypes = operand_dtypes(op, t, any);
  Entry& entry = entries_[key_of({&op, dtypes.all, dtypes.num_in, dtypes.num_out})];
  entry.op = known(op);
  entry.kernels.push_back(kernel);
  if (!kernel.name) entry.kernels.back().name = op.name;
}

int Table::find(const KernelQuery& query, const Kernel** kernels) const {
  if (query.num_in > kMaxOperands || query.num_out > kMaxOperands) return 0;
  const auto found = entries_.find(key_of(query));
  if (found == entries_.end() || !same_contract(*found->second.op, *query.op)) return 0;
  *kernels = found->second.kernels.data();
  return int(found->second.kernels.size());
}

const Table& table_of(Isa isa) {
  // Only what is built can be linked.
  constexpr auto built = [](Isa of) { return (WICK_BUILT_ISAS >> int(of) & 1) != 0; };
  if constexpr (built(Isa::kAvx512)) {
    if (isa == Isa::kAvx512) {
      static const Table table = make(avx512::add_kernels);
      return table;
    }
  }
  if constexpr (built(Isa::kAvx2)) {
    if (isa == Isa::kAvx2) {
      static const Table table = make(avx2::add_kernels);
      return table;
    }
  }
  if constexpr (built(Isa::kBaseline)) {
    if (isa == Isa::kBaseline) {
      static const Table table = make(baseline::add_kernels);
      return table;
    }
  }
  std::abort();  // choose_isa returns no other
}

const char* accepts_unit_strides(const Kernel*, const Call* call, const DeviceInfo*) {
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
