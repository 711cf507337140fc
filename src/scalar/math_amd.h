// AMD versions of the functions of math.h: clang builtins, ocml functions linked as bitcode, and
// precise.h where ocml's error exceeds 2 ulp. Error of the others: 2 ulp.
#pragma once
#include "scalar/precise.h"

extern "C" {
__attribute__((device)) float __ocml_expm1_f32(float), __ocml_log1p_f32(float),
    __ocml_sin_f32(float), __ocml_cos_f32(float), __ocml_tan_f32(float), __ocml_acos_f32(float),
    __ocml_atan_f32(float), __ocml_sinh_f32(float), __ocml_cosh_f32(float), __ocml_tanh_f32(float),
    __ocml_asinh_f32(float), __ocml_acosh_f32(float), __ocml_atanh_f32(float),
    __ocml_erf_f32(float);
__attribute__((device)) float __ocml_pow_f32(float, float), __ocml_fmod_f32(float, float),
    __ocml_erfc_f32(float);
__attribute__((device)) double __ocml_expm1_f64(double), __ocml_log1p_f64(double),
    __ocml_sin_f64(double), __ocml_cos_f64(double), __ocml_tan_f64(double), __ocml_asin_f64(double),
    __ocml_acos_f64(double), __ocml_atan_f64(double), __ocml_sinh_f64(double),
    __ocml_cosh_f64(double), __ocml_tanh_f64(double), __ocml_asinh_f64(double),
    __ocml_acosh_f64(double), __ocml_atanh_f64(double), __ocml_erf_f64(double),
    __ocml_exp_f64(double), __ocml_exp2_f64(double), __ocml_log_f64(double),
    __ocml_log2_f64(double), __ocml_log10_f64(double);
__attribute__((device)) double __ocml_pow_f64(double, double), __ocml_atan2_f64(double, double),
    __ocml_fmod_f64(double, double), __ocml_erfc_f64(double);
}

namespace wick {

WICK_SCALAR float exp(float x) { return __builtin_expf(x); }
WICK_SCALAR float exp2(float x) { return __builtin_exp2f(x); }
WICK_SCALAR float log(float x) { return __builtin_logf(x); }
WICK_SCALAR float log2(float x) { return __builtin_log2f(x); }
WICK_SCALAR float log10(float x) { return __builtin_log10f(x); }
WICK_SCALAR float expm1(float x) { return x == 0 ? x : __ocml_expm1_f32(x); }  // of -0 it is 0
WICK_SCALAR float log1p(float x) { return __ocml_log1p_f32(x); }
WICK_SCALAR float sin(float x) { return __ocml_sin_f32(x); }
WICK_SCALAR float cos(float x) { return __ocml_cos_f32(x); }
WICK_SCALAR float tan(float x) { return __ocml_tan_f32(x); }
WICK_SCALAR float asin(float x) { return precise::asin(x); }
WICK_SCALAR float acos(float x) { return __ocml_acos_f32(x); }
WICK_SCALAR float atan(float x) { return __ocml_atan_f32(x); }
WICK_SCALAR float sinh(float x) { return __ocml_sinh_f32(x); }
WICK_SCALAR float cosh(float x) { return __ocml_cosh_f32(x); }
WICK_SCALAR float tanh(float x) { return __ocml_tanh_f32(x); }
WICK_SCALAR float asinh(float x) { return __ocml_asinh_f32(x); }
WICK_SCALAR float acosh(float x) { return __ocml_acosh_f32(x); }
WICK_SCALAR float atanh(float x) { return __ocml_atanh_f32(x); }
WICK_SCALAR float erf(float x) { return __ocml_erf_f32(x); }
WICK_SCALAR float erfc(float x) { return precise::erfc(x); }
WICK_SCALAR float lgamma(float x) { return precise::lgamma(x); }
WICK_SCALAR float quick_erfc(float x) { return __ocml_erfc_f32(x); }
WICK_SCALAR float pow(float a, float b) { return __ocml_pow_f32(a, b); }
WICK_SCALAR float atan2(float a, float b) { return precise::atan2(a, b); }
WICK_SCALAR float fmod(float a, float b) { return __ocml_fmod_f32(a, b); }
WICK_SCALAR double exp(double x) { return __ocml_exp_f64(x); }
WICK_SCALAR double exp2(double x) { return __ocml_exp2_f64(x); }
WICK_SCALAR double log(double x) { return __ocml_log_f64(x); }
WICK_SCALAR double log2(double x) { return __ocml_log2_f64(x); }
WICK_SCALAR double log10(double x) { return __ocml_log10_f64(x); }
WICK_SCALAR double expm1(double x) { return x == 0 ? x : __ocml_expm1_f64(x); }  // of -0 it is 0
WICK_SCALAR double log1p(double x) { return x == 0 ? x : __ocml_log1p_f64(x); }  // of -0 it is 0
WICK_SCALAR double sin(double x) { return __ocml_sin_f64(x); }
WICK_SCALAR double cos(double x) { return __ocml_cos_f64(x); }
WICK_SCALAR double tan(double x) { return __ocml_tan_f64(x); }
WICK_SCALAR double asin(double x) { return __ocml_asin_f64(x); }
WICK_SCALAR double acos(double x) { return __ocml_acos_f64(x); }
WICK_SCALAR double atan(double x) { return __ocml_atan_f64(x); }
WICK_SCALAR double sinh(double x) { return __ocml_sinh_f64(x); }
WICK_SCALAR double cosh(double x) { return __ocml_cosh_f64(x); }
WICK_SCALAR double tanh(double x) { return __ocml_tanh_f64(x); }
WICK_SCALAR double asinh(double x) { return __ocml_asinh_f64(x); }
WICK_SCALAR double acosh(double x) { return __ocml_acosh_f64(x); }
WICK_SCALAR double atanh(double x) { return __ocml_atanh_f64(x); }
WICK_SCALAR double erf(double x) { return __ocml_erf_f64(x); }
WICK_SCALAR double erfc(double x) { return precise::erfc(x); }
WICK_SCALAR double lgamma(double x) { return precise::lgamma(x); }
WICK_SCALAR double quick_erfc(double x) { return __ocml_erfc_f64(x); }
WICK_SCALAR double pow(double a, double b) { return __ocml_pow_f64(a, b); }
WICK_SCALAR double atan2(double a, double b) { return __ocml_atan2_f64(a, b); }
WICK_SCALAR double fmod(double a, double b) { return __ocml_fmod_f64(a, b); }

}  // namespace wick
