#include "runtime/check_emulated.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "base/environment.h"
#include "scalar/round_up.h"
#include "wick/base/error.h"

namespace wick::gpu::emu {
namespace {

// ---- The mode

struct InitialMode {
  bool check = false;
  std::string complaint;
  InitialMode() {
    try {
      check = environment_choice("WICK_EMU", {"fast", "check"}).value_or(0) == 1;
    } catch (const Error& error) {
      complaint = error.what();
    }
  }
};
const InitialMode& initial_mode() {
  static const InitialMode mode;
  return mode;
}
std::atomic<bool>& mode() {
  static std::atomic<bool> on{initial_mode().check};
  return on;
}

// ---- Memory

constexpr int64 kPage = 4096;
constexpr int64 kZoneBytes = kPage;  // red zone, on either side of an allocation
// Beyond each red zone: address space without memory, until somebody writes there.
constexpr int64 kGapBytes = 16 << 20;

/// A mapping of its own: gap, red zone, data, red zone, gap.
struct Allocation {
  char* data;
  int64 bytes;
  char* end() const { return data + bytes; }
  char* front_zone() const { return data - kZoneBytes; }
  char* back_zone_end() const { return end() + kZoneBytes; }
  char* mapping() const { return front_zone() - kGapBytes; }
  int64 mapped_bytes() const { return 2 * (kGapBytes + kZoneBytes) + round_up(bytes, kPage); }
  char* mapping_end() const { return mapping() + mapped_bytes(); }
};

struct Memory {
  std::mutex mutex;  // held while a kernel runs
  std::map<const char*, Allocation> live;
  uint8 zone_poison = 0xff;

  void fill_zones(const Allocation& a) const {
    memset(a.front_zone(), zone_poison, kZoneBytes);
    memset(a.end(), zone_poison, kZoneBytes);
  }
  void fill_all_zones(uint8 poison) {
    zone_poison = poison;
    for (const auto& [begin, a] : live) fill_zones(a);
  }
};
Memory& memory() {
  static Memory& memory = *new Memory;  // outlives tensors in statics
  return memory;
}

/// The first and the last byte of a range that are not as they should be.
struct Damage {
  const char* first = nullptr;
  const char* last = nullptr;
  bool only_zeros = false;  // pages that were read, or into which zeros were written
  explicit operator bool() const { return first != nullptr; }
};

/// expected(i): what byte i should be.
template <class F>
Damage find_differences(const char* begin, int64 bytes, const F& expected) {
  int64 first = 0, last = bytes - 1;
  while (uint8(begin[first]) == expected(first)) first++;
  while (uint8(begin[last]) == expected(last)) last--;
  return {begin + first, begin + last};
}
Damage find_damage(const char* begin, int64 bytes, const uint8* expected) {
  if (bytes == 0 || memcmp(begin, expected, size_t(bytes)) == 0) return {};
  return find_differences(begin, bytes, [=](int64 i) { return expected[i]; });
}
Damage find_damage(const char* begin, int64 bytes, uint8 poison) {
  const bool intact =
      bytes == 0 || (uint8(begin[0]) == poison && memcmp(begin, begin + 1, size_t(bytes - 1)) == 0);
  if (intact) return {};
  return find_differences(begin, bytes, [=](int64) { return poison; });
}

/// Damage in a gap, [begin, end). Its pages have no memory until somebody writes or reads there.
Damage find_gap_damage(char* begin, char* end) {
  Damage written, touched;
  const auto add = [](Damage& to, const Damage& more) {
    if (!to) to = more;
    to.last = more.last;
  };
  const auto look = [&](const char* from, const char* to) {
    if (const Damage here = find_damage(from, to - from, uint8(0))) add(written, here);
  };
  const auto up = [](const char* at) { return round_up(uintptr_t(at), uintptr_t(kPage)); };
  char* const first = begin + (up(begin) - uintptr_t(begin));
  look(begin, first);  // the rest of a red zone's last page
  const int64 pages = (end - first) / kPage;
  std::vector<unsigned char> present(static_cast<size_t>(pages));
  if (mincore(first, size_t(pages * kPage), present.data()) != 0) return written;
  for (int64 i = 0; i < pages; i++) {
    if ((present[size_t(i)] & 1) == 0) continue;
    const char* const page = first + i * kPage;
    look(page, page + kPage);
    add(touched, {page, page + kPage - 1, true});
  }
  return written ? written : touched;
}

/// The first damage in the red zones of every allocation and in the gaps beyond them.
Damage find_zone_damage() {
  for (const auto& [begin, a] : memory().live)
    for (const char* zone : {a.end(), a.front_zone()})
      if (const Damage damage = find_damage(zone, kZoneBytes, memory().zone_poison)) return damage;
  for (const auto& [begin, a] : memory().live)
    for (const auto& [from, to] :
         {std::pair{a.back_zone_end(), a.mapping_end()}, std::pair{a.mapping(), a.front_zone()}})
      if (const Damage damage = find_gap_damage(from, to)) return damage;
  return {};
}

/// Takes back the memory of every gap.
void clear_gaps() {
  for (const auto& [begin, a] : memory().live) {
    char* const page = a.mapping_end() - kGapBytes;  // the first that is only of the gap
    memset(a.back_zone_end(), 0, size_t(page - a.back_zone_end()));
    madvise(page, size_t(kGapBytes), MADV_DONTNEED);
    madvise(a.mapping(), size_t(kGapBytes), MADV_DONTNEED);
  }
}

// ---- Views

/// Calls f(begin, bytes) for the stretches of memory that a view's elements fill, in their order.
template <class F>
void for_each_run(const View& view, const F& f) {
  if (view.numel() == 0) return;
  int outer = view.rank;  // dims before those that lie side by side
  int64 side_by_side = 1;
  while (outer > 0 && (view.shape[outer - 1] == 1 || view.strides[outer - 1] == side_by_side))
    side_by_side *= view.shape[--outer];
  int64 at[kMaxRank] = {};
  for (;;) {
    int64 offset = 0;
    for (int d = 0; d < outer; d++) offset += at[d] * view.strides[d];
    f(view.as<char>() + bytes_of(view.dtype, offset), bytes_of(view.dtype, side_by_side));
    int d = outer;
    while (d > 0 && ++at[d - 1] == view.shape[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

std::vector<uint8> gather(const View& view) {
  std::vector<uint8> packed;
  packed.reserve(size_t(bytes_of(view.dtype, view.numel())));
  for_each_run(view, [&](const char* begin, int64 bytes) {
    packed.insert(packed.end(), begin, begin + bytes);
  });
  return packed;
}
void scatter(const View& view, const std::vector<uint8>& packed) {
  const uint8* from = packed.data();
  for_each_run(view, [&](char* begin, int64 bytes) {
    memcpy(begin, from, size_t(bytes));
    from += bytes;
  });
}

/// Addresses [begin, end).
struct Extent {
  const char* begin;
  const char* end;
  bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
};
void sort(std::vector<Extent>& extents) {
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
}
/// Calls f(extent, covered) for the pieces of a whole that sorted extents cover or leave out.
template <class F>
void split_by(const Extent& whole, const std::vector<Extent>& sorted, const F& f) {
  const char* at = whole.begin;
  for (const Extent& extent : sorted) {
    if (extent.end <= at) continue;
    if (extent.begin >= whole.end) break;
    if (at < extent.begin) f(Extent{at, extent.begin}, false);
    at = std::max(at, extent.begin);
    const char* const end = std::min(extent.end, whole.end);
    if (at < end) f(Extent{at, end}, true);
    at = std::max(at, end);
  }
  if (at < whole.end) f(Extent{at, whole.end}, false);
}
Extent extent_of(const View& view) {
  int64 last = 0;
  for (int d = 0; d < view.rank; d++) last += (view.shape[d] - 1) * view.strides[d];
  const char* const begin = view.as<char>();
  return {begin, view.numel() ? begin + bytes_of(view.dtype, last + 1) : begin};
}

// ---- Texts

std::string list_of(const int64* values, int count) {
  std::string text = "[";
  for (int i = 0; i < count; i++) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}
/// "output 0 (f32 [3, 5])"
std::string describe(const char* role, int index, const View& view) {
  std::string text = role;
  text += " ";
  text += std::to_string(index);
  text += " (";
  text += dtype_name(view.dtype);
  text += " ";
  return text + list_of(view.shape, view.rank) + ")";
}

/// The index of a view's element number n in the order of its shape.
std::string index_text(const View& view, int64 n) {
  int64 at[kMaxRank];
  for (int d = view.rank; d-- > 0; n /= view.shape[d]) at[d] = n % view.shape[d];
  return list_of(at, view.rank);
}

template <class T>
T read(const uint8* bytes) {
  T value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

double as_double(DType dtype, const uint8* bytes) {
  double value = 0;
  dispatch(dtype, FloatTypes{}, [&]<class T>() {
    if constexpr (kSame<T, double>)
      value = read<T>(bytes);
    else
      value = double(to_float(read<T>(bytes)));
  });
  return value;
}

/// "0.5 (0x3f000000)"
std::string value_text(DType dtype, const uint8* bytes) {
  std::string number = "true or false";
  dispatch(dtype, IntegerTypes{}, [&]<class T>() { number = std::to_string(read<T>(bytes)); });
  char digits[32];
  if (is_floating(dtype)) {
    const double value = as_double(dtype, bytes);
    snprintf(digits, sizeof digits, "%.9g", std::isnan(value) ? std::fabs(value) : value);
    number = digits;
  }
  std::string hex;
  for (int i = facts_of(dtype).block_bytes; i-- > 0;) {
    snprintf(digits, sizeof digits, "%02x", bytes[i]);
    hex += digits;
  }
  return number + " (0x" + hex + ")";
}

// ---- Ways

struct NamedWay {
  RunConditions way;
  const char* name;
  bool first_layout_only;  // what a layout cannot change
};
// Each but the last differs from the first in one respect, which names the cause. 0xff is NaN in
// every float and -1; 0x3c is a small number in every float, and a wrong index. The two that differ
// in poison alone run block by block: blocks that race must not look like poison.
constexpr NamedWay kWays[] = {
    {{Schedule::kForward, 0xff, 1, true}, "forward, poison 0xff", true},
    {{Schedule::kForward, 0x3c, 1, true}, "forward, poison 0x3c", false},
    {{Schedule::kReverse, 0xff, 1}, "reverse, poison 0xff", false},
    {{Schedule::kShuffled, 0xff, 1}, "shuffled 1, poison 0xff", true},
    {{Schedule::kShuffled, 0x3c, 2}, "shuffled 2, poison 0x3c", false},
};

/// A fresh output's poison differs from that of what may be read, so that it tells what was copied.
uint8 output_poison(const RunConditions& way) { return way.poison ^ 1; }

/// One call in all its ways: what it may write, what it may read, and the rest, which is poisoned.
class Check {
 public:
  Check(const Call& call, uint32 flags, ErrorRecord* record);
  Check(const Check&) = delete;
  /// Puts back all that the call had no right to change.
  ~Check();
  /// Memory as before the first way, poison wherever nobody may look.
  void prepare(const RunConditions& way);
  /// After a way: "" or what is wrong.
  std::string inspect(const Running& now);

 private:
  struct Output {
    const View* view;
    bool fresh;
    std::vector<uint8> before;  // packed
    std::vector<uint8> first;   // after the first way
    double reach = 0;           // of floats: what partial sums come to in some order
  };
  /// Memory of any allocation that the call must not write.
  struct Protected {
    char* begin;
    std::vector<uint8> before;
    bool input;  // else nobody's: poisoned meanwhile
  };

  Damage find_protected_damage() const;
  std::string describe_damage(const Damage&) const;
  std::string compare(const Output&, int index, const std::vector<uint8>& now) const;
  bool agree(const Output&, const uint8* first, const uint8* now) const;
  double spread_of(DType) const;
  std::string cause() const;
  /// Whether the way now adds in another order than the first, as it may.
  bool other_sums() const { return now_.sums_by_layout && now_.layout != first_.layout; }

  const Call& call_;
  const bool unordered_;
  ErrorRecord* const record_;
  const ErrorRecord record_before_;
  std::vector<Output> outputs_;
  std::vector<Protected> protected_;
  bool seen_first_ = false, first_failed_ = false, damaged_ = false;
  Running first_, now_;
};

Check::Check(const Call& call, uint32 flags, ErrorRecord* record)
    : call_(call),
      unordered_((flags & kKernelUnordered) != 0),
      record_(record),
      record_before_(*record) {
  std::vector<Extent> inputs, writable;
  for (int i = 0; i < call.num_in; i++) inputs.push_back(extent_of(call.in[i]));
  for (int i = 0; i < call.num_out; i++) {
    const View& view = call.out[i];
    bool fresh = (flags & kKernelAccumulates) == 0;
    for (const Extent& input : inputs)
      if (extent_of(view).overlaps(input)) fresh = false;
    outputs_.push_back({&view, fresh, gather(view), {}});
    for_each_run(view, [&](const char* begin, int64 bytes) {
      writable.push_back({begin, begin + bytes});
    });
  }
  const char* const scratch = static_cast<const char*>(call.scratch);
  if (scratch) writable.push_back({scratch, scratch + call.scratch_bytes});
  sort(inputs), sort(writable);
  const auto protect = [&](const Extent& e, bool input) {
    protected_.push_back({const_cast<char*>(e.begin), std::vector<uint8>(e.begin, e.end), input});
  };
  for (const auto& [begin, a] : memory().live)
    split_by({a.data, a.end()}, writable, [&](const Extent& extent, bool may_write) {
      if (!may_write) split_by(extent, inputs, protect);
    });
}

Check::~Check() {
  for (const Protected& p : protected_) memcpy(p.begin, p.before.data(), p.before.size());
  memory().fill_all_zones(memory().zone_poison);
  if (damaged_) clear_gaps();
}

void Check::prepare(const RunConditions& way) {
  *record_ = record_before_;
  memory().fill_all_zones(way.poison);
  for (const Protected& p : protected_)
    if (!p.input) memset(p.begin, way.poison, p.before.size());
  if (call_.scratch) memset(call_.scratch, way.poison, size_t(call_.scratch_bytes));
  for (const Output& output : outputs_) {
    if (output.fresh)
      for_each_run(*output.view, [&](char* begin, int64 bytes) {
        memset(begin, output_poison(way), size_t(bytes));
      });
    else
      scatter(*output.view, output.before);
  }
}

Damage Check::find_protected_damage() const {
  for (const Protected& p : protected_) {
    const int64 bytes = int64(p.before.size());
    const Damage damage = p.input ? find_damage(p.begin, bytes, p.before.data())
                                  : find_damage(p.begin, bytes, now_.way.poison);
    if (damage) return damage;
  }
  return {};
}

/// Names the operand that is nearest: outputs first, since what is written was meant for one.
std::string Check::describe_damage(const Damage& damage) const {
  struct Operand {
    std::string name;
    Extent extent;
    bool input;
  };
  std::vector<Operand> operands;
  for (int i = 0; i < call_.num_out; i++)
    operands.push_back({describe("output", i, call_.out[i]), extent_of(call_.out[i]), false});
  for (int i = 0; i < call_.num_in; i++)
    operands.push_back({describe("input", i, call_.in[i]), extent_of(call_.in[i]), true});
  if (call_.scratch) {
    const char* const scratch = static_cast<const char*>(call_.scratch);
    operands.push_back({"its scratch", {scratch, scratch + call_.scratch_bytes}, false});
  }
  const auto distance = [&](const Operand& operand) {
    if (damage.last < operand.extent.begin) return operand.extent.begin - damage.last;
    if (damage.first >= operand.extent.end) return damage.first - operand.extent.end + 1;
    return ptrdiff_t(0);
  };
  const Operand* nearest = nullptr;
  for (const Operand& operand : operands)
    if (!nearest || distance(operand) < distance(*nearest)) nearest = &operand;
  if (!nearest) return "writes into memory that is none of its operands";

  const auto bytes = [](ptrdiff_t from, ptrdiff_t to) {
    return from == to ? "byte " + std::to_string(from)
                      : "bytes " + std::to_string(from) + " to " + std::to_string(to);
  };
  const char* const begin = nearest->extent.begin;
  const char* const end = nearest->extent.end;
  const std::string writes = damage.only_zeros ? "reads, or writes zeros to, " : "writes ";
  if (damage.first >= end)
    return writes + bytes(damage.first - end, damage.last - end) + " past the end of " +
           nearest->name;
  if (damage.last < begin)
    return writes + bytes(begin - damage.first, begin - damage.last) + " before the start of " +
           nearest->name;
  return std::string(nearest->input ? "writes " : "writes between the elements: ") +
         bytes(damage.first - begin, damage.last - begin) + " of " + nearest->name;
}

bool Check::agree(const Output& output, const uint8* first, const uint8* now) const {
  const DType dtype = output.view->dtype;
  if (memcmp(first, now, size_t(facts_of(dtype).block_bytes)) == 0) return true;
  if (!(unordered_ || other_sums()) || !is_floating(dtype)) return false;
  const double a = as_double(dtype, first), b = as_double(dtype, now);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  // Units in the last place of 1.
  constexpr double kUnit[] = {0x1p-3, 0x1p-2, 0x1p-7, 0x1p-10, 0x1p-23, 0x1p-52};
  static_assert(int(DType::kF64) - int(DType::kF8E4M3) == 5);
  const double units = dtype_size(dtype) >= 4 ? 64 : 8;
  return std::fabs(a - b) <= units * kUnit[int(dtype) - int(DType::kF8E4M3)] * output.reach;
}

/// What the inputs of a dtype come to when added with random signs, the finite ones: partial sums
/// do, though the results may cancel.
double Check::spread_of(DType dtype) const {
  double squares = 0;
  for (int i = 0; i < call_.num_in; i++) {
    if (call_.in[i].dtype != dtype) continue;
    const std::vector<uint8> bytes = gather(call_.in[i]);
    for (size_t at = 0; at < bytes.size(); at += size_t(dtype_size(dtype))) {
      const double value = as_double(dtype, &bytes[at]);
      if (std::isfinite(value)) squares += value * value;
    }
  }
  return std::sqrt(squares);
}

/// Why the way now gave other bits than the first.
std::string Check::cause() const {
  if (now_.layout != first_.layout) return "its result depends on the matrix layout";
  if (now_.way.schedule == first_.way.schedule)
    return "it reads memory that was never written (shared memory, scratch, an output, beyond a "
           "tensor)";
  return "its result depends on which threads come first (a barrier missing, two threads writing "
         "one place)";
}

std::string Check::compare(const Output& output, int index, const std::vector<uint8>& now) const {
  const View& view = *output.view;
  const size_t size = size_t(facts_of(view.dtype).block_bytes);
  const auto holds = [&](const uint8* bytes, uint8 poison) {
    return std::all_of(bytes, bytes + size, [&](uint8 b) { return b == poison; });
  };
  for (size_t at = 0; at < now.size(); at += size) {
    const uint8 *a = &output.first[at], *b = &now[at];
    if (agree(output, a, b)) continue;
    const std::string element =
        "element " + index_text(view, int64(at / size) * facts_of(view.dtype).block_elements) +
        " of " + describe("output", index, view);
    if (output.fresh && holds(a, output_poison(first_.way)) && holds(b, output_poison(now_.way)))
      return element + " is not written";
    return cause() + ": " + element + " is " + value_text(view.dtype, a) + " under [" +
           first_.way_name + "], " + value_text(view.dtype, b) + " under [" + now_.way_name + "]";
  }
  return {};
}

std::string Check::inspect(const Running& now) {
  now_ = now;
  for (const Damage& damage : {find_zone_damage(), find_protected_damage()}) {
    if (!damage) continue;
    damaged_ = true;
    return describe_damage(damage);
  }

  const bool reported = record_->code != 0;
  if (!seen_first_) {
    seen_first_ = true, first_ = now, first_failed_ = reported;
    for (Output& output : outputs_) {
      output.first = gather(*output.view);
      if (!(unordered_ || now.sums_by_layout) || !is_floating(output.view->dtype)) continue;
      output.reach = spread_of(output.view->dtype);
      const size_t size = size_t(dtype_size(output.view->dtype));
      for (size_t at = 0; at < output.first.size(); at += size) {
        const double value = std::fabs(as_double(output.view->dtype, &output.first[at]));
        if (std::isfinite(value)) output.reach = std::max(output.reach, value);
      }
    }
    return {};
  }
  for (size_t i = 0; i < outputs_.size(); i++)
    if (std::string text = compare(outputs_[i], int(i), gather(*outputs_[i].view)); !text.empty())
      return text;
  if (reported != first_failed_)
    return cause() + ": it reports an error under [" +
           (reported ? now_.way_name : first_.way_name) + "], none under [" +
           (reported ? first_.way_name : now_.way_name) + "]";
  if (other_sums()) {  // the layout's other ways give what its first one gave
    first_ = now;
    for (Output& output : outputs_) output.first = gather(*output.view);
  }
  return {};
}

}  // namespace

bool check_mode() { return mode().load(std::memory_order_relaxed); }
void set_check_mode(bool on) { mode().store(on, std::memory_order_relaxed); }
const std::string& mode_complaint() { return initial_mode().complaint; }

void* checked_alloc(int64 bytes) {
  const size_t mapped = size_t(Allocation{nullptr, bytes}.mapped_bytes());
  void* const base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  madvise(base, mapped, MADV_NOHUGEPAGE);  // a page of 2 MiB would give the gaps memory
  const Allocation a{static_cast<char*>(base) + kGapBytes + kZoneBytes, bytes};
  memset(a.data, 0xff, size_t(bytes));
  const std::lock_guard lock(memory().mutex);
  memory().fill_zones(a);
  memory().live[a.data] = a;
  return a.data;
}

bool checked_free(void* data) {
  const std::lock_guard lock(memory().mutex);
  const auto found = memory().live.find(static_cast<char*>(data));
  if (found == memory().live.end()) return false;
  munmap(found->second.mapping(), size_t(found->second.mapped_bytes()));
  memory().live.erase(found);
  return true;
}

HostAccess::HostAccess() {
  if (check_mode()) lock_ = std::unique_lock(memory().mutex);
}

std::string HostAccess::beyond(const void* data, int64 bytes) const {
  if (!lock_.owns_lock() || bytes <= 0) return {};
  const char* const begin = static_cast<const char*>(data);
  const auto& live = memory().live;
  // The last allocation whose mapping begins at or before data.
  auto next = live.upper_bound(begin + kGapBytes + kZoneBytes);
  if (next == live.begin()) return {};
  const Allocation& a = std::prev(next)->second;
  if (begin >= a.mapping_end()) return {};
  if (begin >= a.data && begin + bytes <= a.end()) return {};
  return std::to_string(bytes) + " bytes from byte " + std::to_string(begin - a.data) +
         " of an allocation of " + std::to_string(a.bytes);
}

int64 bytes_from(const void* data) {
  const std::lock_guard lock(memory().mutex);
  const char* const at = static_cast<const char*>(data);
  const auto next = memory().live.upper_bound(at);
  if (next == memory().live.begin()) return 0;
  const Allocation& a = std::prev(next)->second;
  return at < a.end() ? a.end() - at : 0;
}

Running& running() {
  static thread_local Running running;
  return running;
}

Status failed(StatusCode code, std::string text) {
  static thread_local std::string kept;
  kept = std::move(text);
  return {code, kept.c_str()};
}

Status run_in_all_ways(const Call& call, const char* kernel, uint32 flags, ErrorRecord* record,
                       const std::function<Status()>& run) {
  const std::lock_guard lock(memory().mutex);
  const char* const op = call.op->name;
  const auto where = [&] {
    return " (" + std::string(kernel ? kernel : "none of the table") +
           ", emu:" + std::to_string(call.device) + ")";
  };
  if (find_zone_damage()) {
    memory().fill_all_zones(memory().zone_poison);
    clear_gaps();
    return failed(
        StatusCode::kDeviceError,
        std::string(op) + ": before it ran, the host wrote beyond an allocation" + where());
  }

  struct Restore {
    Running before = running();
    ~Restore() { running() = before; }
  } restore;
  Running& now = running();
  now = {};
  now.kernel = kernel;
  Check check(call, flags, record);
  for (now.layout = 0; now.layout < now.layouts; now.layout++) {
    for (const NamedWay& named : kWays) {
      if (now.layout > 0 && named.first_layout_only) continue;
      now.way = named.way, now.way_name = named.name;
      check.prepare(named.way);
      const Status status = run();
      const std::string text = status.ok() ? check.inspect(now) : "";
      if (status.ok() && text.empty()) continue;
      if (!status.ok()) return status;
      return failed(StatusCode::kDeviceError, std::string(op) + ": " + text + where());
    }
  }
  return {};
}

}  // namespace wick::gpu::emu
