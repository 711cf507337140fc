// That each function of a formula, compiled, is the op of its name: it is held to the op's own row,
// special values included. The functions are those of the lists that formulas are made of.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "../unit/temporary_folder.h"
#include "ops/custom/formula_functions.h"
#include "runner.h"
#include "wick/ops/create.h"
#include "wick/ops/formula.h"

namespace wick::conformance {
namespace {

class OwnCache : public testing::Environment {
 public:
  void SetUp() override { setenv("WICK_CACHE_DIR", folder_.path().c_str(), 1); }

 private:
  test::TemporaryFolder folder_;
};
const auto* const kOwnCache = testing::AddGlobalTestEnvironment(new OwnCache);

/// f8 is not among them: it does not hold every number of a function.
const std::vector<DType> kDTypes = {DType::kU8,  DType::kI16, DType::kU32, DType::kI32,
                                    DType::kU64, DType::kI64, DType::kF16, DType::kBf16,
                                    DType::kF32, DType::kF64};

struct Function {
  Row row;
  std::string call;  // "pow(a, b)"
};

/// The numbers that rows of one operand and numbers have.
const std::map<std::string, std::string> kNumbers = {
    {"affine", ", 2.5, 1"}, {"elu", ", 1.5"}, {"leaky_relu", ", 0.25"}, {"softplus", ", 2, 8"}};

/// Bounds that are wider than the row's, because the C library's are: glibc states 5 ulp.
const std::map<std::string, Tolerance> kOfTheLibrary = {{"erfc", ulp(5)}};

/// Calls of functions whose row holds one of the operands.
const std::map<std::string, std::string> kCalls = {{"polygamma", "polygamma(2, a)"}};

template <class F>
std::string row_name() {
  if constexpr (std::is_base_of_v<Minimum, F>) return Minimum::op.name;
  if constexpr (std::is_base_of_v<Maximum, F>) return Maximum::op.name;
  return F::op.name;
}

/// Operands of one dtype: of several a formula rounds none to the one that they promote to.
bool is_tested(const std::vector<DType>& dtypes) {
  return std::all_of(dtypes.begin(), dtypes.end(), [&](DType d) { return d == dtypes[0]; }) &&
         std::find(kDTypes.begin(), kDTypes.end(), dtypes[0]) != kDTypes.end();
}

template <class List>
void add(const std::vector<Row>& rows, List list, std::vector<Function>& functions) {
  for_each(list, [&]<class F>() {
    if (kSame<F, formula::Clamp>) return;  // its row holds the limits: tests/unit/ops
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [&](const Row& row) { return row.op == row_name<F>(); });
    ASSERT_NE(found, rows.end()) << F::op.name;
    Row row = *found;
    const bool two = row.geometries.front().operands.size() == 2;
    const auto numbers = kNumbers.find(F::op.name);
    const auto whole = kCalls.find(F::op.name);
    const std::string call = whole != kCalls.end()
                                 ? whole->second
                                 : std::string(F::op.name) + "(a" + (two ? ", b" : "") +
                                       (numbers == kNumbers.end() ? "" : numbers->second) + ")";
    std::erase_if(row.dtypes, [](const std::vector<DType>& d) { return !is_tested(d); });
    std::erase_if(row.geometries, [](const Geometry& g) { return elements_of(g) > 2100; });
    if (two) row.geometries.push_back({{{1700}, {1700}}});  // all pairs of special values
    row.in_place = row.fused = false;
    if (const auto wider = kOfTheLibrary.find(row.op); wider != kOfTheLibrary.end())
      row.tolerance = wider->second;
    functions.push_back({std::move(row), call});
  });
}

std::vector<Function> all_functions() {
  const std::vector<Row> rows = all_rows();
  std::vector<Function> functions;
  add(rows, Unary{}, functions);
  add(rows, UnaryWithNumbers{}, functions);
  add(rows, Binary{}, functions);
  add(rows, Comparisons{}, functions);
  add(rows, Predicates{}, functions);
  add(rows, formula::Composed{}, functions);
  return functions;
}

/// Functions that one formula can choose from: as many operands, the same dtypes of results.
using Group = std::tuple<std::size_t, bool, DType>;

Group group_of(const Row& row) {
  const std::size_t operands = row.geometries.front().operands.size();
  const bool takes_floats =
      std::any_of(row.dtypes.begin(), row.dtypes.end(),
                  [](const std::vector<DType>& d) { return is_floating(d[0]); });
  const std::vector<Array> ones(operands, Array{DType::kI32, {1}, {1}});
  return {operands, takes_floats, row.reference(ones, {}).array.dtype};
}

TEST(FormulaFunctions, AreTheOpsOfTheirNames) {
  std::map<Group, std::vector<Function>> groups;
  for (Function& f : all_functions()) groups[group_of(f.row)].push_back(std::move(f));
  int64_t cases = 0;
  for (auto& [group, functions] : groups) {
    // One kernel for all of them: k says which.
    std::string text;
    for (std::size_t k = 0; k < functions.size(); k++)
      text += (k ? " : k == " : "k == ") + std::to_string(k) + " ? " + functions[k].call;
    text += " : " + functions[0].call;
    const bool two = std::get<0>(group) == 2;
    const FormulaKernel kernel =
        elementwise_kernel("functions", text,
                           {.names = two ? std::vector<std::string>{"a", "b", "k"}
                                         : std::vector<std::string>{"a", "k"}});
    for (std::size_t k = 0; k < functions.size(); k++) {
      Row& row = functions[k].row;
      row.run = [&kernel, k](std::vector<Tensor> x, const Case&) {
        x.push_back(full({}, int64_t(k), {.dtype = x[0].dtype()}));
        return kernel.run(x);
      };
      int failures = 0;
      for (const Case& c : cases_of(row, {}, false)) {
        const Outcome outcome = check_case(row, c, Device::cpu(), 1);
        cases++;
        if (outcome.passed()) continue;
        ADD_FAILURE() << functions[k].call << " " << to_string(c) << ": " << outcome.text;
        if (++failures == 3) break;
      }
    }
  }
  EXPECT_GT(cases, 1000);
}

}  // namespace
}  // namespace wick::conformance
