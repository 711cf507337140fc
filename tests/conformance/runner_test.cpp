// That a wrong op is caught: each case plants one defect into a row that passes without it.
#include "runner.h"

#include <gtest/gtest.h>

#include <set>

#include "devices/absent.h"
#include "gradient.h"
#include "pairwise.h"
#include "wick/wick.h"

namespace wick::conformance {
namespace {

/// The row of that name in the tables.
Row row_named(const std::string& name) {
  for (Row& row : all_rows()) {
    if (row.op == name) return row;
  }
  throw std::runtime_error("no row " + name);
}

/// An f32 row of the tables, small shapes alone.
Row small_row(const std::string& name) {
  Row row = row_named(name);
  row.long_geometries.clear();
  row.dtypes = {row.dtypes.front()};
  for (DType& dtype : row.dtypes.front()) dtype = DType::kF32;
  std::erase_if(row.geometries,
                [](const Geometry& g) { return elements_of(g) > 200 || elements_of(g) < 2; });
  return row;
}

/// What the runner says of the row's sample: the first failure's text, "" if all pass.
std::string first_failure(const Row& row) {
  for (const Case& c : cases_of(row, {}, false)) {
    const Outcome outcome = check_case(row, c, Device::cpu(), 1);
    if (!outcome.passed()) return outcome.text.empty() ? "?" : outcome.text;
  }
  return "";
}

std::string first_gradient_failure(const Row& row, const Options& options = {}) {
  for (const Case& c : gradient_cases(row, {})) {
    const Outcome outcome = check_gradient(row, c, Device::cpu(), options);
    if (!outcome.passed()) return outcome.text.empty() ? "?" : outcome.text;
  }
  return "";
}

bool holds(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// The result with its bytes changed on the host.
Tensor changed(const Tensor& y, const std::function<void(float*, int64_t)>& change) {
  std::vector<float> values = y.to_vector<float>();
  change(values.data(), int64_t(values.size()));
  return Tensor::from(values, y.shape(), y.device());
}

TEST(Runner, PassesARightRow) { EXPECT_EQ(first_failure(small_row("exp")), ""); }

TEST(Runner, CatchesFiveUlp) {
  Row row = small_row("exp");
  row.special = false;
  row.in_place = false;
  row.run = [](std::vector<Tensor> x, const Case&) {
    return changed(exp(x[0]), [](float* y, int64_t n) {
      for (int i = 0; i < 5 && n > 0; i++) y[n - 1] = std::nextafter(y[n - 1], HUGE_VALF);
    });
  };
  EXPECT_TRUE(holds(first_failure(row), "allowed 2 ulp; 1 of")) << first_failure(row);
}

TEST(Runner, CatchesANan) {
  Row row = small_row("sum");
  row.special = false;
  row.run = [inner = row.run](std::vector<Tensor> x, const Case& c) {
    return changed(inner(x, c), [](float* y, int64_t n) {
      if (n > 0) y[0] = NAN;
    });
  };
  EXPECT_TRUE(holds(first_failure(row), "got nan")) << first_failure(row);
}

TEST(Runner, CatchesAWrongShapeAndDType) {
  Row row = small_row("neg");
  row.run = [](std::vector<Tensor> x, const Case&) { return unsqueeze(neg(x[0]), 0); };
  EXPECT_TRUE(holds(first_failure(row), "expected f32")) << first_failure(row);
  row.run = [](std::vector<Tensor> x, const Case&) { return cast(neg(x[0]), DType::kF64); };
  EXPECT_TRUE(holds(first_failure(row), "got f64")) << first_failure(row);
}

TEST(Runner, CatchesAResultThatIgnoresStrides) {
  Row row = small_row("neg");
  row.in_place = false;
  row.run = [](std::vector<Tensor> x, const Case&) {
    Layout layout = Layout::contiguous(x[0].shape());
    layout.offset = x[0].layout().offset;
    return neg(x[0].view(layout));
  };
  row.geometries = {{{{5, 7}}}};
  EXPECT_NE(first_failure(row), "");
}

TEST(Runner, CatchesBitsThatChangeFromRunToRun) {
  Row row = small_row("exp");
  row.special = false;
  row.in_place = false;
  row.run = [calls = std::make_shared<int>(0)](std::vector<Tensor> x, const Case&) {
    const bool odd = (*calls)++ % 2 != 0;
    return changed(exp(x[0]), [&](float* y, int64_t n) {
      if (odd && n > 0) y[0] = std::nextafter(y[0], HUGE_VALF);
    });
  };
  row.tolerance = ulp(8);
  const int before = num_threads();
  set_num_threads(1);  // on several the case runs more often
  EXPECT_TRUE(holds(first_failure(row), "run again")) << first_failure(row);
  row.unordered = true;
  EXPECT_TRUE(holds(first_failure(row), "in deterministic mode it gives other bits when run again"))
      << first_failure(row);
  row.run = [changes = row.run](std::vector<Tensor> x, const Case& c) {
    return deterministic() ? exp(x[0]) : changes(std::move(x), c);
  };
  EXPECT_EQ(first_failure(row), "");
  row.run = [](std::vector<Tensor> x, const Case&) {
    return deterministic() ? exp(x[0]) + 1 : exp(x[0]);
  };
  EXPECT_TRUE(holds(first_failure(row), "in deterministic mode at ")) << first_failure(row);
  EXPECT_FALSE(deterministic());
  set_num_threads(before);
}

TEST(Runner, CatchesBitsThatChangeWithTheNumberOfThreads) {
  const int before = num_threads();
  Row row = small_row("exp");
  row.special = false;
  row.in_place = false;
  row.tolerance = ulp(8);
  row.unordered = true;  // on cards: a CPU's threads never change a bit
  row.run = [](std::vector<Tensor> x, const Case&) {
    return changed(exp(x[0]), [](float* y, int64_t n) {
      if (num_threads() > 1 && n > 0) y[n - 1] = std::nextafter(y[n - 1], HUGE_VALF);
    });
  };
  set_num_threads(3);
  const std::string on_three = first_failure(row);
  EXPECT_EQ(num_threads(), 3);
  set_num_threads(1);
  const std::string on_one = first_failure(row);
  set_num_threads(before);
  EXPECT_TRUE(holds(on_three, "3 threads give other bits than one, first at element")) << on_three;
  EXPECT_EQ(on_one, "");
}

TEST(Runner, RunsEveryLongGeometryAndPlaceUnlessItMayNot) {
  const Row row = row_named("sort");
  const auto long_ones = [&](const Options& options, bool emulated) {
    std::set<std::string> geometries;
    std::set<OperandLayout> places;
    for (const Case& c : cases_of(row, options, emulated)) {
      if (elements_of(c.geometry) < 98304) continue;
      geometries.insert(to_string(c.geometry));
      places.insert(c.places[0]);
    }
    return std::pair(geometries.size(), places.size());
  };
  const std::pair all(row.long_geometries.size(), std::size_t(kNumLayouts));
  const std::pair<std::size_t, std::size_t> none(0, 0);
  Options small;
  small.max_elements = 300;
  EXPECT_EQ(long_ones({}, false), all);
  EXPECT_EQ(long_ones({}, true), none);
  EXPECT_EQ(long_ones(small, false), none);
  small.long_ops = {"sort"};
  EXPECT_EQ(long_ones(small, false), all);
}

TEST(Runner, CatchesAWriteToAnOperand) {
  Row row = small_row("neg");
  row.in_place = false;
  row.run = [](std::vector<Tensor> x, const Case&) {
    const Tensor y = neg(x[0]);
    static_cast<float*>(x[0].data())[0] = 42;
    return y;
  };
  EXPECT_TRUE(holds(first_failure(row), "operand 0")) << first_failure(row);
}

TEST(Runner, CatchesAWriteBesideAnOperand) {
  Row row = small_row("neg");
  row.in_place = false;
  row.run = [](std::vector<Tensor> x, const Case&) {
    const Tensor y = neg(x[0]);
    if (x[0].layout().offset > 0) static_cast<float*>(x[0].data())[-1] = 42;
    return y;
  };
  EXPECT_TRUE(holds(first_failure(row), "around it")) << first_failure(row);
}

/// Negates its operand in place if it may, writing one element too many.
Tensor careless_neg(std::vector<Tensor> x, bool wrong_values) {
  Tensor& mine = x[0];
  if (!mine.uniquely_owned() || !mine.is_contiguous() || mine.layout().offset == 0)
    return neg(mine);
  auto* values = static_cast<float*>(mine.data());
  for (int64_t i = 0; i < mine.numel(); i++) values[i] = wrong_values ? values[i] : -values[i];
  if (!wrong_values) values[mine.numel()] = 42;
  return mine;
}

TEST(Runner, CatchesAnInPlaceFormThatDiffers) {
  Row row = small_row("neg");
  row.run = [](std::vector<Tensor> x, const Case&) { return careless_neg(std::move(x), true); };
  EXPECT_TRUE(holds(first_failure(row), "gives other bits")) << first_failure(row);
}

TEST(Runner, CatchesAnInPlaceFormThatWritesBesideItsResult) {
  Row row = small_row("neg");
  row.run = [](std::vector<Tensor> x, const Case&) { return careless_neg(std::move(x), false); };
  EXPECT_TRUE(holds(first_failure(row), "writes beside")) << first_failure(row);
}

TEST(Runner, CatchesAnOpThatFails) {
  Row row = small_row("neg");
  row.run = [](std::vector<Tensor>, const Case&) -> Tensor {
    fail(ErrorCode::kUnsupported, "neg", "planted");
  };
  EXPECT_EQ(first_failure(row), "neg: planted");
}

// ---- counts

/// What the report prints at its end; `passed` gets its verdict.
std::string printed(const Report& report, bool* passed) {
  testing::internal::CaptureStdout();
  *passed = report.finish(Report::Bounds::kNone);
  return testing::internal::GetCapturedStdout();
}

TEST(Report, CountsEachCaseAsWhatCameOfIt) {
  Report report;
  report.add("exp", "cpu", "a", "", passed());
  report.add("exp", "cpu", "b", "", passed());
  report.leave_out("log", 3, "no kernel on cpu");
  report.leave_out("exp", 4, "more than 5 elements");
  bool all = false;
  const std::string text = printed(report, &all);
  EXPECT_TRUE(all);
  EXPECT_TRUE(text.ends_with("\n2 passed, 0 failed, 7 left out\n")) << text;
  EXPECT_TRUE(holds(text, "left out, no kernel on cpu, 3 cases\n")) << text;
  EXPECT_TRUE(holds(text, "left out, more than 5 elements, 4 cases\n")) << text;
  EXPECT_TRUE(holds(text, "exp                       2        0        4    0.00")) << text;
}

/// A report of one case, whose worst error is this share of the bound.
Report with_share(double share, const char* loose) {
  Row row;
  row.op = "exp";
  row.tolerance = ulp(2);
  row.loose = loose;
  Report report;
  Outcome outcome = passed();
  outcome.worst = 2 * share;
  outcome.share = share;
  report.add(row, "cpu", "a", "", outcome);
  return report;
}

TEST(Report, FailsABoundThatIsLooseWithoutAReason) {
  const auto judged = [](double share, const char* loose, std::string* text = nullptr) {
    testing::internal::CaptureStdout();
    const bool passed = with_share(share, loose).finish(Report::Bounds::kJudge);
    const std::string printed = testing::internal::GetCapturedStdout();
    if (text) *text = printed;
    return passed;
  };
  std::string text;
  EXPECT_FALSE(judged(0.2, nullptr, &text));
  EXPECT_TRUE(holds(text, "FAILED exp\n  LOOSE: the worst error is 0.2 of the bound, 2 ulp"))
      << text;
  EXPECT_TRUE(text.ends_with("\n1 passed, 1 failed, 0 left out\n")) << text;
  EXPECT_TRUE(judged(0.3, nullptr));
  EXPECT_TRUE(judged(0, nullptr));  // exact
  EXPECT_TRUE(judged(0.2, "cards err more", &text));
  EXPECT_TRUE(holds(text, "  may be: exp: cards err more\n")) << text;
  // A part of the sample has not seen the worst.
  testing::internal::CaptureStdout();
  EXPECT_TRUE(with_share(0.2, nullptr).finish(Report::Bounds::kShow));
  EXPECT_TRUE(holds(testing::internal::GetCapturedStdout(), "2 ulp LOOSE"));
}

TEST(Report, FailsACaseOfWhichNothingWasSaid) {
  Report report;
  report.add("exp", "cpu", "a", "", passed());
  testing::internal::CaptureStdout();
  report.add("exp", "cpu", "b", "", Outcome{});
  const std::string failure = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(holds(failure, "FAILED exp b on cpu\n  it has not run")) << failure;
  bool all = true;
  const std::string text = printed(report, &all);
  EXPECT_FALSE(all);
  EXPECT_TRUE(text.ends_with("\n1 passed, 1 failed, 0 left out\n")) << text;
}

TEST(Report, FailsWhereEveryCaseIsLeftOut) {
  Report report;
  report.leave_out("exp", 1, "more than 100 elements");
  bool all = true;
  const std::string text = printed(report, &all);
  EXPECT_FALSE(all);
  EXPECT_TRUE(
      text.ends_with("nothing has run: every case is left out\n"
                     "0 passed, 0 failed, 1 left out\n"))
      << text;
}

TEST(Report, FailsWhereThereIsNoCase) {
  bool all = true;
  const std::string text = printed(Report(), &all);
  EXPECT_FALSE(all);
  EXPECT_TRUE(holds(text, "nothing has run: there is no case\n")) << text;
}

std::vector<Case> on_cpu(const Row& row, const Options& options) {
  return cases_of(row, options, false);
}

TEST(Cases, OfMoreElementsThanAskedForAreCounted) {
  const Row row = row_named("exp");
  Options options;
  options.max_elements = 100;
  Report report;
  const std::vector<Case> cases = cases_on(row, options, on_cpu, report);
  EXPECT_FALSE(cases.empty());
  for (const Case& c : cases) EXPECT_LE(elements_of(c.geometry), 100);
  Row large = row;
  std::erase_if(large.geometries, [](const Geometry& g) { return elements_of(g) <= 100; });
  const std::size_t expected = cases_of(large, {}, false).size();
  ASSERT_GT(expected, 0u);
  bool all = false;
  const std::string text = printed(report, &all);
  EXPECT_TRUE(text.ends_with(" " + std::to_string(expected) + " left out\n")) << text;
}

TEST(Reference, RoundsF64OnceThoughLongDoubleHasFewBitsMore) {
  // 1 + 2^-53 is a tie in f64; what is added to it, or taken away, is too small for long double.
  const Real tie = std::ldexp(Real(1), -53), little = std::ldexp(Real(1), -65);
  const Real next = 1 + std::ldexp(Real(1), -52);
  for (const Real sign : {1, -1}) {
    for (const bool above : {true, false}) {
      const auto in_f64 = [&](Real x) { return Array{DType::kF64, {1}, {sign * x}}; };
      const std::vector<Array> one_and{in_f64(1), in_f64(tie + (above ? little : -little / 2))};
      const Result sum = row_named("add").reference(one_and, {});
      EXPECT_TRUE(compare(in_f64(above ? next : 1), sum, {rounded()}).passed);
      EXPECT_FALSE(compare(in_f64(above ? 1 : next), sum, {rounded()}).passed);
    }
  }
}

TEST(Gradient, PassesARightRow) { EXPECT_EQ(first_gradient_failure(small_row("mul")), ""); }

TEST(Gradient, CatchesAGradientThatIsCut) {
  Row row = small_row("mul");
  row.run = [](std::vector<Tensor> x, const Case&) { return mul(x[0], x[1].detach()); };
  EXPECT_TRUE(holds(first_gradient_failure(row), "gradient: of operand 1"))
      << first_gradient_failure(row);
  EXPECT_TRUE(holds(first_gradient_failure(row, {.differences = 1}), "gradient: of operand 1"));
}

TEST(Gradient, CatchesASecondDerivativeThatIsCut) {
  Row row = small_row("exp");
  // e^c (1 + x - c) with c = x off the tape: the value and the gradient of e^x, but not its second
  // derivative.
  row.run = [](std::vector<Tensor> x, const Case&) {
    const Tensor c = x[0].detach();
    return exp(c) * (1 + (x[0] - c));
  };
  EXPECT_TRUE(holds(first_gradient_failure(row), "second derivative"))
      << first_gradient_failure(row);
}

/// What is said of rules that no row compares, if these are all the rows.
std::string uncompared(const std::vector<Row>& rows) {
  Rules met;
  for (const Row& row : rows)
    for (const Case& c : gradient_cases(row, {})) check_gradient(row, c, Device::cpu(), {}, &met);
  return check_rules(rows, met, 1).text;
}

TEST(Gradient, CatchesARuleThatNoRowCompares) {
  Row row = row_named("fmod");
  EXPECT_EQ(uncompared({row}), "");
  row.differentiable = {0};
  EXPECT_TRUE(holds(uncompared({row}), "of fmod by input 1")) << uncompared({row});
  row.differentiable = {};
  EXPECT_TRUE(holds(uncompared({row}), "of fmod by input 0")) << uncompared({row});
}

TEST(Gradient, IsComparedApartFromKinks) {
  Random random(1);
  const Array x = array_within(apart(8), DType::kF64, {64}, random);
  for (std::size_t i = 0; i < x.values.size(); i++) {
    EXPECT_GE(std::fabs(x.values[i]), 8. / 64 / 4);
    EXPECT_LT(std::fabs(x.values[i]), 8);
    for (std::size_t k = 0; k < i; k++)
      EXPECT_GE(std::fabs(std::fabs(x.values[i]) - std::fabs(x.values[k])), 8. / 64 / 2);
  }
  int negative = 0;
  const Array y = array_within(either_sign(0.5, 3), DType::kF64, {64}, random);
  for (const Real value : y.values) {
    EXPECT_TRUE(0.5 <= std::fabs(value) && std::fabs(value) <= 3) << double(value);
    negative += value < 0;
  }
  EXPECT_TRUE(8 < negative && negative < 56) << negative;
}

TEST(Cases, OfABriefSampleAreThoseOfARepresentative) {
  const Row exp = row_named("exp"), log = row_named("log");
  ASSERT_FALSE(exp.represented);
  ASSERT_TRUE(log.represented);
  ASSERT_EQ(exp.loop, log.loop);
  const auto texts = [](const Row& row, const Options& options) {
    std::vector<std::string> result;
    for (const Case& c : cases_of(row, options, false)) result.push_back(to_string(c));
    return result;
  };
  EXPECT_EQ(texts(exp, {.brief = true}), texts(exp, {}));
  std::set<std::string> expected;
  for (const auto& dtypes : log.dtypes)
    for (const char* values : {"random", "special"})
      expected.insert(std::string(dtype_name(dtypes[0])) + "/5x205/contiguous/" + values + "/auto");
  const std::vector<std::string> brief = texts(log, {.brief = true});
  EXPECT_EQ(std::set<std::string>(brief.begin(), brief.end()), expected);
  EXPECT_EQ(brief.size(), expected.size());
  // A failing case runs again by its text, whichever sample it came from.
  EXPECT_EQ(texts(log, {.case_text = brief[0], .brief = true}), std::vector{brief[0]});
}

TEST(Rows, OfALoopHaveOneRepresentative) {
  std::map<std::string, int> representatives;
  for (const Row& row : all_rows()) {
    EXPECT_FALSE(row.represented && row.loop.empty()) << row.op;
    if (!row.loop.empty()) representatives[row.loop] += !row.represented;
  }
  EXPECT_GE(representatives.size(), 6u);
  for (const auto& [loop, count] : representatives) EXPECT_EQ(count, 1) << loop;
}

TEST(Cases, SurviveTheirText) {
  const Row row = row_named("add");
  const std::vector<Case> sample = cases_of(row, {}, false);
  ASSERT_GT(sample.size(), 50u);
  for (std::size_t i = 0; i < sample.size(); i += 17) {
    Options options;
    options.case_text = to_string(sample[i]);
    const std::vector<Case> one = cases_of(row, options, false);
    ASSERT_EQ(one.size(), 1u) << to_string(sample[i]);
    EXPECT_EQ(bytes_of(operands_of(row, one[0], 1)[0].buffer),
              bytes_of(operands_of(row, sample[i], 1)[0].buffer));
  }
}

TEST(Cases, HoldEverySpecialValue) {
  const Row row = row_named("exp");
  std::size_t complete = 0;
  for (const Case& c : cases_of(row, {}, false)) {
    if (c.values != Values::kSpecial || c.dtypes[0] != DType::kF32 ||
        c.places[0] == OperandLayout::kBroadcast)
      continue;
    const Array x = operands_of(row, c, 1)[0].operand;
    bool all = true;
    for (const Real special : special_values(DType::kF32)) {
      all = all && std::any_of(x.values.begin(), x.values.end(), [&](Real y) {
              return std::isnan(special) ? std::isnan(y)
                                         : y == special && std::signbit(y) == std::signbit(special);
            });
    }
    complete += all;
  }
  EXPECT_GT(complete, 0u);
}

TEST(Placements, HoldTheOperandAmongGuards) {
  Random random(1);
  const Array values = random_array(DType::kF32, {3, 4, 5}, {-1, 1}, random);
  for (int place = 0; place < kNumLayouts; place++) {
    const Placement p = conformance::place(values, OperandLayout(place), random);
    const Tensor buffer = upload(p.buffer, Device::cpu());
    const Tensor view = p.view(buffer);
    EXPECT_EQ(bytes_of(download(view)), bytes_of(p.operand)) << kLayoutNames[place];
    EXPECT_EQ(view.storage(), buffer.storage()) << "a view, not a copy: " << kLayoutNames[place];
    if (OperandLayout(place) != OperandLayout::kBroadcast) {
      EXPECT_EQ(bytes_of(p.operand), bytes_of(values));
    }
    EXPECT_EQ(view.is_contiguous(), OperandLayout(place) == OperandLayout::kContiguous ||
                                        OperandLayout(place) == OperandLayout::kWhole)
        << kLayoutNames[place];
  }
}

// ---- the rows of fused ops

using RunOfRow = std::function<Tensor(std::vector<Tensor>, const Case&)>;

/// What the f32 sample of a row says of an op that is wrong in one thing.
std::string failure_of(const std::string& name, const RunOfRow& wrong) {
  Row row = row_named(name);
  std::erase_if(row.dtypes, [](const std::vector<DType>& d) { return d[0] != DType::kF32; });
  std::erase_if(row.geometries, [](const Geometry& g) { return elements_of(g) > 5000; });
  row.run = wrong;
  return first_failure(row);
}

TEST(Rows, OfFusedOpsCatchWhatIsWrong) {
  const auto sdpa_options = [](const Case& c, const Tensor& positions) {
    const bool causal = c.geometry.dims[0] != 0;
    return SdpaOptions{.is_causal = causal,
                       .positions = causal ? positions : Tensor(),
                       .scale = double(c.geometry.dims[1]) / 100};
  };
  const auto heads = [](const Tensor& x) { return transpose(x, 1, 2); };
  struct Defect {
    const char* what;
    const char* row;
    RunOfRow run;
  };
  const Defect defects[] = {
      {"a query sees the key after it", "sdpa",
       [=](std::vector<Tensor> x, const Case& c) {
         return sdpa(heads(x[0]), heads(x[1]), heads(x[2]), sdpa_options(c, x[3] + 1));
       }},
      {"heads share keys the other way round", "sdpa",
       [=](std::vector<Tensor> x, const Case& c) {
         const int64_t h = x[0].size(2), g = x[1].size(2);
         const Tensor ids = arange(h, {.dtype = DType::kI64, .device = x[0].device()});
         const Tensor mine = ids - cast(ids / g, DType::kI64) * g;  // h mod g
         return sdpa(heads(x[0]), index_select(heads(x[1]), 1, mine),
                     index_select(heads(x[2]), 1, mine), sdpa_options(c, x[3]));
       }},
      {"pairs are the other ones", "rope",
       [](std::vector<Tensor> x, const Case&) { return rope_i(x[0], x[1], x[2], x[3]); }},
      {"pairs are those of rope", "rope_i",
       [](std::vector<Tensor> x, const Case&) { return rope(x[0], x[1], x[2], x[3]); }},
      {"the tables begin a position later", "rope_thd",
       [](std::vector<Tensor> x, const Case&) {
         return rope_thd(x[0], roll(x[1], {1}, {0}), roll(x[2], {1}, {0}), x[3]);
       }},
      {"the angle is negated", "rope",
       [](std::vector<Tensor> x, const Case&) { return rope(x[0], x[1], -x[2], x[3]); }},
      {"eps is forgotten", "rms_norm",
       [](std::vector<Tensor> x, const Case&) { return rms_norm(x[0], x[1], 0); }},
      {"the mean is left in", "layer_norm",
       [](std::vector<Tensor> x, const Case&) { return rms_norm(x[0], x[1], 1e-5) + x[2]; }},
      {"the gradient's mean is forgotten", "rms_norm_gradient",
       [](std::vector<Tensor> x, const Case& c) {
         const Var in(x[1]), weight(x[2]);
         const double eps =
             c.geometry.dims.empty() ? 1e-5 : std::pow(10, -double(c.geometry.dims[0]));
         const Tensor r = 1 / sqrt(mean(x[1] * x[1], {.dims = {-1}, .keepdim = true}) + eps);
         backward(in * r * weight, {.seed = x[0]});
         return cat({reshape(in.grad(), {in.tensor().numel()}), weight.grad()}, 0);
       }},
      {"the loss is a sum", "cross_entropy",
       [](std::vector<Tensor> x, const Case&) {
         return cross_entropy(x[0], x[1]) * double(x[1].numel());
       }},
      {"the gradient's seed is 1", "cross_entropy_gradient",
       [](std::vector<Tensor> x, const Case&) {
         const Var logits(x[0]);
         backward(cross_entropy(logits, x[1]));
         return logits.grad();
       }},
      {"the step is counted from 0", "adamw",
       [](std::vector<Tensor> x, const Case& c) {
         Var p(x[0], false), m(x[2], false), s(x[3], false);
         const AdamWOptions other{
             .rate = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.5};
         adamw_(p, x[1], m, s, c.geometry.dims[0] + 1, c.geometry.dims[1] ? other : AdamWOptions{});
         const auto line = [](const Var& v) { return reshape(v, {1, v.tensor().numel()}); };
         return cat({line(p), line(m), line(s)}, 0);
       }},
      {"top_k is one more", "sample",
       [](std::vector<Tensor> x, const Case& c) {
         return sample(x[0], x[1],
                       {.temperature = double(c.geometry.dims[0]) / 100,
                        .top_k = c.geometry.dims[1] ? c.geometry.dims[1] + 1 : 0,
                        .top_p = double(c.geometry.dims[2]) / 100});
       }},
      {"top_p is a little more", "sample",
       [](std::vector<Tensor> x, const Case& c) {
         return sample(x[0], x[1],
                       {.temperature = double(c.geometry.dims[0]) / 100,
                        .top_k = c.geometry.dims[1],
                        .top_p = std::min(1.0, double(c.geometry.dims[2]) / 100 + 0.02)});
       }},
      {"the draw is a little to the right", "sample",
       [](std::vector<Tensor> x, const Case& c) {
         return sample(x[0], x[1] * 0.99 + 0.009,
                       {.temperature = double(c.geometry.dims[0]) / 100,
                        .top_k = c.geometry.dims[1],
                        .top_p = double(c.geometry.dims[2]) / 100});
       }},
  };
  for (const Defect& defect : defects) {
    const std::string text = failure_of(defect.row, defect.run);
    // By its values, and not since it could not run.
    EXPECT_TRUE(holds(text, "expected")) << defect.what << ": \"" << text << "\"";
  }
}

TEST(Runner, TakesTheOtherResultWhereARowHasOne) {
  Row row = small_row("exp");
  row.special = false;
  row.in_place = false;
  row.run = [](std::vector<Tensor> x, const Case&) { return x[0] * 2; };
  const auto doubled = [](const std::vector<Array>& x, const Case&) {
    Result result{x[0], {}, 0};
    for (Real& value : result.array.values) value *= 2;
    return result;
  };
  EXPECT_NE(first_failure(row), "");
  row.or_else = doubled;
  EXPECT_EQ(first_failure(row), "");
}

TEST(Runner, LaysNoDistinctOperandOutAsABroadcast) {
  Row row = small_row("add");
  row.distinct = {1};
  bool first_is = false;
  for (const Case& c : cases_of(row, {}, false)) {
    first_is = first_is || c.places[0] == OperandLayout::kBroadcast;
    EXPECT_NE(c.places[1], OperandLayout::kBroadcast);
  }
  EXPECT_TRUE(first_is);
}

}  // namespace
}  // namespace wick::conformance
