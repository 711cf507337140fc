// The table of kernels of one instruction set, to which kernel files add theirs.
#pragma once
#include <deque>
#include <unordered_map>
#include <vector>

#include "runtime/isa.h"
#include "wick/abi/backend.h"

namespace wick::cpu {

/// Kernels by op and dtypes, in order of preference. Filled once, then read-only.
class Table {
 public:
  /// Adds a kernel for the op's dtype t, which determines the operands' dtypes. Kernels of the same op
  /// and dtypes are tried in the order in which they were added. A kernel without a name gets the op's.
  void add(const Op& op, DType t, const Kernel& kernel);
  /// The same for an op with an operand of any dtype ("*"), here of dtype `any`.
  void add(const Op& op, DType t, DType any, const Kernel& kernel);

  int find(const KernelQuery& query, const Kernel** kernels) const;
  const std::vector<const Op*>& ops() const { return ops_; }

 private:
  struct Hash {
    size_t operator()(const KernelKey& key) const {
      return size_t(((key.op * 31 + key.in) * 31 + key.out) * 0x9e3779b97f4a7c15);
    }
  };
  struct Entry {
    const Op* op;
    std::vector<Kernel> kernels;
  };
  const Op* known(const Op& op);

  std::unordered_map<KernelKey, Entry, Hash> entries_;
  std::deque<Op> records_;
  std::vector<const Op*> ops_;
};

/// The table of an instruction set, created at first use. The machine must have that set.
const Table& table_of(Isa isa);

/// Kernel::accepts of fused ops: accepts float operands with inner strides of 1.
const char* accepts_unit_strides(const Kernel* kernel, const Call* call, const DeviceInfo* device);

/// A Status with a formatted text, which lives until the same thread's next error.
__attribute__((format(printf, 2, 3))) Status error(StatusCode code, const char* format, ...);

}  // namespace wick::cpu
