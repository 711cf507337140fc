#include "runner.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <sstream>

#include "pairwise.h"
#include "wick/base/threads.h"
#include "wick/core/backend.h"
#include "wick/core/numerics.h"

namespace wick::conformance {
namespace {

std::string text(const Index& index) {
  return wick::to_string(Dims(std::span<const int64_t>(index)));
}

HostShape host_shape(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }

/// The operands' elements that an output element of an elementwise row comes from.
std::string inputs_at(const std::vector<Placement>& operands, const HostShape& shape,
                      int64_t position) {
  std::string result;
  for (const Placement& p : operands) {
    const Array repeated = reference::expand(p.operand, shape);
    result += (result.empty() ? "" : ", ") + number(repeated.values[std::size_t(position)]);
  }
  return "of " + result + " ";
}

std::vector<bool> elements_at_edge(const Row& row, const std::vector<Placement>& operands,
                                   const HostShape& shape) {
  std::vector<bool> at_edge(std::size_t(reference::numel(shape)), false);
  for (const Placement& p : operands) {
    const Array repeated = reference::expand(p.operand, shape);
    for (std::size_t i = 0; i < at_edge.size(); i++) {
      const Real x = repeated.values[i];
      if (!(row.domain.low <= x && x <= row.domain.high)) at_edge[i] = true;
    }
  }
  return at_edge;
}

/// Where two lists of bytes differ first, as an element; -1 if nowhere. A NaN equals every other: IEEE
/// 754 leaves open which sign and payload the sum of two NaNs has.
int64_t first_difference(const std::vector<unsigned char>& a, const std::vector<unsigned char>& b,
                         DType dtype) {
  if (a.size() != b.size()) return 0;
  const size_t size = size_t(dtype_size(dtype));
  const auto is_nan = [&](const std::vector<unsigned char>& bytes, size_t at) {
    return is_floating(dtype) && std::isnan(reference::decode(dtype, bytes.data() + at));
  };
  for (auto from = a.begin();;) {
    const auto difference = std::mismatch(from, a.end(), b.begin() + (from - a.begin())).first;
    if (difference == a.end()) return -1;
    const size_t element = size_t(difference - a.begin()) / size, at = element * size;
    if (!is_nan(a, at) || !is_nan(b, at)) return int64_t(element);
    from = a.begin() + std::ptrdiff_t(at + size);
  }
}

/// Elements of the storage that the layout does not name and whose bytes are no longer `before`; -1
/// if there is none.
int64_t first_changed_around(const Tensor& x, const std::vector<unsigned char>& before) {
  const int64_t size = dtype_size(x.dtype()), n = int64_t(before.size()) / size;
  std::vector<bool> own(static_cast<std::size_t>(n), false);
  reference::build(x.dtype(), host_shape(x), [&](const Index& index) {
    int64_t at = x.layout().offset;
    for (int d = 0; d < x.rank(); d++) at += index[std::size_t(d)] * x.strides()[d];
    own[std::size_t(at)] = true;
    return Real(0);
  });
  const std::vector<unsigned char> after = read_bytes(x.view(Layout::contiguous({n})));
  for (int64_t i = 0; i < n; i++) {
    if (!own[std::size_t(i)] &&
        !std::equal(after.begin() + i * size, after.begin() + (i + 1) * size,
                    before.begin() + i * size)) {
      return i;
    }
  }
  return -1;
}

struct Uploaded {
  std::vector<Tensor> buffers;
  std::vector<Tensor> views;
};

Uploaded upload_all(const std::vector<Placement>& operands, const Device& device) {
  Uploaded result;
  for (const Placement& p : operands) {
    result.buffers.push_back(upload_buffer(p, device));
    result.views.push_back(p.view(result.buffers.back()));
  }
  return result;
}

/// While it lives, the CPU has one thread.
class OneThread {
 public:
  OneThread() { set_num_threads(1); }
  ~OneThread() { set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = num_threads();
};

/// While it lives, the same call gives the same bits.
class Deterministic {
 public:
  Deterministic() { set_deterministic(true); }
  ~Deterministic() { set_deterministic(false); }
  Deterministic(const Deterministic&) = delete;
  Deterministic& operator=(const Deterministic&) = delete;
};

/// The row in one thread against what several gave. No op of the CPU is unordered.
std::string check_in_one_thread(const Row& row, const Case& c, const std::vector<Tensor>& operands,
                                const std::vector<unsigned char>& of_several) {
  const int threads = num_threads();
  const OneThread scope;
  const Tensor y = row.run(operands, c);
  const int64_t different = first_difference(of_several, read_bytes(y), y.dtype());
  if (different < 0) return "";
  return std::to_string(threads) + " threads give other bits than one, first at element " +
         std::to_string(different);
}

/// Runs the row on operands of which the first has no other owner, so that the op may write over
/// it.
std::string check_in_place(const Row& row, const Case& c, const Device& device,
                           const std::vector<Placement>& operands,
                           const std::vector<unsigned char>& value_form) {
  Uploaded uploaded = upload_all(operands, device);
  const std::weak_ptr<Storage> memory = uploaded.buffers[0].storage();
  uploaded.buffers[0] = Tensor();
  const Tensor y = row.run(std::move(uploaded.views), c);
  const int64_t different = first_difference(read_bytes(y), value_form, y.dtype());
  if (different >= 0) {
    return "written over its operand it gives other bits, first at element " +
           std::to_string(different);
  }
  if (y.storage() != memory.lock()) return "";
  const int64_t changed = first_changed_around(y, operands[0].bytes);
  if (changed >= 0)
    return "written over its operand it also writes beside it, at element " +
           std::to_string(changed) + " of the buffer";
  return "";
}

bool contains(const std::vector<DType>& list, DType dtype) {
  return std::find(list.begin(), list.end(), dtype) != list.end();
}

void flush_subnormals(Array& x) {
  for (Real& value : x.values) {
    if (std::fabs(value) < reference::smallest_normal(x.dtype))
      value = std::copysign(Real(0), value);
  }
}

/// Failed, or how far off the result is; whether the case has passed is for the caller to say.
Outcome check_result(const Row& row, const Case& c, const std::vector<Placement>& operands,
                     const Tensor& y) {
  std::vector<Array> arrays;
  for (const Placement& p : operands) arrays.push_back(p.operand);
  const Result expected = row.reference(arrays, c);
  Terms terms{row.tolerance, row.edge, {}, row.signed_zero};
  if (row.edge && row.elementwise)
    terms.at_edge = elements_at_edge(row, operands, expected.array.shape);
  Result otherwise;
  if (row.or_else) {
    otherwise = row.or_else(arrays, c);
    terms.or_else = &otherwise;
  }
  Result flushed;
  if (contains(row.may_flush, c.dtypes[0]) && c.values == Values::kSpecial) {
    for (Array& x : arrays) flush_subnormals(x);
    flushed = row.reference(arrays, c);
    terms.or_else = &flushed;
  }
  const Array got = download(y);
  const Comparison comparison = compare(got, expected, terms);
  const double bound = bound_of(terms.tolerance, expected.terms);
  Outcome outcome{.worst = comparison.worst,
                  .share = bound > 0 ? comparison.worst / bound : 0,
                  .worst_at_edge = comparison.worst_at_edge};
  if (comparison.passed) return outcome;
  outcome.state = Outcome::State::kFailed;
  if (comparison.first_wrong < 0) {
    outcome.text = comparison.why;
    return outcome;
  }
  const std::size_t at = std::size_t(comparison.first_wrong);
  std::ostringstream out;
  out << "at " << text(reference::index_at(got.shape, comparison.first_wrong)) << " "
      << (row.elementwise ? inputs_at(operands, got.shape, comparison.first_wrong) : "")
      << "expected " << number(expected.array.values[at]) << ", got " << number(got.values[at])
      << ": " << comparison.first_error << " ulp, allowed "
      << (comparison.first_at_edge ? describe(ulp(row.edge->bound)) + " at the edge"
                                   : describe(terms.tolerance))
      << "; " << comparison.wrong << " of " << got.values.size() << " wrong";
  outcome.text = out.str();
  return outcome;
}

/// An unordered row in deterministic mode: within its bound, and the same bits every time.
std::string check_deterministic(const Row& row, const Case& c,
                                const std::vector<Placement>& operands,
                                const std::vector<Tensor>& views) {
  const Deterministic scope;
  const Tensor y = row.run(views, c), again = row.run(views, c);
  const Outcome outcome = check_result(row, c, operands, y);
  if (outcome.state == Outcome::State::kFailed) return "in deterministic mode " + outcome.text;
  const int64_t different = first_difference(read_bytes(again), read_bytes(y), y.dtype());
  if (different < 0) return "";
  return "in deterministic mode it gives other bits when run again, first at element " +
         std::to_string(different);
}

Case case_at(const std::vector<int>& point, const std::vector<Geometry>& geometries,
             const std::vector<std::vector<DType>>& dtypes, const std::vector<Values>& values,
             const std::vector<CompositeMode>& modes) {
  Case c;
  c.dtypes = dtypes[std::size_t(point[0])];
  c.geometry = geometries[std::size_t(point[1])];
  c.values = values[std::size_t(point[2])];
  c.composite = modes[std::size_t(point[3])];
  for (std::size_t i = 4; i < point.size(); i++) c.places.push_back(OperandLayout(point[i]));
  return c;
}

/// How many of the places an operand is laid out in: the last one is the broadcast.
constexpr int kFewLayouts = 2;  // whole, and one that is not

int places_of(const Row& row, std::size_t operand) {
  static_assert(int(OperandLayout::kBroadcast) == kNumLayouts - 1);
  const auto lists = [operand](const std::vector<std::size_t>& operands) {
    return std::find(operands.begin(), operands.end(), operand) != operands.end();
  };
  if (lists(row.few_layouts)) return kFewLayouts;
  return lists(row.distinct) ? kNumLayouts - 1 : kNumLayouts;
}

/// A row's long geometries and the places that all operands take, each at least once, in one dtype
/// after another.
std::vector<Case> long_cases(const Row& row, const std::vector<std::vector<DType>>& dtypes,
                             const std::vector<CompositeMode>& modes, uint64_t seed) {
  std::vector<Case> cases;
  const std::size_t geometries = row.long_geometries.size();
  if (geometries == 0) return cases;
  const std::size_t first = std::size_t(Random(mix_seed(seed, row.op + "/long")).below(1 << 20));
  for (std::size_t i = 0; i < std::max(geometries, std::size_t(kNumLayouts)); i++) {
    Case c;
    c.dtypes = dtypes[(first + i) % dtypes.size()];
    c.geometry = row.long_geometries[(first + i) % geometries];
    c.composite = modes[(first + i) % modes.size()];
    for (std::size_t k = 0; k < c.geometry.operands.size(); k++)
      c.places.push_back(OperandLayout(std::min(int(i % kNumLayouts), places_of(row, k) - 1)));
    cases.push_back(std::move(c));
  }
  return cases;
}

/// Each combination of dtypes and kind of values once, on the largest of the geometries.
std::vector<Case> brief_cases(const std::vector<Geometry>& geometries,
                              const std::vector<std::vector<DType>>& dtypes,
                              const std::vector<Values>& values,
                              const std::vector<CompositeMode>& modes) {
  std::vector<Case> cases;
  const auto largest = std::max_element(
      geometries.begin(), geometries.end(),
      [](const Geometry& a, const Geometry& b) { return elements_of(a) < elements_of(b); });
  if (largest == geometries.end()) return cases;
  const int geometry = int(largest - geometries.begin());
  const std::size_t operands = largest->operands.size();
  for (const std::vector<int>& level :
       product({int(dtypes.size()), int(values.size()), int(modes.size())})) {
    std::vector<int> point = {level[0], geometry, level[1], level[2]};
    point.resize(point.size() + operands, int(OperandLayout::kContiguous));
    cases.push_back(case_at(point, geometries, dtypes, values, modes));
  }
  return cases;
}

std::string join(const std::vector<int64_t>& numbers, const char* between) {
  std::string result;
  for (const int64_t n : numbers) result += (result.empty() ? "" : between) + std::to_string(n);
  return result;
}

}  // namespace

std::string to_string(const Geometry& geometry) {
  std::string result;
  for (const HostShape& shape : geometry.operands) {
    result +=
        (result.empty() ? "" : ",") + (shape.empty() ? std::string("scalar") : join(shape, "x"));
  }
  if (!geometry.dims.empty()) result += ":" + join(geometry.dims, ",");
  return result + (geometry.keepdim ? "k" : "");
}

std::string to_string(const Case& c) {
  std::string result;
  for (const DType dtype : c.dtypes)
    result += std::string(result.empty() ? "" : "+") + dtype_name(dtype);
  result += "/" + to_string(c.geometry) + "/";
  for (std::size_t i = 0; i < c.places.size(); i++) {
    result += std::string(i ? "+" : "") + kLayoutNames[int(c.places[i])];
  }
  constexpr const char* kModes[] = {"auto", "never", "always"};
  return result + "/" + kValuesNames[int(c.values)] + "/" + kModes[int(c.composite)];
}

bool selects(const Options& options, const std::vector<DType>& dtypes) {
  const auto named = [&](DType dtype) {
    return std::find(options.dtypes.begin(), options.dtypes.end(), dtype_name(dtype)) !=
           options.dtypes.end();
  };
  if (options.dtypes.empty()) return true;
  for (std::size_t i = 0; i < dtypes.size(); i++) {
    const bool may_be_ids = i > 0 && dtypes[i] == DType::kI64;
    if (!named(dtypes[i]) && !may_be_ids) return false;
  }
  return true;
}

int64_t elements_of(const Geometry& geometry) {
  int64_t n = 0;
  for (const HostShape& shape : geometry.operands) n += reference::numel(shape);
  return n;
}

std::vector<Case> cases_of(const Row& row, const Options& options, bool emulated) {
  std::vector<std::vector<DType>> dtypes;
  for (const std::vector<DType>& combination : row.dtypes) {
    if (selects(options, combination)) dtypes.push_back(combination);
  }
  const bool all = options.full || !options.case_text.empty();
  std::vector<Geometry> geometries, large;
  const int64_t most = options.brief ? kLargeElementsOfBrief : kLargeElements;
  for (const Geometry& geometry : row.geometries) {
    const int64_t n = elements_of(geometry);
    if (options.max_elements > 0 && n > options.max_elements) continue;
    (emulated && !all && n > most ? large : geometries).push_back(geometry);
  }
  const std::vector<Values> values =
      row.special ? std::vector{Values::kRandom, Values::kSpecial} : std::vector{Values::kRandom};
  std::vector<CompositeMode> modes = {CompositeMode::kAuto};
  if (row.fused) modes = {CompositeMode::kNever, CompositeMode::kAlways};
  if (row.fused && options.composite) modes = {*options.composite};
  std::vector<Case> cases;
  if (dtypes.empty()) return cases;
  if (options.brief && row.represented && !all) {
    std::erase_if(geometries, [&](const Geometry& g) { return elements_of(g) > most; });
    return brief_cases(geometries, dtypes, values, modes);
  }
  const std::size_t operands =
      (row.geometries.empty() ? row.long_geometries : row.geometries).front().operands.size();
  Random random(mix_seed(options.seed, row.op));
  if (!geometries.empty()) {
    std::vector<int> levels = {int(dtypes.size()), int(geometries.size()), int(values.size()),
                               int(modes.size())};
    for (std::size_t k = 0; k < operands; k++) levels.push_back(places_of(row, k));
    for (const std::vector<int>& point : all ? product(levels) : pairwise(levels, random)) {
      cases.push_back(case_at(point, geometries, dtypes, values, modes));
    }
  }
  const std::size_t large_cases = large.empty()   ? 0
                                  : options.brief ? std::max(large.size(), dtypes.size())
                                                  : large.size() * dtypes.size();
  for (std::size_t i = 0; i < large_cases; i++) {
    const std::size_t geometry = options.brief ? i % large.size() : i / dtypes.size();
    std::vector<int> point = {int(i % dtypes.size()), int(geometry), int(i % values.size()),
                              int(random.below(int64_t(modes.size())))};
    for (std::size_t k = 0; k < operands; k++)
      point.push_back(int(random.below(places_of(row, k))));
    cases.push_back(case_at(point, large, dtypes, values, modes));
  }
  const auto& asked = options.long_ops;
  const bool long_too = std::find(asked.begin(), asked.end(), row.op) != asked.end();
  if (long_too || (!emulated && options.max_elements == 0)) {
    for (Case& c : long_cases(row, dtypes, modes, options.seed)) cases.push_back(std::move(c));
  }
  if (!options.case_text.empty()) {
    std::erase_if(cases, [&](const Case& c) { return to_string(c) != options.case_text; });
  }
  return cases;
}

std::vector<Case> cases_on(const Row& row, const Options& options, const CasesOf& cases_of,
                           Report& report) {
  Options unlimited = options;
  unlimited.max_elements = 0;
  const auto count = [&](const Row& part, const Options& selection) {
    return part.dtypes.empty() ? 0 : int64_t(cases_of(part, selection).size());
  };
  if (options.max_elements > 0) {
    Row large = row;
    std::erase_if(large.geometries, [&](const Geometry& geometry) {
      return elements_of(geometry) <= options.max_elements;
    });
    const auto& asked = options.long_ops;
    if (std::find(asked.begin(), asked.end(), row.op) != asked.end()) large.long_geometries.clear();
    if (!large.geometries.empty() || !large.long_geometries.empty())
      report.leave_out(row.op, count(large, unlimited),
                       "more than " + std::to_string(options.max_elements) + " elements");
  }
  return cases_of(row, options);
}

std::vector<Placement> operands_of(const Row& row, const Case& c, uint64_t seed) {
  Random random(mix_seed(seed, row.op + "/" + to_string(c)));
  std::vector<Placement> operands;
  for (std::size_t i = 0; i < c.geometry.operands.size(); i++) {
    const DType dtype = c.dtypes[std::min(i, c.dtypes.size() - 1)];
    const HostShape& shape = c.geometry.operands[i];
    Array values = row.make                       ? row.make(i, c, random)
                   : c.values == Values::kSpecial ? special_array(dtype, shape, i, random)
                                                  : random_array(dtype, shape, row.domain, random);
    if (is_floating(dtype) && !is_computed(dtype))  // made as if it held every number
      for (Real& x : values.values) x = reference::round_to_format(dtype, x);
    operands.push_back(place(values, c.places[i], random));
  }
  return operands;
}

Outcome check_case(const Row& row, const Case& c, const Device& device, uint64_t seed) try {
  const std::vector<Placement> operands = operands_of(row, c, seed);
  const Uploaded uploaded = upload_all(operands, device);
  const CompositeScope scope(c.composite);
  const Tensor y = row.run(uploaded.views, c);
  const Tensor again = row.run(uploaded.views, c);
  device.synchronize();
  if (y.device() != device) return failed("the result is on " + to_string(y.device()));
  Outcome outcome = check_result(row, c, operands, y);
  if (outcome.state == Outcome::State::kFailed) return outcome;

  const auto fail_with = [&](std::string text) {
    outcome.state = Outcome::State::kFailed;
    outcome.text = std::move(text);
    return outcome;
  };
  for (std::size_t k = 0; k < operands.size(); k++) {
    const int64_t i = first_difference(read_bytes(uploaded.buffers[k]), operands[k].bytes,
                                       operands[k].buffer.dtype);
    if (i >= 0) {
      return fail_with("operand " + std::to_string(k) +
                       " or what is around it was written to, first at element " +
                       std::to_string(i) + " of its buffer");
    }
  }
  const std::vector<unsigned char> bytes = read_bytes(y);
  const bool ordered = !row.unordered || !is_floating(y.dtype());
  if (const int64_t i = ordered ? first_difference(read_bytes(again), bytes, y.dtype()) : -1;
      i >= 0) {
    return fail_with("run again it gives other bits, first at element " + std::to_string(i));
  }
  if (device.is_cpu() && num_threads() > 1) {
    const std::string wrong = check_in_one_thread(row, c, uploaded.views, bytes);
    if (!wrong.empty()) return fail_with(wrong);
  }
  if (row.unordered) {
    const std::string wrong = check_deterministic(row, c, operands, uploaded.views);
    if (!wrong.empty()) return fail_with(wrong);
  }
  if (row.in_place) {
    const std::string wrong = check_in_place(row, c, device, operands, bytes);
    if (!wrong.empty()) return fail_with(wrong);
  }
  outcome.state = Outcome::State::kPassed;
  return outcome;
} catch (const Error& error) {
  return failed(error.what());
} catch (const std::exception& error) {
  return failed(error.what());
}

Report::Line& Report::line(const std::string& op) {
  const auto [at, is_new] = lines_.try_emplace(op);
  if (is_new) order_.push_back(op);
  return at->second;
}

void Report::count(const std::string& op, const std::string& device, const std::string& what,
                   const std::string& command, const Outcome& outcome) {
  Line& l = line(op);
  switch (outcome.state) {
    case Outcome::State::kPassed:
      l.passed++;
      return;
    case Outcome::State::kNotRun:
    case Outcome::State::kFailed:
      break;
  }
  l.failed++;
  const int printed = ++l.failed_on[device];
  if (printed > kPrinted) return;
  const bool not_run = outcome.state == Outcome::State::kNotRun;
  std::printf(
      "FAILED %s %s on %s\n  %s\n  again: %s\n", op.c_str(), what.c_str(), device.c_str(),
      not_run ? "it has not run: its check says neither passed nor failed" : outcome.text.c_str(),
      command.c_str());
  if (printed == kPrinted)
    std::printf("  further failures of %s on %s are counted only\n", op.c_str(), device.c_str());
  std::fflush(stdout);
}

void Report::add(const Row& row, const std::string& device, const std::string& case_text,
                 const std::string& command, const Outcome& outcome) {
  Line& l = line(row.op);
  l.has_bound = true;
  l.bound = describe(row.tolerance);
  l.edge = row.edge;
  l.loose_for = row.loose;
  if (outcome.worst > l.worst) l.worst = outcome.worst, l.worst_where = device + " " + case_text;
  l.share = std::max(l.share, outcome.share);
  l.worst_at_edge = std::max(l.worst_at_edge, outcome.worst_at_edge);
  count(row.op, device, case_text, command, outcome);
}

void Report::add(const std::string& op, const std::string& device, const std::string& what,
                 const std::string& command, const Outcome& outcome) {
  count(op, device, what, command, outcome);
}

void Report::add_seconds(const std::string& op, double seconds) { line(op).seconds += seconds; }

void Report::leave_out(const std::string& op, int64_t cases, const std::string& reason) {
  if (cases == 0) return;
  line(op).left_out += cases;
  left_out_[reason] += cases;
}

void Report::skip(const std::string& what, const std::string& reason) {
  skipped_.push_back(what + " (" + reason + ")");
}

namespace {

/// Of its bound the worst error of a whole sample is at least this share, or the row says why not.
constexpr double kLoose = 0.25;

// Exact rows have no share of a bound.
bool is_loose(double share) { return share > 0 && share < kLoose; }

}  // namespace

std::string Report::wrong_bound(const Line& line) {
  if (!is_loose(line.share) || line.loose_for) return "";
  std::ostringstream out;
  out.precision(3);
  out << "LOOSE: the worst error is " << line.share << " of the bound, " << line.bound
      << "; state a smaller one, or Row::loose why not";
  return out.str();
}

bool Report::finish(Bounds bounds) const {
  const bool with_bounds = bounds != Bounds::kNone;
  int64_t passed = 0, failed = 0, left_out = 0;
  for (const std::string& op : order_) {
    if (bounds != Bounds::kJudge) break;
    const std::string wrong = wrong_bound(lines_.at(op));
    if (wrong.empty()) continue;
    failed++;
    std::printf("FAILED %s\n  %s\n", op.c_str(), wrong.c_str());
  }
  std::printf("\n%-18s %8s %8s %8s %7s", "op", "passed", "failed", "left out", "seconds");
  if (with_bounds)
    std::printf("  %-10s %-22s %-28s %s", "worst", "bound", "edge: worst of bound", "worst at");
  std::printf("\n");
  for (const std::string& op : order_) {
    const Line& l = lines_.at(op);
    passed += l.passed;
    failed += l.failed;
    left_out += l.left_out;
    std::printf("%-18s %8" PRId64 " %8" PRId64 " %8" PRId64 " %7.2f", op.c_str(), l.passed,
                l.failed, l.left_out, l.seconds);
    if (with_bounds && l.has_bound) {
      char edge[64] = "";
      if (l.edge) std::snprintf(edge, sizeof edge, "%.3g of %g", l.worst_at_edge, l.edge->bound);
      const std::string bound = l.bound + (is_loose(l.share) ? " LOOSE" : "");
      std::printf("  %-10.3g %-22s %-28s %s", l.worst, bound.c_str(), edge, l.worst_where.c_str());
    }
    std::printf("\n");
  }
  if (with_bounds) {
    std::printf("LOOSE: over four times the worst error seen in this run.\n");
    std::map<std::string, std::string> ops_by_reason;
    for (const std::string& op : order_) {
      const Line& l = lines_.at(op);
      if (!l.loose_for || !is_loose(l.share)) continue;
      std::string& ops = ops_by_reason[l.loose_for];
      ops += (ops.empty() ? "" : ", ") + op;
    }
    for (const auto& [reason, ops] : ops_by_reason)
      std::printf("  may be: %s: %s\n", ops.c_str(), reason.c_str());
  }
  for (const auto& [reason, cases] : left_out_)
    std::printf("left out, %s, %" PRId64 " cases\n", reason.c_str(), cases);
  for (const std::string& what : skipped_) std::printf("skipped: %s\n", what.c_str());
  if (passed == 0 && failed == 0)
    std::printf("nothing has run: %s\n",
                left_out > 0 ? "every case is left out" : "there is no case");
  std::printf("%" PRId64 " passed, %" PRId64 " failed, %" PRId64 " left out\n", passed, failed,
              left_out);
  return failed == 0 && passed > 0;
}

}  // namespace wick::conformance
