#include "wick/core/numerics.h"

#include <thread>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

/// Sets what is set for the process while it lives.
struct Deterministic {
  Deterministic() { set_deterministic(true); }
  ~Deterministic() { set_deterministic(false); }
};

/// Sums at the places that ids name: what each op gives, or its error.
struct Sums {
  Tensor x, ids, rows;
  explicit Sums(const Device& device)
      : x(ones({3, 2}, {.device = device})),
        ids(Tensor::from<int64_t>({1, 1}, device)),
        rows(ones({2, 2}, {.device = device})) {}

  Tensor scatter_added() const {
    return scatter_add(x, 0, broadcast_to(reshape(ids, {2, 1}), {2, 2}), rows);
  }
  Tensor index_added() const { return index_add(x, 0, ids, rows); }
  Tensor embedding_gradient() const {
    const Var weight(x);
    backward(sum(embedding(weight, ids)));
    return weight.grad();
  }
};

TEST(Deterministic, OfACardRefusesSumsInAnyOrder) {
  const Device card = Device::emulated(32);
  const Sums sums(card);
  EXPECT_FALSE(deterministic());
  const std::vector<float> added = sums.scatter_added().to_vector<float>();
  {
    const Deterministic on;
    EXPECT_TRUE(deterministic());
    EXPECT_ERROR(sums.scatter_added(), kUnsupported,
                 "scatter_add: no f32 kernel on emu:32 accepts the call: its order of summation "
                 "varies, which set_deterministic(true) forbids; no composite");
    EXPECT_ERROR(sums.index_added(), kUnsupported, "index_add: no f32 kernel of scatter_add on");
    EXPECT_ERROR(sums.embedding_gradient(), kUnsupported,
                 "index_add: no f32 kernel of scatter_add");
    // Sums of integers are the same in any order.
    const Tensor ids = broadcast_to(reshape(sums.ids, {2, 1}), {2, 2});
    EXPECT_EQ(scatter_add(cast(sums.x, DType::kI32), 0, ids, cast(sums.rows, DType::kI32))
                  .to_vector<int32>(),
              (std::vector<int32>{1, 1, 3, 3, 1, 1}));
    EXPECT_EQ(sum(matmul(sums.x, sums.rows)).item<float>(), 12.0f);
  }
  EXPECT_EQ(sums.scatter_added().to_vector<float>(), added);
}

TEST(Deterministic, HoldsOnTheCpu) {
  const Sums sums(Device::cpu());
  const Deterministic on;
  const std::vector<float> added{1, 1, 3, 3, 1, 1};
  EXPECT_EQ(sums.scatter_added().to_vector<float>(), added);
  EXPECT_EQ(sums.index_added().to_vector<float>(), added);
  EXPECT_EQ(sums.embedding_gradient().to_vector<float>(), (std::vector<float>{0, 0, 2, 2, 0, 0}));
}

TEST(MatmulPrecision, IsF32UntilLessIsPermitted) {
  EXPECT_EQ(matmul_precision(), MatmulPrecision::kF32);
  const Tensor a = randn({40, 30}), b = randn({30, 20});
  const std::vector<float> product = matmul(a, b).to_vector<float>();
  std::thread([] { set_matmul_precision(MatmulPrecision::kBf16); }).join();
  EXPECT_EQ(matmul_precision(), MatmulPrecision::kBf16);  // of the process, not of a thread
  EXPECT_EQ(matmul(a, b).to_vector<float>(), product);
  set_matmul_precision(MatmulPrecision::kF32);
}

}  // namespace
}  // namespace wick
