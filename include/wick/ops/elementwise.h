// Element by element. Operands broadcast (NumPy's rule); mixed dtypes promote as PyTorch's do, and
// a number does not promote a tensor within its kind. f16, bf16 and f8 compute in f32.
//
// Where an operand is taken by value and handed over (std::move) as its only owner, the result may
// be written over it. Errors, of all with two operands: kShapeMismatch, kDeviceMismatch.
#pragma once
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/unary.h"
#include "wick/ops/where.h"
