// Rotary position embedding. Inner strides are 1.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// Turns pairs of elements by the angle of their position: (x1 cos - x2 sin, x2 cos + x1 sin).
struct RopeAttributes {
  static constexpr const char* kLayout = "i32 interleaved, i32 inverse";
  int32 interleaved;  // a pair is elements 2 i and 2 i + 1; else i and i + D / 2
  int32 inverse;      // turns back, which is the gradient
};
/// in x [B, T, H, D], cos and sin [P, D / 2], positions [B, T]; out [B, T, H, D]. A position
/// outside of [0, P) is an id error.
inline constexpr Op kRope{"rope", "TRRI:T", attributes<RopeAttributes>};

struct RopeIntoAttributes {
  static constexpr const char* kLayout = "i32 interleaved, i32 has_norms, f64 eps";
  int32 interleaved;  // as RopeAttributes'
  int32 has_norms;    // else norms is any view, and is not read
  double eps;         // of the norms
};
/// rope of q and k, and k and v written into caches at rows `at`. in q [B, T, H, D], k and v [B, T,
/// G, D], cos and sin [P, D / 2], positions [B, T] in [0, P), at [B, T] in [0, S), norms [2, D],
/// contiguous: weights of an rms_norm of each head of q and of k before; out y [B, T, H, D],
/// contiguous, keys and values [B, G, S, D], whose other rows stay.
inline constexpr Op kRopeInto{"rope_into", "TTTRRIIT:TTT", attributes<RopeIntoAttributes>};
/// The same into caches of another dtype, as kSdpaMixed reads them. out also their scales [B, G, S,
/// D / kScaleGroup]; any views, which are not written, unless the caches are i8. Numbers
/// beyond kMaxF8E4M3 become that in f8.
inline constexpr Op kRopeIntoMixed{"rope_into_mixed", "TTTRRIIT:T**HH",
                                   attributes<RopeIntoAttributes>};

}  // namespace wick
