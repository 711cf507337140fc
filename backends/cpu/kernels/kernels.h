// The kernel files of an instruction set, each of which adds its rows to the set's table.
#pragma once
#include "table.h"

namespace wick::cpu::WICK_ISA {

void add_elementwise(Table& table);
void add_casts(Table& table);
void add_reductions(Table& table);
void add_indexing(Table& table);
void add_matmul(Table& table);
void add_rows(Table& table);
void add_rope(Table& table);
void add_attention(Table& table);
void add_optimizer(Table& table);
void add_sampling(Table& table);
void add_scans(Table& table);
void add_sorts(Table& table);
void add_searches(Table& table);
void add_pooling(Table& table);
/// All of the above.
void add_kernels(Table& table);

}  // namespace wick::cpu::WICK_ISA
