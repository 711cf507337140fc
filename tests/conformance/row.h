// What a conformance row says about an op, and a case: one point of what the runner multiplies a
// row by.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reference/ops.h"
#include "wick/abi/op.h"
#include "wick/core/tensor.h"
#include "wick/ops/composite.h"

namespace wick::conformance {

using reference::Array;
using reference::Index;
using reference::Real;
using reference::Result;
using reference::Wide;
using HostShape = reference::Shape;

/// Where random values come from, and where the row's main bound holds.
struct Domain {
  double low;
  double high;
};

/// Where an operand's gradient is compared: away from kinks and poles, and near 0, for central
/// differences lose the digits that large values take.
struct GradDomain {
  std::vector<Domain> pieces;  // each value is in one of these
  /// Each value's magnitude is apart from every other's of the operand, so that differences change
  /// no order; either sign.
  bool apart = false;

  GradDomain(double low, double high) : pieces{{low, high}} {}
  GradDomain(std::initializer_list<Domain> pieces) : pieces(pieces) {}
};
inline GradDomain either_sign(double low, double high) { return {{-high, -low}, {low, high}}; }
inline GradDomain apart(double high) {
  GradDomain domain(0, high);
  domain.apart = true;
  return domain;
}

/// How far an element may be from the reference.
struct Tolerance {
  enum class Kind {
    kExact,      // the reference's value itself
    kRounded,    // the exact value, rounded once to the output's dtype
    kUlp,        // |e| <= bound ulp of the output's dtype
    kSums,       // |e| <= bound u magnitude + 1 ulp, u of what is accumulated in (and underflow)
    kCondition,  // the same with u of the output's dtype: what composites round their intermediate
                 // results to
  };
  Kind kind;
  double bound = 0;
  double per_log2_terms = 0;  // added to the bound of sums for each doubling of the number of terms
};
inline Tolerance exact() { return {Tolerance::Kind::kExact}; }
inline Tolerance rounded() { return {Tolerance::Kind::kRounded, 0.5}; }
inline Tolerance ulp(double bound) { return {Tolerance::Kind::kUlp, bound}; }
inline Tolerance sums(double c, double per_log2_terms = 0) {
  return {Tolerance::Kind::kSums, c, per_log2_terms};
}
inline Tolerance condition(double c, double per_log2_terms = 0) {
  return {Tolerance::Kind::kCondition, c, per_log2_terms};
}

/// A second, wider bound in ulp for elements with an operand outside of the domain, and why.
struct Edge {
  double bound;
  const char* reason;
};
inline std::optional<Edge> edge(double bound, const char* reason) { return Edge{bound, reason}; }

/// How an operand lies in memory. All but kWhole stand inside a larger buffer whose other elements
/// must stay as they are.
enum class OperandLayout {
  kContiguous,
  kWhole,       // a buffer of its own, nothing around it
  kTransposed,  // dims in the opposite order; of one dim: every other element
  kSliced,      // a part of every dim, at an odd offset
  kBroadcast,   // some dims of stride 0
};
inline constexpr const char* kLayoutNames[] = {"contiguous", "whole", "transposed", "sliced",
                                               "broadcast"};
inline constexpr int kNumLayouts = 5;

enum class Values { kRandom, kSpecial };
inline constexpr const char* kValuesNames[] = {"random", "special"};

/// The operands' shapes, and the options that go with them.
struct Geometry {
  std::vector<HostShape> operands;
  std::vector<int64_t> dims = {};  // of a reduction; the one dim of softmax and indexing ops; other
                                   // ops' options, as their tables say
  bool keepdim = false;
};
/// "3x11,11": the operands; ":1,-1k" with dims, k if they stay. "scalar" has no dim.
std::string to_string(const Geometry& geometry);

/// One point of the product.
struct Case {
  std::vector<DType> dtypes;
  Geometry geometry;
  std::vector<OperandLayout> places;  // of each operand
  Values values = Values::kRandom;
  CompositeMode composite = CompositeMode::kAuto;
};
/// "f32+i32/3x11,11/sliced+whole/random/auto": unique within a row.
std::string to_string(const Case& c);

/// A question to a backend: has it a kernel for this?
struct KernelQuestion {
  Op op;
  DType dtype;        // the op's own
  DType any = dtype;  // of an operand "*"
};

class Random;

struct Row {
  std::string op;
  /// Hands operands over: may write over them where they have no other owner.
  std::function<Tensor(std::vector<Tensor>, const Case&)> run;
  std::function<Result(const std::vector<Array>&, const Case&)> reference;
  /// What an element may be instead, where rounding decides.
  std::function<Result(const std::vector<Array>&, const Case&)> or_else = nullptr;
  /// Values of an operand; none: from the domain, or the list of special values.
  std::function<Array(std::size_t operand, const Case&, Random&)> make = nullptr;

  std::vector<std::vector<DType>> dtypes;  // of the operands, each combination in turn
  std::vector<Geometry> geometries;
  /// Beside those, so long that the kernels share them out between threads: a few cases, of each of
  /// these, each place and as many dtypes. No size is a multiple of anything.
  std::vector<Geometry> long_geometries = {};
  /// So large that kernels of large tiles take them on cards of 300 compute units. Mode kernels runs
  /// them on cards, for kernels that no other case reaches.
  std::vector<Geometry> wide_geometries = {};
  Domain domain = {-10, 10};
  Tolerance tolerance = exact();
  std::optional<Edge> edge = {};
  /// Why the bound is over four times the worst error of the CPU's sample; none: such a bound fails.
  const char* loose = nullptr;

  /// The loop over memory, or the kernel, that computes the row, if rows share it; else "". The first
  /// row of a loop represents the others.
  std::string loop = {};
  /// Another row represents this one, so the brief sample runs it on contiguous operands alone.
  bool represented = false;

  /// The op has kernels that round further, and the backend's order keeps them from these calls: mode
  /// kernels holds none of them to this bound.
  bool chosen_alone = false;

  bool special = true;  // runs with special values too
  /// An output element depends on the operands' elements at its index alone.
  bool elementwise = false;
  bool signed_zero = false;  // the sign of a zero counts
  bool in_place = false;     // has a form that writes over a uniquely owned first operand
  bool fused = false;        // has a kernel and a composite, which are both run
  /// Dtypes whose subnormal operands may count as zero: what matrix units do.
  std::vector<DType> may_flush = {};
  /// The bits of float results may change from run to run, but not in deterministic mode.
  bool unordered = false;
  /// Operands that are never repeated by a broadcast: their elements are different by meaning.
  std::vector<std::size_t> distinct = {};
  /// Operands that take two layouts alone: all of eight operands are 390,625 places of each case.
  std::vector<std::size_t> few_layouts = {};

  std::vector<std::size_t> differentiable = {};  // operands that have a gradient
  /// Where they are compared: of each operand, the last one of all after it. None: where `make` or
  /// the domain has its values.
  std::vector<GradDomain> grad_domains = {};

  std::optional<Geometry> bench = {};  // what is timed; none: the largest of the geometries

  /// The kernels that serve it, for the mode `support`.
  std::function<std::vector<KernelQuestion>(const std::vector<DType>&)> kernels = nullptr;
};

/// Behaviour that is no table of values: errors, and what must not be touched. Throws
/// std::runtime_error, or wick's Error, that says what went wrong.
struct Behaviour {
  std::string op;
  std::string name;  // a sentence: "an id that is too large is an error"
  std::function<void(const Device&)> check;
};

/// The rows of a family: <family>.cpp has this for itself, and tables.cpp one word that names it.
template <Text family>
std::vector<Row> rows_of();
template <Text family>
std::vector<Behaviour> behaviours_of();
std::vector<Row> all_rows();
std::vector<Behaviour> all_behaviours();

}  // namespace wick::conformance
