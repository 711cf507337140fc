// The rows of one instruction set, and how kernel files add to them.
#pragma once
#include <initializer_list>
#include <unordered_map>
#include <vector>

#include "isa.h"
#include "wick/abi/backend.h"

namespace wick::cpu {

/// Kernel rows by op and dtypes, in order of preference. Filled once, then only read.
class Table {
 public:
  /// dtypes: of the inputs, then of the outputs. Later rows of the same key are asked later.
  void add(OpId op, std::initializer_list<DType> dtypes, const KernelRow& row);
  /// With attributes of a type that the op's rows read: a query for another layout finds nothing.
  void expect_attributes(OpId op, uint32 size, uint64 hash);
  int find(const KernelQuery& query, const KernelRow** rows) const;

 private:
  struct Attributes {
    uint32 size = 0;
    uint64 hash = 0;
  };
  std::unordered_map<uint64, std::vector<KernelRow>> rows_;
  Attributes attributes_[kNumOps];
};

/// The table of an instruction set, made at its first use. The machine must have that set.
const Table& table_of(Isa isa);

/// For KernelRow::accepts of fused ops: inner strides of floats are 1, as ops.h has it.
const char* accepts_rows(const KernelRow* row, const Call* call, const DeviceInfo* device);

/// An error's text, kept until the same thread's next error.
__attribute__((format(printf, 2, 3))) Status error(StatusCode code, const char* format, ...);

}  // namespace wick::cpu
