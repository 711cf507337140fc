#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {

void add_kernels(Table& table) {
  add_elementwise(table);
  add_casts(table);
  add_reductions(table);
  add_indexing(table);
  add_matmul(table);
  add_rows(table);
  add_rope(table);
  add_attention(table);
  add_optimizer(table);
  add_sampling(table);
  add_scans(table);
  add_sorts(table);
  add_searches(table);
  add_pooling(table);
}

}  // namespace wick::cpu::WICK_ISA
