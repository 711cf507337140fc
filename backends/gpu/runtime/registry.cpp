// The table of kernels: every unit's, made once, and what a query finds in it. Compiled in each module
// with the compiler of its kernels, for the host alone.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#if !defined(WICK_EMULATED)
#include "libraries/library_kernels.h"
#endif
#include "runtime/kernel_list.h"
#include "runtime/rt.h"

namespace wick::gpu {
namespace {

template <Text... family>
KernelList kernels_of() {
  KernelList list;
#if !defined(WICK_EMULATED)
  add_library_kernels(list);
#endif
  (add_family<family>(list), ...);
  return list;
}

/// Never destroyed: a module's last launch may come after its static objects are gone.
const KernelList& all_kernels() {
  // A word for each unit kernels/*.cpp that has kernels of its own.
  static const KernelList list =
      kernels_of<"unary", "binary", "compare", "where", "cast", "create", "reduce", "matmul",
                 "gather", "gather_sorted", "softmax", "norm", "rope", "loss", "optimizer",
                 "attention", "attention_mixed", "quantize", "attention_gradient", "sample", "scan",
                 "search", "sort", "reduce_extremes", "arg_reduce", "cast_stored", "pool", "conv",
                 "linear", "expert_linear", "blocks", "recurrence", "linear_attention", "ssd",
                 "delta_rule", "routing">();
  return list;
}

/// One of each op, by its id. Two ops of one id would serve each other's calls.
std::map<uint64, const Op*> known_ops() {
  std::map<uint64, const Op*> known;
  for (const KernelEntry* entry = all_kernels().first; entry; entry = entry->next) {
    const Op& first = *known.emplace(entry->op.id, &entry->op).first->second;
    if (same_contract(first, entry->op)) continue;
    std::fprintf(stderr, "wick: two ops of one id: \"%s\" (%s) and \"%s\" (%s)\n", first.name,
                 first.operands, entry->op.name, entry->op.operands);
    std::abort();
  }
  return known;
}

bool answers(const KernelEntry& entry, const KernelQuery& query) {
  if (!same_contract(entry.op, *query.op)) return false;
  return key_of({&entry.op, entry.dtypes.all, entry.dtypes.num_in, entry.dtypes.num_out}) ==
         key_of(query);
}

}  // namespace

int32 look_up(int32, unsigned families, const KernelQuery* query, const Kernel** kernels) {
  // As all_kernels' list, never destroyed.
  static std::mutex& mutex = *new std::mutex;
  static auto& found =
      *new std::map<std::tuple<unsigned, uint64, uint64, uint64>, std::vector<Kernel>>;
  static const auto& known = *new std::map<uint64, const Op*>(known_ops());

  const auto op = known.find(query->op->id);
  if (op == known.end() || !same_contract(*op->second, *query->op)) return 0;
  if (query->num_in > kMaxOperands || query->num_out > kMaxOperands) return 0;
  const KernelKey key = key_of(*query);
  const std::lock_guard lock(mutex);
  const auto [place, is_new] = found.try_emplace({families, key.op, key.in, key.out});
  if (is_new) {
    for (const KernelEntry* entry = all_kernels().first; entry; entry = entry->next)
      if ((entry->families & families) != 0 && answers(*entry, *query))
        place->second.push_back(entry->kernel);
  }
  *kernels = place->second.data();  // stays: a map's values do not move
  return int32(place->second.size());
}

int32 list_ops(const Op* const** ops) {
  static const auto& all = *[] {
    auto* list = new std::vector<const Op*>;
    for (const auto& [id, op] : known_ops()) list->push_back(op);
    return list;
  }();
  *ops = all.data();
  return int32(all.size());
}

}  // namespace wick::gpu
