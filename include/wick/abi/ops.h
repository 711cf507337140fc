// The name of every op that kernels implement, once, with the operands and attributes that its
// kernels see. Freestanding.
//
// Shapes below are what the core has made of the user's: broadcast, collapsed, outputs contiguous
// unless said otherwise.
#pragma once
#include "wick/abi/call.h"

namespace wick {

/// In the error record of a device an op is its number here.
enum class OpId : int32 {
  // Elementwise, y = f(x): in and out of one shape. Formulas: scalar/unary.h.
  kNeg,
  kExp,
  kLog,
  kSqrt,
  kSilu,
  kAbs,
  kSign,
  kRelu,
  kRecip,
  kSqr,
  kRsqrt,
  kExp2,
  kExpm1,
  kLog2,
  kLog10,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kErfc,
  kLgamma,
  kDigamma,
  kTrigamma,
  kSigmoid,
  kGelu,
  kGeluTanh,
  kFloor,
  kCeil,
  kRound,
  kTrunc,
  kBitwiseNot,
  // Elementwise, y = f(x) with numbers beside it: NumberAttributes.
  kAffine,
  kElu,
  kLeakyRelu,
  // Elementwise, out bool.
  kIsNan,
  kIsInf,
  kIsFinite,
  // Elementwise, y = f(a, b). Formulas: scalar/binary.h.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMaximum,
  kMaximumShare,
  kSwiglu,
  kSiluGradient,
  kMinimum,
  kPow,
  kRemainder,
  kFmod,
  kFloorDivide,
  kAtan2,
  kBitwiseAnd,
  kBitwiseOr,
  kBitwiseXor,
  kShiftLeft,
  kShiftRight,
  // Elementwise, in a, b of one dtype, out bool. Formulas: scalar/compare.h.
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kWhere,  // elementwise, in condition bool, a, b; out a's dtype: condition ? a : b
  kCast,   // y = x in another dtype; the same dtype is the strided copy
  // Reductions: in [K..., R...], out [K...]; ReduceAttributes says how many dims are kept. Steps:
  // scalar/reduce.h.
  kSum,
  kMax,
  kMin,
  kProd,
  kAny,
  kAll,
  kArgmax,  // over the reduced dims in their order; the first winner, NaN before every number
  kArgmin,
  // Scans: in x [O, N, I], out y [O, N, I], over N. cummax and cummin give also ids [O, N, I] of
  // what won: the last of equals, NaN before every number.
  kCumsum,
  kCumprod,
  kCummax,
  kCummin,
  kSort,  // in x [N, D]; out y [N, D], ids [N, D]: each row sorted, stable, NaN last;
          // SortAttributes
  kTopk,  // in x [N, D]; out y [N, K], ids [N, K]: the K first of the sorted row; SortAttributes
  kSearchSorted,  // in sorted [N, D] ascending, values [N, J]; out ids [N, J]; SearchAttributes
  kNonzero,       // in mask [N]; out ids [M], ascending: M is how many are true
  kMatmul,        // in a [batch..., M, K], b [batch..., K, N], any strides; out [batch..., M, N]
  kGather,  // in x [O, N, I], ids [O, J, I] (any strides); out [O, J, I]: y[o, j, i] = x[o, ids[o,
            // j, i], i]
  kScatterAdd,  // in src [O, J, I], ids [O, J, I]; out y [O, N, I], added to: y[o, ids[o, j, i], i]
                // += src[o, j, i]
  kScatter,     // as kScatterAdd, but set: y[o, ids[o, j, i], i] = src[o, j, i]; of equal ids any
                // one's value stays
  kFill,        // no input; every element of out becomes FillAttributes' value
  // Fused; R stands for an accumulator's dtype: f32, of f64 f64. Inner strides are 1.
  kSoftmax,  // in x [N, D]; out [N, D]: over the last dim
  kRmsNorm,  // in x [N, D], weight [D]; out y [N, D], r [N] of R: 1 / sqrt(mean(x^2) + eps);
             // RmsNormAttributes
  kRmsNormGradient,  // in gy [N, D], x [N, D], weight [D], r [N]; out gx [N, D]
  kRope,  // in x [B, T, H, D], cos and sin [P, D / 2] of f32 (of f64: f64), positions [B, T] i64;
          // out [B, T, H, D]; RopeAttributes
  kSdpa,  // in q [B, H, T, D], k and v [B, G, S, D], positions [B, T] i64; out y [B, H, T, D] (any
          // outer strides),
          // l [B, H, T] of R: log of the sum of exp; SdpaAttributes. H is a multiple of G.
  kSdpaGradient,  // in gy [B, H, T, D], q, k, v, positions, y, l as of kSdpa; out gq as q, gk and
                  // gv as
                  // k, all written whole; SdpaAttributes
  kCrossEntropy,  // in logits [N, C], targets [N] i64; out loss [N] of R, l [N] of R: log of the
                  // sum of exp
  kCrossEntropyGradient,  // in logits [N, C], targets [N] i64, l [N] of R, gloss [N] of R; out [N,
                          // C]: gloss (softmax - onehot)
  kAdamW,                 // in gradient [N]; out parameter, mean, square [N] of one dtype, updated;
                          // AdamWAttributes
  kSample,  // in logits [B, V], uniform [B] f32 in [0, 1); out ids [B] i64; SampleAttributes
  // Convolutions: x [N, C, H, W], weight [O, C / groups, KH, KW], y [N, O, OH, OW]; ConvAttributes.
  // Each is the gradient of another.
  kConv,                // in x, weight; out y
  kConvInputGradient,   // in y, weight; out x, which the attributes do not size: a transposed
                        // convolution
  kConvWeightGradient,  // in y, x; out weight
  // Windows over H and W: x [N, C, H, W], y [N, C, OH, OW]; PoolAttributes.
  kMaxPool,  // in x; out y, ids: of h W + w, the first winner, NaN before every number
  kAvgPool,  // in x; out y
  kFold,     // in windows [N, C, KH, KW, OH, OW]; out x [N, C, H, W], every element the sum of what
             // windows have of it; PoolAttributes
};
struct OpFacts {
  OpId op;
  const char* name;
  /// The dtypes of the inputs, a colon, those of the outputs. T: the op's own; R: what T is
  /// accumulated in; S: what T is summed to; I i64, B bool, F f32; *: any.
  const char* operands;
};
// clang-format off
inline constexpr OpFacts kOps[] = {
    {OpId::kNeg, "neg", "T:T"}, {OpId::kExp, "exp", "T:T"}, {OpId::kLog, "log", "T:T"}, {OpId::kSqrt, "sqrt", "T:T"},
    {OpId::kSilu, "silu", "T:T"}, {OpId::kAbs, "abs", "T:T"}, {OpId::kSign, "sign", "T:T"}, {OpId::kRelu, "relu", "T:T"},
    {OpId::kRecip, "recip", "T:T"}, {OpId::kSqr, "sqr", "T:T"}, {OpId::kRsqrt, "rsqrt", "T:T"}, {OpId::kExp2, "exp2", "T:T"},
    {OpId::kExpm1, "expm1", "T:T"}, {OpId::kLog2, "log2", "T:T"}, {OpId::kLog10, "log10", "T:T"}, {OpId::kLog1p, "log1p", "T:T"},
    {OpId::kSin, "sin", "T:T"}, {OpId::kCos, "cos", "T:T"}, {OpId::kTan, "tan", "T:T"}, {OpId::kAsin, "asin", "T:T"},
    {OpId::kAcos, "acos", "T:T"}, {OpId::kAtan, "atan", "T:T"}, {OpId::kSinh, "sinh", "T:T"}, {OpId::kCosh, "cosh", "T:T"},
    {OpId::kTanh, "tanh", "T:T"}, {OpId::kAsinh, "asinh", "T:T"}, {OpId::kAcosh, "acosh", "T:T"}, {OpId::kAtanh, "atanh", "T:T"},
    {OpId::kErf, "erf", "T:T"}, {OpId::kErfc, "erfc", "T:T"}, {OpId::kLgamma, "lgamma", "T:T"}, {OpId::kDigamma, "digamma", "T:T"},
    {OpId::kTrigamma, "trigamma", "T:T"}, {OpId::kSigmoid, "sigmoid", "T:T"}, {OpId::kGelu, "gelu", "T:T"},
    {OpId::kGeluTanh, "gelu_tanh", "T:T"}, {OpId::kFloor, "floor", "T:T"}, {OpId::kCeil, "ceil", "T:T"},
    {OpId::kRound, "round", "T:T"}, {OpId::kTrunc, "trunc", "T:T"}, {OpId::kBitwiseNot, "bitwise_not", "T:T"},
    {OpId::kAffine, "affine", "T:T"}, {OpId::kElu, "elu", "T:T"}, {OpId::kLeakyRelu, "leaky_relu", "T:T"},
    {OpId::kIsNan, "isnan", "T:B"}, {OpId::kIsInf, "isinf", "T:B"}, {OpId::kIsFinite, "isfinite", "T:B"},
    {OpId::kAdd, "add", "TT:T"}, {OpId::kSub, "sub", "TT:T"}, {OpId::kMul, "mul", "TT:T"}, {OpId::kDiv, "div", "TT:T"},
    {OpId::kMaximum, "maximum", "TT:T"}, {OpId::kMaximumShare, "maximum_share", "TT:T"}, {OpId::kSwiglu, "swiglu", "TT:T"},
    {OpId::kSiluGradient, "silu_gradient", "TT:T"}, {OpId::kMinimum, "minimum", "TT:T"}, {OpId::kPow, "pow", "TT:T"},
    {OpId::kRemainder, "remainder", "TT:T"}, {OpId::kFmod, "fmod", "TT:T"}, {OpId::kFloorDivide, "floor_divide", "TT:T"},
    {OpId::kAtan2, "atan2", "TT:T"}, {OpId::kBitwiseAnd, "bitwise_and", "TT:T"}, {OpId::kBitwiseOr, "bitwise_or", "TT:T"},
    {OpId::kBitwiseXor, "bitwise_xor", "TT:T"}, {OpId::kShiftLeft, "shift_left", "TT:T"}, {OpId::kShiftRight, "shift_right", "TT:T"},
    {OpId::kEq, "eq", "TT:B"}, {OpId::kNe, "ne", "TT:B"}, {OpId::kLt, "lt", "TT:B"}, {OpId::kLe, "le", "TT:B"},
    {OpId::kGt, "gt", "TT:B"}, {OpId::kGe, "ge", "TT:B"}, {OpId::kWhere, "where", "BTT:T"}, {OpId::kCast, "cast", "T:*"},
    {OpId::kSum, "sum", "T:S"}, {OpId::kMax, "max", "T:T"}, {OpId::kMin, "min", "T:T"}, {OpId::kProd, "prod", "T:S"},
    {OpId::kAny, "any", "T:B"}, {OpId::kAll, "all", "T:B"}, {OpId::kArgmax, "argmax", "T:I"}, {OpId::kArgmin, "argmin", "T:I"},
    {OpId::kCumsum, "cumsum", "T:S"}, {OpId::kCumprod, "cumprod", "T:S"}, {OpId::kCummax, "cummax", "T:TI"},
    {OpId::kCummin, "cummin", "T:TI"}, {OpId::kSort, "sort", "T:TI"}, {OpId::kTopk, "topk", "T:TI"},
    {OpId::kSearchSorted, "searchsorted", "TT:I"}, {OpId::kNonzero, "nonzero", "B:I"},
    {OpId::kMatmul, "matmul", "TT:T"}, {OpId::kGather, "gather", "TI:T"}, {OpId::kScatterAdd, "scatter_add", "TI:T"},
    {OpId::kScatter, "scatter", "TI:T"}, {OpId::kFill, "fill", ":T"}, {OpId::kSoftmax, "softmax", "T:T"},
    {OpId::kRmsNorm, "rms_norm", "TT:TR"}, {OpId::kRmsNormGradient, "rms_norm_gradient", "TTTR:T"}, {OpId::kRope, "rope", "TRRI:T"},
    {OpId::kSdpa, "sdpa", "TTTI:TR"}, {OpId::kSdpaGradient, "sdpa_gradient", "TTTTITR:TTT"},
    {OpId::kCrossEntropy, "cross_entropy", "TI:RR"}, {OpId::kCrossEntropyGradient, "cross_entropy_gradient", "TIRR:T"},
    {OpId::kAdamW, "adamw", "T:TTT"}, {OpId::kSample, "sample", "TF:I"},
    {OpId::kConv, "conv", "TT:T"}, {OpId::kConvInputGradient, "conv_input_gradient", "TT:T"},
    {OpId::kConvWeightGradient, "conv_weight_gradient", "TT:T"}, {OpId::kMaxPool, "max_pool", "T:TI"},
    {OpId::kAvgPool, "avg_pool", "T:T"}, {OpId::kFold, "fold", "T:T"},
};
// clang-format on
inline constexpr int kNumOps = sizeof kOps / sizeof kOps[0];
/// The table is in the enumeration's order, and whole.
constexpr bool ops_are_in_order() {
  for (int i = 0; i < kNumOps; i++)
    if (int(kOps[i].op) != i) return false;
  return int(OpId::kFold) + 1 == kNumOps;
}
static_assert(ops_are_in_order());
constexpr const char* op_name(OpId op) {
  return int(op) >= 0 && int(op) < kNumOps ? kOps[int(op)].name : "?";
}

/// The dtype of an operand by its letter in OpFacts::operands, for an op of dtype t; * counts as T.
constexpr DType operand_dtype(char letter, DType t) {
  switch (letter) {
    case 'R':
      return t == DType::kF64 ? DType::kF64 : DType::kF32;
    case 'S':
      return is_floating(t) || t == DType::kU64 ? t : DType::kI64;
    case 'I':
      return DType::kI64;
    case 'B':
      return DType::kBool;
    case 'F':
      return DType::kF32;
    default:
      return t;
  }
}

/// Of ops with numbers beside the tensor: affine a x + b; elu a (e^x - 1) below 0; leaky_relu a x
/// below 0.
struct NumberAttributes {
  static constexpr const char* kLayout = "f64 a, f64 b";
  double a;
  double b;
};

/// Of the reductions, kSum to kArgmin.
struct ReduceAttributes {
  static constexpr const char* kLayout = "i32 kept";
  int32 kept;  // leading dims of the input that stay; the others are reduced
};

/// Of kFill.
struct FillAttributes {
  static constexpr const char* kLayout = "u64 bits";
  uint64 bits;  // the element's own bytes, the lowest first
};

/// Of kSort and kTopk.
struct SortAttributes {
  static constexpr const char* kLayout = "i32 descending";
  int32 descending;  // NaN is larger than every number, so it comes first
};

/// Of kSearchSorted: the first place before which a value may stand, or the last.
struct SearchAttributes {
  static constexpr const char* kLayout = "i32 right";
  int32 right;
};

/// Of kConv and its gradients: y[oh, ow] = sum over kh, kw of x[oh stride + kh dilation - padding].
struct ConvAttributes {
  static constexpr const char* kLayout = "i64 stride[2], padding[2], dilation[2], groups";
  int64 stride[2], padding[2];  // padding before; that behind follows from the sizes
  int64 dilation[2];
  int64 groups;
};

/// Of kMaxPool, kAvgPool and kFold: window (oh, ow) has x[oh stride + kh dilation - padding].
struct PoolAttributes {
  static constexpr const char* kLayout =
      "i64 kernel[2], stride[2], padding[2], dilation[2], counted[2], divisor";
  int64 kernel[2], stride[2], padding[2], dilation[2];
  /// Of kAvgPool: a window's mean is over its elements from -counted to size + counted, or its sum
  /// is over `divisor` if that is not 0.
  int64 counted[2];
  int64 divisor;
};

struct RmsNormAttributes {
  static constexpr const char* kLayout = "f64 eps";
  double eps;
};

/// Turns pairs of elements by the angle of their position: (x1 cos - x2 sin, x2 cos + x1 sin). A
/// pair is elements i and i + D / 2, interleaved 2 i and 2 i + 1. inverse turns back, which is the
/// gradient. A position outside of [0, P) is an id error.
struct RopeAttributes {
  static constexpr const char* kLayout = "i32 interleaved, i32 inverse";
  int32 interleaved;
  int32 inverse;
};

/// y = softmax(scale q k^T) v, over the keys s with s <= position of the query where causal, else
/// all. Query head h reads key head h / (H / G). A query that sees no key gives 0 and l = -inf.
struct SdpaAttributes {
  static constexpr const char* kLayout = "f64 scale, i32 causal";
  double scale;
  int32 causal;
};

/// mean = beta1 mean + (1 - beta1) g; square = beta2 square + (1 - beta2) g^2;
/// parameter = parameter (1 - rate weight_decay) - rate (mean mean_scale) / (sqrt(square
/// square_scale) + eps)
struct AdamWAttributes {
  static constexpr const char* kLayout =
      "f64 rate, beta1, beta2, eps, weight_decay, mean_scale, square_scale";
  double rate, beta1, beta2, eps, weight_decay;
  double mean_scale, square_scale;  // 1 / (1 - beta^step)
};

/// Draws from softmax(logits / temperature), cut to the top_k most likely (0: all) and of these to
/// the fewest whose share reaches top_p (1: all); what ties with the last one kept stays too.
/// uniform picks along the kept ids in ascending order: the first at which their share exceeds it.
/// temperature 0: the first of the largest. Logits may be -inf, which is never drawn; NaN, +inf and
/// nothing but -inf give some id in [0, V).
struct SampleAttributes {
  static constexpr const char* kLayout = "f64 temperature, f64 top_p, i64 top_k";
  double temperature, top_p;
  int64 top_k;
};

/// Names an attribute struct's layout, so that a module built for another one is told apart
/// (FNV-1a).
constexpr uint64 hash_text(const char* text) {
  uint64 h = 0xcbf29ce484222325;
  for (; *text; text++) h = (h ^ uint8(*text)) * 0x100000001b3;
  return h;
}
template <class A>
inline constexpr uint64 kAttributesHash = hash_text(A::kLayout) + sizeof(A);

/// What a query for the op says of its attributes.
struct AttributeFacts {
  uint32 size = 0;
  uint64 hash = 0;
};
constexpr AttributeFacts attribute_facts(OpId op) {
  const auto of = []<class A>(const A*) { return AttributeFacts{sizeof(A), kAttributesHash<A>}; };
  switch (op) {
    case OpId::kAffine:
    case OpId::kElu:
    case OpId::kLeakyRelu:
      return of(static_cast<const NumberAttributes*>(nullptr));
    case OpId::kSort:
    case OpId::kTopk:
      return of(static_cast<const SortAttributes*>(nullptr));
    case OpId::kSearchSorted:
      return of(static_cast<const SearchAttributes*>(nullptr));
    case OpId::kConv:
    case OpId::kConvInputGradient:
    case OpId::kConvWeightGradient:
      return of(static_cast<const ConvAttributes*>(nullptr));
    case OpId::kMaxPool:
    case OpId::kAvgPool:
    case OpId::kFold:
      return of(static_cast<const PoolAttributes*>(nullptr));
    case OpId::kSum:
    case OpId::kMax:
    case OpId::kMin:
    case OpId::kProd:
    case OpId::kAny:
    case OpId::kAll:
    case OpId::kArgmax:
    case OpId::kArgmin:
      return of(static_cast<const ReduceAttributes*>(nullptr));
    case OpId::kFill:
      return of(static_cast<const FillAttributes*>(nullptr));
    case OpId::kRmsNorm:
      return of(static_cast<const RmsNormAttributes*>(nullptr));
    case OpId::kRope:
      return of(static_cast<const RopeAttributes*>(nullptr));
    case OpId::kSdpa:
    case OpId::kSdpaGradient:
      return of(static_cast<const SdpaAttributes*>(nullptr));
    case OpId::kAdamW:
      return of(static_cast<const AdamWAttributes*>(nullptr));
    case OpId::kSample:
      return of(static_cast<const SampleAttributes*>(nullptr));
    default:
      return {};
  }
}

}  // namespace wick
