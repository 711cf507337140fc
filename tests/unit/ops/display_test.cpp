#include "wick/ops/display.h"

#include <cmath>
#include <sstream>
#include <thread>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

DType dtype_of(const std::string& name) {
  for (int d = 0; d < kNumDTypes; d++)
    if (name == dtype_name(DType(d))) return DType(d);
  ADD_FAILURE() << name;
  return DType::kF32;
}

Tensor tensor_of(const Settings& c) {
  const std::string hex = c.text("bytes");
  std::vector<uint8_t> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); i++)
    bytes[i] = uint8_t(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  const Shape shape(std::span<const int64_t>(c.integers("shape")));
  return Tensor::from_bytes(bytes.data(), dtype_of(c.text("dtype")), shape);
}

TEST(Display, PrintsWhatPyTorchPrints) {
  const Settings golden = read_json(WICK_GOLDEN "/display/expected.json");
  const auto& cases = std::get<Setting::List>(golden.find("cases")->value);
  EXPECT_GE(cases.size(), 40u);
  for (const Setting& setting : cases) {
    const auto& c = std::get<Settings>(setting.value);
    SCOPED_TRACE(c.text("name"));
    PrintOptions options{.precision = int(c.integer("precision")),
                         .threshold = c.integer("threshold"),
                         .edge_items = c.integer("edge_items"),
                         .line_width = int(c.integer("line_width"))};
    if (c.has("sci_mode")) options.sci_mode = c.flag_or("sci_mode", false);
    const Tensor x = tensor_of(c);
    const std::string last =
        "\nTensor[" + to_string(x.shape()) + ", " + dtype_name(x.dtype()) + "]";
    EXPECT_EQ(to_string(x, options), c.text("text") + last);
    // The same through strides.
    if (x.rank() == 2) {
      const Tensor columns = transpose(transpose(x).contiguous());
      EXPECT_EQ(to_string(columns, options), c.text("text") + last);
    }
  }
}

TEST(Display, TheLastLineNamesDimsAndDType) {
  EXPECT_EQ(to_string(Tensor::from(std::vector<float>{1, 2})), "[1., 2.]\nTensor[[2], f32]");
  EXPECT_EQ(to_string(full({}, 2, {.dtype = DType::kI64})), "2\nTensor[[], i64]");
  EXPECT_EQ(to_string(Tensor()), "Tensor()");
}

TEST(Display, PrintsDTypesThatAreOnlyStored) {
  const uint8_t bytes[] = {0, 1, 7, 15};  // 0, 0.5, 6, -6
  EXPECT_EQ(to_string(Tensor::from_bytes(bytes, DType::kF4, {4})),
            "[ 0.0000,  0.5000,  6.0000, -6.0000]\nTensor[[4], f4]");
}

TEST(Display, StreamsAndTakesTheSharedOptions) {
  const Tensor x = Tensor::from(std::vector<float>{0.125f, 2});
  set_printoptions(PrintOptions::short_form());
  std::ostringstream out;
  out << x;
  EXPECT_EQ(out.str(), "[0.12, 2.00]\nTensor[[2], f32]");
  set_printoptions({});
  EXPECT_EQ(to_string(x), "[0.1250, 2.0000]\nTensor[[2], f32]");
  EXPECT_EQ(print_options().precision, 4);
  EXPECT_EQ(PrintOptions::full().threshold, INT64_MAX);
  EXPECT_ERROR(set_printoptions({.precision = -1}), kInvalidArgument, "set_printoptions");
  EXPECT_ERROR(to_string(arange(3), {.edge_items = -1}), kInvalidArgument, "to_string: ");
  EXPECT_EQ(print_options().precision, 4);
}

TEST(Display, KeepsOffTheTape) {
  const Var v(Tensor::from(std::vector<float>{1, 2}));
  EXPECT_EQ(to_string(v.tensor() * 2), "[2., 4.]\nTensor[[2], f32]");
  EXPECT_EQ(debug_string(v.tensor()), "Tensor[1, 2; f32]");
}

TEST(DebugString, IsOneLine) {
  EXPECT_EQ(debug_string(full({}, 2.5)), "Tensor[2.5; f32]");
  EXPECT_EQ(debug_string(Tensor::from(std::vector<float>{0.1f, NAN})), "Tensor[0.1, nan; f32]");
  EXPECT_EQ(debug_string(Tensor::from(std::vector<double>{0.1})), "Tensor[0.1; f64]");
  EXPECT_EQ(debug_string(arange(9)), "Tensor[0, 1, 2, 3, 4, 5, 6, 7, 8; i64]");
  EXPECT_EQ(debug_string(arange(10)), "Tensor[dims 10; i64]");
  EXPECT_EQ(debug_string(zeros({2, 3}, {.dtype = DType::kBf16})), "Tensor[dims 2, 3; bf16]");
  EXPECT_EQ(debug_string(zeros({0})), "Tensor[; f32]");
  EXPECT_EQ(debug_string(Tensor()), "Tensor()");
}

TEST(Display, OptionsAndTensorsMayBeUsedByManyThreads) {
  const Tensor x = broadcast_to(full({}, 0.5), {3});
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++)
    threads.emplace_back([&x, i] {
      for (int j = 0; j < 50; j++) {
        if (i == 0) set_printoptions({.precision = 1 + j % 2});
        const std::string text = to_string(x);
        EXPECT_TRUE(text.starts_with("[0.5, 0.5, 0.5]") || text.starts_with("[0.50, 0.50, 0.50]") ||
                    text.starts_with("[0.5000, 0.5000, 0.5000]"))
            << text;
      }
    });
  for (std::thread& t : threads) t.join();
  set_printoptions({});
}

}  // namespace
}  // namespace wick
