// Elementwise ops. Operands broadcast by NumPy's rule and mixed dtypes promote as in PyTorch; a
// number promotes a tensor only to a higher kind of dtype. f16, bf16 and f8 compute in f32.
//
// An op that takes an operand by value may reuse its memory for the result if the caller moves it
// in (std::move) and is its only owner. All ops with two operands throw kShapeMismatch and
// kDeviceMismatch.
#pragma once
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/unary.h"
#include "wick/ops/where.h"
