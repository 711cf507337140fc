#include "wick/core/numerics.h"

#include <atomic>

namespace wick {
namespace {
std::atomic<MatmulPrecision> precision_of_f32{MatmulPrecision::kF32};
std::atomic<bool> is_deterministic{false};
std::atomic<bool> rounds_activations{true};
}  // namespace

void set_matmul_precision(MatmulPrecision precision) { precision_of_f32 = precision; }
MatmulPrecision matmul_precision() { return precision_of_f32; }

void set_deterministic(bool on) { is_deterministic = on; }
bool deterministic() { return is_deterministic; }

void set_round_activations(bool on) { rounds_activations = on; }
bool round_activations() { return rounds_activations; }

}  // namespace wick
