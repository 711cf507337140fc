// y = x in another dtype. A kernel has one output type, and all input types of a kind: it is told at
// run time which, and x is loaded as the widest of the kind (scalar/cast.h).
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
  static constexpr int kPack = 8;  // the input is told at run time: not in few pieces
};

}  // namespace wick::gpu
