// y = x in another dtype. A kernel has one output type and reads all input types of a kind: the
// input dtype is a run-time parameter, and x loads as the widest type of its kind (scalar/cast.h).
#pragma once
#include "kernels/map.h"
#include "scalar/cast.h"

namespace wick::gpu {

template <class To>
struct Convert {
  template <class Wide>
  WICK_DEVICE To operator()(Wide x) const {
    return from_wide<To>(x);
  }
};
template <class From>
using AnyOfItsKind = Either<kSame<Wide<From>, float>, AnyFloat,
                            Either<kSame<Wide<From>, int64>, AnyInteger, Elements<From>>>;
template <class To, class In>
struct CastMap : MapOf<Elements<To>, In>, OneFunction<Convert<To>> {
  static constexpr int kPack = 8;  // the input dtype is a run-time parameter: not in few pieces
};

}  // namespace wick::gpu
