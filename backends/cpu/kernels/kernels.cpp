#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {
namespace {

template <Text... family>
void add_families(Table& table) {
  (add_family<family>(table), ...);
}

}  // namespace

// A word for each kernels/<family>.cpp.
void add_kernels(Table& table) {
  add_families<"unary", "binary", "compare", "where", "cast", "reduce", "gather", "matmul",
               "softmax", "norm", "loss", "rope", "attention", "optimizer", "sample", "scan",
               "sort", "search", "pool", "blocks", "linear_int16", "linear", "recurrence",
               "linear_attention", "ssd", "delta_rule", "quantize">(table);
}

}  // namespace wick::cpu::WICK_ISA
