// Rotary position embedding of a model's layers.
#pragma once
#include <vector>

#include "wick/ops/rope.h"

namespace wick {

/// Tables of rope and the row that each token has in them.
struct Rotation {
  RopeTables tables;
  Tensor rows;  // [B, T]
};

/// The frequencies of a model. With RopeScalingType::kDynamic, a text has frequencies by its
/// length when its tokens are read.
class Rotary {
 public:
  /// positions: the most of a text; 0: no layer rotates. dim: the elements of a head that are
  /// rotated.
  Rotary(int64_t positions, int64_t dim, double theta, const RopeScaling& scaling,
         const TensorOptions& options);

  /// The rotation of tokens at positions [B, T] in texts of so many tokens, one number per row;
  /// empty: each text ends with its token, of which there is one (T is 1), or its length makes no
  /// difference.
  Rotation of(const Tensor& at, const std::vector<int64_t>& lengths) const;
  bool is_dynamic() const { return scaling_.type == RopeScalingType::kDynamic; }

 private:
  int64_t dim_;
  double theta_;
  RopeScaling scaling_;
  DType dtype_;
  RopeTables tables_;
  RopeTables last_;  // of kDynamic: row p rotates the last token of a text of p + 1 tokens
};

/// Rotates the leading `dim` elements of the heads x [B, T, H, D].
Tensor rotated(const Tensor& x, const Rotation& rotation, RopePairs pairs, int64_t dim);

}  // namespace wick
