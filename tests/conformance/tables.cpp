// All tables in one list.
#include "row.h"

namespace wick::conformance {

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto table :
       {elementwise_rows, composed_rows, cast_rows,  reduce_rows,    matmul_rows,    indexing_rows,
        shape_rows,       loss_rows,     norm_rows,  attention_rows, optimizer_rows, sample_rows,
        create_rows,      conv_rows,     pool_rows,  scan_rows,      sort_rows,      search_rows,
        arrange_rows,     contract_rows, index_rows, resample_rows}) {
    for (Row& row : table()) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Behaviour> all_behaviours() {
  std::vector<Behaviour> result = indexing_behaviours();
  for (const auto table : {create_behaviours, sample_behaviours}) {
    for (Behaviour& b : table()) result.push_back(std::move(b));
  }
  return result;
}

}  // namespace wick::conformance
