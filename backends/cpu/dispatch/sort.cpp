#include "dispatch/sort.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "dispatch/workers.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 4096;       // elements a thread takes at least
constexpr int64 kFew = 128;          // up to here comparing is faster than counting
constexpr int64 kLongRow = 1 << 16;  // from here on threads share one row out
constexpr int kMaxBlocks = 64;       // parts of such a row
constexpr int64 kSpare = 1024;       // records that topk gathers at least before it throws some out

/// Records of one number, key << 32 | place, or of two.
struct Narrow {
  using Record = uint64;
  static int digit(Record r, int pass) { return int(r >> (32 + 8 * pass) & 0xff); }
  static int64 place(Record r) { return int64(r & 0xffffffff); }
  static constexpr Record kLast = ~uint64(0);
  static void fill(const SortFunctions& op, const void* x, int64 stride, int64 n, int64 first,
                   int descending, Record* to) {
    op.narrow(x, stride, n, first, descending, to);
  }
};
struct Wide {
  using Record = Keyed;
  static int digit(const Record& r, int pass) { return int(r.key >> (8 * pass) & 0xff); }
  static int64 place(const Record& r) { return int64(r.place); }
  static constexpr Record kLast = {~uint64(0), ~uint64(0)};
  static void fill(const SortFunctions& op, const void* x, int64 stride, int64 n, int64 first,
                   int descending, Record* to) {
    op.wide(x, stride, n, first, descending, to);
  }
};

bool is_narrow(const SortFunctions& op, int64 n) {
  return op.key_bytes <= 4 && n <= int64(std::numeric_limits<uint32>::max());
}

/// Makes one stable pass over a digit, from a to b, in blocks that threads take. False where all
/// records have the same digit: nothing moved.
template <class Kind, class Record = typename Kind::Record>
bool pass(const Record* a, Record* b, int64 n, int number, int blocks) {
  using Counts = std::array<int64, 256>;
  std::vector<Counts> counts(static_cast<size_t>(blocks), Counts{});
  const auto begin_of = [&](int64 block) {
    return n / blocks * block + std::min(block, n % blocks);
  };
  const auto each_block = [&](const auto& f) {
    parallel_for(blocks, 1, [&](int64 begin, int64 end) {
      for (int64 block = begin; block < end; block++)
        f(counts[size_t(block)], begin_of(block), begin_of(block + 1));
    });
  };
  each_block([&](Counts& count, int64 begin, int64 end) {
    for (int64 i = begin; i < end; i++) count[size_t(Kind::digit(a[i], number))]++;
  });
  int64 at = 0;
  for (size_t digit = 0; digit < 256; digit++) {
    int64 total = 0;
    for (Counts& count : counts) {
      const int64 here = count[digit];
      count[digit] = at + total;
      total += here;
    }
    if (total == n) return false;
    at += total;
  }
  each_block([&](Counts& next, int64 begin, int64 end) {
    for (int64 i = begin; i < end; i++) b[next[size_t(Kind::digit(a[i], number))]++] = a[i];
  });
  return true;
}

/// Sorts a; spare has room for as many. Returns where the result is.
template <class Kind, class Record = typename Kind::Record>
Record* sort_records(Record* a, Record* spare, int64 n, int key_bytes, int blocks) {
  if (n <= kFew) {
    std::sort(a, a + n);
    return a;
  }
  for (int number = 0; number < key_bytes; number++)
    if (pass<Kind>(a, spare, n, number, blocks)) std::swap(a, spare);
  return a;
}

template <class Word>
void pick_words(const Word* x, int64 stride, const int64* ids, int64 n, Word* y, int64 y_stride) {
  for (int64 i = 0; i < n; i++) y[i * y_stride] = x[ids[i] * stride];
}

/// Row `i` of a call.
struct Row {
  Row(const SortFunctions& op, const Call& call, int64 i)
      : op(op),
        n(call.in[0].shape[1]),
        stride(call.in[0].strides[1]),
        x(call.in[0].as<const char>() + i * call.in[0].strides[0] * op.size),
        y(call.out[0].as<char>() + i * call.out[0].strides[0] * op.size),
        y_stride(call.out[0].strides[1]),
        ids(call.out[1].as<int64>() + i * call.out[1].strides[0]),
        ids_stride(call.out[1].strides[1]),
        descending(static_cast<const SortAttributes*>(call.attributes)->descending) {}

  template <class Kind>
  void records(int64 first, int64 count, typename Kind::Record* to) const {
    Kind::fill(op, x + first * stride * op.size, stride, count, first, descending, to);
  }

  /// Writes the elements of `count` records, the first of which is the result's number `first`.
  template <class Kind>
  void write(const typename Kind::Record* records, int64 first, int64 count) const {
    int64 places[kChunk];
    for (int64 done = 0; done < count; done += kChunk) {
      const int64 piece = std::min(kChunk, count - done);
      for (int64 i = 0; i < piece; i++) places[i] = Kind::place(records[done + i]);
      for (int64 i = 0; i < piece; i++) ids[(first + done + i) * ids_stride] = places[i];
      pick(places, piece, y + (first + done) * y_stride * op.size);
    }
  }

  void pick(const int64* places, int64 count, char* to) const {
    const auto words = [&]<class Word>(Word) {
      pick_words(reinterpret_cast<const Word*>(x), stride, places, count,
                 reinterpret_cast<Word*>(to), y_stride);
    };
    if (op.size == 1)
      words(uint8());
    else if (op.size == 2)
      words(uint16());
    else if (op.size == 4)
      words(uint32());
    else
      words(uint64());
  }

  const SortFunctions& op;
  int64 n, stride;
  const char* x;
  char* y;
  int64 y_stride;
  int64* ids;
  int64 ids_stride;
  int descending;
};

/// The whole row, sorted: its first `count` records are written.
template <class Kind>
void sort_row(const Row& row, int64 count, char* buffer, int blocks) {
  using Record = typename Kind::Record;
  Record* const a = reinterpret_cast<Record*>(buffer);
  const auto share = [&](int64 length) { return ceil_div(length, blocks); };
  parallel_for(blocks, 1, [&](int64 begin, int64 end) {
    const int64 from = std::min(row.n, begin * share(row.n)),
                to = std::min(row.n, end * share(row.n));
    if (from < to) row.records<Kind>(from, to - from, a + from);
  });
  const Record* const sorted = sort_records<Kind>(a, a + row.n, row.n, row.op.key_bytes, blocks);
  parallel_for(blocks, 1, [&](int64 begin, int64 end) {
    const int64 from = std::min(count, begin * share(count)),
                to = std::min(count, end * share(count));
    if (from < to) row.write<Kind>(sorted + from, from, to - from);
  });
}

/// The first k records of the row: those that go before the k-th best so far are gathered; where
/// they are too many the best k stay.
template <class Kind>
void select_row(const Row& row, int64 k, char* buffer) {
  using Record = typename Kind::Record;
  Record* const best = reinterpret_cast<Record*>(buffer);
  const int64 room = k + std::max(k, kSpare);
  Record piece[kChunk];
  Record limit = Kind::kLast;
  int64 count = 0;
  const auto keep = [&] {
    std::nth_element(best, best + (k - 1), best + count);
    limit = best[k - 1];
    count = k;
  };
  for (int64 first = 0; first < row.n; first += kChunk) {
    const int64 n = std::min(kChunk, row.n - first);
    row.records<Kind>(first, n, piece);
    for (int64 i = 0; i < n; i++) {
      if (!(piece[i] < limit)) continue;
      best[count++] = piece[i];
      if (count == room) keep();
    }
  }
  if (count > k) keep();
  std::sort(best, best + k);
  row.write<Kind>(best, 0, k);
}

/// How a call is done: k of n records of a row are wanted.
struct Plan {
  Plan(const SortFunctions& op, const Call& call)
      : rows(call.in[0].shape[0]),
        n(call.in[0].shape[1]),
        k(call.out[0].shape[1]),
        narrow(is_narrow(op, n)),
        selects(k + std::max(k, kSpare) < n / 2),
        workers(shares_row() ? 1 : rows, rows * n / kGrain, bytes()) {}

  int64 bytes() const {
    const int64 record = narrow ? sizeof(uint64) : sizeof(Keyed);
    return record * (selects ? k + std::max(k, kSpare) : 2 * n);
  }
  /// Few long rows go one after another, all threads at each.
  bool shares_row() const { return !selects && n >= kLongRow && rows < num_threads(); }
  int blocks() const {
    return shares_row() ? int(std::min<int64>({n / (kLongRow / 4), num_threads(), kMaxBlocks})) : 1;
  }

  int64 rows, n, k;
  bool narrow, selects;
  Workers workers;
};

template <class Kind>
void run_rows(const SortFunctions& op, const Call& call, const Plan& plan, char* buffers) {
  plan.workers.run(plan.rows, buffers, [&](int64 i, char* buffer) {
    const Row row(op, call, i);
    if (plan.selects)
      select_row<Kind>(row, plan.k, buffer);
    else
      sort_row<Kind>(row, plan.k, buffer, plan.blocks());
  });
}

Status run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const SortFunctions*>(kernel->data);
  Plan plan(op, *call);
  if (plan.rows * plan.n * plan.k == 0) return {};
  if (!plan.workers.fit(call->scratch_bytes))
    return error(StatusCode::kInvalidArgument, "%s: %lld bytes of scratch are too few",
                 kernel->name, (long long)call->scratch_bytes);
  alignas(64) char local[kLocalBytes];
  char* const buffers = plan.workers.scratch() > 0 ? static_cast<char*>(call->scratch) : local;
  if (plan.narrow)
    run_rows<Narrow>(op, *call, plan, buffers);
  else
    run_rows<Wide>(op, *call, plan, buffers);
  return {};
}

int64 scratch(const Kernel* kernel, const Call* call) {
  return Plan(*static_cast<const SortFunctions*>(kernel->data), *call).workers.scratch();
}

}  // namespace

Status run_sort(const Kernel* kernel, const Call* call) { return run(kernel, call); }
Status run_topk(const Kernel* kernel, const Call* call) { return run(kernel, call); }
int64 sort_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  return scratch(kernel, call);
}
int64 topk_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  return scratch(kernel, call);
}

}  // namespace wick::cpu
