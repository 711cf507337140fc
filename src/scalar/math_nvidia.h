// NVIDIA versions of the functions of math.h: from the CUDA toolkit, and from precise.h where the
// toolkit's error exceeds 2 ulp (CUDA C++ Programming Guide, "Mathematical Functions"). Error of
// the others: 2 ulp.
#pragma once
#include "scalar/precise.h"

namespace wick {

WICK_SCALAR float exp(float x) { return ::expf(x); }
WICK_SCALAR float exp2(float x) { return ::exp2f(x); }
WICK_SCALAR float log(float x) { return ::logf(x); }
WICK_SCALAR float log2(float x) { return ::log2f(x); }
WICK_SCALAR float log10(float x) { return ::log10f(x); }
WICK_SCALAR float expm1(float x) { return ::expm1f(x); }
WICK_SCALAR float log1p(float x) { return ::log1pf(x); }
WICK_SCALAR float sin(float x) { return ::sinf(x); }
WICK_SCALAR float cos(float x) { return ::cosf(x); }
WICK_SCALAR float tan(float x) { return precise::tan(x); }
WICK_SCALAR float asin(float x) { return ::asinf(x); }
WICK_SCALAR float acos(float x) { return ::acosf(x); }
WICK_SCALAR float atan(float x) { return ::atanf(x); }
WICK_SCALAR float sinh(float x) { return precise::sinh(x); }
WICK_SCALAR float cosh(float x) { return precise::cosh(x); }
WICK_SCALAR float tanh(float x) { return precise::tanh(x); }
WICK_SCALAR float asinh(float x) { return precise::asinh(x); }
WICK_SCALAR float acosh(float x) { return precise::acosh(x); }
WICK_SCALAR float atanh(float x) { return precise::atanh(x); }
WICK_SCALAR float erf(float x) { return ::erff(x); }
WICK_SCALAR float erfc(float x) { return precise::erfc(x); }
WICK_SCALAR float lgamma(float x) { return precise::lgamma(x); }
WICK_SCALAR float quick_erfc(float x) { return ::erfcf(x); }
WICK_SCALAR float pow(float a, float b) { return precise::pow(a, b); }
WICK_SCALAR float atan2(float a, float b) { return precise::atan2(a, b); }
WICK_SCALAR float fmod(float a, float b) { return ::fmodf(a, b); }
WICK_SCALAR double exp(double x) { return ::exp(x); }
WICK_SCALAR double exp2(double x) { return ::exp2(x); }
WICK_SCALAR double log(double x) { return ::log(x); }
WICK_SCALAR double log2(double x) { return ::log2(x); }
WICK_SCALAR double log10(double x) { return ::log10(x); }
WICK_SCALAR double expm1(double x) { return ::expm1(x); }
WICK_SCALAR double log1p(double x) { return ::log1p(x); }
WICK_SCALAR double sin(double x) { return ::sin(x); }
WICK_SCALAR double cos(double x) { return ::cos(x); }
WICK_SCALAR double tan(double x) { return ::tan(x); }
WICK_SCALAR double asin(double x) { return ::asin(x); }
WICK_SCALAR double acos(double x) { return ::acos(x); }
WICK_SCALAR double atan(double x) { return ::atan(x); }
WICK_SCALAR double sinh(double x) { return ::sinh(x); }
WICK_SCALAR double cosh(double x) { return ::cosh(x); }
WICK_SCALAR double tanh(double x) { return ::tanh(x); }
WICK_SCALAR double asinh(double x) { return precise::asinh(x); }
WICK_SCALAR double acosh(double x) { return precise::acosh(x); }
WICK_SCALAR double atanh(double x) { return ::atanh(x); }
WICK_SCALAR double erf(double x) { return ::erf(x); }
WICK_SCALAR double erfc(double x) { return precise::erfc(x); }
WICK_SCALAR double lgamma(double x) { return precise::lgamma(x); }
WICK_SCALAR double quick_erfc(double x) { return ::erfc(x); }
WICK_SCALAR double pow(double a, double b) { return ::pow(a, b); }
WICK_SCALAR double atan2(double a, double b) { return ::atan2(a, b); }
WICK_SCALAR double fmod(double a, double b) { return ::fmod(a, b); }

}  // namespace wick
