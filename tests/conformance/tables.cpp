// All tables in one list.
#include <set>

#include "row.h"

namespace wick::conformance {
namespace {

template <Text... family>
std::vector<Row> rows_of_all() {
  std::vector<Row> all;
  const auto add = [&](std::vector<Row> rows) {
    for (Row& row : rows) all.push_back(std::move(row));
  };
  (add(rows_of<family>()), ...);
  return all;
}
template <Text... family>
std::vector<Behaviour> behaviours_of_all() {
  std::vector<Behaviour> all;
  const auto add = [&](std::vector<Behaviour> behaviours) {
    for (Behaviour& behaviour : behaviours) all.push_back(std::move(behaviour));
  };
  (add(behaviours_of<family>()), ...);
  return all;
}

}  // namespace

// A word for each <family>.cpp.
std::vector<Row> all_rows() {
  std::vector<Row> rows =
      rows_of_all<"unary", "binary", "compare", "where", "composed", "cast", "reduce", "matmul",
                  "gather", "shape", "softmax", "loss", "norm", "rope", "attention", "optimizer",
                  "sample", "create", "conv", "pool", "scan", "sort", "search", "arrange",
                  "contract", "indexing", "inplace", "resample", "blocks", "linear",
                  "expert_linear", "routing", "recurrence", "linear_attention", "ssd", "delta_rule",
                  "quantize">();
  std::set<std::string> loops;
  for (Row& row : rows) row.represented = !row.loop.empty() && !loops.insert(row.loop).second;
  return rows;
}

std::vector<Behaviour> all_behaviours() {
  return behaviours_of_all<"gather", "create", "sample">();
}

}  // namespace wick::conformance
