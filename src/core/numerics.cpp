#include "wick/core/numerics.h"

#include <atomic>

namespace wick {
namespace {
std::atomic<MatmulPrecision> precision_of_f32{MatmulPrecision::kF32};
std::atomic<bool> is_deterministic{false};
}  // namespace

void set_matmul_precision(MatmulPrecision precision) { precision_of_f32 = precision; }
MatmulPrecision matmul_precision() { return precision_of_f32; }

void set_deterministic(bool on) { is_deterministic = on; }
bool deterministic() { return is_deterministic; }

}  // namespace wick
