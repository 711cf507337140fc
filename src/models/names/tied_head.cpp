#include "models/names/tied_head.h"

#include <algorithm>
#include <cstring>

#include "wick/ops/cast.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

bool are_equal(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  if (a.dtype() == b.dtype()) {
    const Tensor x = a.contiguous(), y = b.contiguous();
    return std::memcmp(x.data(), y.data(), size_t(bytes_of(x.dtype(), x.numel()))) == 0;
  }
  constexpr int64_t kRows = 1024;  // at a time, so that little memory is needed
  for (int64_t row = 0; row < a.size(0); row += kRows) {
    const auto values = [&](const Tensor& x) {
      const Tensor rows = narrow(x, 0, row, std::min(kRows, a.size(0) - row));
      return cast(rows, DType::kF64).to_vector<double>();
    };
    if (values(a) != values(b)) return false;
  }
  return true;
}

}  // namespace

bool has_own_head(const TensorSource& tensors, const std::string& embedding,
                  std::vector<std::string>& warnings) {
  const std::string head = "lm_head.weight";
  if (tensors.tensors.count(head) == 0 || tensors.tensors.count(embedding) == 0) return false;
  if (tensors.tensors.at(head).shape.size() == 2 &&
      are_equal(tensors.load(head, Device::cpu()), tensors.load(embedding, Device::cpu())))
    return false;
  warnings.push_back(
      tensors.where +
      ": \"tie_word_embeddings\" is true, but the file's lm_head.weight differs from "
      "the embedding: it is used");
  return true;
}

}  // namespace wick
