// The table of rows: every unit's, made once, and what a query finds in it. Compiled in each module
// with the compiler of its kernels, for the host alone.
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/rows.h"
#include "runtime/rt.h"

namespace wick::gpu {
namespace {

RowList all_rows() {
  RowList list;
  add_elementwise_rows(list);
  add_fill_rows(list);
  add_cast_rows(list);
  add_reduce_rows(list);
  add_matmul_rows(list);
  add_indexing_rows(list);
  add_compare_rows(list);
  add_norm_rows(list);
  add_rope_rows(list);
  add_loss_rows(list);
  add_optimizer_rows(list);
  add_attention_rows(list);
  add_attention_gradient_rows(list);
  add_sample_rows(list);
  return list;
}

bool answers(const Signature& row, const KernelQuery& query) {
  if (row.op != query.op || row.num_in != query.num_in || row.num_out != query.num_out)
    return false;
  if (row.attributes_size != query.attributes_size) return false;
  if (row.attributes_hash != query.attributes_hash) return false;
  for (int i = 0; i < row.num_in + row.num_out; i++)
    if (row.dtypes[i] != query.dtypes[i]) return false;
  return true;
}

/// The query's facts as bytes.
std::string key_of(unsigned families, const KernelQuery& query) {
  std::string key;
  const auto add = [&key](const auto& fact) {
    key.append(reinterpret_cast<const char*>(&fact), sizeof fact);
  };
  add(families), add(query.op), add(query.num_in), add(query.num_out);
  add(query.attributes_size), add(query.attributes_hash);
  for (int i = 0; i < query.num_in + query.num_out; i++) add(query.dtypes[i]);
  return key;
}

}  // namespace

int32 find_rows(int32, unsigned families, const KernelQuery* query, const KernelRow** rows) {
  // Never destroyed: a module's last launch may come after its static objects are gone.
  static std::mutex& mutex = *new std::mutex;
  static auto& found = *new std::map<std::string, std::vector<KernelRow>>;
  static const RowList list = all_rows();

  const std::lock_guard lock(mutex);
  const auto [place, is_new] = found.try_emplace(key_of(families, *query));
  if (is_new) {
    for (const RowEntry* entry = list.first; entry; entry = entry->next)
      if ((entry->families & families) != 0 && answers(entry->signature, *query))
        place->second.push_back(entry->row);
  }
  *rows = place->second.data();  // stays: a map's values do not move
  return int32(place->second.size());
}

}  // namespace wick::gpu
